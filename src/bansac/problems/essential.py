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

# Layout of the scratch array. Helpers get it whole, with places in it: slices of arrays compile slowly.
_ROWS = 0  # the five equations, 5 x 9
_BASIS = _ROWS + 45  # X, Y, Z, W, 4 x 9
_SQUARE = _BASIS + 36  # six quadratic forms, and the trace
_CONSTRAINTS = _SQUARE + 70  # 10 x 20
_B = _CONSTRAINTS + 200  # 3 x 3 polynomials of 5 coefficients
_P = _B + 45  # p, q and r, 9 coefficients each
_DETERMINANT = _P + 27
_ROOTS = _DETERMINANT + 13
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
    if not _find_null_space(data, sample, scratch):
        return 0
    _build_constraints(scratch)
    if not _eliminate(scratch):
        return 0
    _build_determinant(scratch)
    found = sturm_roots(scratch[_DETERMINANT:_ROOTS], 10, scratch[_ROOTS:_STURM], scratch[_STURM:])
    count = 0
    for k in range(found):
        z = scratch[_ROOTS + k]
        p = 0.0
        q = 0.0
        r = 0.0
        for i in range(7, -1, -1):
            p = p * z + scratch[_P + i]
            q = q * z + scratch[_P + 9 + i]
            r = r * z + scratch[_P + 18 + i]
        if r == 0.0:
            continue
        x = p / r
        y = q / r
        square = 0.0
        for i in range(9):
            entry = x * scratch[_BASIS + i] + y * scratch[_BASIS + 9 + i]
            entry += z * scratch[_BASIS + 18 + i] + scratch[_BASIS + 27 + i]
            models[count, i] = entry
            square += entry * entry
        if 0.0 < square < np.inf:
            scale = math.sqrt(2.0 / square)
            for i in range(9):
                models[count, i] *= scale
            count += 1
    return count


@kernel
def _find_null_space(data: NDArray[np.float64], sample: NDArray[np.int64], scratch: NDArray[np.float64]) -> bool:
    """Find an orthonormal basis X, Y, Z, W of the matrices that agree with five matches.

    Householder reflections bring the transposed equations to triangular form; applied to the last four unit vectors
    they give the basis.
    """
    for r in range(5):
        n = sample[r]
        for i in range(3):
            second = data[2 + i, n] if i < 2 else 1.0
            row = _ROWS + 9 * r + 3 * i
            scratch[row] = second * data[0, n]
            scratch[row + 1] = second * data[1, n]
            scratch[row + 2] = second
    for k in range(5):
        v = _ROWS + 9 * k
        square = 0.0
        for i in range(k, 9):
            square += scratch[v + i] * scratch[v + i]
        if not square > _NEGLIGIBLE:
            return False
        old = scratch[v + k]
        new = old + math.copysign(math.sqrt(square), old)
        scratch[v + k] = new
        scale = math.sqrt(2.0 / (square - old * old + new * new))  # |v|^2 becomes 2: the reflection is I - v v^T
        for i in range(k, 9):
            scratch[v + i] *= scale
        for r in range(k + 1, 5):
            _reflect(scratch, v, k, _ROWS + 9 * r)
    for column in range(4):
        vector = _BASIS + 9 * column
        for i in range(9):
            scratch[vector + i] = 1.0 if i == 5 + column else 0.0
        for k in range(4, -1, -1):
            _reflect(scratch, _ROWS + 9 * k, k, vector)
    return True


@kernel
def _reflect(scratch: NDArray[np.float64], v: int, first: int, vector: int) -> None:
    """Apply the Householder reflection I - v v^T, v being zero before its entry ``first``, to a vector of nine."""
    along = 0.0
    for i in range(first, 9):
        along += scratch[v + i] * scratch[vector + i]
    for i in range(first, 9):
        scratch[vector + i] -= along * scratch[v + i]


@kernel
def _build_constraints(scratch: NDArray[np.float64]) -> None:
    """Write E E^T E - tr(E E^T) E / 2 = 0 and det E = 0 as ten rows of twenty coefficients."""
    trace = _SQUARE + 60
    for i in range(70):
        scratch[_SQUARE + i] = 0.0
    for i in range(200):
        scratch[_CONSTRAINTS + i] = 0.0
    for i in range(3):
        for j in range(i, 3):
            for k in range(3):
                first = _BASIS + 3 * i + k
                _multiply_linear(scratch, first, _BASIS + 3 * j + k, 1.0, _SQUARE + 10 * _symmetric(i, j))
        for m in range(10):
            scratch[trace + m] += 0.5 * scratch[_SQUARE + 10 * _symmetric(i, i) + m]
    for i in range(3):
        for m in range(10):
            scratch[_SQUARE + 10 * _symmetric(i, i) + m] -= scratch[trace + m]
    for i in range(3):
        for j in range(3):
            for k in range(3):
                square = _SQUARE + 10 * (_symmetric(i, k) if i < k else _symmetric(k, i))
                _multiply_quadratic(scratch, square, _BASIS + 3 * k + j, _CONSTRAINTS + 20 * (3 * i + j))
    for j in range(3):  # the squares are not needed any more: their place takes the minors of the first row
        minor = _SQUARE + 10 * j
        for m in range(10):
            scratch[minor + m] = 0.0
        k = j + 1 if j < 2 else 0
        m = k + 1 if k < 2 else 0
        _multiply_linear(scratch, _BASIS + 3 + k, _BASIS + 6 + m, 1.0, minor)
        _multiply_linear(scratch, _BASIS + 3 + m, _BASIS + 6 + k, -1.0, minor)
        _multiply_quadratic(scratch, minor, _BASIS + j, _CONSTRAINTS + 180)


