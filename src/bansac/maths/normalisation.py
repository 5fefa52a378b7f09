"""Normalisation of coordinates for well-conditioned two-view solvers, and of the scale and sign of their matrices.

The method is Hartley's (In defense of the eight-point algorithm, PAMI 1997), but with one scale for both images, so
that distances in both images keep the same ratio to pixels. These functions are called once a run, from Python.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from bansac.compiled.jit import inlined, kernel
from bansac.maths.arrays import Floats
from bansac.maths.extent import SAMPLE, UNIT, bound_near
from bansac.maths.validate import as_points

# Points whose coordinates differ by less than this fraction are identical.
_ROUNDING = 1e-14
# An entry below this fraction of a homography's norm has no reliable sign.
_TINY = 1e-12


def stack_matches(x1: ArrayLike, x2: ArrayLike, n: int | None = None) -> Floats:
    """Check matched points, ``n`` of them if given, and return them as channels x1, y1, x2, y2."""
    first = as_points("x1", x1, 2, n)
    second = as_points("x2", x2, 2, len(first))
    return np.ascontiguousarray(np.hstack([first, second]).T)  # kernels are compiled anew for another order


@kernel
def normalise(data: Floats, transform: Floats) -> None:
    """Centre the channels and scale them by one factor to a mean squared coordinate of 1, in place.

    Far coordinates (``maths.extent``) do not count, because all others would share a few digits of a float32.
    ``transform`` gets the factor and the centroids (x1, y1, x2, y2 for two images).
    """
    channels, n = data.shape
    box = np.empty((2, channels))
    bound_near(data, UNIT, box, np.empty(SAMPLE))
    square, negligible, counted = 0.0, 0.0, 0
    for c in range(channels):
        low, high = box[0, c], box[1, c]
        total, near = 0.0, 0
        for i in range(n):
            if low <= data[c, i] <= high:
                total += data[c, i]
                near += 1
        mean = total / near
        transform[1 + c] = mean
        for i in range(n):
            is_near = low <= data[c, i] <= high
            data[c, i] -= mean
            square += data[c, i] * data[c, i] if is_near else 0.0
        negligible += near * (_ROUNDING * mean) * (_ROUNDING * mean)
        counted += near
    scale = math.sqrt(counted / square) if square > negligible else 1.0
    for c in range(channels):
        for i in range(n):
            data[c, i] *= scale
    transform[0] = scale


def fit_normalised(
    x1: ArrayLike, x2: ArrayLike, fit: Callable[..., bool], scratch_size: int,
    denormalise: Callable[..., None], canonical: Callable[..., None],
) -> Floats | None:  # fmt: skip
    """Fit a matrix (3, 3) to points (N, 2) in a well-conditioned frame; None if they do not determine it."""
    data = stack_matches(x1, x2)
    transform, model = np.empty(5), np.empty(9)
    if data.shape[1] == 0:
        return None
    normalise(data, transform)
    if not fit(data, np.ones(data.shape[1]), model, np.empty(scratch_size)):
        return None
    denormalise(model, transform)
    canonical(model)
    return model.reshape(3, 3)


def apply_inverse(denormalise: Callable[[Floats, Floats], None], model: Floats, transform: Floats) -> None:
    """Apply the inverse of a ``denormalise`` that belongs to :func:`normalise` to a model, in place.

    p -> scale (p - centroid) has the inverse p -> (p + scale centroid) / scale, which is of the same form.
    """
    inverse = -transform[0] * transform
    inverse[0] = 1.0 / transform[0]
    denormalise(model, inverse)


@kernel
def denormalise_homography(model: Floats, transform: Floats) -> None:
    """Replace H by B^-1 H A in place, where A and B are the normalising transforms of the two images."""
    scale, x1, y1, x2, y2 = transform[0], transform[1], transform[2], transform[3], transform[4]
    for row in range(0, 9, 3):
        model[row] *= scale
        model[row + 1] *= scale
        model[row + 2] -= model[row] * x1 + model[row + 1] * y1
    for i in range(3):
        model[i] = model[i] / scale + x2 * model[6 + i]
        model[3 + i] = model[3 + i] / scale + y2 * model[6 + i]


@kernel
def denormalise_fundamental(model: Floats, transform: Floats) -> None:
    """Replace F by B^T F A in place, where A and B are the normalising transforms of the two images."""
    scale, x1, y1, x2, y2 = transform[0], transform[1], transform[2], transform[3], transform[4]
    for row in range(0, 9, 3):  # F A: columns
        model[row] *= scale
        model[row + 1] *= scale
        model[row + 2] -= x1 * model[row] + y1 * model[row + 1]
    for i in range(3):  # B^T F: rows
        model[i] *= scale
        model[3 + i] *= scale
        model[6 + i] -= x2 * model[i] + y2 * model[3 + i]


@kernel
def canonical_homography(model: Floats) -> None:
    """Scale H to h33 = 1 or, if h33 is negligible, to unit Frobenius norm with its largest entry positive."""
    norm = _frobenius_norm(model)
    if not 0.0 < norm < math.inf:
        return
    if abs(model[8]) > _TINY * norm:
        last = model[8]
        for k in range(model.size):
            model[k] /= last
        return
    largest = model[0]
    for value in model:
        largest = value if abs(value) > abs(largest) else largest
    factor = 1.0 / norm if largest > 0.0 else -1.0 / norm
    for k in range(model.size):
        model[k] *= factor


@kernel
def canonical_fundamental(model: Floats) -> None:
    """Scale F to unit Frobenius norm, with the sign that ``fix_sign`` chooses."""
    norm = _frobenius_norm(model)
    if 0.0 < norm < math.inf:
        for k in range(model.size):
            model[k] /= norm
        fix_sign(model)


@kernel
def fix_sign(model: Floats) -> None:
    """Make the first entry positive that exceeds half of the largest one; equal magnitudes must not compete."""
    largest, first = 0.0, 0.0
    for value in model:
        largest = max(largest, abs(value))
    for value in model:
        if first == 0.0 and abs(value) > 0.5 * largest:
            first = value
    for k in range(model.size if first < 0.0 else 0):
        model[k] = -model[k]


@inlined
def _frobenius_norm(model: Floats) -> float:
    """Return the norm, summing the squares in order."""
    square = 0.0
    for value in model:
        square += value * value
    return math.sqrt(square)
