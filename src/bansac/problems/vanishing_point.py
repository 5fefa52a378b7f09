"""The vanishing point v = (a, b, c) of line segments, in homogeneous coordinates of unit norm; at infinity c is 0.

The residual of a segment is the distance of its ends from the line through its middle and v (Tardif, Non-iterative
approach for fast and accurate vanishing point detection, ICCV 2009). With the middle m and half of the segment h, it is
|h x d| / |d|, where d = (a - c m_x, b - c m_y) points to v.
"""

import dataclasses
import math

import numpy as np

from bansac.maths.arrays import Bools, Floats, Ints, Reals
from bansac.maths.flat import flat_coordinates
from bansac.maths.linalg import normalise_vector, scale_to_unit, span_complement
from bansac.maths.normalisation import fix_sign
from bansac.maths.normalisation import normalise as normalise_points
from bansac.problems.problem import Problem
from bansac.problems.traits import Limit, Traits

# Two segments lie on one line if |l x m| <= _SAME_LINE |l| |m| for their lines l and m in homogeneous coordinates.
_SAME_LINE = 1e-9
# Middles within this number of median residuals of a line are on it.
_ON_LINE = 3.0


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute the intersection of two segments' lines; segments of one line have none."""
    x1, y1, x2, y2, i, j = data[0], data[1], data[2], data[3], sample[0], sample[1]
    a, b, c = y1[i] - y2[i], x2[i] - x1[i], x1[i] * y2[i] - x2[i] * y1[i]
    d, e, f = y1[j] - y2[j], x2[j] - x1[j], x1[j] * y2[j] - x2[j] * y1[j]
    x, y, z = b * f - c * e, c * d - a * f, a * e - b * d
    if not x * x + y * y + z * z > _SAME_LINE * _SAME_LINE * (a * a + b * b + c * c) * (d * d + e * e + f * f):
        return 0
    models[0, 0], models[0, 1], models[0, 2] = x, y, z
    return 1 if normalise_vector(models[0]) else 0


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared distances of ends from the line through the middle."""
    x1, y1, x2, y2 = data[0, start:stop], data[1, start:stop], data[2, start:stop], data[3, start:stop]
    a, b, c = model[0], model[1], model[2]
    for i in range(stop - start):
        dx, dy = a - c * (0.5 * (x1[i] + x2[i])), b - c * (0.5 * (y1[i] + y2[i]))
        across = 0.5 * ((x2[i] - x1[i]) * dy - (y2[i] - y1[i]) * dx)
        out[i] = across * across / (dx * dx + dy * dy)


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute signed distances and their derivatives."""
    x1, y1, x2, y2 = data[0, start:stop], data[1, start:stop], data[2, start:stop], data[3, start:stop]
    distance, by_a, by_b, by_c, c = residuals[0], jacobian[0], jacobian[1], jacobian[2], model[2]
    for i in range(stop - start):
        mx, my, hx, hy = 0.5 * (x1[i] + x2[i]), 0.5 * (y1[i] + y2[i]), 0.5 * (x2[i] - x1[i]), 0.5 * (y2[i] - y1[i])
        dx, dy = model[0] - c * mx, model[1] - c * my
        inverse = 1.0 / math.sqrt(dx * dx + dy * dy)
        distance[i] = (hx * dy - hy * dx) * inverse
        by_a[i] = (-hy - distance[i] * dx * inverse) * inverse
        by_b[i] = (hx - distance[i] * dy * inverse) * inverse
        by_c[i] = -mx * by_a[i] - my * by_b[i]


def normalise(data: Floats, transform: Floats) -> None:
    """Centre and scale the ends of the segments alike."""
    n, ends = data.shape[1], np.hstack([data[:2], data[2:]])
    normalise_points(ends, transform)
    data[:2], data[2:] = ends[:, :n], ends[:, n:]


def denormalise(model: Floats, transform: Floats) -> None:
    """Undo ``normalise``: p -> p / scale + centroid."""
    model[:2] = model[:2] / transform[0] + model[2] * transform[1:3]
    canonical(model)


def canonical(model: Floats) -> None:
    """Scale v to unit norm, with its first large entry positive."""
    model /= math.hypot(*model)
    fix_sign(model)


def _line_distances(data: Floats, members: Bools) -> Floats:
    """Return the distances of segments from the line of the members: of the ends, or of a middle beyond their noise."""
    ends, n = np.hstack([data[:2], data[2:]]), data.shape[1]
    first, second = flat_coordinates(ends, np.tile(members, 2)).reshape(2, n)
    across, beside = 0.5 * np.abs(first - second), 0.5 * np.abs(first + second)
    return np.maximum(across, beside - _ON_LINE * np.median(across[members]))


def _residuals_of_halves(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute the squared residuals of middles and halves."""
    mx, my, hx, hy = data[0, start:stop], data[1, start:stop], data[2, start:stop], data[3, start:stop]
    for i in range(stop - start):
        dx, dy = model[0] - model[2] * mx[i], model[1] - model[2] * my[i]
        across = hx[i] * dy - hy[i] * dx
        out[i] = across * across / (dx * dx + dy * dy)


def significance_form(data: Floats, model: Floats) -> tuple[Problem, Floats, Floats]:
    """Return the middles and the halves of the segments; under chance the halves have random directions."""
    return _OF_HALVES, 0.5 * np.vstack([data[:2] + data[2:], data[2:] - data[:2]]), model


def scene(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return segments of an image of side 1000 with lengths of 40 to 200, and their vanishing point."""
    v, middle = np.append(rng.uniform(-3000.0, 3000.0, 2), 1.0), rng.uniform(0.0, 1000.0, (n, 2))
    half = v[:2] - middle
    half *= rng.uniform(20.0, 100.0, (n, 1)) / np.linalg.norm(half, axis=1, keepdims=True)
    canonical(v)
    return np.hstack([middle - half, middle + half]), v


VANISHING_POINT = Problem.of(
    globals(),
    name="vanishing point",
    channels=4,
    sample_size=2,
    model_shape=(3,),
    tangent=span_complement,
    project=scale_to_unit,
    parameters=2,
    default_local_optimization="lm",
    traits=Traits(limit=Limit("line", _line_distances)),
)

# Problem of the significance test.
_OF_HALVES = dataclasses.replace(
    VANISHING_POINT,
    residuals=_residuals_of_halves,
    significance_form=None,
    traits=Traits(points=((0, 1),), directions=((2, 3),)),
)
