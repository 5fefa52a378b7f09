"""The essential matrix: x2^T E x1 = 0 for rays x1, x2 of calibrated cameras, with singular values (1, 1, 0).

Minimal solver: five points (Nister, An efficient solution to the five-point relative pose problem, PAMI 2004). The data
are normalised image coordinates (K^-1 applied); the residual is the Sampson distance in these units.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.numeric.jit import kernel
from bansac.numeric.linalg import diagonalize
from bansac.numeric.polynomial import STURM_SCRATCH, sturm_roots
from bansac.problems.contract import Problem
from bansac.problems.epipolar import FIT_SCRATCH, fit_eight_point, is_oriented, residuals

__all__ = ["ESSENTIAL", "decompose_essential", "essential_5pt", "recover_pose"]

_NEGLIGIBLE = 1e-14

# Scratch: null space (4 x 9), E E^T (6 x 10), constraints (10 x 20), polynomials, roots.
_NULL = 0
_FORMS = _NULL + 45  # the 9 linear forms of E
_SQUARE = _FORMS + 36
_CONSTRAINTS = _SQUARE + 70
_POLYNOMIALS = _CONSTRAINTS + 200
_DETERMINANT = 63  # within the polynomials
_ROOTS = _POLYNOMIALS + _DETERMINANT + 11
_STURM = _ROOTS + 10
_SCRATCH = max(_STURM + STURM_SCRATCH, FIT_SCRATCH)


def solve(
    data: NDArray[np.float64], sample: NDArray[np.int64], models: NDArray[np.float64], scratch: NDArray[np.float64]
) -> int:
    """Compute the up to ten essential matrices of five matches.

    The matrices that agree with the matches are E = x X + y Y + z Z + W. The ten cubic constraints det E = 0 and
    2 E E^T E = tr(E E^T) E are brought to a triangular form, from which x and y are eliminated; what remains is a
    polynomial of degree 10 in z.
    """
    forms = scratch[_FORMS:_SQUARE]
    if not _null_space(data, sample, scratch[_NULL:_FORMS], forms):
        return 0
    constraints = scratch[_CONSTRAINTS:_POLYNOMIALS]
    _build_constraints(forms, scratch[_SQUARE:_CONSTRAINTS], constraints)
    if not _eliminate(constraints):
        return 0
    polynomials = scratch[_POLYNOMIALS:_ROOTS]
    _resultant(constraints, polynomials)
    roots = scratch[_ROOTS:_STURM]
    found = sturm_roots(polynomials[_DETERMINANT:], 10, roots, scratch[_STURM:])
    count = 0
    for k in range(found):
        z = roots[k]
        p, q, r = 0.0, 0.0, 0.0
        for i in range(7, -1, -1):
            p = p * z + polynomials[i]
            q = q * z + polynomials[8 + i]
            r = r * z + polynomials[16 + i]
        if r == 0.0:
            continue
        x, y = p / r, q / r
        square = 0.0
        for i in range(9):
            entry = x * forms[4 * i] + y * forms[4 * i + 1] + z * forms[4 * i + 2] + forms[4 * i + 3]
            models[count, i] = entry
            square += entry * entry
        if 0.0 < square < np.inf:
            scale = math.sqrt(2.0 / square)
            for i in range(9):
                models[count, i] *= scale
            count += 1
    return count


@kernel
def _null_space(
    data: NDArray[np.float64], sample: NDArray[np.int64], rows: NDArray[np.float64], forms: NDArray[np.float64]
) -> bool:
    """Write an orthonormal basis X, Y, Z, W of the matrices that agree with five matches.

    ``forms[4 * i : 4 * i + 4]`` becomes entry i of the four basis matrices. Householder reflections bring the
    transposed equations (9 x 5, stored as ``rows``, 5 x 9) to triangular form; applied to the last four unit vectors
    they give the basis.
    """
    for r in range(5):
        i = sample[r]
        x1, y1, x2, y2 = data[0, i], data[1, i], data[2, i], data[3, i]
        row = rows[9 * r : 9 * r + 9]
        row[0], row[1], row[2] = x2 * x1, x2 * y1, x2
        row[3], row[4], row[5] = y2 * x1, y2 * y1, y2
        row[6], row[7], row[8] = x1, y1, 1.0
    for k in range(5):
        v = rows[9 * k : 9 * k + 9]
        square = 0.0
        for i in range(k, 9):
            square += v[i] * v[i]
        if not square > _NEGLIGIBLE:
            return False
        norm = math.sqrt(square)
        head = v[k] + math.copysign(norm, v[k])
        scale = math.sqrt(2.0 / (square - v[k] * v[k] + head * head))  # |v|^2 becomes 2: the reflection is I - v v^T
        v[k] = head
        for i in range(k, 9):
            v[i] *= scale
        for r in range(k + 1, 5):
            _reflect(v, k, rows[9 * r : 9 * r + 9], 1)
    for i in range(36):
        forms[i] = 0.0
    for column in range(4):
        forms[4 * (5 + column) + column] = 1.0
        for k in range(4, -1, -1):
            _reflect(rows[9 * k : 9 * k + 9], k, forms[column:], 4)
    return True


@kernel
def _reflect(v: NDArray[np.float64], first: int, vector: NDArray[np.float64], stride: int) -> None:
    """Apply the Householder reflection I - v v^T to the nine numbers ``vector[::stride]``."""
    along = 0.0
    for i in range(first, 9):
        along += v[i] * vector[stride * i]
    for i in range(first, 9):
        vector[stride * i] -= along * v[i]


@kernel
def _build_constraints(
    forms: NDArray[np.float64], square: NDArray[np.float64], constraints: NDArray[np.float64]
) -> None:
    """Write det E = 0 and E E^T E - tr(E E^T) E / 2 = 0 as ten rows of twenty coefficients."""
    for i in range(60):
        square[i] = 0.0
    for i in range(200):
        constraints[i] = 0.0
    trace = square[60:70]
    for m in range(10):
        trace[m] = 0.0
    for i in range(3):
        for j in range(i, 3):
            entry = square[10 * _symmetric(i, j) :]
            for k in range(3):
                _multiply_linear(forms[4 * (3 * i + k) :], forms[4 * (3 * j + k) :], 1.0, entry)
        for m in range(10):
            trace[m] += 0.5 * square[10 * _symmetric(i, i) + m]
    for i in range(3):
        for m in range(10):
            square[10 * _symmetric(i, i) + m] -= trace[m]
    for i in range(3):
        for j in range(3):
            row = constraints[20 * (3 * i + j + 1) :]
            for k in range(3):
                low, high = (i, k) if i < k else (k, i)
                _multiply_quadratic(square[10 * _symmetric(low, high) :], forms[4 * (3 * k + j) :], row)
    minor = square[:10]
    for j in range(3):
        k, m = (j + 1) % 3, (j + 2) % 3
        for i in range(10):
            minor[i] = 0.0
        _multiply_linear(forms[4 * (3 + k) :], forms[4 * (6 + m) :], 1.0, minor)
        _multiply_linear(forms[4 * (3 + m) :], forms[4 * (6 + k) :], -1.0, minor)
        _multiply_quadratic(minor, forms[4 * j :], constraints)


@kernel
def _symmetric(i: int, j: int) -> int:
    """Index of entry (i, j), i <= j, of a symmetric 3 x 3 matrix stored as its upper triangle."""
    return 2 * i + j - (1 if i == 2 else 0)


@kernel
def _multiply_linear(a: NDArray[np.float64], b: NDArray[np.float64], sign: float, product: NDArray[np.float64]) -> None:
    """Add sign * a * b to ``product``: two linear forms over x, y, z, 1 give a quadratic one.

    Its monomials are xx, xy, xz, x, yy, yz, y, zz, z, 1.
    """
    a0, a1, a2, a3 = sign * a[0], sign * a[1], sign * a[2], sign * a[3]
    b0, b1, b2, b3 = b[0], b[1], b[2], b[3]
    product[0] += a0 * b0
    product[1] += a0 * b1 + a1 * b0
    product[2] += a0 * b2 + a2 * b0
    product[3] += a0 * b3 + a3 * b0
    product[4] += a1 * b1
    product[5] += a1 * b2 + a2 * b1
    product[6] += a1 * b3 + a3 * b1
    product[7] += a2 * b2
    product[8] += a2 * b3 + a3 * b2
    product[9] += a3 * b3


@kernel
def _multiply_quadratic(a: NDArray[np.float64], b: NDArray[np.float64], product: NDArray[np.float64]) -> None:
    """Add a * b, a quadratic and a linear form, to ``product``, a cubic.

    Its monomials are in the order of Nister's table: xxx, yyy, xxy, xyy, xxz, xx, yyz, yy, xyz, xy, which are to be
    eliminated, and xzz, xz, x, yzz, yz, y, zzz, zz, z, 1.
    """
    a0, a1, a2, a3, a4 = a[0], a[1], a[2], a[3], a[4]
    a5, a6, a7, a8, a9 = a[5], a[6], a[7], a[8], a[9]
    b0, b1, b2, b3 = b[0], b[1], b[2], b[3]
    product[0] += a0 * b0
    product[1] += a4 * b1
    product[2] += a0 * b1 + a1 * b0
    product[3] += a1 * b1 + a4 * b0
    product[4] += a0 * b2 + a2 * b0
    product[5] += a0 * b3 + a3 * b0
    product[6] += a4 * b2 + a5 * b1
    product[7] += a4 * b3 + a6 * b1
    product[8] += a1 * b2 + a2 * b1 + a5 * b0
    product[9] += a1 * b3 + a3 * b1 + a6 * b0
    product[10] += a2 * b2 + a7 * b0
    product[11] += a2 * b3 + a3 * b2 + a8 * b0
    product[12] += a3 * b3 + a9 * b0
    product[13] += a5 * b2 + a7 * b1
    product[14] += a5 * b3 + a6 * b2 + a8 * b1
    product[15] += a6 * b3 + a9 * b1
    product[16] += a7 * b2
    product[17] += a7 * b3 + a8 * b2
    product[18] += a8 * b3 + a9 * b2
    product[19] += a9 * b3


@kernel
def _eliminate(constraints: NDArray[np.float64]) -> bool:
    """Bring the first ten columns of the 10 x 20 constraints to the identity, in the last six rows (all we need)."""
    for k in range(10):
        pivot, largest = k, 0.0
        for r in range(k, 10):
            size = abs(constraints[20 * r + k])
            if size > largest:
                pivot, largest = r, size
        if not largest > _NEGLIGIBLE:
            return False
        top = constraints[20 * k : 20 * k + 20]
        other = constraints[20 * pivot : 20 * pivot + 20]
        scale = 1.0 / other[k]
        for c in range(k, 20):
            entry = other[c] * scale
            other[c] = top[c]
            top[c] = entry
        for r in range(4 if k > 4 else k + 1, 10):
            if r == k:
                continue
            row = constraints[20 * r : 20 * r + 20]
            factor = row[k]
            for c in range(k, 20):
                row[c] -= factor * top[c]
    return True


@kernel
def _resultant(constraints: NDArray[np.float64], polynomials: NDArray[np.float64]) -> None:
    """Eliminate x and y from the last six rows.

    Row e has the leading monomial z times that of the next row f, so e - z f is linear in x and y with coefficients in
    z: three of these make a 3 x 3 matrix B(z) with B(z) (x, y, 1)^T = 0. ``polynomials`` gets, in increasing order, p, q
    and r with x = p / r and y = q / r (8 numbers each), B (3 rows of 4, 4 and 5 numbers), and det B (11 numbers).
    """
    for i in range(24):
        polynomials[i] = 0.0
    for i in range(11):
        polynomials[_DETERMINANT + i] = 0.0
    for m in range(3):
        e = constraints[20 * (4 + 2 * m) + 10 :]
        f = constraints[20 * (5 + 2 * m) + 10 :]
        row = polynomials[24 + 13 * m :]
        for part, (start, size) in enumerate(((0, 3), (3, 3), (6, 4))):
            out = row[4 * part :]
            for i in range(size + 1):
                out[i] = 0.0
            for i in range(size):  # e and f have the highest power first
                out[size - 1 - i] += e[start + i]
                out[size - i] -= f[start + i]
    first, second, third = polynomials[24:], polynomials[37:], polynomials[50:]
    p, q, r = polynomials[0:], polynomials[8:], polynomials[16:]
    _add_product(first[4:], 4, second[8:], 5, 1.0, p)
    _add_product(second[4:], 4, first[8:], 5, -1.0, p)
    _add_product(first[8:], 5, second, 4, 1.0, q)
    _add_product(second[8:], 5, first, 4, -1.0, q)
    _add_product(first, 4, second[4:], 4, 1.0, r)
    _add_product(second, 4, first[4:], 4, -1.0, r)
    determinant = polynomials[_DETERMINANT:]
    _add_product(p, 8, third, 4, 1.0, determinant)
    _add_product(q, 8, third[4:], 4, 1.0, determinant)
    _add_product(r, 7, third[8:], 5, 1.0, determinant)


@kernel
def _add_product(
    a: NDArray[np.float64], a_size: int, b: NDArray[np.float64], b_size: int, sign: float, product: NDArray[np.float64]
) -> None:
    """Add sign * a * b, polynomials of ``a_size`` and ``b_size`` coefficients, to ``product``."""
    for i in range(a_size):
        factor = sign * a[i]
        for j in range(b_size):
            product[i + j] += factor * b[j]


def fit(
    data: NDArray[np.float64], weights: NDArray[np.float64], model: NDArray[np.float64], scratch: NDArray[np.float64]
) -> bool:
    """Fit E to weighted matches: eight-point algorithm, then the nearest matrix with two equal singular values."""
    return fit_eight_point(data, weights, model, scratch) and _equalize(model, scratch)


@kernel
def _equalize(model: NDArray[np.float64], scratch: NDArray[np.float64]) -> bool:
    """Replace a 3 x 3 matrix A = U S V^T by U diag(1, 1, 0) V^T = sum over the two largest of A v v^T / |A v|."""
    normal, vectors, result = scratch[:9], scratch[9:18], scratch[18:27]
    for i in range(3):
        for j in range(3):
            normal[3 * i + j] = model[i] * model[j] + model[3 + i] * model[3 + j] + model[6 + i] * model[6 + j]
    diagonalize(normal, vectors, 3)
    smallest = 0
    for i in range(1, 3):
        smallest = i if normal[4 * i] < normal[4 * smallest] else smallest
    for i in range(9):
        result[i] = 0.0
    for k in range(3):
        if k == smallest:
            continue
        v = vectors[3 * k : 3 * k + 3]
        a = model[0] * v[0] + model[1] * v[1] + model[2] * v[2]
        b = model[3] * v[0] + model[4] * v[1] + model[5] * v[2]
        c = model[6] * v[0] + model[7] * v[1] + model[8] * v[2]
        size = math.sqrt(a * a + b * b + c * c)
        if not size > 0.0:
            return False
        for j in range(3):
            result[j] += a * v[j] / size
            result[3 + j] += b * v[j] / size
            result[6 + j] += c * v[j] / size
    for i in range(9):
        model[i] = result[i]
    return True


def canonical(model: NDArray[np.float64]) -> None:
    """Give E the singular values (1, 1, 0), to rounding, and a positive largest entry."""
    U, _, Vt = np.linalg.svd(model.reshape(3, 3))
    model[:] = (U[:, :2] @ Vt[:2]).ravel()
    model *= np.copysign(1.0, model[np.argmax(np.abs(model))])


def decompose_essential(E: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Take an essential matrix apart: E = [t]x R1 up to scale, and the same with R2 and with -t.

    Parameters
    ----------
    E : (3, 3) array_like
        An essential matrix.

    Returns
    -------
    R1, R2 : (3, 3) ndarray
        The two rotations.
    t : (3,) ndarray
        Unit vector; its sign is not determined.

    Raises
    ------
    ValueError
        If ``E`` is not a finite 3 x 3 matrix.

    Notes
    -----
    Hartley and Zisserman, Multiple View Geometry, 2nd ed., section 9.6.2.

    Examples
    --------
    >>> import numpy as np
    >>> from bansac.problems.essential import decompose_essential
    >>> R1, R2, t = decompose_essential([[0, 0, 0], [0, 0, -1], [0, 1, 0]])
    >>> bool(np.allclose(np.abs(t), [1, 0, 0]))
    True
    """
    matrix = np.asarray(E, dtype=np.float64)
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise ValueError(f"E must be a finite 3 x 3 matrix, got {matrix.tolist()}")
    U, _, Vt = np.linalg.svd(matrix)
    U *= np.linalg.det(U)
    Vt *= np.linalg.det(Vt)
    W = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    return U @ W @ Vt, U @ W.T @ Vt, U[:, 2].copy()


