"""Real roots of polynomials, without allocation.

Coefficients stand in increasing order, ``c[0] + c[1] x + ... + c[n] x^n``, as in :mod:`numpy.polynomial`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bansac.numeric.jit import kernel

__all__ = ["STURM_SCRATCH", "cubic_roots", "sturm_roots"]

_TINY = 1e-14
_MAX_STEPS = 60
_PRECISION = 1e-9  # of a Newton step: the next one would be its square


@kernel
def cubic_roots(c: NDArray[np.float64], roots: NDArray[np.float64]) -> int:
    """Write the distinct real roots of a cubic into ``roots`` and return how many there are (0 to 3).

    Vieta's trigonometric form for three real roots, Cardano's for one, each polished by Newton's method. A cubic whose
    leading coefficient vanishes next to the others is solved as a quadratic or a line.
    """
    size = abs(c[0]) + abs(c[1]) + abs(c[2]) + abs(c[3])
    if not abs(c[3]) > _TINY * size:
        return _quadratic_roots(c[0], c[1], c[2], _TINY * size, roots)
    a, b, d = c[2] / c[3], c[1] / c[3], c[0] / c[3]
    shift = a / 3.0
    q = shift * shift - b / 3.0
    r = shift * shift * shift - shift * b / 2.0 + d / 2.0
    count = 1
    if r * r < q * q * q:
        angle = math.acos(max(-1.0, min(1.0, r / math.sqrt(q * q * q))))
        radius = -2.0 * math.sqrt(q)
        for k in range(3):
            roots[k] = radius * math.cos((angle + 2.0 * math.pi * (k - 1)) / 3.0) - shift
        count = 3
    else:
        big = math.copysign((abs(r) + math.sqrt(r * r - q * q * q)) ** (1.0 / 3.0), -r)
        roots[0] = big + (q / big if big != 0.0 else 0.0) - shift
    for k in range(count):
        x = roots[k]
        for _ in range(2):
            slope = (3.0 * x + 2.0 * a) * x + b
            if slope != 0.0:
                x -= (((x + a) * x + b) * x + d) / slope
        roots[k] = x
    return count


@kernel
def _quadratic_roots(c0: float, c1: float, c2: float, negligible: float, roots: NDArray[np.float64]) -> int:
    if not abs(c2) > negligible:
        if not abs(c1) > negligible:
            return 0
        roots[0] = -c0 / c1
        return 1
    discriminant = c1 * c1 - 4.0 * c2 * c0
    if discriminant < 0.0:
        return 0
    half = -0.5 * (c1 + math.copysign(math.sqrt(discriminant), c1))
    roots[0] = half / c2
    if half == 0.0:
        return 1
    roots[1] = c0 / half
    return 2


# Work space of ``sturm_roots`` for degrees up to 10: the polynomial, two members of the chain (p_{k-1} and p_k), the
# quotients with their lengths and scales, the stack of intervals.
_PREVIOUS = 11
_CURRENT = 22
_QUOTIENTS = 33
_LENGTHS = _QUOTIENTS + 22
_SCALES = _LENGTHS + 11
_STACK = _SCALES + 11
STURM_SCRATCH = _STACK + 4 * 11


@kernel
def sturm_roots(c: NDArray[np.float64], degree: int, roots: NDArray[np.float64], scratch: NDArray[np.float64]) -> int:
    """Write the distinct real roots of a polynomial of degree at most 10 into ``roots`` and return their number.

    Sturm's theorem counts the roots of an interval. Intervals are split until each holds one root, which is then found
    by Newton's method inside of the interval. Roots outside of Cauchy's bound do not exist. Whether a double root is
    found is a matter of rounding. ``scratch`` holds ``STURM_SCRATCH`` numbers.
    """
    size = 0.0
    for i in range(degree + 1):
        size += abs(c[i])
    while degree > 0 and not abs(c[degree]) > _TINY * _TINY * size:
        degree -= 1
    if degree == 0 or not size < np.inf:
        return 0
    members = _sturm_chain(c, degree, scratch)
    bound = 0.0
    for i in range(degree):
        ratio = abs(c[i] / c[degree])
        bound = ratio if ratio > bound else bound
    bound += 1.0
    stack = scratch[_STACK:]
    stack[0], stack[1] = -bound, bound
    stack[2], stack[3] = _sign_changes(scratch, members, -bound), _sign_changes(scratch, members, bound)
    depth, count = 1, 0
    while depth > 0:  # every interval on the stack holds a root, so there are at most ten
        depth -= 1
        top = 4 * depth
        low, high, changes_low, changes_high = stack[top], stack[top + 1], stack[top + 2], stack[top + 3]
        middle = _split(low, high)
        if changes_low - changes_high <= 1.0 or not low < middle < high:
            if changes_low > changes_high:
                roots[count] = _find_root(scratch, degree, low, high)
                count += 1
            continue
        changes = _sign_changes(scratch, members, middle) + 0.0
        if changes > changes_high:
            stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = middle, high, changes, changes_high
            depth += 1
            top += 4
        if changes_low > changes:
            stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = low, middle, changes_low, changes
            depth += 1
    return count


@kernel
def _split(low: float, high: float) -> float:
    """Return a point inside the interval: 0 where it changes sign, the geometric mean where it spans magnitudes."""
    if low < 0.0 < high:
        return 0.0
    if low >= 0.0 and high > 4.0 * low:
        return math.sqrt(low * high) if low >= 1e-3 else (1e-3 if high > 1e-2 else 0.5 * (low + high))
    if high <= 0.0 and low < 4.0 * high:
        return -math.sqrt(low * high) if high <= -1e-3 else (-1e-3 if low < -1e-2 else 0.5 * (low + high))
    return 0.5 * (low + high)


@kernel
def _sturm_chain(c: NDArray[np.float64], degree: int, scratch: NDArray[np.float64]) -> int:
    """Divide p by p', and so on as in Euclid's algorithm; keep the quotients and return how many there are.

    With p_0 = p, p_1 = p' / degree and p_{k-1} = q_k p_k - s_k p_{k+1} the quotients q_k and the positive scales s_k
    give back the values of all members from those of the last one, a constant, in a few operations each.
    """
    for i in range(degree + 1):
        scratch[i] = c[i] / c[degree]
        scratch[_PREVIOUS + i] = scratch[i]
    for i in range(degree):
        scratch[_CURRENT + i] = (i + 1) * scratch[i + 1] / degree
    n, m = degree, degree - 1
    members, at = 0, _QUOTIENTS
    previous, current = _PREVIOUS, _CURRENT
    while True:
        leading = 1.0 / scratch[current + m]
        for k in range(n - m, -1, -1):
            factor = scratch[previous + m + k] * leading
            scratch[at + k] = factor
            for i in range(m):
                scratch[previous + k + i] -= factor * scratch[current + i]
        scratch[_LENGTHS + members] = n - m
        at += n - m + 1
        largest = 0.0
        for i in range(m):
            size = abs(scratch[previous + i])
            largest = size if size > largest else largest
        scratch[_SCALES + members] = largest
        members += 1
        if largest == 0.0:
            return members
        rest = m - 1
        while rest > 0 and not abs(scratch[previous + rest]) > _TINY * largest:
            rest -= 1
        scale = -1.0 / largest
        for i in range(rest + 1):
            scratch[previous + i] *= scale
        previous, current = current, previous
        n, m = m, rest


@kernel
def _sign_changes(scratch: NDArray[np.float64], members: int, x: float) -> int:
    """Count the sign changes of the chain at ``x``, zeros being passed over.

    The chain ends with a member p_K that divides all others. It is left out: its sign has no part in the changes.
    """
    changes = 0
    above, value = 0.0, 1.0  # p_{k+1} and p_k over p_K
    at = _QUOTIENTS
    for k in range(members):
        at += int(scratch[_LENGTHS + k]) + 1
    for k in range(members - 1, -1, -1):
        length = int(scratch[_LENGTHS + k])
        at -= length + 1
        quotient = scratch[at + length]
        for i in range(length - 1, -1, -1):
            quotient = quotient * x + scratch[at + i]
        below = quotient * value - scratch[_SCALES + k] * above
        last = value if value != 0.0 else above
        changes += 1 if below * last < 0.0 else 0
        above, value = value, below
    return changes


@kernel
def _find_root(p: NDArray[np.float64], degree: int, low: float, high: float) -> float:
    """Find the root of ``p`` in an interval that holds one: Newton's method, or splits where it leaves or is slow."""
    value = p[degree]
    for i in range(degree - 1, -1, -1):
        value = value * low + p[i]
    rising = value < 0.0
    if value == 0.0:  # a root at the border, which belongs to the neighbour
        value = p[degree]
        for i in range(degree - 1, -1, -1):
            value = value * high + p[i]
        rising = value > 0.0
    x = _split(low, high)
    last_step = np.inf
    for _ in range(_MAX_STEPS):
        value, slope = p[degree], 0.0
        for i in range(degree - 1, -1, -1):
            slope = slope * x + value
            value = value * x + p[i]
        if (value < 0.0) == rising:
            low = x
        else:
            high = x
        step = value / slope if slope != 0.0 else np.inf
        updated = x - step
        if abs(step) <= _PRECISION * abs(x):
            return updated
        if not low < updated < high or abs(step) > 0.5 * last_step:  # Newton leaves the interval, or is slow
            updated = _split(low, high)
            step = updated - x
            if not low < updated < high:
                return x
        last_step = abs(step)
        x = updated
    return x
