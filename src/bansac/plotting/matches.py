"""Two images side by side with their matches, coloured by inlier probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from bansac.matches.images import ImageLike, read_image
from bansac.maths.arrays import Bools, Bytes, Floats, Ints
from bansac.maths.validate import as_matches, as_probabilities
from bansac.plotting.layout import BAR, SPACE, TITLE, WIDTH, color_bar, color_map, legend_outside, new_figure, place

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GAP = 0.02  # between the two images, relative to the width of image 1

# Line widths in points: matches without a mask, inliers, outliers.
_LINE, _THICK, _THIN = 0.8, 1.4, 0.5


def plot_matches(
    image1: ImageLike,
    image2: ImageLike,
    x1: ArrayLike,
    x2: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    inliers: ArrayLike | None = None,
    max_matches: int = 250,
    seed: int = 0,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw two images side by side and their matches, coloured by inlier probability.

    An image that cannot be read is an OSError; other lengths, and values out of range, are ValueErrors.

    Parameters
    ----------
    image1, image2 : path or (H, W[, 3 or 4]) array_like
        Images; image 2 is scaled to the height of image 1.
    x1, x2 : (N, 2) array_like
        Matched points in pixels.
    probabilities : (N,) array_like or None, optional
        Inlier probability of each match, in [0, 1]. Without it, all matches have one colour, or two with ``inliers``.
    inliers : (N,) array_like of bool or None, optional
        Inlier mask. Inliers have thick lines and outliers thin, faint lines; a legend below explains this.
    max_matches : int, optional
        Largest number of matches drawn; they are chosen at random.
    seed : int, optional
        Seed of the random choice.
    title : str or None, optional
        Title of the figure.
    ax : Axes or None, optional
        Axes to draw into; by default those of a new figure.

    Examples
    --------
    >>> grey = np.full((60, 80), 0.5)
    >>> figure = plot_matches(grey, grey, [[10, 20], [30, 40]], [[12, 20], [70, 5]], [0.9, 0.1])
    >>> len(figure.axes)  # the pair and the colour bar
    2
    """
    gray1, gray2 = read_image(image1), read_image(image2)
    points1, points2 = np.split(as_matches(x1, x2).T, 2, axis=1)
    mask = None if inliers is None else as_mask(inliers, len(points1))
    shown = subset(len(points1), max_matches, seed)
    if probabilities is not None:
        values = as_probabilities("probabilities", probabilities, len(points1))
    else:
        values = np.ones(len(points1)) if mask is None else mask.astype(np.float64)

    top, below = TITLE if title else 0.0, 0.0 if mask is None else TITLE
    bar = None
    if ax is None:
        panel = WIDTH, WIDTH / aspect(gray1, gray2)
        size = panel[0] + (BAR if probabilities is not None else 0.0), panel[1] + top + below
        figure = new_figure(*size)
        ax = place(figure, 0, top, *panel)
        if probabilities is not None:
            bar = place(figure, panel[0] + SPACE, top, SPACE, panel[1])
    else:
        figure = ax.figure.figure  # the parent figure if the axes belong to a SubFigure
    draw_matches(ax, gray1, gray2, points1[shown], points2[shown], values[shown], None if mask is None else mask[shown])
    if title:
        ax.set_title(title)
    if mask is not None:
        from matplotlib.lines import Line2D

        thick = Line2D(
            [], [], color="black", linewidth=_THICK, label="thick: inlier of the model, within the threshold"
        )
        thin = Line2D([], [], color="black", linewidth=_THIN, alpha=0.6, label="thin: outlier")
        legend_outside(ax, below=True, handles=[thick, thin])
    if probabilities is not None:
        color_bar(figure, ax, bar, "colour: probability of being an inlier")
    return figure


def draw_matches(
    ax: Axes,
    gray1: Bytes,
    gray2: Bytes,
    x1: Floats,
    x2: Floats,
    values: Floats,
    mask: Bools | None = None,
) -> None:
    """Draw the pair and its matches, those with high probability on top."""
    from matplotlib.collections import LineCollection

    height, width = gray1.shape
    scale = height / gray2.shape[0]
    left = width * (1 + _GAP)
    _show(ax, gray1, (0, width), height)
    _show(ax, gray2, (left, left + scale * gray2.shape[1]), height)
    ax.set(xlim=(-0.5, left + scale * gray2.shape[1] - 0.5), ylim=(height - 0.5, -0.5))
    ax.set_axis_off()

    order = np.argsort(values, kind="stable")
    ends1, ends2, colors = x1[order], (x2[order] + 0.5) * scale - 0.5, values[order]
    ends2[:, 0] += left
    # Matches with a low probability are more transparent, so that many wrong lines do not hide the images.
    alpha, widths = 0.45 + 0.45 * colors, np.full(len(colors), _LINE)
    if mask is not None:
        alpha, widths = np.where(mask[order], 0.9, 0.4), np.where(mask[order], _THICK, _THIN)
    rgba = color_map()(colors)
    rgba[:, 3] = alpha
    segments = np.stack([ends1, ends2], axis=1)
    ax.add_collection(LineCollection(list(segments), colors=rgba, linewidths=widths, capstyle="round"), autolim=False)
    ends = np.concatenate([ends1, ends2])
    ax.scatter(ends[:, 0], ends[:, 1], s=6, c=np.tile(rgba, (2, 1)), linewidths=0, zorder=3)


def _show(ax: Axes, gray: Bytes, span: tuple[float, float], height: float) -> None:
    """Show a grey image between two columns, darkened so that coloured lines are visible."""
    extent = (span[0] - 0.5, span[1] - 0.5, height - 0.5, -0.5)
    ax.imshow(gray, cmap="gray", vmin=0, vmax=360, extent=extent, interpolation="antialiased")


def aspect(gray1: Bytes, gray2: Bytes) -> float:
    """Return the aspect ratio (width by height) of the pair, side by side at one height."""
    (height1, width1), (height2, width2) = gray1.shape, gray2.shape
    return float(width1 / height1 * (1 + _GAP) + width2 / height2)


def subset(n: int, max_matches: int, seed: int) -> Ints:
    """Return the sorted indices of at most ``max_matches`` of n matches, chosen at random."""
    if max_matches < 0:
        raise ValueError(f"max_matches must not be negative, got {max_matches}")
    if n <= max_matches:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, max_matches, replace=False))


def as_mask(inliers: ArrayLike, n: int) -> Bools:
    """Check the mask of n matches."""
    mask = np.asarray(inliers)
    if mask.shape != (n,) or mask.dtype.kind not in "bui":
        raise ValueError(f"inliers must be a mask of shape ({n},), got {mask.dtype} of shape {mask.shape}")
    return mask.astype(bool)
