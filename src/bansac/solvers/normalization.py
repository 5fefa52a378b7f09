"""Coordinates in which the solvers of two views are well-conditioned, and the scale and sign of their matrices.

Normalisation is Hartley's (In defense of the eight-point algorithm, PAMI 1997), but with one scale for both images: a
distance in an image stays a multiple of the distance in pixels. All of this is called once a run, from Python. Sums are
taken in order (``cumsum``), as in a loop.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "as_weights",
    "canonical_fundamental",
    "canonical_homography",
    "denormalize_fundamental",
    "denormalize_homography",
    "fix_sign",
    "normalize",
    "stack_matches",
]

# Points that differ by less than this share of their coordinates are one point.
_ROUNDING = 1e-14
# An entry below this share of a homography's norm may have either sign.
_TINY = 1e-12


def stack_matches(x1: ArrayLike, x2: ArrayLike, n: int | None = None) -> NDArray[np.float64]:
    """Check matched points, ``n`` of them if it is given, and return them as channels x1, y1, x2, y2."""
    rows = []
    for name, points in (("x1", x1), ("x2", x2)):
        array = np.asarray(points, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != 2 or n not in (None, len(array)):
            raise ValueError(f"{name} must have shape ({'N' if n is None else n}, 2), got {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite, got {array.tolist()}")
        rows.append(array.T)
        n = len(array)  # x2 has as many as x1
    return np.vstack(rows)


def as_weights(weights: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """Check the weights of ``n`` matches; 1 if there are none."""
    if weights is None:
        return np.ones(n)
    array = np.ascontiguousarray(weights, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(f"weights must have shape ({n},), got {array.shape}")
    if not (np.isfinite(array) & (array >= 0.0)).all():
        raise ValueError(f"weights must be finite and >= 0, got {array.tolist()}")
    return array


def normalize(data: NDArray[np.float64], transform: NDArray[np.float64]) -> None:
    """Centre both images and scale them by one factor, so that their mean squared coordinate is 1, in place.

    ``transform`` gets the factor and the centroids (x1, y1, x2, y2).
    """
    n = data.shape[1]
    mean = np.cumsum(data, axis=1)[:, -1] / n
    data -= mean[:, None]
    square = np.cumsum(data * data)[-1]
    negligible = (n * (_ROUNDING * mean) * (_ROUNDING * mean)).sum()
    scale = math.sqrt(4 * n / square) if square > negligible else 1.0
    data *= scale
    transform[0] = scale
    transform[1:5] = mean


def denormalize_homography(model: NDArray[np.float64], transform: NDArray[np.float64]) -> None:
    """Replace H by B^-1 H A, where A and B are the normalising maps of the two images, in place."""
    H = model.reshape(3, 3)
    H[:, :2] *= transform[0]
    H[:, 2] -= H[:, 0] * transform[1] + H[:, 1] * transform[2]
    H[:2] = H[:2] / transform[0] + transform[3:5, None] * H[2]


def denormalize_fundamental(model: NDArray[np.float64], transform: NDArray[np.float64]) -> None:
    """Replace F by B^T F A, where A and B are the normalising maps of the two images, in place."""
    F = model.reshape(3, 3)
    F[:, :2] *= transform[0]
    F[:, 2] -= transform[1] * F[:, 0] + transform[2] * F[:, 1]
    F[:2] *= transform[0]
    F[2] -= transform[3] * F[0] + transform[4] * F[1]


def canonical_homography(model: NDArray[np.float64]) -> None:
    """Scale H to unit Frobenius norm with h33 > 0; if h33 vanishes, with its largest entry positive."""
    square = np.cumsum(model * model)[-1]
    if not 0.0 < square < np.inf:
        return
    norm = math.sqrt(square)
    leading = model[8] if abs(model[8]) > _TINY * norm else model[np.argmax(np.abs(model))]
    model *= 1.0 / norm if leading > 0.0 else -1.0 / norm


def canonical_fundamental(model: NDArray[np.float64]) -> None:
    """Scale F to unit Frobenius norm, with the sign of ``fix_sign``."""
    square = np.cumsum(model * model)[-1]
    if not 0.0 < square < np.inf:
        return
    model /= math.sqrt(square)
    fix_sign(model)


def fix_sign(model: NDArray[np.float64]) -> None:
    """Give a model the sign that makes its first large entry positive.

    Large is more than half of the largest: two entries of one size, as [t]x has them, must not let rounding decide.
    """
    size = np.abs(model)
    if model[np.argmax(size > 0.5 * size.max())] < 0.0:
        np.negative(model, out=model)
