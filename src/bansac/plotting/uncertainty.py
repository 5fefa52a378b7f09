"""Uncertain models over image 2: bands about epipolar lines, and ellipses about mapped points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.geometry import homogeneous
from bansac.images import ImageLike, read_image
from bansac.plotting.layout import COLORS, WIDTH, new_figure, place
from bansac.validate import as_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Array = NDArray[np.float64]

# 95 % quantiles of a standard normal variable and of the length of two.
_BAND, _ELLIPSE = 1.96, 2.4477
_SAMPLES = 100


def plot_uncertainty(
    image2: ImageLike, model: ArrayLike, covariance: ArrayLike, x1: ArrayLike, *, ax: Axes | None = None
) -> Figure:
    """Draw where a homography or a fundamental matrix puts points of image 1, with 95 % regions.

    A matrix of rank 2 is a fundamental matrix: the regions are bands about the epipolar lines of the points, for each
    point of a line. Those of a homography are ellipses about the mapped points.

    Parameters
    ----------
    image2 : path or (H, W[, 3 or 4]) array_like
        Image 2.
    model : (3, 3) array_like
        Homography or fundamental matrix.
    covariance : (9, 9) array_like
        Covariance of its entries, ``of_model`` of :class:`bansac.Covariance`.
    x1 : (N, 2) array_like
        Points in image 1, for example its corners.
    ax : Axes or None, optional
        Axes to draw into; by default those of a new figure.

    Returns
    -------
    Figure
        The figure that was drawn to.

    Raises
    ------
    OSError
        If the image cannot be read.
    ValueError
        If an argument has the wrong shape.
    ImportError
        If Matplotlib is not installed.

    Examples
    --------
    >>> figure = plot_uncertainty(np.zeros((60, 80)), np.eye(3), 1e-6 * np.eye(9), [[10, 20], [30, 40]])
    >>> len(figure.axes[0].patches)  # the ellipses
    2
    """
    gray, points = read_image(image2), homogeneous(as_points("x1", x1, 2))
    matrix, spread = np.asarray(model, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    if matrix.shape != (3, 3) or spread.shape != (9, 9):
        raise ValueError(f"model must be (3, 3) and covariance (9, 9), got {matrix.shape} and {spread.shape}")
    height, width = gray.shape
    if ax is None:
        figure = new_figure(WIDTH, WIDTH * height / width)
        ax = place(figure, 0, 0, WIDTH, WIDTH * height / width)
    else:
        figure = ax.figure.figure
    ax.imshow(gray, cmap="gray", vmin=0, vmax=360)
    ax.set_axis_off()
    values = np.linalg.svd(matrix * np.outer(*2 * [[1.0, 1.0, 1.0 / max(gray.shape)]]), compute_uv=False)
    draw = _draw_band if values[2] < 1e-9 * values[0] else _draw_ellipse
    for point in points:
        by_entries = np.kron(np.eye(3), point)  # of M x by the entries of M
        draw(ax, matrix @ point, by_entries @ spread @ by_entries.T, width, height)
    ax.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5))
    return figure


def _draw_ellipse(ax: Axes, mapped: _Array, spread: _Array, width: int, height: int) -> None:
    """Draw the region of the point with the homogeneous coordinates ``mapped``."""
    from matplotlib.patches import Polygon

    centre = mapped[:2] / mapped[2]
    by_mapped = np.column_stack([np.eye(2), -centre]) / mapped[2]
    values, axes = np.linalg.eigh(by_mapped @ spread @ by_mapped.T)
    angle = np.linspace(0.0, 2.0 * np.pi, _SAMPLES)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    outline = centre + _ELLIPSE * (circle * np.sqrt(np.maximum(values, 0.0))) @ axes.T
    ax.add_patch(Polygon(outline, facecolor=COLORS[-1], edgecolor=COLORS[0], alpha=0.5))


def _draw_band(ax: Axes, line: _Array, spread: _Array, width: int, height: int) -> None:
    """Draw the region of each point of a line: its distance from the line has the variance y^T S y / |(a, b)|^2."""
    from matplotlib.patches import Polygon

    normal = line[:2] / np.linalg.norm(line[:2])
    centre = np.array([width, height]) / 2.0
    foot = centre - (centre @ line[:2] + line[2]) / np.linalg.norm(line[:2]) * normal
    along = np.linspace(-1.0, 1.0, _SAMPLES)[:, None] * (width + height) * [-normal[1], normal[0]] + foot
    y = homogeneous(along)
    half = _BAND * np.sqrt(np.maximum(np.einsum("ni,ij,nj->n", y, spread, y), 0.0)) / np.linalg.norm(line[:2])
    outline = np.concatenate([along + half[:, None] * normal, (along - half[:, None] * normal)[::-1]])
    ax.add_patch(Polygon(outline, facecolor=COLORS[-1], edgecolor=COLORS[0], alpha=0.4))
