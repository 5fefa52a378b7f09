"""Essential matrices from five matches.

Nister, An efficient solution to the five-point relative pose problem, PAMI 2004.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from bansac.compiled.jit import inlined, inner_kernel, kernel
from bansac.maths.arrays import Floats, Ints
from bansac.maths.normalisation import stack_matches
from bansac.maths.polynomial_roots import STURM_SCRATCH, sturm_roots
from bansac.solvers.fundamental_7pt import write_equations

# Monomials of linear, quadratic and cubic forms in x, y, z. The cubic monomials are in the order of Nister's table; the
# first ten are eliminated.
_LINEAR = ("x", "y", "z", "")
_QUADRATIC = ("xx", "xy", "xz", "x", "yy", "yz", "y", "zz", "z", "")
_CUBIC = (
    *("xxx", "yyy", "xxy", "xyy", "xxz", "xx", "yyz", "yy", "xyz", "xy"),
    *("xzz", "xz", "x", "yzz", "yz", "y", "zzz", "zz", "z", ""),
)


def _sum_table(left: tuple[str, ...], right: tuple[str, ...], product: tuple[str, ...], stride: int, zero: int) -> Ints:
    """Tabulate the products of two monomials that add up to each monomial, as indices ``stride * right + left``.

    Shorter rows are padded with ``zero``, the index of an entry that is zero. Unsigned indices need no check.
    """
    places: dict[str, list[int]] = {monomial: [] for monomial in product}
    for k, b in enumerate(right):
        for i, a in enumerate(left):
            places["".join(sorted(a + b))].append(stride * k + i)
    length = max(map(len, places.values()))
    return np.array([row + [zero] * (length - len(row)) for row in places.values()], dtype=np.uint16)


# A quadratic form has ten coefficients and two zeros. A column of E^T E and a cofactor together are four such forms.
_FORM = 12
_COLUMN = 4 * _FORM

_QUADRATIC_SUMS = _sum_table(_LINEAR, _LINEAR, _QUADRATIC, 4, 16)
_CUBIC_SUMS = _sum_table(_QUADRATIC, _LINEAR, _CUBIC, _COLUMN, 10)

# The nine quadratic forms in the constraints, as sums of sign * (entry of E) * (entry of E): the upper triangle of
# E^T E, then the cofactors of the first row of E. ``_PLACES`` has the two offsets at which each form is written.
_UPPER = tuple((i, k) for i in range(3) for k in range(i, 3))
_FACTORS = np.array(
    [[(3 * j + i, 3 * j + k) for j in range(3)] for i, k in _UPPER]
    + [[(3 + i, 6 + k), (3 + k, 6 + i), (0, 0)] for i, k in ((1, 2), (2, 0), (0, 1))],
    dtype=np.uint16,
)
_FACTOR_SIGNS = np.array([(1.0, 1.0)] * 6 + [(-1.0, 0.0)] * 3)  # signs of the second and third product
_PLACES = np.array(
    [(_COLUMN * k + _FORM * i, _COLUMN * i + _FORM * k) for i, k in _UPPER]
    + [(_COLUMN * k + _FORM * 3, _COLUMN * k + _FORM * 3) for k in range(3)],
    dtype=np.uint16,
)

# Offsets in the scratch: the equations of the five points; the matrices X, Y, Z, W; the quadratic forms; their products
# with linear forms; the constraints; the row that is subtracted from the others; the three rows of B(z); the cofactors
# of its last row; det B(z); its roots. The null space is computed in the memory of the quadratic forms before they are
# written: nine rows, whose columns are reflected, and the normal of the reflection. Blocks that are processed as
# vectors begin at multiples of eight.
_FORMS = 5 * 9
_QUADRATICS = 11 * 8
_PRODUCTS = _QUADRATICS + 3 * _COLUMN
_MATRIX = _PRODUCTS + 4 * _COLUMN
_TOP = _MATRIX + 10 * 20
_B = _TOP + 20
_COFACTORS = _B + 3 * 15
_DETERMINANT = _COFACTORS + 3 * 9
_ROOTS = _DETERMINANT + 13
_STURM = (_ROOTS + 10 + 7) // 8 * 8
SCRATCH = _STURM + STURM_SCRATCH
_REFLECTED = _QUADRATICS
_NORMAL = _REFLECTED + 9 * 16

# Largest squared residual of a linearly dependent equation, relative to its squared norm.
_DEPENDENT = 1e-28
# Smallest pivot of the elimination. The basis matrices of E have unit norm.
_SINGULAR = 1e-13


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute up to ten essential matrices of Frobenius norm sqrt(2) from five matches.

    The solutions of the linear equations are E = x X + y Y + z Z + W. The ten cubic constraints det E = 0 and
    2 E E^T E = tr(E E^T) E are reduced by Gaussian elimination. Eliminating x and y then leaves a polynomial of degree
    10 in z.
    """
    write_equations(data, sample, scratch)
    if not _null_space(scratch):
        return 0
    _build_quadratics(scratch)
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

    The equations are the first five columns of nine rows. Householder reflections bring them to triangular form (Golub
    and Van Loan, Matrix Computations, section 5.2). The next nine columns start as the identity matrix and become the
    product of the reflections. The last four rows of this product are orthogonal to the equations.
    """
    for i in range(_REFLECTED, _NORMAL):
        a[i] = 0.0
    for i in range(9):
        a[_REFLECTED + 17 * i + 5] = 1.0
        for r in range(5):
            a[_REFLECTED + 16 * i + r] = a[9 * r + i]
    for k in range(5):
        square, rest = 0.0, 0.0
        for i in range(9):
            entry = a[_REFLECTED + 16 * i + k]
            square += entry * entry
            entry = entry if i >= k else 0.0
            rest += entry * entry
            a[_NORMAL + i] = entry
        if not rest > _DEPENDENT * square or not 0.0 < square < np.inf:
            return False
        # The reflection I - factor v v^T maps the column to a multiple of the unit vector k.
        length = math.copysign(math.sqrt(rest), a[_NORMAL + k])
        a[_NORMAL + k] += length
        _reflect(a, 1.0 / (length * a[_NORMAL + k]))
    # Mix the four rows by an orthonormal transformation. Without it, only W would depend on the last entry of E. That
    # entry can vanish, for example if the camera moves sideways; such an E is not of the form x X + y Y + z Z + W.
    for i in range(9):
        row, f = _REFLECTED + 16 * 5 + 5 + i, _FORMS + i
        p, q = a[row] + a[row + 16], a[row] - a[row + 16]
        r, s = a[row + 32] + a[row + 48], a[row + 32] - a[row + 48]
        a[f], a[f + 9] = 0.5 * (p + r), 0.5 * (q + s)
        a[f + 18], a[f + 27] = 0.5 * (p - r), 0.5 * (q - s)
    return True


@inlined
def _reflect(a: Floats, factor: float) -> None:
    """Apply I - factor v v^T, with v at ``_NORMAL``, to sixteen columns, in a loop that the compiler can vectorise."""
    v0, v1, v2 = a[_NORMAL], a[_NORMAL + 1], a[_NORMAL + 2]
    v3, v4, v5 = a[_NORMAL + 3], a[_NORMAL + 4], a[_NORMAL + 5]
    v6, v7, v8 = a[_NORMAL + 6], a[_NORMAL + 7], a[_NORMAL + 8]
    for j in range(_REFLECTED, _REFLECTED + 16):
        first = v0 * a[j] + v1 * a[j + 16] + v2 * a[j + 32]
        second = v3 * a[j + 48] + v4 * a[j + 64] + v5 * a[j + 80]
        third = v6 * a[j + 96] + v7 * a[j + 112] + v8 * a[j + 128]
        along = factor * (first + second + third)
        a[j] -= along * v0
        a[j + 16] -= along * v1
        a[j + 32] -= along * v2
        a[j + 48] -= along * v3
        a[j + 64] -= along * v4
        a[j + 80] -= along * v5
        a[j + 96] -= along * v6
        a[j + 112] -= along * v7
        a[j + 128] -= along * v8


@inner_kernel
def _build_quadratics(scratch: Floats) -> None:
    """Write the columns of E^T E - trace / 2 and, below them, the cofactors of the first row of E."""
    scratch[_PRODUCTS + 16] = 0.0
    for q in range(9):
        left0, right0 = _FORMS + _FACTORS[q, 0, 0], _FORMS + _FACTORS[q, 0, 1]
        left1, right1, sign1 = _FORMS + _FACTORS[q, 1, 0], _FORMS + _FACTORS[q, 1, 1], _FACTOR_SIGNS[q, 0]
        left2, right2, sign2 = _FORMS + _FACTORS[q, 2, 0], _FORMS + _FACTORS[q, 2, 1], _FACTOR_SIGNS[q, 1]
        for a in range(4):
            f0, f1, f2 = scratch[left0 + 9 * a], sign1 * scratch[left1 + 9 * a], sign2 * scratch[left2 + 9 * a]
            for b in range(0, 36, 9):
                product = f0 * scratch[right0 + b] + f1 * scratch[right1 + b] + f2 * scratch[right2 + b]
                scratch[_PRODUCTS + 4 * a + b // 9] = product
        place, mirror = _QUADRATICS + _PLACES[q, 0], _QUADRATICS + _PLACES[q, 1]
        for m in range(_FORM):
            total = 0.0
            if m < 10:
                total = scratch[_PRODUCTS + _QUADRATIC_SUMS[m, 0]] + scratch[_PRODUCTS + _QUADRATIC_SUMS[m, 1]]
            scratch[place + m] = total
            scratch[mirror + m] = total
    step = _COLUMN + _FORM
    for m in range(_QUADRATICS, _QUADRATICS + 10):
        half = 0.5 * (scratch[m] + scratch[m + step] + scratch[m + 2 * step])
        scratch[m] -= half
        scratch[m + step] -= half
        scratch[m + 2 * step] -= half


@inner_kernel
def _build_constraints(scratch: Floats) -> None:
    """Write the ten constraints as rows of twenty coefficients: the elements of E (E^T E - trace / 2), then det E.

    The loop over the quadratic forms has a fixed length, so that the compiler can vectorise it.
    """
    for j in range(3):
        for b in range(4):
            f, product = _FORMS + 3 * j + 9 * b, _PRODUCTS + _COLUMN * b
            e0, e1, e2 = scratch[f], scratch[f + 1], scratch[f + 2]
            for q in range(_QUADRATICS, _QUADRATICS + _COLUMN):
                total = scratch[q] * e0 + scratch[q + _COLUMN] * e1 + scratch[q + 2 * _COLUMN] * e2
                scratch[product + q - _QUADRATICS] = total
        for i in range(4 if j == 0 else 3):
            out, n = _MATRIX + 20 * (3 * i + j), _PRODUCTS + _FORM * i
            for m in range(20):
                total = scratch[n + _CUBIC_SUMS[m, 0]] + scratch[n + _CUBIC_SUMS[m, 1]] + scratch[n + _CUBIC_SUMS[m, 2]]
                scratch[out + m] = total


@inner_kernel
def _eliminate(scratch: Floats) -> bool:
    """Reduce the first ten columns of the constraints to the identity matrix; only the last six rows are complete."""
    for c in range(_TOP, _B):
        scratch[c] = 0.0
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
        for c in range(k, 20):
            scratch[_TOP + c] = scratch[other + c] * scale
            scratch[other + c] = scratch[top + c]
        _subtract_top(scratch, k)
        for c in range(k, 20):
            scratch[top + c] = scratch[_TOP + c]
        scratch[_TOP + k] = 0.0
    return True


@inlined
def _subtract_top(scratch: Floats, k: int) -> None:
    """Subtract multiples of the row at ``_TOP`` from all rows except the first, so that their column ``k`` vanishes.

    The loop of fixed length is vectorised. Results for row ``k`` and for earlier pivots are not used.
    """
    column = _MATRIX + k
    f1, f2, f3 = scratch[column + 20], scratch[column + 40], scratch[column + 60]
    f4, f5, f6 = scratch[column + 80], scratch[column + 100], scratch[column + 120]
    f7, f8, f9 = scratch[column + 140], scratch[column + 160], scratch[column + 180]
    for c in range(_MATRIX, _MATRIX + 20):
        entry = scratch[c - _MATRIX + _TOP]
        scratch[c + 20] -= f1 * entry
        scratch[c + 40] -= f2 * entry
        scratch[c + 60] -= f3 * entry
        scratch[c + 80] -= f4 * entry
        scratch[c + 100] -= f5 * entry
        scratch[c + 120] -= f6 * entry
        scratch[c + 140] -= f7 * entry
        scratch[c + 160] -= f8 * entry
        scratch[c + 180] -= f9 * entry


@inner_kernel
def _build_determinant(scratch: Floats) -> None:
    """Eliminate x and y: write a 3 x 3 matrix B with B(z) (x, y, 1)^T = 0, and its determinant, as polynomials in z.

    The last six rows of the constraints form three pairs (e, f). The leading monomial of e is z times that of f.
    Therefore e - z f contains only x, y and 1, times powers of z.
    """
    for m in range(3):
        for j in range(3):
            e, out = _MATRIX + 20 * (4 + 2 * m) + 10 + 3 * j, _B + 15 * m + 5 * j
            f, size = e + 20, 3 if j < 2 else 4  # coefficients of e and f in decreasing order
            scratch[out + 4] = 0.0
            scratch[out] = scratch[e + size - 1]
            for i in range(1, size):
                scratch[out + i] = scratch[e + size - 1 - i] - scratch[f + size - i]
            scratch[out + size] = -scratch[f]
    for j in range(3):
        _write_cofactor(scratch, _B + 5 * (j + 1 if j < 2 else 0), _B + 5 * (j - 1 if j > 0 else 2), _COFACTORS + 9 * j)
    for i in range(_DETERMINANT, _ROOTS):
        scratch[i] = 0.0
    last = _B + 30
    for i in range(9):
        x, y, w = scratch[_COFACTORS + i], scratch[_COFACTORS + 9 + i], scratch[_COFACTORS + 18 + i]
        for k in range(5):
            b, at = last + k, _DETERMINANT + i + k
            scratch[at] = scratch[at] + x * scratch[b] + y * scratch[b + 5] + w * scratch[b + 10]


@inlined
def _write_cofactor(scratch: Floats, a: int, b: int, out: int) -> None:
    """Write the minor of columns ``a`` and ``b`` of the first two rows of B(z), as nine coefficients."""
    p0, q0 = scratch[b + 15], scratch[a + 15]
    p1, q1 = scratch[b + 16], scratch[a + 16]
    p2, q2 = scratch[b + 17], scratch[a + 17]
    p3, q3 = scratch[b + 18], scratch[a + 18]
    p4, q4 = scratch[b + 19], scratch[a + 19]
    r0 = r1 = r2 = r3 = 0.0  # contributions to the coefficients that follow
    for i in range(5):
        x, y = scratch[a + i], scratch[b + i]
        scratch[out + i] = r0 + x * p0 - y * q0
        r0 = r1 + x * p1 - y * q1
        r1 = r2 + x * p2 - y * q2
        r2 = r3 + x * p3 - y * q3
        r3 = x * p4 - y * q4
    scratch[out + 5], scratch[out + 6] = r0, r1
    scratch[out + 7], scratch[out + 8] = r2, r3


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
    """Compute up to ten essential matrices (K, 3, 3) from normalised points (5, 2); none of degenerate matches.

    The singular values of a matrix are (1, 1, 0).
    """
    models = np.empty((10, 9))
    count = _solve(stack_matches(x1, x2, 5), np.arange(5), models, np.empty(SCRATCH))
    return models[:count].reshape(-1, 3, 3)


_solve = kernel(solve)
