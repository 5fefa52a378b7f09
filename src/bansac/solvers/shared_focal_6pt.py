"""Fundamental matrices and a focal length from six matches: that of both images, or that of the second only.

Li, A simple solution to the six-point two-view focal-length problem, ECCV 2006; Hartley and Li, An efficient hidden
variable approach to minimal-case camera motion estimation, PAMI 2012.

Let w = 1 / f^2 and Q = diag(1, 1, w). A matrix F = a A + b B + c C that satisfies six linear equations is a solution if
det F = 0 and 2 F Q F^T Q F = tr(F Q F^T Q) F. These ten equations are linear in the ten cubic monomials of a, b, c. The
coefficients are quadratic in w, so det M(w) = 0, a polynomial of degree 15, where M is the matrix of the coefficients.

The papers compute the polynomial. Here det M is interpolated between Chebyshev nodes, which does not lose digits. The
variable is s with w = w0 (1 + s) / (1 - s): it maps all focal lengths to the interval [-1, 1].
"""

import itertools
import math

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel
from bansac.maths.arrays import Floats, Ints
from bansac.maths.linalg import normalise_vector, write_cross
from bansac.solvers.fundamental_7pt import null_space, write_equations

MAX_MODELS = 15

# The focal length at s = 0 and the range of the solutions, in the unit of the coordinates.
_MIDDLE = 0.7
_SHORTEST, _LONGEST = 0.2, 50.0

# The cubic monomials of a, b, c as triples of indices; the places of the products of three of them; the places of a^3,
# b^3 and c^3.
_MONOMIALS = tuple(itertools.combinations_with_replacement(range(3), 3))
_PLACE = np.array(
    [[[_MONOMIALS.index(tuple(sorted((i, j, k)))) for k in range(3)] for j in range(3)] for i in range(3)]
)
_CUBES = np.array([_MONOMIALS.index((i, i, i)) for i in range(3)])

# M is the polynomial M0 + M1 u + M2 u^2 in u = w / w0, whose coefficients follow from these values of u.
_SQUARE = _MIDDLE**2
_THREE_U = (0.0, 1.0, -1.0)

# The nodes, and det M = sum of c_k T_k(s) (1 - s)^-15. Nine of the rows of M are multiplied by (1 - s)^(5 / 3). Signs
# are first compared at the points of a finer grid. All loops over the nodes have this fixed length.
_NODES = 16
_ANGLES = np.pi * (np.arange(_NODES) + 0.5) / _NODES
_S = np.cos(_ANGLES)
_AT_NODES = np.column_stack([(1.0 - _S) ** (2 - k) * (1.0 + _S) ** k * (1.0 - _S) ** (-1 / 3) for k in range(3)])
_TRANSFORM = 2.0 / _NODES * np.cos(np.outer(_ANGLES, np.arange(_NODES)))
_TRANSFORM[:, 0] *= 0.5
_CELLS = 128
_GRID = np.cos(np.pi * np.arange(_CELLS + 1) / _CELLS)
_TO_GRID = np.ascontiguousarray((np.cos(np.outer(np.arccos(_GRID), np.arange(_NODES))) @ _TRANSFORM.T).T)

# Rows of M have ten coefficients and two zeros, so that loops over them are vectorised.
_ROW = 12
_STEP = 10 * _ROW

# Offsets in the scratch: six equations and the basis of their null space (``null_space``); products of two matrices;
# M0, M1, M2; M for one w, and the row that is subtracted from the others; the Chebyshev coefficients of det M; its
# values on the grid; the null vector of M.
_BASIS = 6 * 9
_PRODUCTS = 96
_THREE = _PRODUCTS + 16
_M = _THREE + 3 * _STEP
_TOP = _M + _STEP
_COEFFICIENTS = _TOP + 16
_VALUES = _COEFFICIENTS + _NODES
_VECTOR = _VALUES + _CELLS + 8
SCRATCH = _VECTOR + 10

# Largest numbers of steps to find a root and to find an extremum; the distance of roots that are the same.
_MAX_STEPS = 30
_MAX_DIPS = 6
_CLOSE = 1e-9


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute up to fifteen models from six matches: F of unit Frobenius norm, row by row, and f.

    The coordinates are relative to the principal points, in a unit of the order of the image size.
    """
    return _solve(data, sample, models, scratch, True)


def solve_second(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Do the same for the focal length of the second image only; the coordinates in the first one are normalised.

    Q is then on one side only, 2 F F^T Q F = tr(F F^T Q) F (Bujnak, Kukelova and Pajdla, 3D reconstruction from image
    collections with a single known focal length, ICCV 2009).
    """
    return _solve(data, sample, models, scratch, False)


