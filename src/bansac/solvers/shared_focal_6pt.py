"""Fundamental matrices and the focal length that both images share, from six matches.

Li, A simple solution to the six-point two-view focal-length problem, ECCV 2006; Hartley and Li, An efficient hidden
variable approach to minimal-case camera motion estimation, PAMI 2012.

Let w = 1 / f^2 and Q = diag(1, 1, w). A matrix F = a A + b B + c C that satisfies six linear equations is a solution if
det F = 0 and 2 F Q F^T Q F = tr(F Q F^T Q) F. These ten equations are linear in the ten cubic monomials of a, b, c. The
coefficients are quadratic in w, so det M(w) = 0, a polynomial of degree 15, where M is the matrix of the coefficients.

The papers compute the polynomial. Here det M is interpolated between Chebyshev nodes, which does not lose digits. The
variable is s with w = w0 (1 + s) / (1 - s): it maps all focal lengths to the interval [-1, 1].
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike

from bansac.numeric.arrays import Floats, Ints
from bansac.numeric.jit import inlined, inner_kernel, kernel
from bansac.solvers.fundamental_7pt import null_space, write_equation
from bansac.solvers.normalization import stack_matches

__all__ = ["MAX_MODELS", "SCRATCH", "shared_focal_6pt", "solve"]

MAX_MODELS = 15

# The focal length at s = 0 and the range of the solutions, in the unit of the coordinates.
_MIDDLE = 1.5
_SHORTEST, _LONGEST = 0.2, 50.0

# The cubic monomials of a, b, c as triples of indices; the place of a monomial by the product 16^i of its factors; the
# places of a^3, b^3 and c^3.
_MONOMIALS = tuple(itertools.combinations_with_replacement(range(3), 3))
_PLACE = np.array(
    [[[_MONOMIALS.index(tuple(sorted((i, j, k)))) for k in range(3)] for j in range(3)] for i in range(3)]
)
_CUBES = np.array([_MONOMIALS.index((i, i, i)) for i in range(3)])

# M is the polynomial M0 + M1 u + M2 u^2 in u = w / w0, interpolated between these values.
_SQUARE = _MIDDLE**2
_THREE_U = (0.0, 1.0, -1.0)

# The nodes, and det M = sum of c_k T_k(s) (1 - s)^-15. Nine of the rows of M are multiplied by (1 - s)^(5 / 3). Signs
# are first compared at the points of a finer grid. All loops over the nodes have this fixed length.
_NODES = 16
_ANGLES = np.pi * (np.arange(_NODES) + 0.5) / _NODES
_S = np.cos(_ANGLES)
_AT_NODES = np.array([(1.0 - _S) ** (2 - k) * (1.0 + _S) ** k * (1.0 - _S) ** (-1 / 3) for k in range(3)])
_TRANSFORM = 2.0 / _NODES * np.cos(np.outer(_ANGLES, np.arange(_NODES)))
_TRANSFORM[:, 0] *= 0.5
_CELLS = 128
_GRID = np.cos(np.pi * np.arange(_CELLS + 1) / _CELLS)
_TO_GRID = np.ascontiguousarray((np.cos(np.outer(np.arccos(_GRID), np.arange(_NODES))) @ _TRANSFORM.T).T)

# Offsets in the scratch: six equations and the basis of their null space (``null_space``); products; M0, M1, M2; M at
# the nodes, with the node as last index, and two rows of work; det M at the nodes, its coefficients, and its values on
# the grid. One root at a time uses the memory of M at the nodes: M, its null vector and the order of its columns; a, b, c and u;
# the monomials and their derivatives by two of a, b, c.
_BASIS = 6 * 9
_PRODUCTS = 96
_THREE = _PRODUCTS + 96
_M = _THREE + 3 * 104
_FACTOR = _M + 100 * _NODES
_DETERMINANT = _FACTOR + 2 * _NODES
_COEFFICIENTS = _DETERMINANT + _NODES
_VALUES = _COEFFICIENTS + _NODES
SCRATCH = _VALUES + _CELLS + 8
_ELIMINATED = _M
_VECTOR = _ELIMINATED + 100
_ORDER = _VECTOR + 10
_UNKNOWNS = _ORDER + 10
_MONOMIALS_AT = _UNKNOWNS + 4

# Largest numbers of steps to find a root and to polish a model, and the last step of the latter.
_MAX_STEPS = 30
_MAX_POLISH = 5
_LAST_STEP = 1e-9


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute up to fifteen models from six matches: F of unit Frobenius norm, row by row, and f.

    The coordinates are relative to the principal points, in a unit of the order of the image size.
    """
    for r in range(6):
        write_equation(data, sample[r], scratch, 9 * r)
    return solve_equations(models, scratch, True)


