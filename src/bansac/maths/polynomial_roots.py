"""Real roots of polynomials, without allocation.

Coefficients are in increasing order, ``c[0] + c[1] x + ... + c[n] x^n``, as in :mod:`numpy.polynomial`.
"""

import math

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel
from bansac.maths.arrays import Floats

# A coefficient below this fraction of the others is a rounding error.
_NEGLIGIBLE = 1e-14
_THIRD = 2.0 * math.pi / 3.0


@inner_kernel
def cubic_roots(c: Floats, roots: Floats) -> int:
    """Write the real roots of a cubic into ``roots`` and return their number (0 to 3).

    Three real roots are computed by Viete's trigonometric form, one by Cardano's formula (Press et al., Numerical
    Recipes, section 5.6). Newton's method polishes each root. If the leading coefficient is negligible, the polynomial
    is solved as a quadratic or linear equation.
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
            # At a double root the slope is a rounding error, so a large step is rejected.
            if abs(step) < 1e-3 * abs(x):
                roots[k] = x - step
    return count


@inner_kernel
def _quadratic_roots(c: Floats, negligible: float, roots: Floats) -> int:
    """Write the real roots of c[0] + c[1] x + c[2] x^2, without cancellation, and return their number."""
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
# The signs are first counted at these points. If a root is the ratio of two coordinates of a random direction, it is
# equally likely between any two neighbouring points. The points are not round numbers, which are often roots.
_POINTS = 16
_GRID = np.tan(np.pi * ((np.arange(_POINTS) + 1.0312) / (_POINTS + 1) - 0.5))
# Number of roots that are refined in parallel.
_LANES = 8

# Offsets in the scratch of ``sturm_roots``: the polynomial; two members of the chain at the grid points, and the sign
# changes; the ends of intervals with one root, whether the polynomial rises in them, and the roots. Up to here, offsets
# are multiples of eight. Then: two dividends of Euclid's algorithm; the quotients, their degrees and the factors of the
# remainders; the intervals to be split, in rows of four; the intervals with one root, in rows of three.
_VALUES = 2 * _LANES
_FOLLOWING = _VALUES + _POINTS
_CHANGES = _FOLLOWING + _POINTS
_LOW = _CHANGES + _POINTS
_HIGH = _LOW + _LANES
_RISING = _HIGH + _LANES
_ROOT = _RISING + _LANES
_DIVIDENDS = _ROOT + _LANES
_QUOTIENTS = _DIVIDENDS + 2 * (_MAX_DEGREE + 1)
_DEGREES = _QUOTIENTS + 2 * _MAX_DEGREE
_FACTORS = _DEGREES + _MAX_DEGREE
_INTERVALS = _FACTORS + _MAX_DEGREE
_BRACKETS = _INTERVALS + 4 * (_MAX_DEGREE + 1)
STURM_SCRATCH = _BRACKETS + 3 * _MAX_DEGREE

# Largest number of interval splits, and of steps of Halley's method.
_MAX_SPLITS = 1000
_MAX_STEPS = 100
# Halley's method cubes the relative error, so after a step of this relative size only rounding errors remain.
_LAST_STEP = 1e-6


@inlined
def sturm_roots(c: Floats, degree: int, roots: Floats, scratch: Floats) -> int:
    """Write the real roots of odd multiplicity of a polynomial of degree at most 10; return their number.

    Sturm's theorem gives the number of roots in an interval. Intervals are split until each contains one root. Halley's
    method then finds the root within the interval. ``scratch`` has the length ``STURM_SCRATCH``. The order of the roots
    is not defined.
    """
    degree = _effective_degree(c, degree)
    if degree == 0:
        return 0
    for i in range(_MAX_DEGREE + 1):
        scratch[i] = c[i] if i <= degree else 0.0
    members = _sturm_chain(degree, scratch)
    waiting = _split_at_grid(members, degree, scratch)
    isolated = _isolate_roots(members, waiting, scratch)
    return _find_roots(isolated, roots, scratch)


@inner_kernel
def _effective_degree(c: Floats, degree: int) -> int:
    """Return the degree without negligible leading coefficients; 0 if a coefficient is not finite."""
    size = 0.0
    for i in range(degree + 1):
        size += abs(c[i])
    if not size < np.inf:
        return 0
    while degree > 0 and not abs(c[degree]) > _NEGLIGIBLE * _NEGLIGIBLE * size:
        degree -= 1
    return degree


@inner_kernel
def _sturm_chain(degree: int, scratch: Floats) -> int:
    """Write the quotients of Euclid's algorithm for p and p' and the interval of all roots; return their number.

    p_{k-1} = q_k p_k - s_k p_{k+1}, where s_k > 0 is chosen such that p_{k+1} has the leading coefficient 1 or -1. The
    last p_k divides all others. Dividing the chain by it does not change the number of sign changes.
    """
    upper, lower = _DIVIDENDS, _DIVIDENDS + _MAX_DEGREE + 1
    bound = 1.01 * _begin_chain(degree, upper, lower, scratch)  # larger than Cauchy's bound
    n, m = degree, degree - 1
    quotient = _QUOTIENTS
    members, more, fewer = 0, 0.0, 0.0
    while members < degree:
        size, rest = 0.0, 0.0
        for i in range(n + 1):
            size += abs(scratch[upper + i])
        leading = scratch[lower + m]
        # If q_k is negative at infinity, p_{k-1} and p_k have opposite signs there.
        opposite = scratch[upper + n] * leading < 0.0
        fewer += 1.0 if opposite else 0.0
        more += 1.0 if opposite != ((n - m) % 2 == 1) else 0.0
        scratch[_DEGREES + members] = n - m
        for k in range(n - m, 1, -1):  # long division, highest power first
            factor = scratch[upper + m + k] * leading
            scratch[quotient] = factor
            quotient += 1
            for i in range(m):
                scratch[upper + k + i] -= factor * scratch[lower + i]
        # The last two steps of the division.
        first, below = scratch[upper + m + 1] * leading, scratch[lower + m - 1] if m > 0 else 0.0
        second = scratch[upper + m] * leading - first * leading * below
        scratch[quotient], scratch[quotient + 1] = first, second
        quotient += 2
        below = 0.0
        for i in range(m):
            entry = scratch[lower + i]
            left = scratch[upper + i] - first * below - second * entry
            scratch[upper + i] = left
            rest += abs(left)
            below = entry
        members += 1
        if not rest > _NEGLIGIBLE * size:
            scratch[_FACTORS + members - 1] = 0.0
            break
        n, m = m, m - 1
        while m > 0 and not abs(scratch[upper + m]) > _NEGLIGIBLE * rest:
            m -= 1
        factor = abs(scratch[upper + m])
        scratch[_FACTORS + members - 1] = factor
        scale = -1.0 / factor
        for i in range(m + 1):
            scratch[upper + i] *= scale
        upper, lower = lower, upper
    scratch[_INTERVALS], scratch[_INTERVALS + 1] = -bound, bound
    scratch[_INTERVALS + 2], scratch[_INTERVALS + 3] = more, fewer
    return members


@inlined
def _begin_chain(degree: int, upper: int, lower: int, scratch: Floats) -> float:
    """Write p and p' with leading coefficients of 1; return the sum of the absolute coefficients of p."""
    total = 0.0
    for i in range(degree + 1):
        scratch[upper + i] = scratch[i] / scratch[degree]
        total += abs(scratch[upper + i])
    for i in range(degree):
        scratch[lower + i] = (i + 1) * scratch[upper + i + 1] / degree
    return total