@kernel
def _symmetric(i: int, j: int) -> int:
    """Index of entry (i, j), i <= j, of a symmetric 3 x 3 matrix stored as its upper triangle."""
    return 2 * i + j - (1 if i == 2 else 0)


@kernel
def _multiply_linear(scratch: NDArray[np.float64], a: int, b: int, sign: float, out: int) -> None:
    """Add sign times the product of two linear forms over x, y, z, 1 to a quadratic one.

    A form is an entry of E, its coefficients are those of X, Y, Z, W. The monomials of the product are xx, xy, xz, x,
    yy, yz, y, zz, z, 1.
    """
    a0 = sign * scratch[a]
    a1 = sign * scratch[a + 9]
    a2 = sign * scratch[a + 18]
    a3 = sign * scratch[a + 27]
    b0 = scratch[b]
    b1 = scratch[b + 9]
    b2 = scratch[b + 18]
    b3 = scratch[b + 27]
    scratch[out] += a0 * b0
    scratch[out + 1] += a0 * b1 + a1 * b0
    scratch[out + 2] += a0 * b2 + a2 * b0
    scratch[out + 3] += a0 * b3 + a3 * b0
    scratch[out + 4] += a1 * b1
    scratch[out + 5] += a1 * b2 + a2 * b1
    scratch[out + 6] += a1 * b3 + a3 * b1
    scratch[out + 7] += a2 * b2
    scratch[out + 8] += a2 * b3 + a3 * b2
    scratch[out + 9] += a3 * b3


@kernel
def _multiply_quadratic(scratch: NDArray[np.float64], a: int, b: int, out: int) -> None:
    """Add the product of a quadratic and a linear form to a cubic one.

    Its monomials are in the order of Nister's table: xxx, yyy, xxy, xyy, xxz, xx, yyz, yy, xyz, xy, which are to be
    eliminated, and xzz, xz, x, yzz, yz, y, zzz, zz, z, 1.
    """
    a0 = scratch[a]
    a1 = scratch[a + 1]
    a2 = scratch[a + 2]
    a3 = scratch[a + 3]
    a4 = scratch[a + 4]
    a5 = scratch[a + 5]
    a6 = scratch[a + 6]
    a7 = scratch[a + 7]
    a8 = scratch[a + 8]
    a9 = scratch[a + 9]
    b0 = scratch[b]
    b1 = scratch[b + 9]
    b2 = scratch[b + 18]
    b3 = scratch[b + 27]
    scratch[out] += a0 * b0
    scratch[out + 1] += a4 * b1
    scratch[out + 2] += a0 * b1 + a1 * b0
    scratch[out + 3] += a1 * b1 + a4 * b0
    scratch[out + 4] += a0 * b2 + a2 * b0
    scratch[out + 5] += a0 * b3 + a3 * b0
    scratch[out + 6] += a4 * b2 + a5 * b1
    scratch[out + 7] += a4 * b3 + a6 * b1
    scratch[out + 8] += a1 * b2 + a2 * b1 + a5 * b0
    scratch[out + 9] += a1 * b3 + a3 * b1 + a6 * b0
    scratch[out + 10] += a2 * b2 + a7 * b0
    scratch[out + 11] += a2 * b3 + a3 * b2 + a8 * b0
    scratch[out + 12] += a3 * b3 + a9 * b0
    scratch[out + 13] += a5 * b2 + a7 * b1
    scratch[out + 14] += a5 * b3 + a6 * b2 + a8 * b1
    scratch[out + 15] += a6 * b3 + a9 * b1
    scratch[out + 16] += a7 * b2
    scratch[out + 17] += a7 * b3 + a8 * b2
    scratch[out + 18] += a8 * b3 + a9 * b2
    scratch[out + 19] += a9 * b3