def recover_pose(
    E: ArrayLike, x1: ArrayLike, x2: ArrayLike, inliers: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Choose the motion of an essential matrix that puts most points in front of both cameras.

    Parameters
    ----------
    E : (3, 3) array_like
        An essential matrix.
    x1, x2 : (N, 2) array_like
        Matched points in normalised coordinates.
    inliers : (N,) array_like of bool, optional
        The points to look at; all by default.

    Returns
    -------
    R : (3, 3) ndarray
        Rotation from the first camera to the second.
    t : (3,) ndarray
        Direction of the translation, ``X2 = R X1 + t``.
    in_front : int
        Number of points with positive depth in both cameras.

    Raises
    ------
    ValueError
        If ``E`` is not a finite 3 x 3 matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from bansac.problems.essential import recover_pose
    >>> X = np.array([[0, 0, 4], [1, 0, 5], [0, 1, 6.0]])
    >>> Y = X + [1, 0, 0]
    >>> E = [[0, 0, 0], [0, 0, -1], [0, 1, 0]]
    >>> R, t, in_front = recover_pose(E, X[:, :2] / X[:, 2:], Y[:, :2] / Y[:, 2:])
    >>> in_front, bool(np.allclose(R, np.eye(3))), bool(np.allclose(t, [1, 0, 0]))
    (3, True, True)
    """
    first, second, t = decompose_essential(E)
    rays1, rays2 = np.asarray(x1, dtype=np.float64), np.asarray(x2, dtype=np.float64)
    if inliers is not None:
        chosen = np.asarray(inliers, dtype=np.bool_)
        rays1, rays2 = rays1[chosen], rays2[chosen]
    candidates = [(R, sign * t) for R in (first, second) for sign in (1.0, -1.0)]
    counts = [_count_in_front(R, s, rays1, rays2) for R, s in candidates]
    best = int(np.argmax(counts))
    return (*candidates[best], counts[best])


def _count_in_front(
    R: NDArray[np.float64], t: NDArray[np.float64], x1: NDArray[np.float64], x2: NDArray[np.float64]
) -> int:
    """Count the points with positive depths d1, d2 in the least-squares solution of d2 (x2, 1) = d1 R (x1, 1) + t."""
    a = x1 @ R[:, :2].T + R[:, 2]
    b = np.column_stack([x2, np.ones(len(x2))])
    aa, bb, ab = (a * a).sum(axis=1), (b * b).sum(axis=1), (a * b).sum(axis=1)
    at, bt = a @ t, b @ t
    determinant = aa * bb - ab * ab  # not negative
    d1 = ab * bt - bb * at
    d2 = aa * bt - ab * at
    return int(np.count_nonzero((d1 > 0) & (d2 > 0) & (determinant > 0)))


ESSENTIAL = Problem(
    name="essential matrix",
    channels=4,
    sample_size=5,
    model_shape=(3, 3),
    solve=solve,
    residuals=residuals,
    fit=fit,
    is_valid=is_oriented,
    max_models=10,
    scratch_size=_SCRATCH,
    solver_cost=1000.0,
    precision="float32",
    canonical=canonical,
)


def essential_5pt(x1: ArrayLike, x2: ArrayLike) -> NDArray[np.float64]:
    """Compute the essential matrices of five matches.

    Parameters
    ----------
    x1, x2 : (5, 2) or (5, 3) array_like
        Normalised image points, or rays (x, y, z) with z > 0.

    Returns
    -------
    (K, 3, 3) ndarray
        Up to ten essential matrices E with ``x2^T E x1 = 0``, of singular values (1, 1, 0).

    Raises
    ------
    ValueError
        If ``x1`` or ``x2`` has another shape.

    Examples
    --------
    >>> import numpy as np
    >>> from bansac.problems.essential import essential_5pt
    >>> x1 = np.array([[0, 0], [0.5, 0.1], [-0.3, 0.4], [0.2, -0.6], [-0.7, -0.2]])
    >>> x2 = x1 + [[0.25, 0], [0.2, 0], [0.1, 0], [0.3, 0], [0.15, 0]]
    >>> E = essential_5pt(x1, x2)
    >>> bool(np.min(np.linalg.norm(np.abs(E) - [[0, 0, 0], [0, 0, 1], [0, 1, 0]], axis=(1, 2))) < 1e-6)
    True
    """
    first = np.ascontiguousarray(x1, dtype=np.float64)
    second = np.ascontiguousarray(x2, dtype=np.float64)
    for name, points in (("x1", first), ("x2", second)):
        if points.shape != (5, 2) and points.shape != (5, 3):
            raise ValueError(f"{name} must have shape (5, 2) or (5, 3), got {points.shape}")
    models: NDArray[np.float64] = _solve_arrays(first, second)
    return models


_solve = kernel(solve)


@kernel
def _solve_arrays(x1: NDArray[np.float64], x2: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lay five points or rays out for ``solve`` and return its models; one call into compiled code is the fastest."""
    data = np.empty((4, 5))
    for i in range(5):
        depth1 = x1[i, 2] if x1.shape[1] == 3 else 1.0
        depth2 = x2[i, 2] if x2.shape[1] == 3 else 1.0
        data[0, i], data[1, i] = x1[i, 0] / depth1, x1[i, 1] / depth1
        data[2, i], data[3, i] = x2[i, 0] / depth2, x2[i, 1] / depth2
    models = np.empty((10, 3, 3))
    count = _solve(data, np.arange(5), models.reshape(10, 9), np.empty(_SCRATCH))
    return models[:count]