@inner_kernel
def _split_at_grid(members: int, degree: int, scratch: Floats) -> int:
    """Split the first interval at the grid, if all quotients are linear; return the number of parts with roots."""
    if members < degree:
        return 1
    for j in range(_POINTS):
        scratch[_VALUES + j], scratch[_FOLLOWING + j], scratch[_CHANGES + j] = 1.0, 0.0, 0.0
    for k in range(members - 1, -1, -1):
        first, second, factor = scratch[_QUOTIENTS + 2 * k], scratch[_QUOTIENTS + 2 * k + 1], scratch[_FACTORS + k]
        for j in range(_POINTS):
            following, last = scratch[_VALUES + j], scratch[_FOLLOWING + j]
            value = (first * _GRID[j] + second) * following - factor * last
            scratch[_VALUES + j], scratch[_FOLLOWING + j] = value, following
            scratch[_CHANGES + j] += 1.0 if (value < 0.0) != (following < 0.0) else 0.0
    low, end = scratch[_INTERVALS], scratch[_INTERVALS + 1]
    more, least = scratch[_INTERVALS + 2], scratch[_INTERVALS + 3]
    waiting = 0
    for j in range(_POINTS + 1):
        high, fewer = end, least
        if j < _POINTS:
            high, fewer = _GRID[j], _clip(scratch[_CHANGES + j], least, more)
        top = _INTERVALS + 4 * waiting
        scratch[top], scratch[top + 1] = low, high
        scratch[top + 2], scratch[top + 3] = more, fewer
        waiting += 1 if more > fewer else 0
        low, more = high, fewer
    return waiting