@kernel
def _eliminate(scratch: NDArray[np.float64]) -> bool:
    """Bring the first ten columns of the constraints to the identity, in the last six rows: no more is needed."""
    for k in range(10):
        pivot = k
        largest = 0.0
        for r in range(k, 10):
            size = abs(scratch[_CONSTRAINTS + 20 * r + k])
            if size > largest:
                pivot = r
                largest = size
        if not largest > _NEGLIGIBLE:
            return False
        top = _CONSTRAINTS + 20 * k
        other = _CONSTRAINTS + 20 * pivot
        scale = 1.0 / scratch[other + k]
        for c in range(k, 20):
            entry = scratch[other + c] * scale
            scratch[other + c] = scratch[top + c]
            scratch[top + c] = entry
        for r in range(4 if k > 4 else k + 1, 10):
            if r == k:
                continue
            row = _CONSTRAINTS + 20 * r
            factor = scratch[row + k]
            for c in range(k, 20):
                scratch[row + c] -= factor * scratch[top + c]
    return True


@kernel
def _build_determinant(scratch: NDArray[np.float64]) -> None:
    """Eliminate x and y from the last six rows.

    Row e has the leading monomial z times that of the next row f, so e - z f is linear in x and y with coefficients in
    z: three of these make a 3 x 3 matrix B(z) with B(z) (x, y, 1)^T = 0. What is left are det B, and p, q and r with
    x = p / r and y = q / r. Coefficients of powers of z stand in increasing order.
    """
    for i in range(_B, _ROOTS):
        scratch[i] = 0.0
    for m in range(3):
        for part in range(3):
            e = _CONSTRAINTS + 20 * (4 + 2 * m) + 10 + 3 * part
            f = e + 20
            out = _B + 15 * m + 5 * part
            size = 4 if part == 2 else 3
            for i in range(size):  # in e and f the highest power comes first
                scratch[out + size - 1 - i] += scratch[e + i]
                scratch[out + size - i] -= scratch[f + i]
    for i in range(5):
        for j in range(5):
            first = _B + i
            second = _B + 15 + j
            scratch[_P + i + j] += scratch[first + 5] * scratch[second + 10] - scratch[second + 5] * scratch[first + 10]
            scratch[_P + 9 + i + j] += scratch[first + 10] * scratch[second] - scratch[second + 10] * scratch[first]
            scratch[_P + 18 + i + j] += scratch[first] * scratch[second + 5] - scratch[second] * scratch[first + 5]
    for i in range(8):
        for j in range(5):
            third = _B + 30 + j
            term = scratch[_P + i] * scratch[third] + scratch[_P + 9 + i] * scratch[third + 5]
            scratch[_DETERMINANT + i + j] += term + scratch[_P + 18 + i] * scratch[third + 10]


def fit(
    data: NDArray[np.float64], weights: NDArray[np.float64], model: NDArray[np.float64], scratch: NDArray[np.float64]
) -> bool:
    """Fit E to weighted matches: eight-point algorithm, then the nearest matrix with two equal singular values."""
    return fit_eight_point(data, weights, model, scratch) and _equalize(model, scratch)


@kernel
def _equalize(model: NDArray[np.float64], scratch: NDArray[np.float64]) -> bool:
    """Replace a 3 x 3 matrix A = U S V^T by U diag(1, 1, 0) V^T = sum over the two largest of A v v^T / |A v|."""
    normal, vectors, result, null = scratch[:9], scratch[9:18], scratch[18:27], scratch[27:30]
    for i in range(3):
        for j in range(3):
            normal[3 * i + j] = model[i] * model[j] + model[3 + i] * model[3 + j] + model[6 + i] * model[6 + j]
    diagonalize(normal, vectors, null)
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
    if first.shape not in _FIVE_POINTS:
        raise ValueError(f"x1 must have shape (5, 2) or (5, 3), got {first.shape}")
    if second.shape not in _FIVE_POINTS:
        raise ValueError(f"x2 must have shape (5, 2) or (5, 3), got {second.shape}")
    models: NDArray[np.float64] = _solve_arrays(first, second)
    return models


_FIVE_POINTS = ((5, 2), (5, 3))
_ORDER = np.arange(5)
_solve = kernel(solve)


@kernel
def _solve_arrays(x1: NDArray[np.float64], x2: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lay five points or rays out for ``solve`` and return its models; one call into compiled code is the fastest."""
    scratch = np.empty(_SCRATCH + 20)
    data = scratch[_SCRATCH:].reshape(4, 5)
    for i in range(5):
        depth1 = x1[i, 2] if x1.shape[1] == 3 else 1.0
        depth2 = x2[i, 2] if x2.shape[1] == 3 else 1.0
        data[0, i], data[1, i] = x1[i, 0] / depth1, x1[i, 1] / depth1
        data[2, i], data[3, i] = x2[i, 0] / depth2, x2[i, 1] / depth2
    models = np.empty((10, 3, 3))
    count = _solve(data, _ORDER, models.reshape(10, 9), scratch)
    return models[:count]
