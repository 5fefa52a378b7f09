"""The essential matrices of five matches.

Nister, An efficient solution to the five-point relative pose problem, PAMI 2004.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from bansac.numeric.arrays import Floats, Ints
from bansac.numeric.jit import inlined, inner_kernel, kernel
from bansac.numeric.polynomial import STURM_SCRATCH, sturm_roots
from bansac.solvers.fundamental_7pt import write_equation

__all__ = ["SCRATCH", "essential_5pt", "solve"]

# The monomials of linear, quadratic and cubic forms in x, y, z; the cubic ones in the order of Nister's table, where
# the first ten are eliminated.
_LINEAR = ("x", "y", "z", "")
_QUADRATIC = ("xx", "xy", "xz", "x", "yy", "yz", "y", "zz", "z", "")
_CUBIC = (
    *("xxx", "yyy", "xxy", "xyy", "xxz", "xx", "yyz", "yy", "xyz", "xy"),
    *("xzz", "xz", "x", "yzz", "yz", "y", "zzz", "zz", "z", ""),
)


def _product_table(left: tuple[str, ...], right: tuple[str, ...], product: tuple[str, ...]) -> Ints:
    """Tell for each pair of monomials which monomial their product is."""
    return np.array([product.index("".join(sorted(a + b))) for a in left for b in right])


_LINEAR_TIMES_LINEAR = _product_table(_LINEAR, _LINEAR, _QUADRATIC)
_QUADRATIC_TIMES_LINEAR = _product_table(_QUADRATIC, _LINEAR, _CUBIC)

# The nine quadratic forms that the constraints are made of, as sums of sign * (entry of E) * (entry of E): the upper
# triangle of E E^T, then the cofactors of the first row of E.
_SUMS = np.array(
    [[(3 * i + k, 3 * j + k, 1) for k in range(3)] for i in range(3) for j in range(i, 3)]
    + [[(3 + (j + 1) % 3, 6 + (j + 2) % 3, 1), (3 + (j + 2) % 3, 6 + (j + 1) % 3, -1), (0, 0, 0)] for j in range(3)]
)
# The ten constraints as sums of three products of a quadratic form and an entry of E: the nine elements of
# (E E^T - trace / 2) E, then det E.
_CONSTRAINTS = np.array(
    [[(((0, 1, 2), (1, 3, 4), (2, 4, 5))[i][k], 3 * k + j) for k in range(3)] for i in range(3) for j in range(3)]
    + [[(6 + k, k) for k in range(3)]]
)

# Orthonormal combinations of the last four unit vectors. With those themselves W would go with the last entry of E; it
# vanishes when a camera moves sideways, for example, and no such E has the weight 1 of W.
_SIGNS = ((1, 1, 1, 1), (1, -1, 1, -1), (1, 1, -1, -1), (1, -1, -1, 1))
_COMBINATIONS = np.array([entry for signs in _SIGNS for entry in (0, 0, 0, 0, 0, *signs)]) / 2

# Places in the scratch. The equations of the five points; the matrices X, Y, Z, W, and room; the quadratic forms; the
# constraints; the three rows of B(z); the cofactors of its last row; det B(z); its roots.
_FORMS = 5 * 9
_QUADRATICS = 81 + 9
_MATRIX = _QUADRATICS + 9 * 10
_B = _MATRIX + 10 * 20
_COFACTORS = _B + 3 * 15
_DETERMINANT = _COFACTORS + 3 * 9
_ROOTS = _DETERMINANT + 13
_STURM = _ROOTS + 10
SCRATCH = _STURM + STURM_SCRATCH

# What is left of an equation that depends on others, squared.
_DEPENDENT = 1e-28
# Pivots of the elimination; the basis matrices of E have unit norm.
_SINGULAR = 1e-13


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute the up to ten essential matrices of five matches, of Frobenius norm sqrt(2)."""
    for r in range(5):
        write_equation(data, sample[r], scratch, 9 * r)
    return _solve_equations(models, scratch)


@inlined
def _solve_equations(models: Floats, scratch: Floats) -> int:
    """Compute the essential matrices that satisfy five linear equations.

    The matrices that do are E = x X + y Y + z Z + W. The ten cubic constraints det E = 0 and
    2 E E^T E = tr(E E^T) E are brought to a triangular form, from which x and y are eliminated; what remains is a
    polynomial of degree 10 in z.
    """
    if not _null_space(scratch):
        return 0
    _build_constraints(scratch)
    if not _eliminate(scratch):
        return 0
    _build_determinant(scratch)
    found = sturm_roots(scratch[_DETERMINANT:_ROOTS], 10, scratch[_ROOTS:_STURM], scratch[_STURM:])
    count = 0
    for k in range(found):
        z = scratch[_ROOTS + k]
        x, y = _back_substitute(scratch, z)
        square = 0.0
        for i in range(9):
            f = _FORMS + i
            entry = x * scratch[f] + y * scratch[f + 9] + z * scratch[f + 18] + scratch[f + 27]
            models[count, i] = entry
            square += entry * entry
        if 0.0 < square < np.inf:
            scale = math.sqrt(2.0 / square)
            for i in range(9):
                models[count, i] *= scale
            count += 1
    return count


