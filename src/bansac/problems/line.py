"""The line a x + b y + c = 0 with a^2 + b^2 = 1; the residual of a point is its distance |a x + b y + c|."""

import math

import numpy as np

from bansac.maths.arrays import Floats, Ints, Reals
from bansac.maths.linalg import weighted_centroid
from bansac.maths.normalisation import normalise as normalise
from bansac.problems.problem import Problem
from bansac.problems.traits import Traits

# Points coincide if their distance is at most this fraction of the sum of their distances from the origin.
_COINCIDENT = 1e-12
# A scatter has no major axis if the relative difference of its eigenvalues is at most this.
_ISOTROPIC = 1e-12


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute the line through two points; coincident points give no line."""
    x1, y1 = data[0, sample[0]], data[1, sample[0]]
    x2, y2 = data[0, sample[1]], data[1, sample[1]]
    a, b = y1 - y2, x2 - x1
    length = math.hypot(a, b)
    if not length > _COINCIDENT * (math.hypot(x1, y1) + math.hypot(x2, y2)):
        return 0
    a, b = a / length, b / length
    models[0, 0], models[0, 1], models[0, 2] = a, b, -0.5 * (a * (x1 + x2) + b * (y1 + y2))
    return 1


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared orthogonal distances."""
    x, y = data[0, start:stop], data[1, start:stop]
    a, b, c = model[0], model[1], model[2]
    for i in range(stop - start):
        distance = a * x[i] + b * y[i] + c
        out[i] = distance * distance


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute (a x + b y + c) / |(a, b)| and its derivatives at |(a, b)| = 1."""
    x, y = data[0, start:stop], data[1, start:stop]
    a, b, c = model[0], model[1], model[2]
    distance, by_a, by_b, by_c = residuals[0], jacobian[0], jacobian[1], jacobian[2]
    for i in range(stop - start):
        distance[i] = a * x[i] + b * y[i] + c
        by_a[i] = x[i] - distance[i] * a
        by_b[i] = y[i] - distance[i] * b
        by_c[i] = 1.0


def project(model: Floats, scratch: Floats) -> bool:
    """Scale the normal to unit length."""
    length = math.hypot(model[0], model[1])
    if not 0.0 < length < np.inf:
        return False
    for i in range(3):
        model[i] /= length
    return True


def fit(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Minimise the weighted sum of squared distances (total least squares).

    The line runs through the weighted centroid along the major axis of the scatter. The angle of this axis is
    atan2(2 s_xy, s_xx - s_yy) / 2. False if there is no major axis, as for coincident points or a square.
    """
    x, y = data[0], data[1]
    total, mx, my = weighted_centroid(x, y, weights)
    if not total > 0.0:
        return False
    sxx, sxy, syy = 0.0, 0.0, 0.0
    for i in range(weights.size):
        dx, dy = x[i] - mx, y[i] - my
        sxx += weights[i] * dx * dx
        sxy += weights[i] * dx * dy
        syy += weights[i] * dy * dy
    if not math.hypot(sxx - syy, 2.0 * sxy) > _ISOTROPIC * (sxx + syy):
        return False
    if not sxx + syy > total * _COINCIDENT * _COINCIDENT * (mx * mx + my * my):
        return False
    angle = 0.5 * math.atan2(2.0 * sxy, sxx - syy)
    a, b = -math.sin(angle), math.cos(angle)
    model[0], model[1], model[2] = a, b, -(a * mx + b * my)
    return True


def denormalise(model: Floats, transform: Floats) -> None:
    """Insert p -> scale (p - centroid) into the equation and divide by the scale to keep the normal's length."""
    model[2] = model[2] / transform[0] - model[0] * transform[1] - model[1] * transform[2]


def canonical(model: Floats) -> None:
    """Scale the normal to unit length with b > 0, or a > 0 if b = 0."""
    a, b = model[0], model[1]
    length = math.hypot(a, b)
    if length > 0.0:
        model *= -1.0 / length if b < 0.0 or (b == 0.0 and a < 0.0) else 1.0 / length


LINE = Problem.of(
    globals(),
    name="line",
    channels=2,
    sample_size=2,
    model_shape=(3,),
    precision="float32",
    traits=Traits(points=((0, 1),)),
)
