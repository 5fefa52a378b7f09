"""Linear algebra of small fixed sizes, without allocation."""

import math

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel
from bansac.maths.arrays import Floats, Reals

# Added to the eigenvalues of a semidefinite matrix, relative to its trace: above rounding errors, below the data.
_SHIFT = 1e-14
# A pivot up to this multiple of the shift counts as zero.
_VANISHING = 100.0
# After k squarings the share of the other eigenvectors is (smallest eigenvalue / next one)^(2^k).
_SQUARINGS = 30
_CONVERGED = 1e-15

TINY = 1e-300
"""Added to a length, it keeps the direction of a vector of length 0 finite; it is then 0."""

SCATTER_SCRATCH = 3 + 2 * 9 + 3
"""Length of the scratch of a fit to points in space: centroid, scatter matrix, and the scratch for its eigenvector."""

Entries = tuple[float, float, float, float, float, float, float, float, float]


@inlined
def copy(source: Reals, target: Reals) -> None:
    """Copy a vector into ``target``, converting to its number type."""
    for i in range(source.size):
        target[i] = source[i]


@inlined
def matrix_entries(matrix: Reals) -> Entries:
    """Return the nine entries of a flat 3 x 3 matrix as a tuple, which loops keep in registers."""
    return matrix[0], matrix[1], matrix[2], matrix[3], matrix[4], matrix[5], matrix[6], matrix[7], matrix[8]


@inner_kernel
def determinant(matrix: Floats) -> float:
    """Return the determinant of a flat 3 x 3 matrix."""
    a, b, c, d, e, f, g, h, i = matrix_entries(matrix)
    value: float = a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
    return value


@inlined
def write_cross(s: Floats, a: int, b: int, out: int) -> None:
    """Write the cross product of the vectors at ``s[a]`` and ``s[b]`` to ``s[out]``."""
    ax, ay, az, bx, by, bz = s[a], s[a + 1], s[a + 2], s[b], s[b + 1], s[b + 2]
    s[out], s[out + 1], s[out + 2] = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@inlined
def longest_cross(f: Floats, row: int, column: int) -> tuple[float, float, float]:
    """Return the longest cross product of two columns of a flat 3 x 3 matrix, which is orthogonal to both.

    ``row`` and ``column`` are the strides of rows and columns, 3 and 1; exchanged for the product of two rows.
    """
    ex, ey, ez, size = 0.0, 0.0, 0.0, 0.0
    for j in range(3):
        a, b = column * j, column * (j + 1 if j < 2 else 0)
        x = f[row + a] * f[2 * row + b] - f[2 * row + a] * f[row + b]
        y = f[2 * row + a] * f[b] - f[a] * f[2 * row + b]
        z = f[a] * f[row + b] - f[row + a] * f[b]
        square = x * x + y * y + z * z
        if square > size:
            ex, ey, ez, size = x, y, z, square
    return ex, ey, ez


@inner_kernel
def weighted_centroid(x: Floats, y: Floats, weights: Floats) -> tuple[float, float, float]:
    """Return the sum of the weights and the weighted mean of the points; the mean is NaN if all weights are 0."""
    total, mx, my = 0.0, 0.0, 0.0
    for i in range(weights.size):
        total += weights[i]
        mx += weights[i] * x[i]
        my += weights[i] * y[i]
    if total > 0.0:
        return total, mx / total, my / total
    return 0.0, np.nan, np.nan


@inlined
def weighted_means(data: Floats, weights: Floats, means: Floats) -> bool:
    """Write the weighted means of as many channels of the data as there are means; False if all weights are 0."""
    total = 0.0
    for i in range(weights.size):
        total += weights[i]
    if not total > 0.0:
        return False
    for c in range(means.size):
        mean = 0.0
        for i in range(weights.size):
            mean += weights[i] * data[c, i]
        means[c] = mean / total
    return True


@inner_kernel
def write_scatter(data: Floats, weights: Floats, centroid: Floats, scatter: Floats) -> bool:
    """Write the weighted centroid of points and their 3 x 3 scatter matrix about it; False if all weights are 0."""
    if not weighted_means(data, weights, centroid):
        return False
    for j in range(3):
        for k in range(j + 1):
            entry = 0.0
            for i in range(weights.size):
                entry += weights[i] * (data[j, i] - centroid[j]) * (data[k, i] - centroid[k])
            scatter[3 * j + k] = scatter[3 * k + j] = entry
    return True


@inner_kernel
def normalise_vector(vector: Floats) -> bool:
    """Scale a vector to unit norm, in place; False if its norm is zero or not finite."""
    square = 0.0
    for i in range(vector.size):
        square += vector[i] * vector[i]
    if not 0.0 < square < np.inf:
        return False
    scale = 1.0 / math.sqrt(square)
    for i in range(vector.size):
        vector[i] *= scale
    return True


def scale_to_unit(model: Floats, scratch: Floats) -> bool:
    """Scale a model to unit norm: the ``project`` of a model whose scale is free."""
    return normalise_vector(model)


