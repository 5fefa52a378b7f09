"""What several samplers find in one image pair whose true matches are known, one column a sampler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bansac.matches import Matches
from bansac.matches.images import read_image
from bansac.maths.arrays import Bytes, Floats
from bansac.plotting.layout import FAINT_COLOR, SPACE, TITLE, WIDTH, new_figure, place

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Sky blue and orange of Okabe and Ito: colour-blind readers can tell them apart, also on a grey image.
_TRUE, _WRONG = "#56b4e9", "#ff9d00"


def plot_samplers(matches: Matches, results: Mapping[str, Any]) -> Figure:
    """Draw the matches that each result keeps, with the true ones in another colour than the wrong ones.

    Image 1 is above image 2, at the same width. The opacity of a line is the probability of its match, or 1 if the
    result has no probabilities. Rejected matches are faint.
    """
    from matplotlib.lines import Line2D

    pair = [read_image(image) for image in (matches.image1, matches.image2) if image is not None]
    true = np.asarray(matches.inliers, dtype=bool)
    width = (WIDTH - (len(results) - 1) * SPACE) / len(results)
    height = sum(width * image.shape[0] / image.shape[1] for image in pair) + SPACE / 2
    figure = new_figure(WIDTH, 3 * TITLE + height)
    for column, (name, result) in enumerate(results.items()):
        left, kept = column * (width + SPACE), result.inliers
        ax = place(figure, left, 2 * TITLE, width, height)
        scale, top = _show_pair(ax, pair, SPACE / 2 / width)
        ends = np.stack([matches.x1, (matches.x2 + 0.5) * scale + [-0.5, top]], axis=1)
        opacity = np.ones(len(kept)) if result.probabilities is None else result.probabilities
        _draw_lines(ax, ends[~kept], "white", np.full(np.count_nonzero(~kept), 0.07), 0.5)
        _draw_lines(ax, ends[kept & ~true], _WRONG, opacity[kept & ~true], 1.2)
        _draw_lines(ax, ends[kept & true], _TRUE, opacity[kept & true], 1.8)
        ax.set_title(f"{name}: {(kept & true).sum()} of {true.sum()} true matches", fontsize=17, pad=25)
        outcome = f"{result.iterations:,} iterations, {'success' if result.success else 'no success'}"
        ax.text(0.5, 1.015, outcome, transform=ax.transAxes, ha="center", fontsize=13, color="0.35")
    names = "true match (opacity: probability)", "wrong match", "rejected match"
    styles = ((_TRUE, 3), (_WRONG, 2), (FAINT_COLOR, 1))
    lines = [Line2D([], [], color=color, linewidth=line) for color, line in styles]
    figure.legend(lines, names, loc="lower center", ncols=len(lines), frameon=False, fontsize=13)
    return figure


def _show_pair(ax: Axes, pair: list[Bytes], gap: float) -> tuple[float, float]:
    """Show image 1 above image 2, darkened; return the scale of image 2 and its upper edge."""
    (height1, width), (height2, width2) = pair[0].shape, pair[1].shape
    scale, top = width / width2, height1 - 0.5 + gap * width
    for image, first, rows in ((pair[0], -0.5, height1), (pair[1], top, height2 * scale)):
        extent = (-0.5, width - 0.5, first + rows, first)
        ax.imshow(image, cmap="gray", vmin=0, vmax=400, extent=extent, interpolation="antialiased")
    ax.set(xlim=(-0.5, width - 0.5), ylim=(top + height2 * scale, -0.5))
    ax.set_axis_off()
    return scale, top


def _draw_lines(ax: Axes, ends: Floats, color: str, opacity: Floats, width: float) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba_array

    colors = to_rgba_array([color] * len(ends), opacity)
    ax.add_collection(LineCollection(list(ends), colors=colors, linewidths=width), autolim=False)
    x, y = ends.reshape(-1, 2).T
    ax.scatter(x, y, s=6 * width, c=np.repeat(colors, 2, axis=0), linewidths=0, zorder=3)