@inlined
def solve_equations(models: Floats, scratch: Floats, shared: bool) -> int:
    """Compute the models of six linear equations; the focal length is that of both images or of the second only."""
    if not null_space(scratch, 6) or not _orthonormalize(scratch):
        return 0
    for k in range(3):
        _build_constraints(scratch, _THREE_U[k] / _SQUARE, shared, _THREE + 104 * k)
    for i in range(_THREE, _THREE + 100):
        middle, low, high = scratch[i], scratch[i + 208], scratch[i + 104]
        scratch[i + 104], scratch[i + 208] = 0.5 * (high - low), 0.5 * (high + low) - middle
    _evaluate_determinants(scratch)
    count, below = 0, 0.0
    for g in range(_CELLS + 1):
        value = scratch[_VALUES + g]
        if g > 0 and count < MAX_MODELS and (value < 0.0) != (below < 0.0):
            s = _find_root(scratch, _GRID[g], _GRID[g - 1])
            u = (1.0 + s) / (1.0 - s) if s < 1.0 else np.inf
            in_range = _SQUARE / _LONGEST**2 < u < _SQUARE / _SHORTEST**2
            count += 1 if in_range and _back_substitute(scratch, u, models[count]) else 0
        below = value
    return count


@inner_kernel
def _orthonormalize(a: Floats) -> bool:
    """Make the three basis matrices orthonormal (Gram and Schmidt, twice)."""
    for _ in range(2):
        for row in range(_BASIS, _BASIS + 27, 9):
            for other in range(_BASIS, row, 9):
                along = 0.0
                for i in range(9):
                    along += a[row + i] * a[other + i]
                for i in range(9):
                    a[row + i] -= along * a[other + i]
            square = 0.0
            for i in range(9):
                square += a[row + i] * a[row + i]
            if not 0.0 < square < np.inf:
                return False
            scale = 1.0 / math.sqrt(square)
            for i in range(9):
                a[row + i] *= scale
    return True


@inner_kernel
def _build_constraints(a: Floats, w: float, shared: bool, out: int) -> None:
    """Write the ten constraints for one w, rows of ten coefficients: the elements of the trace constraint, then det F.

    The trace constraint is the sum of (2 S - trace(S)) F over the basis matrices, with S = F Q1 F^T Q2.
    """
    for i in range(out, out + 100):
        a[i] = 0.0
    w1 = w if shared else 1.0
    for p in range(3):
        for q in range(3):
            left, right, trace = _BASIS + 9 * p, _BASIS + 9 * q, 0.0
            for i in range(3):
                for k in range(3):
                    first, second = left + 3 * i, right + 3 * k
                    entry = a[first] * a[second] + a[first + 1] * a[second + 1] + w1 * a[first + 2] * a[second + 2]
                    entry *= w if k == 2 else 1.0
                    a[_PRODUCTS + 3 * i + k] = 2.0 * entry
                    trace += entry if i == k else 0.0
            for i in range(0, 9, 4):
                a[_PRODUCTS + i] -= trace
            first, second = left + 3, right + 6
            a[_PRODUCTS + 9] = a[first + 1] * a[second + 2] - a[first + 2] * a[second + 1]
            a[_PRODUCTS + 10] = a[first + 2] * a[second] - a[first] * a[second + 2]
            a[_PRODUCTS + 11] = a[first] * a[second + 1] - a[first + 1] * a[second]
            for r in range(3):
                place, f = out + _PLACE[p, q, r], _BASIS + 9 * r
                for i in range(3):
                    s0, s1, s2 = a[_PRODUCTS + 3 * i], a[_PRODUCTS + 3 * i + 1], a[_PRODUCTS + 3 * i + 2]
                    for j in range(3):
                        a[place + 30 * i + 10 * j] += s0 * a[f + j] + s1 * a[f + 3 + j] + s2 * a[f + 6 + j]
                a[place + 90] += a[_PRODUCTS + 9] * a[f] + a[_PRODUCTS + 10] * a[f + 1] + a[_PRODUCTS + 11] * a[f + 2]