@inlined
def _clip(changes: float, fewer: float, more: float) -> float:
    """Clip the number of sign changes to the range at the ends of an interval; rounding errors may exceed it."""
    return fewer if changes < fewer else more if changes > more else changes


@inner_kernel
def _isolate_roots(members: int, waiting: int, scratch: Floats) -> int:
    """Split the intervals until each has one root; return the number of roots."""
    isolated = 0
    for _ in range(_MAX_SPLITS):
        if waiting == 0:
            break
        waiting -= 1
        top = _INTERVALS + 4 * waiting
        low, high = scratch[top], scratch[top + 1]
        more, fewer = scratch[top + 2], scratch[top + 3]
        middle = _middle(low, high)
        if not more > fewer + 1.0 or not low < middle < high:
            if more > fewer:
                bracket = _BRACKETS + 3 * isolated
                scratch[bracket], scratch[bracket + 1], scratch[bracket + 2] = low, high, middle
                isolated += 1
            continue
        changes = _clip(_sign_changes(scratch, members, middle), fewer, more)
        if more > changes:
            scratch[top], scratch[top + 1] = low, middle
            scratch[top + 2], scratch[top + 3] = more, changes
            waiting += 1
            top += 4
        if changes > fewer:
            scratch[top], scratch[top + 1] = middle, high
            scratch[top + 2], scratch[top + 3] = changes, fewer
            waiting += 1
    return isolated


@inlined
def _middle(low: float, high: float) -> float:
    """Return a point about halfway on the bounded scale x / (1 + |x|); the exact midpoint would often be a root."""
    to_low, to_high = 0.9742 * (1.0 + abs(high)), 1.0258 * (1.0 + abs(low))
    top = to_low * low + to_high * high
    side = 1.0 if top > 0.0 else -1.0
    # Equal to 2 (1 + |low|) (1 + |high|) - |top|, without cancellation.
    return top / (to_low * (1.0 + (abs(low) - side * low)) + to_high * (1.0 + (abs(high) - side * high)))


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
def _find_roots(count: int, roots: Floats, scratch: Floats) -> int:
    """Find the roots in intervals that have one each, several in parallel; return their number."""
    found = 0
    for start in range(0, count, _LANES):
        for j in range(_LANES):
            at = _BRACKETS + 3 * (start + j if start + j < count else start)  # unused lanes repeat the first interval
            scratch[_LOW + j], scratch[_HIGH + j], scratch[_ROOT + j] = scratch[at], scratch[at + 1], scratch[at + 2]
        _improve_roots(scratch)
        for j in range(_LANES):
            if start + j < count and scratch[_RISING + j] != 0.0:
                roots[found] = scratch[_ROOT + j]
                found += 1
    return found


@inner_kernel
def _improve_roots(s: Floats) -> None:
    """Refine the root in each lane by Halley's method with bisection; loops of fixed lengths are vectorised."""
    leading, others = s[10], (s[9], s[8], s[7], s[6], s[5], s[4], s[3], s[2], s[1], s[0])
    for j in range(_LANES):
        x, y = s[_LOW + j], s[_HIGH + j]
        at_low, at_high = leading, leading
        for c in others:
            at_low, at_high = at_low * x + c, at_high * y + c
        # The signs differ except for roots of even multiplicity.
        s[_RISING + j] = (1.0 if at_high >= 0.0 else 0.0) - (1.0 if at_low >= 0.0 else 0.0)
    for _ in range(_MAX_STEPS):
        searched = 0
        for j in range(_LANES):
            x, low, high = s[_ROOT + j], s[_LOW + j], s[_HIGH + j]
            value, slope, bend = leading, 0.0, 0.0  # become p, p' and p'' / 2
            for c in others:
                bend = bend * x + slope
                slope = slope * x + value
                value = value * x + c
            step = value * slope / (slope * slope - value * bend) if value != 0.0 else 0.0
            is_last = abs(step) <= _LAST_STEP * abs(x)
            searched += 0 if is_last else 1
            is_low = s[_RISING + j] * value < 0.0
            low = x if is_low else low
            high = high if is_low else x
            x -= step
            x = x if is_last or low < x < high else _middle(low, high)
            s[_ROOT + j] = x
            s[_LOW + j] = x if is_last else low
            s[_HIGH + j] = x if is_last else high
        if searched == 0:
            break
