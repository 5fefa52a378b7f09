"""Rotations and similarities in 3D as quaternions, without allocation.

The quaternion q = (w, x, y, z) represents the map X -> q X q*, which is |q|^2 R with a rotation R. It is a rotation if
q has unit length. The entries of this matrix are quadratic in q, so their derivatives are linear. Let

    a = w X - z Y + y Z,  b = x X + y Y + z Z,  c = w Z + x Y - y X,  d = w Y + z X - x Z

Half the derivatives of the image of (X, Y, Z) by w, x, y and z are (a, b, c, -d), (d, -c, b, a) and (c, d, -a, b).
"""

import math

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel, plain
from bansac.maths.arrays import Floats, Reals
from bansac.maths.linalg import Entries, matrix_entries, normalise_vector, smallest_eigenvector, span_complement

ALIGN_SCRATCH = 2 * 16 + 4
"""Length of the scratch of ``align_rotation``."""

# If the second singular value of a correlation is below this fraction of the first, the points are collinear.
_COLLINEAR = 1e-12


@inlined
def entries(model: Reals) -> Entries:
    """Return the matrix of the quaternion in the first four numbers of ``model``, row by row."""
    w, x, y, z = model[0], model[1], model[2], model[3]
    x2, y2, z2 = x + x, y + y, z + z
    square, other = w * w + x * x, y * y + z * z
    difference, rest = w * w - x * x, y * y - z * z
    return (
        square - other, x2 * y - z2 * w, x2 * z + y2 * w,
        x2 * y + z2 * w, difference + rest, y2 * z - x2 * w,
        x2 * z - y2 * w, y2 * z + x2 * w, difference - rest,
    )  # fmt: skip


def matrix_of(model: Floats) -> Floats:
    """Return the 3 x 4 matrix (s R | t) of a quaternion and a translation."""
    matrix = np.empty((3, 4))
    matrix[:, :3] = np.array(plain(entries)(model.tolist())).reshape(3, 3)
    matrix[:, 3] = model[4:7]
    return matrix


def model_of(matrix: Floats) -> Floats:
    """Return the quaternion and the translation of a 3 x 4 matrix, the inverse of ``matrix_of``.

    A matrix that is no s R is replaced by the nearest one, as in ``align_rotation``.
    """
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = matrix[:, :3]
    values, vectors = np.linalg.eigh(
        [
            [xx + yy + zz, zy - yz, xz - zx, yx - xy],
            [zy - yz, xx - yy - zz, xy + yx, xz + zx],
            [xz - zx, xy + yx, yy - xx - zz, yz + zy],
            [yx - xy, xz + zx, yz + zy, zz - xx - yy],
        ]
    )
    return np.concatenate([vectors[:, -1] * math.sqrt(max(values[-1], 0.0) / 3.0), matrix[:, 3]])


@inner_kernel
def write_quaternion(
    r11: float, r12: float, r13: float, r21: float, r22: float, r23: float, r31: float, r32: float, r33: float,
    model: Floats,
) -> bool:  # fmt: skip
    """Write the unit quaternion of a rotation matrix into the first four numbers of ``model``.

    Four times the squared entries of the quaternion are sums of diagonal elements. The largest entry is the divisor,
    for accuracy (Shepperd, 1978).
    """
    w, x, y, z = 1.0 + r11 + r22 + r33, 1.0 + r11 - r22 - r33, 1.0 - r11 + r22 - r33, 1.0 - r11 - r22 + r33
    if w >= x and w >= y and w >= z:
        x, y, z = r32 - r23, r13 - r31, r21 - r12
    elif x >= y and x >= z:
        w, y, z = r32 - r23, r12 + r21, r13 + r31
    elif y >= z:
        w, x, z = r13 - r31, r12 + r21, r23 + r32
    else:
        w, x, y = r21 - r12, r13 + r31, r23 + r32
    model[0], model[1], model[2], model[3] = w, x, y, z
    return normalise_vector(model[:4])


@inner_kernel
def align_rotation(correlation: Floats, model: Floats, scratch: Floats) -> bool:
    """Write the unit quaternion of the rotation R that maximises trace(R C^T) into the first four of ``model``.

    ``correlation`` is C = sum x2 x1^T, nine numbers row by row, and R rotates x1 to x2. trace(R C^T) = q^T N q for a
    symmetric matrix N, so q is the eigenvector of the largest eigenvalue of N (Horn, Closed-form solution of absolute
    orientation using unit quaternions, JOSA 1987). Return False if C has rank 0 or 1, which is the case for collinear
    points.
    """
    xx, xy, xz, yx, yy, yz, zx, zy, zz = matrix_entries(correlation)
    square, minors = 0.0, 0.0
    for i in range(3):
        a, b, c = correlation[3 * i], correlation[3 * i + 1], correlation[3 * i + 2]
        j = 3 * ((i + 1) % 3)
        d, e, f = correlation[j], correlation[j + 1], correlation[j + 2]
        square += a * a + b * b + c * c
        minors += (b * f - c * e) ** 2 + (c * d - a * f) ** 2 + (a * e - b * d) ** 2
    if not math.sqrt(minors) > _COLLINEAR * square or not square < np.inf:
        return False
    # The eigenvalues of N do not exceed the sum of the singular values of C, which does not exceed this.
    largest = math.sqrt(3.0 * square)
    n = scratch
    n[0], n[5], n[10], n[15] = xx + yy + zz, xx - yy - zz, yy - xx - zz, zz - xx - yy
    n[1], n[2], n[3] = zy - yz, xz - zx, yx - xy
    n[6], n[7], n[11] = xy + yx, xz + zx, yz + zy
    for i in range(4):
        for j in range(i):
            n[4 * j + i] = -n[4 * j + i]
            n[4 * i + j] = n[4 * j + i]
        n[5 * i] = largest - n[5 * i]
    smallest_eigenvector(scratch, 4)
    for i in range(4):
        model[i] = scratch[16 + i]
    return True


def span_motions(model: Floats, basis: Floats) -> None:
    """Write the six tangent directions of a unit quaternion and a translation: the ``tangent`` of a motion."""
    basis[:] = 0.0
    span_complement(model[:4], basis)
    for i in range(3):
        basis[3 + i, 4 + i] = 1.0


def project_unit(model: Floats, scratch: Floats) -> bool:
    """Scale the quaternion of a motion to unit length: the ``project`` of a motion."""
    return normalise_vector(model[:4])
