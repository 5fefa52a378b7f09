"""The affine map of space, x2 = A x1 + b, stored as the 3 x 4 matrix (A | b).

The data are matches of 3D points, channels x1, y1, z1, x2, y2, z2. The residual is the distance between x2 and
A x1 + b. It is linear in the model, so the weighted fit is the maximum-likelihood estimate. Three vectors and their
images determine A: they are edges of a tetrahedron for a minimal sample, and columns of the normal equations for a fit.
"""

import dataclasses
import math

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel
from bansac.maths.arrays import Floats, Ints, Reals
from bansac.maths.linalg import Entries, determinant, matrix_entries, weighted_means
from bansac.maths.normalisation import normalise as normalise
from bansac.problems.problem import Problem
from bansac.problems.traits import Traits

# Vectors u, v, w are coplanar if |det (u, v, w)| <= _FLAT (|u|^2 + |v|^2 + |w|^2)^(3/2): edges of a sample, and columns
# of a fit, whose entries are squared lengths.
_FLAT = 1e-6
_FLAT_FIT = 1e-14
# Scratch: three vectors of x1, their images, a point of x1, its image.
_IMAGES, _POINT, _SCRATCH = 9, 18, 24


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Map a tetrahedron to a tetrahedron; coplanar points in either set give no model."""
    last = sample[3]
    for c in range(3):
        scratch[_POINT + c], scratch[_POINT + 3 + c] = data[c, last], data[3 + c, last]
        for k in range(3):
            scratch[3 * k + c] = data[c, sample[k]] - data[c, last]
            scratch[_IMAGES + 3 * k + c] = data[3 + c, sample[k]] - data[3 + c, last]
    if _volume(scratch[_IMAGES:_POINT], _FLAT) == 0.0:
        return 0
    return 1 if _write(scratch, _FLAT, models[0]) else 0


def fit(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Minimise the weighted sum of squared distances by linear regression about the centroids."""
    if not weighted_means(data, weights, scratch[_POINT:_SCRATCH]):
        return False
    for k in range(3):
        for c in range(6):
            moment = 0.0
            for i in range(weights.size):
                moment += weights[i] * (data[k, i] - scratch[_POINT + k]) * (data[c, i] - scratch[_POINT + c])
            scratch[3 * k + (c if c < 3 else _IMAGES + c - 3)] = moment
    return _write(scratch, _FLAT_FIT, model)


@inner_kernel
def _write(scratch: Floats, flat: float, model: Floats) -> bool:
    """Write the map of three vectors and a point to their images; False if the vectors are coplanar."""
    volume = _volume(scratch[:_IMAGES], flat)
    if volume == 0.0:
        return False
    u1, u2, u3, v1, v2, v3, w1, w2, w3 = matrix_entries(scratch)
    for row in range(3):
        p, q, r = scratch[_IMAGES + row], scratch[_IMAGES + 3 + row], scratch[_IMAGES + 6 + row]
        a = (p * (v2 * w3 - v3 * w2) + q * (w2 * u3 - w3 * u2) + r * (u2 * v3 - u3 * v2)) / volume
        b = (p * (v3 * w1 - v1 * w3) + q * (w3 * u1 - w1 * u3) + r * (u3 * v1 - u1 * v3)) / volume
        c = (p * (v1 * w2 - v2 * w1) + q * (w1 * u2 - w2 * u1) + r * (u1 * v2 - u2 * v1)) / volume
        x, y, z = scratch[_POINT], scratch[_POINT + 1], scratch[_POINT + 2]
        model[4 * row], model[4 * row + 1], model[4 * row + 2] = a, b, c
        model[4 * row + 3] = scratch[_POINT + 3 + row] - a * x - b * y - c * z
    return True


@inner_kernel
def _volume(vectors: Floats, flat: float) -> float:
    """Return the determinant of three vectors, row by row; 0 if they are coplanar."""
    square = 0.0
    for k in range(9):
        square += vectors[k] * vectors[k]
    volume = determinant(vectors)
    return volume if abs(volume) > flat * square * math.sqrt(square) else 0.0


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared distances between x2 and the transformed x1."""
    a, b, c, d, e, f = model[0], model[1], model[2], model[4], model[5], model[6]
    matrix = a, b, c, d, e, f, model[8], model[9], model[10]
    write_errors(data, matrix, (model[3], model[7], model[11]), start, stop, out)


@inlined
def write_errors(
    data: Reals, matrix: Entries, shift: tuple[float, float, float], start: int, stop: int, out: Reals
) -> None:
    """Write the squared distances between x2 and A x1 + b."""
    x1, y1, z1 = data[0, start:stop], data[1, start:stop], data[2, start:stop]
    x2, y2, z2 = data[3, start:stop], data[4, start:stop], data[5, start:stop]
    m11, m12, m13, m21, m22, m23, m31, m32, m33 = matrix
    t1, t2, t3 = shift
    for i in range(stop - start):
        dx = m11 * x1[i] + m12 * y1[i] + m13 * z1[i] + t1 - x2[i]
        dy = m21 * x1[i] + m22 * y1[i] + m23 * z1[i] + t2 - y2[i]
        dz = m31 * x1[i] + m32 * y1[i] + m33 * z1[i] + t3 - z2[i]
        out[i] = dx * dx + dy * dy + dz * dz


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute the coordinates of A x1 + b - x2 and their derivatives by the entries of the matrix."""
    n = stop - start
    x1, y1, z1 = data[0, start:stop], data[1, start:stop], data[2, start:stop]
    for row in range(36):
        jacobian[row, :n] = 0.0
    for k in range(3):
        x2, difference = data[3 + k, start:stop], residuals[k]
        a, b, c, t = model[4 * k], model[4 * k + 1], model[4 * k + 2], model[4 * k + 3]
        by_a, by_b, by_c, by_t = jacobian[16 * k], jacobian[16 * k + 1], jacobian[16 * k + 2], jacobian[16 * k + 3]
        for i in range(n):
            difference[i] = a * x1[i] + b * y1[i] + c * z1[i] + t - x2[i]
            by_a[i], by_b[i], by_c[i], by_t[i] = x1[i], y1[i], z1[i], 1.0


def denormalise(model: Floats, transform: Floats) -> None:
    """Undo ``normalise``, which scales both point sets by the same factor: only b changes."""
    matrix, first, second = model.reshape(3, 4), transform[1:4], transform[4:7]
    matrix[:, 3] = matrix[:, 3] / transform[0] + second - matrix[:, :3] @ first


def significance_form(data: Floats, model: Floats) -> tuple[Problem, Floats, Floats]:
    """Return the transformed x1 matched with x2, and the identity map, since x1 may have another unit than x2."""
    matrix, moved = model.reshape(3, 4), data.copy()
    moved[:3] = matrix[:, :3] @ data[:3] + matrix[:, 3:]
    return _MOVED, moved, np.eye(3, 4).ravel()


AFFINE_3D = Problem.of(
    globals(),
    name="affine map of space",
    channels=6,
    sample_size=4,
    model_shape=(3, 4),
    residual_size=3,
    scratch_size=_SCRATCH,
    precision="float32",
    default_max_iterations=50_000,
    default_weighting="scores",
    traits=Traits(points=((0, 1, 2), (3, 4, 5)), codimension=3, flat="plane"),
)

# Problem of the significance test.
_MOVED = dataclasses.replace(AFFINE_3D, significance_form=None)
