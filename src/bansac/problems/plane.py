"""The plane a x + b y + c z + d = 0 with a^2 + b^2 + c^2 = 1.

The residual of a point is its distance |a x + b y + c z + d|.
"""

import math

import numpy as np

from bansac.maths.arrays import Floats, Ints, Reals
from bansac.maths.linalg import SCATTER_SCRATCH, normalise_vector, smallest_eigenvector, write_scatter
from bansac.maths.normalisation import fix_sign
from bansac.maths.normalisation import normalise as normalise
from bansac.problems.problem import Problem
from bansac.problems.traits import Traits

# Three points with sides u and v are collinear if |u x v| <= _COLLINEAR (|u|^2 + |v|^2).
_COLLINEAR = 1e-9


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute the plane through three points; collinear points give no plane."""
    x, y, z = data[0], data[1], data[2]
    i, j, k = sample[0], sample[1], sample[2]
    ux, uy, uz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
    vx, vy, vz = x[k] - x[i], y[k] - y[i], z[k] - z[i]
    a, b, c = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    length = math.sqrt(a * a + b * b + c * c)
    if not length > _COLLINEAR * (ux * ux + uy * uy + uz * uz + vx * vx + vy * vy + vz * vz):
        return 0
    a, b, c = a / length, b / length, c / length
    model = models[0]
    model[0], model[1], model[2], model[3] = a, b, c, -(a * x[i] + b * y[i] + c * z[i])
    return 1


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared orthogonal distances."""
    x, y, z = data[0, start:stop], data[1, start:stop], data[2, start:stop]
    a, b, c, d = model[0], model[1], model[2], model[3]
    for i in range(stop - start):
        distance = a * x[i] + b * y[i] + c * z[i] + d
        out[i] = distance * distance


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute (a x + b y + c z + d) / |(a, b, c)| and its derivatives at |(a, b, c)| = 1."""
    x, y, z = data[0, start:stop], data[1, start:stop], data[2, start:stop]
    a, b, c, d = model[0], model[1], model[2], model[3]
    distance, by_a, by_b, by_c, by_d = residuals[0], jacobian[0], jacobian[1], jacobian[2], jacobian[3]
    for i in range(stop - start):
        distance[i] = a * x[i] + b * y[i] + c * z[i] + d
        by_a[i] = x[i] - distance[i] * a
        by_b[i] = y[i] - distance[i] * b
        by_c[i] = z[i] - distance[i] * c
        by_d[i] = 1.0


def project(model: Floats, scratch: Floats) -> bool:
    """Scale the normal to unit length."""
    length = math.sqrt(model[0] * model[0] + model[1] * model[1] + model[2] * model[2])
    if not 0.0 < length < np.inf:
        return False
    for i in range(4):
        model[i] /= length
    return True


def fit(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Minimise the weighted sum of squared distances (total least squares).

    The plane contains the weighted centroid. Its normal is the direction of the least scatter. False if the points lie
    on a line.
    """
    centroid, scatter = scratch[:3], scratch[3:]
    if not write_scatter(data, weights, centroid, scatter):
        return False
    if not smallest_eigenvector(scatter, 3):
        return False
    model[3] = 0.0
    for j in range(3):
        model[j] = scatter[9 + j]
        model[3] -= model[j] * centroid[j]
    return normalise_vector(model[:3])


def denormalise(model: Floats, transform: Floats) -> None:
    """Insert p -> scale (p - centroid) into the equation and divide by the scale to keep the normal's length."""
    model[3] = model[3] / transform[0] - model[:3] @ transform[1:4]


def canonical(model: Floats) -> None:
    """Scale the normal to unit length, with its first large entry positive."""
    normal = model[:3].copy()
    fix_sign(normal)
    model /= np.copysign(math.hypot(*normal), normal @ model[:3])


PLANE = Problem.of(
    globals(),
    name="plane",
    channels=3,
    sample_size=3,
    model_shape=(4,),
    scratch_size=SCATTER_SCRATCH,
    precision="float32",
    traits=Traits(points=((0, 1, 2),), flat="line"),
)