@inlined
def _solve(data: Floats, sample: Ints, models: Floats, scratch: Floats, shared: bool) -> int:
    """Compute the models of six matches; the focal length is that of both images or of the second only."""
    write_equations(data, sample, scratch)
    if null_space(scratch, 6) < 6 or not _orthonormalise(scratch):
        return 0
    for k in range(3):
        _build_constraints(scratch, _THREE_U[k] / _SQUARE, shared, _THREE + _STEP * k)
    for i in range(_THREE, _THREE + _STEP):
        middle, low, high = scratch[i], scratch[i + 2 * _STEP], scratch[i + _STEP]
        scratch[i + _STEP], scratch[i + 2 * _STEP] = 0.5 * (high - low), 0.5 * (high + low) - middle
    _evaluate_determinants(scratch)
    count = 0
    for g in range(1, _CELLS + 1):
        before, value = scratch[_VALUES + g - 1], scratch[_VALUES + g]
        low, middle, high = _GRID[g], _GRID[g - 1], _GRID[g - 1]
        found = (value < 0.0) != (before < 0.0)
        first = scratch[_VALUES + max(g - 2, 0)]  # that is ``before`` in the first cell, where no dip is found
        # Two close roots are near a value that is nearer to 0 than those beside it, of the same sign.
        if not found and (first < 0.0) == (before < 0.0) and abs(before) < abs(first) and abs(before) < abs(value):
            middle, high = _find_dip(scratch, low, middle, _GRID[g - 2]), _GRID[g - 2]
            found = (_determinant(scratch, middle) < 0.0) != (value < 0.0)
        if found:
            count += _add_model(scratch, low, middle, models, count)
            if middle < high:
                count += _add_model(scratch, middle, high, models, count)
    return count


@inner_kernel
def _find_dip(a: Floats, low: float, middle: float, high: float) -> float:
    """Return the extremum of det M between two points; two close roots have it between them (parabolas)."""
    at_low, at_middle, at_high = _determinant(a, low), _determinant(a, middle), _determinant(a, high)
    for _ in range(_MAX_DIPS):
        p, q = (middle - low) * (at_middle - at_high), (middle - high) * (at_middle - at_low)
        if p == q:
            break
        x = middle - 0.5 * ((middle - low) * p - (middle - high) * q) / (p - q)
        if not low < x < high or abs(x - middle) <= _CLOSE:
            break
        value = _determinant(a, x)
        nearer = (at_middle < 0.0) != (value < 0.0) or abs(value) < abs(at_middle)
        if (x < middle) == nearer:
            high, at_high = (middle, at_middle) if nearer else (x, value)
        else:
            low, at_low = (middle, at_middle) if nearer else (x, value)
        if nearer:
            if (value < 0.0) != (at_middle < 0.0):
                return x
            middle, at_middle = x, value
    return middle


@inner_kernel
def _add_model(a: Floats, low: float, high: float, models: Floats, count: int) -> int:
    """Write the model of the root between two points; return 1, or 0 if there is none."""
    if count == MAX_MODELS:
        return 0
    s = _find_root(a, low, high)
    u = (1.0 + s) / (1.0 - s) if s < 1.0 else np.inf
    in_range = _SQUARE / _LONGEST**2 < u < _SQUARE / _SHORTEST**2
    if not in_range or not _back_substitute(a, u, models[count]):
        return 0
    repeated = count > 0 and abs(models[count, 9] - models[count - 1, 9]) <= _CLOSE * models[count, 9]
    return 0 if repeated else 1


@inner_kernel
def _orthonormalise(a: Floats) -> bool:
    """Make the three basis matrices orthonormal (Gram and Schmidt, twice)."""
    for _ in range(2):
        for row in range(_BASIS, _BASIS + 27, 9):
            for other in range(_BASIS, row, 9):
                along = 0.0
                for i in range(9):
                    along += a[row + i] * a[other + i]
                for i in range(9):
                    a[row + i] -= along * a[other + i]
            if not normalise_vector(a[row : row + 9]):
                return False
    return True