@inner_kernel
def _evaluate_determinants(a: Floats) -> None:
    """Write det M at the nodes, its Chebyshev coefficients, and its values on the grid.

    Gaussian elimination with exchanges of neighbouring rows runs at all nodes in parallel: the loops over the nodes
    have no branch and a fixed length, so that the compiler can vectorise them.
    """
    for m in range(100):
        m0, m1, m2 = a[_THREE + m], a[_THREE + 104 + m], a[_THREE + 208 + m]
        for j in range(_NODES):
            combined = m0 * _AT_NODES[0, j] + m1 * _AT_NODES[1, j] + m2 * _AT_NODES[2, j]
            a[_M + _NODES * m + j] = combined if m < 90 else m0
    for j in range(_NODES):
        a[_DETERMINANT + j] = 1.0
    for k in range(10):
        for r in range(k + 1, 10):
            top, low = _M + _NODES * 11 * k, _M + _NODES * (10 * r + k)
            for j in range(_NODES):
                x, y = a[top + j], a[low + j]
                swap = abs(y) > abs(x)
                larger, smaller = (y, x) if swap else (x, y)
                a[_FACTOR + j] = smaller / larger if larger != 0.0 else 0.0
                a[_FACTOR + _NODES + j] = 1.0 if swap else 0.0
                a[top + j] = larger
                a[_DETERMINANT + j] = -a[_DETERMINANT + j] if swap else a[_DETERMINANT + j]
            for c in range(k + 1, 10):
                top, low = _M + _NODES * (10 * k + c), _M + _NODES * (10 * r + c)
                for j in range(_NODES):
                    x, y = a[top + j], a[low + j]
                    swap = a[_FACTOR + _NODES + j] != 0.0
                    larger, smaller = (y, x) if swap else (x, y)
                    a[top + j] = larger
                    a[low + j] = smaller - a[_FACTOR + j] * larger
        for j in range(_NODES):
            a[_DETERMINANT + j] *= a[_M + _NODES * 11 * k + j]
    for i in range(_NODES):
        a[_COEFFICIENTS + i] = 0.0
    for i in range(_CELLS + 1):
        a[_VALUES + i] = 0.0
    for j in range(_NODES):
        value = a[_DETERMINANT + j]
        for i in range(_NODES):
            a[_COEFFICIENTS + i] += value * _TRANSFORM[j, i]
        for i in range(_CELLS + 1):
            a[_VALUES + i] += value * _TO_GRID[j, i]


@inner_kernel
def _determinant(a: Floats, s: float) -> float:
    """Return det M at s by Clenshaw's algorithm."""
    one, two, twice = 0.0, 0.0, 2.0 * s
    for i in range(_COEFFICIENTS + _NODES - 1, _COEFFICIENTS, -1):
        one, two = a[i] + twice * one - two, one
    value: float = a[_COEFFICIENTS] + s * one - two
    return value


@inner_kernel
def _find_root(a: Floats, low: float, high: float) -> float:
    """Return a root between two points of opposite signs (Dowell and Jarratt's Pegasus method, 1972)."""
    at_low, at_high = _determinant(a, low), _determinant(a, high)
    for _ in range(_MAX_STEPS):
        step = at_high - at_low
        middle = high - at_high * (high - low) / step if step != 0.0 else high
        value = _determinant(a, middle)
        if (value < 0.0) != (at_high < 0.0):
            low, at_low = high, at_high
        else:
            at_low *= at_high / (at_high + value) if at_high + value != 0.0 else 0.5
        close = abs(middle - high) <= 1e-12
        high, at_high = middle, value
        if close or value == 0.0:
            break
    return high