@inner_kernel
def span_complement(vector: Floats, basis: Floats) -> None:
    """Write an orthonormal basis of the complement of a unit vector of length n into the n - 1 rows of ``basis``.

    The rows are the columns, without the last one, of the Householder reflection that maps the vector to the last axis.
    """
    last = vector.size - 1
    sign = 1.0 if vector[last] >= 0.0 else -1.0
    scale = 1.0 / (1.0 + sign * vector[last])  # 2 / |v|^2 with v = vector + sign * last axis
    for row in range(last):
        for i in range(last):
            basis[row, i] = (1.0 if i == row else 0.0) - scale * vector[row] * vector[i]
        basis[row, last] = -scale * vector[row] * (vector[last] + sign)


@inner_kernel
def smallest_eigenvector(scratch: Floats, n: int) -> bool:
    """Compute the unit eigenvector of the smallest eigenvalue of a positive semidefinite n x n matrix.

    The first ``n * n`` numbers of ``scratch`` are the matrix, row by row; they are overwritten. The eigenvector is
    written into the next ``n`` numbers. The ``n * n`` numbers after it are work space. If two or more eigenvalues are
    negligible relative to the trace, the result is False and any vector of the null space.

    The method is the power method on the inverse matrix, where the inverse is squared repeatedly. A small gap between
    the eigenvalues thus costs a few steps instead of thousands.
    """
    size = n * n
    trace = 0.0
    for i in range(n):
        scratch[size + i] = 1.0 if i == 0 else 0.0
        trace += scratch[(n + 1) * i]
    if not 0.0 < trace < np.inf:
        return False
    vanishing = _invert(scratch, n, _SHIFT * trace)
    here, there = 0, size + n  # the matrix and its square are swapped in each step
    for _ in range(_SQUARINGS):
        largest = 0.0
        for i in range(here, here + size, n + 1):
            entry = abs(scratch[i])
            largest = entry if entry > largest else largest
        trace, square, scale = 0.0, 0.0, 1.0 / largest
        for i in range(here, here + size):
            scratch[i] *= scale
            square += scratch[i] * scratch[i]
        for i in range(here, here + size, n + 1):
            trace += scratch[i]
        # The matrix has rank 1 if the sum of the squared eigenvalues equals the square of their sum.
        if square >= (1.0 - _CONVERGED) * trace * trace:
            break
        for row in range(0, size, n):
            for j in range(n):
                total = 0.0
                for k in range(n):
                    total += scratch[here + row + k] * scratch[here + n * k + j]
                scratch[there + row + j] = total
        here, there = there, here
    best = 0
    for i in range(n):
        best = i if abs(scratch[here + (n + 1) * i]) > abs(scratch[here + (n + 1) * best]) else best
    row = here + n * best
    square = 0.0
    for i in range(row, row + n):
        square += scratch[i] * scratch[i]
    for i in range(n):
        scratch[size + i] = scratch[row + i] / math.sqrt(square)
    return vanishing < 2


@inner_kernel
def _invert(a: Floats, n: int, shift: float) -> int:
    """Replace a semidefinite n x n matrix A by -(A + shift I)^-1 (Beaton's sweep); return the number of tiny pivots."""
    for i in range(n):
        a[(n + 1) * i] += shift
    vanishing = 0
    for _ in range(n):
        k = 0
        for i in range(1, n):
            k = i if a[(n + 1) * i] > a[(n + 1) * k] else k
        top = n * k
        pivot = a[top + k]
        if not pivot > _VANISHING * shift:
            vanishing += 1
        for row in range(0, n * n, n):
            if row == top:
                continue
            factor = a[row + k] / pivot
            for j in range(n):
                a[row + j] -= factor * a[top + j]
            a[row + k] = factor
        for j in range(n):
            a[top + j] /= pivot
        a[top + k] = -1.0 / pivot
    return vanishing


@inner_kernel
def solve_positive_definite(system: Floats, singular: float) -> bool:
    """Solve A x = b for a symmetric positive definite A by Cholesky factorisation, in place.

    ``system`` has n + 1 rows of length n. The first n rows are A, whose lower triangle is read. The last row is b and
    becomes x. If a pivot is at most the share ``singular`` of its diagonal element, A counts as not positive definite:
    the result is False and the content of ``system`` is undefined.
    """
    n = system.shape[1]
    for j in range(n):
        diagonal = system[j, j]
        for i in range(j, n + 1):  # b is factorised like a row of A, which is the forward substitution
            total = system[i, j]
            for k in range(j):
                total -= system[i, k] * system[j, k]
            if i > j:
                system[i, j] = total * system[j, j]
            elif total > singular * diagonal:
                system[j, j] = 1.0 / math.sqrt(total)
            else:
                return False
    for i in range(n - 1, -1, -1):
        total = system[n, i]
        for k in range(i + 1, n):
            total -= system[k, i] * system[n, k]
        system[n, i] = total * system[i, i]
    return True
