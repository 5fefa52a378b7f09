"""The translation of the plane and of space, x2 = x1 + t, for OpenCV's functions.

The data are matches, first the channels of x1, then those of x2. The residual is the distance between x2 and x1 + t.
"""

import dataclasses

from bansac.maths.arrays import Floats, Ints, Reals
from bansac.maths.normalization import normalize
from bansac.problems.problem import Problem
from bansac.problems.traits import Traits


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Subtract the points of one match."""
    d = models.shape[1]
    for c in range(d):
        models[0, c] = data[d + c, sample[0]] - data[c, sample[0]]
    return 1


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared distances between x2 and x1 + t."""
    d = model.size
    for c in range(d):
        first, second, t = data[c, start:stop], data[d + c, start:stop], model[c]
        for i in range(stop - start):
            difference = first[i] + t - second[i]
            out[i] = difference * difference + (out[i] if c > 0 else 0.0)


def fit(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Compute the weighted mean of the differences."""
    total = 0.0
    for i in range(weights.size):
        total += weights[i]
    if not total > 0.0:
        return False
    for c in range(model.size):
        sum_of_differences = 0.0
        for i in range(weights.size):
            sum_of_differences += weights[i] * (data[model.size + c, i] - data[c, i])
        model[c] = sum_of_differences / total
    return True


def denormalize(model: Floats, transform: Floats) -> None:
    """Undo ``normalize``, which scales both point sets by the same factor."""
    d = model.size
    model[:] = model / transform[0] + transform[1 + d : 1 + 2 * d] - transform[1 : 1 + d]


TRANSLATION_2D = Problem(
    name="translation",
    channels=4,
    sample_size=1,
    model_shape=(2,),
    solve=solve,
    residuals=residuals,
    fit=fit,
    precision="float32",
    normalize=normalize,
    denormalize=denormalize,
    default_threshold=2.0,
    traits=Traits(points=((0, 1), (2, 3)), codimension=2, unit="pixels"),
)

TRANSLATION_3D = dataclasses.replace(
    TRANSLATION_2D,
    name="translation of space",
    channels=6,
    model_shape=(3,),
    default_threshold=None,
    traits=Traits(points=((0, 1, 2), (3, 4, 5)), codimension=3),
)