@inner_kernel
def _null_space(a: Floats) -> bool:
    """Write an orthonormal basis of the matrices that satisfy five equations; False if the equations are dependent.

    ``a`` has the equations in its first five rows of nine numbers, and gets the basis in the next four; nine numbers of
    scratch follow. Householder reflections bring the equations to triangular form; applied to the last four unit
    vectors, which are mixed before, they give the basis (Golub and Van Loan, Matrix Computations, section 5.2).
    """
    for k in range(5):
        v = 9 * k
        square = _dot(a, v, v)
        for i in range(k):
            a[v + i] = 0.0
        rest = _dot(a, v, v)
        if not rest > _DEPENDENT * square or not 0.0 < square < np.inf:
            return False
        # The reflection I - factor v v^T takes the row to a multiple of the unit vector k.
        length = math.copysign(math.sqrt(rest), a[v + k])
        a[v + k] += length
        factor = 1.0 / (length * a[v + k])
        a[81 + k] = factor
        for row in range(v + 9, 45, 9):
            _reflect(a, v, factor, row)
    for i in range(36):
        a[45 + i] = _COMBINATIONS[i]
    for k in range(4, -1, -1):
        factor = a[81 + k]
        for row in range(45, 81, 9):
            _reflect(a, 9 * k, factor, row)
    return True


@inlined
def _reflect(a: Floats, v: int, factor: float, row: int) -> None:
    """Apply the reflection I - factor v v^T to a row of nine numbers."""
    along = factor * _dot(a, v, row)
    for i in range(9):
        a[row + i] -= along * a[v + i]


@inner_kernel
def _dot(a: Floats, first: int, second: int) -> float:
    """Return the inner product of two rows of nine numbers, as three sums that run side by side."""
    x, y, z = 0.0, 0.0, 0.0
    for i in range(0, 9, 3):
        x += a[first + i] * a[second + i]
        y += a[first + i + 1] * a[second + i + 1]
        z += a[first + i + 2] * a[second + i + 2]
    return x + y + z


@inner_kernel
def _build_constraints(scratch: Floats) -> None:
    """Write the ten constraints as rows of twenty coefficients."""
    for i in range(_QUADRATICS, _B):
        scratch[i] = 0.0
    for q in range(9):
        out = _QUADRATICS + 10 * q
        for k in range(3):
            left, right, sign = _FORMS + _SUMS[q, k, 0], _FORMS + _SUMS[q, k, 1], _SUMS[q, k, 2]
            for a in range(4):
                factor = sign * scratch[left + 9 * a]
                for b in range(4):
                    scratch[out + _LINEAR_TIMES_LINEAR[4 * a + b]] += factor * scratch[right + 9 * b]
    for m in range(10):
        half = 0.5 * (scratch[_QUADRATICS + m] + scratch[_QUADRATICS + 30 + m] + scratch[_QUADRATICS + 50 + m])
        for diagonal in (0, 30, 50):
            scratch[_QUADRATICS + diagonal + m] -= half
    for row in range(10):
        out = _MATRIX + 20 * row
        s0, f0 = _QUADRATICS + 10 * _CONSTRAINTS[row, 0, 0], _FORMS + _CONSTRAINTS[row, 0, 1]
        s1, f1 = _QUADRATICS + 10 * _CONSTRAINTS[row, 1, 0], _FORMS + _CONSTRAINTS[row, 1, 1]
        s2, f2 = _QUADRATICS + 10 * _CONSTRAINTS[row, 2, 0], _FORMS + _CONSTRAINTS[row, 2, 1]
        for a in range(10):
            q0, q1, q2 = scratch[s0 + a], scratch[s1 + a], scratch[s2 + a]
            for b in range(4):
                product = q0 * scratch[f0 + 9 * b] + q1 * scratch[f1 + 9 * b] + q2 * scratch[f2 + 9 * b]
                scratch[out + _QUADRATIC_TIMES_LINEAR[4 * a + b]] += product


@inner_kernel
def _eliminate(scratch: Floats) -> bool:
    """Bring the first ten columns of the constraints to the identity, as far as the last six rows are concerned."""
    for k in range(10):
        pivot, largest = k, 0.0
        for r in range(k, 10):
            size = abs(scratch[_MATRIX + 20 * r + k])
            if size > largest:
                pivot, largest = r, size
        if not largest > _SINGULAR:
            return False
        top, other = _MATRIX + 20 * k, _MATRIX + 20 * pivot
        scale = 1.0 / scratch[other + k]
        for c in range(20):
            entry = scratch[other + c] * scale
            scratch[other + c] = scratch[top + c]
            scratch[top + c] = entry
        for r in range(k + 1 if k < 4 else 4, 10):
            if r != k:
                row = _MATRIX + 20 * r
                factor = scratch[row + k]
                for c in range(20):
                    scratch[row + c] -= factor * scratch[top + c]
    return True


