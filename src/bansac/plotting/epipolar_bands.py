"""Epipolar lines of an uncertain fundamental matrix over image 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from bansac.geometry import homogeneous
from bansac.matches.images import ImageLike, read_image
from bansac.maths.validate import as_numbers, as_points
from bansac.plotting.layout import COLORS, WIDTH, new_figure, place

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_QUANTILE = 1.96  # 95 % of a normal distribution lie within so many standard deviations
_SAMPLES = 100


def plot_epipolar_bands(image2: ImageLike, F: ArrayLike, covariance: ArrayLike, x1: ArrayLike) -> Figure:
    """Draw the epipolar lines of points in image 1 as bands, which hold each point of the true line with 95 %.

    Parameters
    ----------
    image2 : path or (H, W[, 3 or 4]) array_like
        Image 2. The errors are those of :func:`bansac.plotting.plot_matches`.
    F : (3, 3) array_like
        Fundamental matrix.
    covariance : (9, 9) array_like
        Covariance of its entries row by row: ``of_model`` of :class:`bansac.Covariance`.
    x1 : (N, 2) array_like
        Points in image 1, in pixels.

    Examples
    --------
    >>> sideways = [[0, 0, 0], [0, 0, -1], [0, 1, 0]]
    >>> figure = plot_epipolar_bands(np.zeros((60, 80)), sideways, 1e-6 * np.eye(9), [[10, 20], [30, 40]])
    >>> len(figure.axes[0].patches)  # the bands
    2
    """
    gray, points = read_image(image2), homogeneous(as_points("x1", x1, 2))
    matrix, spread = as_numbers("F", F, (3, 3)), as_numbers("covariance", covariance, (9, 9))
    height, width = gray.shape
    figure = new_figure(WIDTH, WIDTH * height / width)
    from matplotlib.patches import Polygon

    ax = place(figure, 0, 0, WIDTH, WIDTH * height / width)
    ax.imshow(gray, cmap="gray", vmin=0, vmax=360)
    ax.set_axis_off()
    positions = np.linspace(-1.0, 1.0, _SAMPLES)[:, None] * (width + height)
    for point in points:
        line, by_entries = matrix @ point, np.kron(np.eye(3), point)
        length = np.linalg.norm(line[:2])
        normal, centre = line[:2] / length, np.array([width, height]) / 2.0
        along = centre - (normal @ centre + line[2] / length) * normal + positions * [-normal[1], normal[0]]
        y = homogeneous(along)  # at distance 0, with the variance y^T S y / length^2, where S is that of the line
        variance = np.einsum("ni,ij,nj->n", y, by_entries @ spread @ by_entries.T, y) / length**2
        half = _QUANTILE * np.sqrt(np.maximum(variance, 0.0))[:, None] * normal
        outline = np.concatenate([along + half, (along - half)[::-1]])
        ax.add_patch(Polygon(outline, facecolor=COLORS[-1], edgecolor=COLORS[0], alpha=0.4))
    ax.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5))
    return figure
