"""Focal lengths of two cameras from their fundamental matrix, and how plausible they are."""

import math

import numpy as np

from bansac.compiled.jit import inner_kernel, kernel
from bansac.maths.arrays import Floats
from bansac.maths.linalg import longest_cross
from bansac.maths.normalisation import denormalise_fundamental

# A denominator below this fraction of its terms is rounding error left by cancellation.
_ROUNDING = 1e-9

# Focal lengths of cameras in image diagonals: the median and the standard deviation of the logarithm. The score of a
# model with impossible focal lengths is multiplied by ``_LEAST_PLAUSIBLE``.
USUAL_FOCAL = 0.85
FOCAL_SPREAD = 0.6
_LEAST_PLAUSIBLE = 0.8

# Focal lengths are not determined if the Sampson distance of the principal points, in image diagonals, is at most this.
_MEETING_AXES = 0.004


def focal_plausibility(model: Floats, transform: Floats, cameras: Floats) -> float:
    """Return the plausibility of the focal lengths of a fundamental matrix, a factor of its score in [0.8, 1].

    The principal points are assumed at the image centres. The factor is evidence and excludes no model: images may be
    cropped, and wrong matrices can have usual focal lengths. It is 1 if F does not determine the focal lengths.

    ``model`` is F in the frame of ``normalise`` and is overwritten. ``cameras`` holds the centre (x, y) and the length
    of the diagonal of both images, in pixels.
    """
    diagonal1, diagonal2 = cameras[2], cameras[5]
    unit = 0.5 * (diagonal1 + diagonal2)
    denormalise_fundamental(model, transform)
    _move_centers(model, cameras[0], cameras[1], cameras[3], cameras[4], unit)
    c, f, g, h, i = model[2], model[5], model[6], model[7], model[8]
    # Sampson distance of the two principal points as a match.
    if not abs(i) > _MEETING_AXES * math.sqrt(c * c + f * f + g * g + h * h):
        return 1.0
    first = _factor(_squared_focal(model, 3, 1), unit, diagonal1)
    second = _factor(_squared_focal(model, 1, 3), unit, diagonal2)
    return first if first < second else second


def model_focal_plausibility(model: Floats, transform: Floats, diagonal: Floats) -> float:
    """Return the same factor for a model whose last number is a focal length, and the length of the diagonal."""
    return _factor(model[-1] * model[-1], 1.0, diagonal[0])


@kernel
def squared_focals(F: Floats, x1: float, y1: float, x2: float, y2: float) -> tuple[float, float]:
    """Return the squared focal lengths of F (9 numbers, overwritten) for these principal points."""
    _move_centers(F, x1, y1, x2, y2, 1.0)
    return _squared_focal(F, 3, 1), _squared_focal(F, 1, 3)


@inner_kernel
def _factor(square: float, unit: float, diagonal: float) -> float:
    """Return the plausibility of a focal length, given its square in squares of ``unit``."""
    if square <= 0.0:
        return _LEAST_PLAUSIBLE
    if not square > 0.0:
        return 1.0
    deviation = math.log(math.sqrt(square) * unit / diagonal / USUAL_FOCAL) / FOCAL_SPREAD
    return _LEAST_PLAUSIBLE + (1.0 - _LEAST_PLAUSIBLE) * math.exp(-0.5 * deviation * deviation)


@inner_kernel
def _move_centers(F: Floats, x1: float, y1: float, x2: float, y2: float, unit: float) -> None:
    """Transform F to coordinates relative to a point in each image, in another unit of length."""
    for k in range(0, 9, 3):
        a, b, c = F[k], F[k + 1], F[k + 2]
        F[k], F[k + 1], F[k + 2] = unit * a, unit * b, a * x1 + b * y1 + c
    for k in range(3):
        a, b, c = F[k], F[3 + k], F[6 + k]
        F[k], F[3 + k], F[6 + k] = unit * a, unit * b, x2 * a + y2 * b + c


@inner_kernel
def _squared_focal(F: Floats, row: int, column: int) -> float:
    """Return the squared focal length of one camera of F; NaN if it is not determined.

    The principal points are at the origin. This is Bougnoux's formula (1998) with p1 = p2 = (0, 0, 1), where
    p2^T [e2]x = (-y, x, 0) for the epipole (x, y, z). ``row`` and ``column`` are the strides of the rows and columns:
    3 and 1 for the first camera; 1 and 3, the strides of the transpose, for the second camera.
    """
    x, y, _ = longest_cross(F, row, column)
    a, b, c = F[0], F[column], F[2 * column]
    d, e, f = F[row], F[row + column], F[row + 2 * column]
    g, h, i = F[2 * row], F[2 * row + column], F[2 * row + 2 * column]
    term, other = (x * d - y * a) * g, (x * e - y * b) * h
    denominator = term + other
    if not abs(denominator) > _ROUNDING * (abs(term) + abs(other)):
        return np.nan
    squared: float = -(x * f - y * c) * i / denominator
    return squared