@inner_kernel
def _build_constraints(a: Floats, w: float, shared: bool, out: int) -> None:
    """Write ten rows of ten coefficients for one w: sum of (2 S - tr S) F with S = F Q1 F^T Q2, then det F."""
    for i in range(out, out + _STEP):
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
            write_cross(a, left + 3, right + 6, _PRODUCTS + 9)
            for r in range(3):
                place, f = out + _PLACE[p, q, r], _BASIS + 9 * r
                for i in range(3):
                    s0, s1, s2 = a[_PRODUCTS + 3 * i], a[_PRODUCTS + 3 * i + 1], a[_PRODUCTS + 3 * i + 2]
                    for j in range(3):
                        a[place + _ROW * (3 * i + j)] += s0 * a[f + j] + s1 * a[f + 3 + j] + s2 * a[f + 6 + j]
                a[place + 9 * _ROW] += (
                    a[_PRODUCTS + 9] * a[f] + a[_PRODUCTS + 10] * a[f + 1] + a[_PRODUCTS + 11] * a[f + 2]
                )


@inner_kernel
def _evaluate_determinants(a: Floats) -> None:
    """Write the Chebyshev coefficients of det M, and its values on the grid."""
    for i in range(_COEFFICIENTS, _COEFFICIENTS + _NODES):
        a[i] = 0.0
    for i in range(_VALUES, _VALUES + _CELLS + 1):
        a[i] = 0.0
    for node in range(_NODES):
        p0, p1, p2 = _AT_NODES[node, 0], _AT_NODES[node, 1], _AT_NODES[node, 2]
        for i in range(_M, _M + 9 * _ROW):
            m = i - _M + _THREE
            a[i] = p0 * a[m] + p1 * a[m + _STEP] + p2 * a[m + 2 * _STEP]
        for i in range(_M + 9 * _ROW, _M + 10 * _ROW):
            a[i] = a[i - _M + _THREE]
        value = _eliminate(a)
        for i in range(_COEFFICIENTS, _COEFFICIENTS + _NODES):
            a[i] += value * _TRANSFORM[node, i - _COEFFICIENTS]
        for i in range(_VALUES, _VALUES + _CELLS + 1):
            a[i] += value * _TO_GRID[node, i - _VALUES]


@inner_kernel
def _eliminate(a: Floats) -> float:
    """Return the determinant of the matrix at ``_M``, which is overwritten (Gaussian elimination)."""
    determinant = 1.0
    for k in range(10):
        pivot, largest = k, 0.0
        for r in range(k, 10):
            size = abs(a[_M + _ROW * r + k])
            if size > largest:
                pivot, largest = r, size
        if not 0.0 < largest < np.inf:
            return 0.0
        top, other = _row(a, k), _row(a, pivot)
        for c in range(_ROW):
            entry = other[c]
            other[c], top[c], a[_TOP + c] = top[c], entry, entry
        determinant *= top[k] if pivot == k else -top[k]
        inverse = 1.0 / top[k]
        for r in range(k + 1, 10):
            row = _row(a, r)
            factor = inverse * row[k]
            for c in range(_ROW):
                row[c] -= factor * a[_TOP + c]
    return determinant


@inlined
def _row(a: Floats, k: int) -> Floats:
    """Return a row of the matrix at ``_M``."""
    return a[_M + _ROW * k : _M + _ROW * k + _ROW]


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
        close = abs(middle - high) <= _CLOSE
        high, at_high = middle, value
        if close or value == 0.0:
            break
    return high


@inner_kernel
def _back_substitute(a: Floats, u: float, model: Floats) -> bool:
    """Write the model at a root; False if it is not finite.

    The null vector of M holds the monomials of a, b, c. Their largest cube and the monomials with its square give the
    ratios of a, b, c.
    """
    for i in range(_M, _M + _STEP):
        m = i - _M + _THREE
        a[i] = a[m] + u * (a[m + _STEP] + u * a[m + 2 * _STEP])
    _eliminate(a)
    for k in range(9, -1, -1):
        row, total = _row(a, k), 0.0
        for c in range(k + 1, 10):
            total -= row[c] * a[_VECTOR + c]
        a[_VECTOR + k] = 1.0 if k == 9 else total / row[k]
    best = 0
    for i in range(1, 3):
        best = i if abs(a[_VECTOR + _CUBES[i]]) > abs(a[_VECTOR + _CUBES[best]]) else best
    for i in range(9):
        model[i] = 0.0
        for k in range(3):
            model[i] += a[_VECTOR + _PLACE[best, best, k]] * a[_BASIS + 9 * k + i]
    model[9] = _MIDDLE / math.sqrt(u)
    return normalise_vector(model[:9])