@inner_kernel
def _build_determinant(scratch: Floats) -> None:
    """Eliminate x and y: write a 3 x 3 matrix with B(z) (x, y, 1)^T = 0, and its determinant, as polynomials in z.

    Of the last six rows of the constraints every other one, e, has z times the leading monomial of the next one, f: in
    e - z f only x, y and 1 are left, times powers of z.
    """
    for i in range(_B, _ROOTS):
        scratch[i] = 0.0
    for m in range(3):
        e = _MATRIX + 20 * (4 + 2 * m) + 10
        f = e + 20
        for j in range(3):
            size = 3 if j < 2 else 4  # e and f begin with the highest power
            out = _B + 15 * m + 5 * j
            for i in range(size):
                scratch[out + size - 1 - i] += scratch[e + 3 * j + i]
                scratch[out + size - i] -= scratch[f + 3 * j + i]
    for j in range(3):
        a, b = _B + 5 * (j + 1 if j < 2 else 0), _B + 5 * (j - 1 if j > 0 else 2)
        out = _COFACTORS + 9 * j
        for i in range(5):
            for n in range(5):
                scratch[out + i + n] += scratch[a + i] * scratch[b + 15 + n] - scratch[b + i] * scratch[a + 15 + n]
    for j in range(3):
        for i in range(9):
            for n in range(5):
                scratch[_DETERMINANT + i + n] += scratch[_COFACTORS + 9 * j + i] * scratch[_B + 30 + 5 * j + n]


@inner_kernel
def _back_substitute(scratch: Floats, z: float) -> tuple[float, float]:
    """Return x and y at a root: (x, y, 1) is orthogonal to the first two rows of B(z)."""
    x, y, w = 0.0, 0.0, 0.0
    for i in range(8, -1, -1):
        x = x * z + scratch[_COFACTORS + i]
        y = y * z + scratch[_COFACTORS + 9 + i]
        w = w * z + scratch[_COFACTORS + 18 + i]
    return x / w, y / w


def essential_5pt(x1: ArrayLike, x2: ArrayLike) -> Floats:
    """Compute the essential matrices of five matches.

    Parameters
    ----------
    x1, x2 : (5, 2) or (5, 3) array_like
        Normalised image points, or rays (x, y, z) of any length and sign.

    Returns
    -------
    (K, 3, 3) ndarray
        Up to ten essential matrices E with ``x2^T E x1 = 0``, of singular values (1, 1, 0); none if the matches are
        degenerate.

    Raises
    ------
    ValueError
        If ``x1`` or ``x2`` has another shape, or holds NaN or infinity.

    Examples
    --------
    >>> import numpy as np
    >>> from bansac.solvers.essential_5pt import essential_5pt
    >>> x1 = np.array([[0, 0], [0.5, 0.1], [-0.3, 0.4], [0.2, -0.6], [-0.7, -0.2]])
    >>> x2 = x1 + [[0.25, 0], [0.2, 0], [0.1, 0], [0.3, 0], [0.15, 0]]
    >>> E = essential_5pt(x1, x2)
    >>> bool(np.min(np.linalg.norm(np.abs(E) - [[0, 0, 0], [0, 0, 1], [0, 1, 0]], axis=(1, 2))) < 1e-6)
    True
    """
    first = np.ascontiguousarray(x1, dtype=np.float64)
    second = np.ascontiguousarray(x2, dtype=np.float64)
    models = np.empty((10, 3, 3))
    count = _solve_rays(first, second, models) if first.ndim == second.ndim == 2 else 0
    if count == 0:  # bad input gives no model, so that good input need not be checked
        for name, points in (("x1", first), ("x2", second)):
            if points.shape not in ((5, 2), (5, 3)):
                raise ValueError(f"{name} must have shape (5, 2) or (5, 3), got {points.shape}")
            if not np.isfinite(points).all():
                raise ValueError(f"{name} must be finite, got {points.tolist()}")
    return models[:count]


@kernel
def _solve_rays(x1: Floats, x2: Floats, models: Floats) -> int:
    """Compute the essential matrices of five points or rays and return how many there are; 0 for other shapes."""
    for x in (x1, x2):
        if x.shape[0] != 5 or x.shape[1] < 2 or x.shape[1] > 3:
            return 0
    scratch = np.empty(SCRATCH)
    for r in range(5):
        for i in range(3):
            for j in range(3):
                factor = x2[r, i] if i < x2.shape[1] else 1.0
                scratch[9 * r + 3 * i + j] = factor * (x1[r, j] if j < x1.shape[1] else 1.0)
    return _solve_equations(models.reshape(10, 9), scratch)
