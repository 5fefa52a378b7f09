"""Real roots of polynomials, without allocation.

Coefficients stand in increasing order, ``c[0] + c[1] x + ... + c[n] x^n``, as in :mod:`numpy.polynomial`.
"""

from __future__ import annotations

import math

import numpy as np

from bansac.numeric.arrays import Floats
from bansac.numeric.jit import inlined, inner_kernel

__all__ = ["STURM_SCRATCH", "cubic_roots", "sturm_roots"]

# A coefficient below this share of the others is rounding.
_NEGLIGIBLE = 1e-14
_THIRD = 2.0 * math.pi / 3.0


@inner_kernel
def cubic_roots(c: Floats, roots: Floats) -> int:
    """Write the real roots of a cubic into ``roots`` and return how many there are (0 to 3).

    Viete's trigonometric form for three real roots, Cardano's for one (Press et al., Numerical Recipes, section 5.6),
    each polished by Newton's method. A cubic whose leading coefficient vanishes next to the others is solved as a
    quadratic or a line.
    """
    size = abs(c[0]) + abs(c[1]) + abs(c[2]) + abs(c[3])
    if not size < np.inf:
        return 0
    if not abs(c[3]) > _NEGLIGIBLE * size:
        return _quadratic_roots(c, _NEGLIGIBLE * size, roots)
    a, b, d = c[2] / c[3], c[1] / c[3], c[0] / c[3]
    shift = a / 3.0
    q = shift * shift - b / 3.0
    r = shift * (shift * shift - 0.5 * b) + 0.5 * d
    cube = q * q * q
    if r * r < cube:
        count = 3
        root = math.sqrt(q)
        angle = math.acos(r / (q * root)) / 3.0
        for k in range(3):
            roots[k] = -2.0 * root * math.cos(angle + (k - 1) * _THIRD) - shift
    else:
        count = 1
        big = -math.copysign((abs(r) + math.sqrt(r * r - cube)) ** (1.0 / 3.0), r)
        roots[0] = big + (q / big if big != 0.0 else 0.0) - shift
    for k in range(count):
        for _ in range(2):
            x = roots[k]
            slope = (3.0 * x + 2.0 * a) * x + b
            step = (((x + a) * x + b) * x + d) / slope
            # At a double root the slope is rounding; a step that is not small is none.
            if abs(step) < 1e-3 * abs(x):
                roots[k] = x - step
    return count


@inner_kernel
def _quadratic_roots(c: Floats, negligible: float, roots: Floats) -> int:
    """Write the real roots of c[0] + c[1] x + c[2] x^2 without cancellation."""
    if not abs(c[2]) > negligible:
        roots[0] = -c[0] / c[1]
        return 1 if abs(c[1]) > negligible else 0
    discriminant = c[1] * c[1] - 4.0 * c[2] * c[0]
    if discriminant < 0.0:
        return 0
    half = -0.5 * (c[1] + math.copysign(math.sqrt(discriminant), c[1]))
    roots[0] = half / c[2]
    roots[1] = c[0] / half if half != 0.0 else roots[0]
    return 2


_MAX_DEGREE = 10
# Places in the scratch of ``sturm_roots``: two dividends of Euclid's algorithm; the quotients, their degrees and the
# factors of the remainders; the intervals to be split and those with one root, each a row of four numbers.
_QUOTIENTS = 2 * (_MAX_DEGREE + 1)
_DEGREES = _QUOTIENTS + 2 * _MAX_DEGREE
_FACTORS = _DEGREES + _MAX_DEGREE
_INTERVALS = _FACTORS + _MAX_DEGREE
_BRACKETS = _INTERVALS + 4 * (_MAX_DEGREE + 1)
STURM_SCRATCH = _BRACKETS + 4 * _MAX_DEGREE

# Halvings of intervals, and rounds of Halley's method, after which the search is over.
_MAX_SPLITS = 1000
_MAX_ROUNDS = 100
# Halley's method cubes the relative error: after a step of this size only rounding is left.
_LAST_STEP = 1e-6


