"""Evolution of the inlier probabilities of matches or points during a run, and the outline of a homography."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bansac.geometry import homogeneous
from bansac.matches.images import ImageLike, read_image
from bansac.maths.arrays import Bytes, Floats
from bansac.maths.validate import as_matches, as_points, as_probabilities
from bansac.plotting import layout
from bansac.plotting.matches import aspect, draw_matches, subset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TRUE_COLOR, _ESTIMATED_COLOR = "#2ecc40", "#ff3b30"

_Outline = tuple[str, str, Any, Floats]  # name, colour, line style, points


def plot_probability_evolution(
    image1: ImageLike,
    image2: ImageLike,
    x1: ArrayLike,
    x2: ArrayLike,
    snapshots: Mapping[int, ArrayLike],
    *,
    iterations: Sequence[int] = (0, 10, 100, 1000),
    H_true: ArrayLike | None = None,
    H_estimated: ArrayLike | None = None,
    max_matches: int = 250,
    seed: int = 0,
) -> Figure:
    """Draw how the inlier probabilities of matches evolve during a run, as in the first figure of the BANSAC paper.

    All panels show the same matches. A panel shows the last of the ``snapshots`` (probabilities by iteration, see
    ``result.trace.snapshots``) at or before one of the ``iterations``, and each snapshot is drawn once: if a run ends
    after six iterations, one panel "Iteration 6" replaces the panels 10, 100 and 1000. If a homography is given, a
    further panel shows image 2 with the outline of image 1, mapped by the true one in green, by the estimated in red.
    """
    gray1, gray2 = read_image(image1), read_image(image2)
    points1, points2 = np.split(as_matches(x1, x2).T, 2, axis=1)
    panels = _snapshot_panels(snapshots, iterations, len(points1))
    outlines = [
        (name, color, style, _outline(np.asarray(H), gray1.shape))
        for name, color, style, H in (
            ("true", _TRUE_COLOR, "-", H_true),
            ("estimated", _ESTIMATED_COLOR, (0, (5, 2.5)), H_estimated),
        )
        if H is not None
    ]
    shown = subset(len(points1), max_matches, seed)

    columns = 1 if len(panels) == 1 else 2
    panel = layout.WIDTH / 2, layout.WIDTH / 2 / aspect(gray1, gray2)
    # The outlined image has the height of the panels, with its legend below, but at most the width of a panel.
    outline_height = -(-len(panels) // columns) * (panel[1] + layout.TITLE) - 2 * layout.TITLE
    outline_width = 0.0
    if outlines:
        low, high = _outlined_limits(gray2, outlines)
        outline_width = min(outline_height * float(np.divide(*(high - low))), panel[0])
    figure, axes = _panel_grid([k for k, _ in panels], columns, *panel, right=outline_width)
    for ax, (_, values) in zip(axes, panels, strict=True):
        draw_matches(ax, gray1, gray2, points1[shown], points2[shown], values[shown])
    if outlines:
        left = columns * (panel[0] + layout.SPACE) + layout.BAR
        _draw_outlines(layout.place(figure, left, layout.TITLE, outline_width, outline_height), gray2, outlines)
    return figure


def _draw_outlines(ax: Axes, gray2: Bytes, outlines: list[_Outline]) -> None:
    """Draw image 2 and quadrilaterals on it, with a margin if they exceed the image."""
    ax.imshow(gray2, cmap="gray", vmin=0, vmax=255, interpolation="antialiased")
    for name, color, style, outline in outlines:
        ax.plot(
            *outline.T, color=color, linestyle=style, linewidth=2.2, label=f"image 1, {name}", solid_joinstyle="round"
        )
    low, high = _outlined_limits(gray2, outlines)
    ax.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]))
    ax.set_axis_off()
    ax.set_title("Image 1 seen in image 2", fontsize="medium")
    layout.legend_outside(ax, below=True)


def _outlined_limits(gray2: Bytes, outlines: list[_Outline]) -> tuple[Floats, Floats]:
    """Return the upper left and lower right corner of the area that :func:`_draw_outlines` shows."""
    # The margin is at most a quarter of each side, so that a wrong estimate does not shrink the image.
    corners = np.array([[-0.5, -0.5], [gray2.shape[1] - 0.5, gray2.shape[0] - 0.5]])
    margin = 0.25 * corners[1]
    reach = np.concatenate([outline for *_, outline in outlines])
    reach = np.clip(reach[np.isfinite(reach).all(axis=1)], -margin, corners[1] + margin)
    points = np.concatenate([corners, reach])
    border = 0.01 * gray2.shape[1]
    return points.min(axis=0) - border, points.max(axis=0) + border


def _outline(matrix: Floats, shape: tuple[int, ...]) -> Floats:
    """Map the outline of an image as a polyline; NaN for points behind the camera."""
    height, width = shape
    corners = np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1], [0, 0]], dtype=np.float64)
    along = np.linspace(0, 1, 65)[:, None]
    points = np.concatenate([(1 - along) * a + along * b for a, b in pairwise(corners)])
    mapped = homogeneous(points) @ matrix.T
    centre = matrix[2] @ [(width - 1) / 2, (height - 1) / 2, 1]
    depth = mapped[:, 2] * np.sign(centre)
    in_front = depth > 1e-9 * np.abs(depth).max()
    return np.where(in_front[:, None], mapped[:, :2] / np.where(in_front, mapped[:, 2], 1)[:, None], np.nan)


def plot_point_evolution(
    points: ArrayLike,
    snapshots: Mapping[int, ArrayLike],
    *,
    iterations: Sequence[int] = (0, 2, 4, 9, 11, 14),
    curve_true: ArrayLike | None = None,
    curves: Mapping[int, ArrayLike] | None = None,
    columns: int = 3,
) -> Figure:
    """Draw how the inlier probabilities of 2D points evolve during a run, as in the BANSAC paper's curve example.

    Snapshots and iterations are those of :func:`plot_probability_evolution`. The true curve (K, 2) is green, and the
    estimated ``curves`` by iteration are dashed, each in the panel of its iteration.
    """
    data = as_points("points", points, 2)
    panels = _snapshot_panels(snapshots, iterations, len(data))
    true = None if curve_true is None else np.asarray(curve_true)
    estimates = {k: np.asarray(curve) for k, curve in (curves or {}).items()}
    low, high = (data.min(axis=0), data.max(axis=0)) if len(data) else (np.full(2, -1.0), np.ones(2))
    border = 0.03 * np.where(high > low, high - low, 1.0)
    low, high = low - border, high + border

    columns = min(columns, len(panels))
    side, legend = layout.WIDTH / 3, layout.TITLE if true is not None or estimates else 0.0
    figure, axes = _panel_grid([k for k, _ in panels], columns, side, side, below=legend)
    handles = {}
    for ax, (iteration, values) in zip(axes, panels, strict=True):
        order = np.argsort(values, kind="stable")
        x, y = data[order].T
        ax.scatter(x, y, c=values[order], cmap=layout.color_map(), vmin=0, vmax=1, s=14, linewidths=0)
        if true is not None:
            (handles["true curve"],) = ax.plot(*true.T, color=_TRUE_COLOR, linewidth=5, alpha=0.55, zorder=0)
        if iteration in estimates:
            (line,) = ax.plot(*estimates[iteration].T, color="black", linewidth=1.1, linestyle=(0, (5, 2.5)))
            handles["best model so far"] = line
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[], facecolor="#f4f4f4")
        ax.spines[:].set_visible(False)
    if handles:
        middle = columns * (side + layout.SPACE) / 2 / figure.get_size_inches()[0]
        at: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (middle, 0), "ncols": 2, "frameon": False}
        figure.legend(list(handles.values()), list(handles), **at)
    return figure


def _panel_grid(
    iterations: Sequence[int], columns: int, width: float, height: float, *, right: float = 0.0, below: float = 0.0
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel for each iteration, a colour bar, and free space to the right and below."""
    step = width + layout.SPACE, height + layout.TITLE
    rows = -(-len(iterations) // columns)
    figure = layout.new_figure(columns * step[0] + layout.BAR + right, rows * step[1] + below)
    axes = []
    for k, iteration in enumerate(iterations):
        axes.append(layout.place(figure, k % columns * step[0], k // columns * step[1] + layout.TITLE, width, height))
        axes[-1].set_title(f"Iteration {iteration}" if iteration else "Start", fontsize="medium")
    bar = layout.place(figure, columns * step[0], layout.TITLE, layout.SPACE, rows * step[1] - layout.TITLE)
    layout.color_bar(figure, axes[0], bar, "colour: belief in\nbeing an inlier, $P^k$")  # short, for one row of panels
    return figure, axes


def _snapshot_panels(snapshots: Mapping[int, ArrayLike], iterations: Sequence[int], n: int) -> list[tuple[int, Floats]]:
    """Return, for each iteration, the last snapshot at or before it and its iteration, without repetitions."""
    records: dict[int, Floats] = {}
    for iteration in iterations:
        last = max((k for k in snapshots if k <= iteration), default=None)
        if last is None:
            raise ValueError(f"snapshots must have one at or before iteration {iteration}, got {sorted(snapshots)}")
        records[last] = as_probabilities(f"snapshots[{last}]", snapshots[last], n)
    return list(records.items())
