"""Image 1 warped onto image 2 by a homography, with the residuals of the matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bansac.geometry import apply_transform
from bansac.matches.images import ImageLike, read_image
from bansac.maths.arrays import Bytes, Floats
from bansac.maths.validate import as_matches, as_numbers
from bansac.plotting.layout import TITLE, WIDTH, new_figure, place
from bansac.plotting.matches import as_mask, subset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PIXELS = 1200  # columns or rows of the picture at most
_ARROWS = 250
_COLOR = "#f0e442"  # the yellow of Okabe and Ito
# Factors by which arrows may be longer than residuals; most are to be shorter than this share of the width.
_FACTORS = np.ravel([[10**k, 2 * 10**k, 5 * 10**k] for k in range(6)])
_LENGTH = 0.04


def plot_warp(
    image1: ImageLike,
    image2: ImageLike,
    x1: ArrayLike,
    x2: ArrayLike,
    H: ArrayLike,
    *,
    inliers: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw image 1, warped by a homography, onto image 2, with the enlarged residuals of the matches.

    Image 1 is orange and image 2 blue: where they are equal, the picture is grey. An arrow begins where the homography
    maps the point of image 1, and points to the one of image 2. Arrows of noise have random directions. If neighbours
    agree, the scene is not a plane, or the lens has distortion. An image that cannot be read is an OSError; other
    lengths and values are ValueErrors.

    Parameters
    ----------
    image1, image2 : path or (H, W[, 3 or 4]) array_like
        Images.
    x1, x2 : (N, 2) array_like
        Matched points in pixels; of more than 250, a random choice is drawn.
    H : (3, 3) array_like
        Homography from image 1 to image 2: the model of :func:`bansac.estimate_homography`.
    inliers : (N,) array_like of bool or None, optional
        Mask of the matches to be drawn; by default all.
    ax : Axes or None, optional
        Axes to draw into; by default those of a new figure.

    Examples
    --------
    >>> grey = np.full((60, 80), 0.5)
    >>> figure = plot_warp(grey, grey, [[10, 20], [30, 40]], [[10, 21], [31, 40]], np.eye(3))
    >>> figure.axes[0].get_title()
    'residuals enlarged 2 times'
    """
    first, second, matrix = read_image(image1), read_image(image2), as_numbers("H", H, (3, 3))
    points1, points2 = np.split(as_matches(x1, x2).T, 2, axis=1)
    drawn = np.arange(len(points1)) if inliers is None else np.flatnonzero(as_mask(inliers, len(points1)))
    drawn = drawn[subset(len(drawn), _ARROWS, 0)]
    starts = apply_transform(matrix, points1[drawn])
    residuals = points2[drawn] - starts
    height, width = second.shape
    if ax is None:
        rows = WIDTH * height / width
        ax = place(new_figure(WIDTH, TITLE + rows), 0, TITLE, WIDTH, rows)
    extent = (-0.5, width - 0.5, height - 0.5, -0.5)
    ax.imshow(_overlay(first, second, np.asarray(np.linalg.inv(matrix))), extent=extent, interpolation="antialiased")
    factor = _factor(np.hypot(*residuals.T), _LENGTH * width)
    quiver: Any = ax.quiver
    quiver(*starts.T, *(factor * residuals).T, angles="xy", scale_units="xy", scale=1, color=_COLOR, width=0.0025)
    ax.set_title(f"residuals enlarged {factor} times")
    ax.set_axis_off()
    return ax.figure.figure  # the parent figure if the axes belong to a SubFigure


def _overlay(first: Bytes, second: Bytes, inverse: Floats) -> Floats:
    """Return the warped image 1 in orange, red with half as much green, plus image 2 in blue, darkened."""
    y, x = ((np.arange(count) + 0.5) * n / count - 0.5 for n in second.shape for count in [min(n, _PIXELS)])
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    with np.errstate(all="ignore"):  # pixels at infinity
        warped = _sample(first, apply_transform(inverse, grid.reshape(-1, 2)).reshape(grid.shape))
    below = _sample(second, grid)
    return np.stack([warped, (warped + below) / 2, below], axis=-1) / 300


def _sample(image: Bytes, places: Floats) -> Floats:
    """Return the nearest pixels of an image, 0 outside of it."""
    inside = np.all((places >= -0.5) & (places < np.array(image.shape[::-1]) - 0.5), axis=-1)  # not of NaN
    column, row = np.moveaxis(np.where(inside[..., None], places + 0.5, 0.0).astype(int), -1, 0)
    return np.where(inside, image[row, column], 0.0)


def _factor(lengths: Floats, longest: float) -> int:
    """Return the largest factor by which 90 % of the lengths stay below the longest."""
    most = np.quantile(lengths, 0.9) if lengths.size else 0.0
    return int(_FACTORS[_FACTORS * most <= longest].max(initial=1)) if most > 0.0 else 1