@inlined
def sturm_roots(c: Floats, degree: int, roots: Floats, scratch: Floats) -> int:
    """Write the real roots of odd multiplicity of a polynomial of degree at most 10; return how many there are.

    Sturm's theorem gives the number of roots in an interval. Intervals are split until each has one root, which
    Halley's method then finds without leaving the interval. ``scratch`` holds ``STURM_SCRATCH`` numbers. The roots are
    in no particular order.
    """
    degree = _effective_degree(c, degree)
    if degree == 0:
        return 0
    members = _sturm_chain(c, degree, scratch)
    isolated = _isolate_roots(members, degree, scratch)
    return _find_roots(c, degree, isolated, roots, scratch)


@inner_kernel
def _effective_degree(c: Floats, degree: int) -> int:
    """Return the degree without leading coefficients that are rounding; 0 if a coefficient is not finite."""
    size = 0.0
    for i in range(degree + 1):
        size += abs(c[i])
    if not size < np.inf:
        return 0
    while degree > 0 and not abs(c[degree]) > _NEGLIGIBLE * _NEGLIGIBLE * size:
        degree -= 1
    return degree


@inner_kernel
def _isolate_roots(members: int, degree: int, scratch: Floats) -> int:
    """Split the first interval until each part has one root; return how many there are."""
    waiting, isolated = 1, 0
    for _ in range(_MAX_SPLITS):
        if waiting == 0:
            break
        waiting -= 1
        top = _INTERVALS + 4 * waiting
        low, high, more, fewer = scratch[top], scratch[top + 1], scratch[top + 2], scratch[top + 3]
        middle = _middle(low, high)
        if not more > fewer + 1.0 or not low < middle < high:
            if more > fewer and isolated < degree:
                bracket = _BRACKETS + 4 * isolated
                scratch[bracket], scratch[bracket + 1], scratch[bracket + 2] = low, high, middle
                isolated += 1
            continue
        changes = _sign_changes(scratch, members, middle)
        if more > changes:
            scratch[top], scratch[top + 1], scratch[top + 2], scratch[top + 3] = low, middle, more, changes
            waiting += 1
            top += 4
        if changes > fewer:
            scratch[top], scratch[top + 1], scratch[top + 2], scratch[top + 3] = middle, high, changes, fewer
            waiting += 1
    return isolated


@inner_kernel
def _middle(low: float, high: float) -> float:
    """Return the point about halfway in x / (1 + |x|), a measure by which no magnitude is far away.

    The exact middle would often be a round number, and so a root, which would lie in neither half.
    """
    u = 0.4871 * (low / (1.0 + abs(low))) + 0.5129 * (high / (1.0 + abs(high)))
    return u / (1.0 - abs(u))


@inner_kernel
def _sturm_chain(c: Floats, degree: int, scratch: Floats) -> int:
    """Write the quotients of Euclid's algorithm for p and p' and the interval that has all roots; return their number.

    p_{k-1} = q_k p_k - s_k p_{k+1} with s_k > 0 chosen such that the remainder p_{k+1} is of size 1. The last p_k
    divides all others. What the chain is wanted for are changes of sign, which it keeps when it is divided by it.
    """
    upper, lower = 0, _MAX_DEGREE + 1
    scale = 1.0 / c[degree]
    for i in range(degree + 1):
        scratch[upper + i] = scale * c[i]
    scale = 1.0 / degree
    for i in range(degree):
        scratch[lower + i] = scale * (i + 1) * scratch[i + 1]
    n, m = degree, degree - 1
    quotient = _QUOTIENTS
    members, more, fewer = 0, 0.0, 0.0
    while members < degree:
        leading = 1.0 / scratch[lower + m]
        # p_{k-1} and p_k differ in sign at infinity where q_k is negative.
        opposite = scratch[upper + n] * leading < 0.0
        fewer += 1.0 if opposite else 0.0
        more += 1.0 if opposite != ((n - m) % 2 == 1) else 0.0
        scratch[_DEGREES + members] = n - m
        for k in range(n - m, -1, -1):  # long division, the highest power first
            factor = scratch[upper + m + k] * leading
            scratch[quotient] = factor
            quotient += 1
            for i in range(m):
                scratch[upper + k + i] -= factor * scratch[lower + i]
        size = 0.0
        for i in range(m):
            size += abs(scratch[upper + i])
        scratch[_FACTORS + members] = size
        members += 1
        if not size > _NEGLIGIBLE:
            break
        scale = -1.0 / size
        for i in range(m):
            scratch[upper + i] *= scale
        n, m = m, m - 1
        while m > 0 and not abs(scratch[upper + m]) > _NEGLIGIBLE:
            m -= 1
        upper, lower = lower, upper
    size = 0.0
    for i in range(degree + 1):
        size += abs(c[i])
    bound = 1.01 * size / abs(c[degree])  # more than Cauchy's
    scratch[_INTERVALS], scratch[_INTERVALS + 1] = -bound, bound
    scratch[_INTERVALS + 2], scratch[_INTERVALS + 3] = more, fewer
    return members