@inner_kernel
def _back_substitute(a: Floats, u: float, model: Floats) -> bool:
    """Write the model at a root; False if there is none with a focal length in the range.

    The null vector of M holds the monomials of a, b, c. Their largest cube and the monomials with its square give the
    ratios of a, b, c. The method of Gauss and Newton then reduces the residuals of all ten constraints.
    """
    for i in range(100):
        a[_ELIMINATED + i] = a[_THREE + i] + u * (a[_THREE + 104 + i] + u * a[_THREE + 208 + i])
    if not _null_vector(a):
        return False
    best = 0
    for i in range(1, 3):
        best = i if abs(a[_VECTOR + _CUBES[i]]) > abs(a[_VECTOR + _CUBES[best]]) else best
    for i in range(3):
        a[_UNKNOWNS + i] = a[_VECTOR + _PLACE[best, best, i]] / a[_VECTOR + _CUBES[best]]
    a[_UNKNOWNS + best] = 1.0
    a[_UNKNOWNS + 3] = u
    for _ in range(_MAX_POLISH):
        if not _polish(a, best) > _LAST_STEP:
            break
    square = 0.0
    for i in range(9):
        entry = 0.0
        for k in range(3):
            entry += a[_UNKNOWNS + k] * a[_BASIS + 9 * k + i]
        model[i] = entry
        square += entry * entry
    u = a[_UNKNOWNS + 3]
    if not (_SQUARE / _LONGEST**2 < u < _SQUARE / _SHORTEST**2 and square < np.inf):
        return False
    scale = 1.0 / math.sqrt(square)
    for i in range(9):
        model[i] *= scale
    model[9] = _MIDDLE / math.sqrt(u)
    return True


@inner_kernel
def _null_vector(a: Floats) -> bool:
    """Write the null vector of the singular matrix at ``_ELIMINATED`` (Gaussian elimination, largest pivot first)."""
    for i in range(10):
        a[_ORDER + i] = i
    for k in range(9):
        row, column, largest = k, k, 0.0
        for r in range(k, 10):
            for c in range(k, 10):
                size = abs(a[_ELIMINATED + 10 * r + c])
                if size > largest:
                    row, column, largest = r, c, size
        if not 0.0 < largest < np.inf:
            return False
        top, other = _ELIMINATED + 10 * k, _ELIMINATED + 10 * row
        for c in range(10):
            a[top + c], a[other + c] = a[other + c], a[top + c]
        for r in range(_ELIMINATED, _ELIMINATED + 100, 10):
            a[r + k], a[r + column] = a[r + column], a[r + k]
        a[_ORDER + k], a[_ORDER + column] = a[_ORDER + column], a[_ORDER + k]
        inverse = 1.0 / a[top + k]
        for r in range(k + 1, 10):
            low = _ELIMINATED + 10 * r
            factor = a[low + k] * inverse
            for c in range(k + 1, 10):
                a[low + c] -= factor * a[top + c]
    for k in range(9, -1, -1):
        total = 0.0
        for c in range(k + 1, 10):
            total -= a[_ELIMINATED + 10 * k + c] * a[_VECTOR + int(a[_ORDER + c])]
        a[_VECTOR + int(a[_ORDER + k])] = 1.0 if k == 9 else total / a[_ELIMINATED + 11 * k]
    return True