@inner_kernel
def _sign_changes(scratch: Floats, members: int, x: float) -> float:
    """Count the sign changes of the chain at ``x``; zero counts as positive, which is right on one side of ``x``."""
    changes = 0.0
    value, following = 1.0, 0.0
    quotient = _QUOTIENTS
    for k in range(members):
        quotient += int(scratch[_DEGREES + k]) + 1
    for k in range(members - 1, -1, -1):
        degree = int(scratch[_DEGREES + k])
        quotient -= degree + 1
        q = scratch[quotient]
        for i in range(1, degree + 1):
            q = q * x + scratch[quotient + i]
        value, following = q * value - scratch[_FACTORS + k] * following, value
        if (value < 0.0) != (following < 0.0):
            changes += 1.0
    return changes


@inner_kernel
def _find_roots(c: Floats, degree: int, count: int, roots: Floats, scratch: Floats) -> int:
    """Find the roots of a polynomial in intervals that have one, by Halley's method with bisection as its safeguard.

    Each round improves all roots that are not yet found: independent chains of arithmetic, which a processor overlaps.
    """
    searched = 0
    for k in range(count):
        low, high = scratch[_BRACKETS + 4 * k], scratch[_BRACKETS + 4 * k + 1]
        at_low, at_high = c[degree], c[degree]
        for i in range(degree - 1, -1, -1):
            at_low = at_low * low + c[i]
            at_high = at_high * high + c[i]
        if (at_low < 0.0) != (at_high < 0.0):  # always, but for roots of even multiplicity
            at = _BRACKETS + 4 * searched
            scratch[at], scratch[at + 1] = low, high
            scratch[at + 2], scratch[at + 3] = scratch[_BRACKETS + 4 * k + 2], 1.0 if at_high > at_low else -1.0
            searched += 1
    found = 0
    for _ in range(_MAX_ROUNDS):
        if searched == 0:
            break
        for k in range(searched - 1, -1, -1):
            at = _BRACKETS + 4 * k
            low, high, x, rising = scratch[at], scratch[at + 1], scratch[at + 2], scratch[at + 3]
            value, slope, bend = c[degree], 0.0, 0.0  # p, p' and p'' / 2
            for i in range(degree - 1, -1, -1):
                bend = bend * x + slope
                slope = slope * x + value
                value = value * x + c[i]
            step = value * slope / (slope * slope - value * bend)
            if abs(step) <= _LAST_STEP * abs(x):
                roots[found] = x - step
                found += 1
                searched -= 1
                last = _BRACKETS + 4 * searched
                for i in range(4):
                    scratch[at + i] = scratch[last + i]
                continue
            if rising * value < 0.0:
                low = x
            else:
                high = x
            x = x - step
            scratch[at], scratch[at + 1] = low, high
            scratch[at + 2] = x if low < x < high else _middle(low, high)
    for k in range(searched):  # multiple roots, which are approached slowly
        roots[found] = scratch[_BRACKETS + 4 * k + 2]
        found += 1
    return found