@inner_kernel
def _polish(a: Floats, fixed: int) -> float:
    """Make one step of Gauss and Newton's method, with one of a, b, c fixed; return its size."""
    x, y, u = (fixed + 1) % 3, (fixed + 2) % 3, a[_UNKNOWNS + 3]
    for i in range(_MONOMIALS_AT, _MONOMIALS_AT + 30):
        a[i] = 0.0
    for i in range(3):
        for j in range(i, 3):
            for k in range(j, 3):
                p, q, r = a[_UNKNOWNS + i], a[_UNKNOWNS + j], a[_UNKNOWNS + k]
                at = _MONOMIALS_AT + _PLACE[i, j, k]
                a[at] = p * q * r
                a[at + 10] = (q * r if i == x else 0.0) + (p * r if j == x else 0.0) + (p * q if k == x else 0.0)
                a[at + 20] = (q * r if i == y else 0.0) + (p * r if j == y else 0.0) + (p * q if k == y else 0.0)
    xx = xy = xu = yy = yu = uu = xr = yr = ur = 0.0
    for i in range(10):
        residual = by_x = by_y = by_u = 0.0
        for m in range(10):
            at = _THREE + 10 * i + m
            linear, square, monomial = a[at + 104], a[at + 208], a[_MONOMIALS_AT + m]
            entry = a[at] + u * (linear + u * square)
            residual += entry * monomial
            by_x += entry * a[_MONOMIALS_AT + 10 + m]
            by_y += entry * a[_MONOMIALS_AT + 20 + m]
            by_u += (linear + 2.0 * u * square) * monomial
        xx += by_x * by_x
        xy += by_x * by_y
        xu += by_x * by_u
        yy += by_y * by_y
        yu += by_y * by_u
        uu += by_u * by_u
        xr += by_x * residual
        yr += by_y * residual
        ur += by_u * residual
    c1, c2, c3 = yy * uu - yu * yu, xu * yu - xy * uu, xy * yu - xu * yy
    determinant = xx * c1 + xy * c2 + xu * c3
    if determinant == 0.0:
        return 0.0
    inverse = 1.0 / determinant
    dx = (c1 * xr + c2 * yr + c3 * ur) * inverse
    dy = (c2 * xr + (xx * uu - xu * xu) * yr + (xy * xu - xx * yu) * ur) * inverse
    du = (c3 * xr + (xy * xu - xx * yu) * yr + (xx * yy - xy * xy) * ur) * inverse
    a[_UNKNOWNS + x] -= dx
    a[_UNKNOWNS + y] -= dy
    a[_UNKNOWNS + 3] -= du
    return abs(dx) + abs(dy) + abs(du) / u


def shared_focal_6pt(x1: ArrayLike, x2: ArrayLike) -> tuple[Floats, Floats]:
    """Compute the fundamental matrices and the focal lengths of six matches, where both images have one focal length.

    Parameters
    ----------
    x1, x2 : (6, 2) array_like
        Points in the first and the second image, relative to the principal points. The cameras have square pixels.

    Returns
    -------
    F : (K, 3, 3) ndarray
        Up to fifteen matrices of unit Frobenius norm with ``x2^T F x1 = 0``. ``diag(f, f, 1) F diag(f, f, 1)`` is an
        essential matrix. Empty if the matches are degenerate.
    f : (K,) ndarray
        The focal lengths, in the unit of the points.

    Raises
    ------
    ValueError
        If ``x1`` or ``x2`` is not six points with finite coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from bansac.solvers.shared_focal_6pt import shared_focal_6pt
    >>> X = np.random.default_rng(0).uniform([-2, -2, 4], [2, 2, 8], (6, 3))
    >>> Y = X @ [[0.8, 0, -0.6], [0, 1, 0], [0.6, 0, 0.8]] + [4, 1, 2]
    >>> F, f = shared_focal_6pt(700 * X[:, :2] / X[:, 2:], 700 * Y[:, :2] / Y[:, 2:])
    >>> bool(np.min(np.abs(f - 700)) < 1e-4)
    True
    """
    data = stack_matches(x1, x2, 6)
    unit = float(np.abs(data).max()) or 1.0
    models = np.empty((MAX_MODELS, 10))
    count = _solve(data / unit, np.arange(6), models, np.empty(SCRATCH))
    F = models[:count, :9].reshape(-1, 3, 3)
    F[:, :2] /= unit
    F[:, :, :2] /= unit
    return F / np.linalg.norm(F, axis=(1, 2), keepdims=True), models[:count, 9] * unit


_solve = kernel(solve)
