"""Pictures of matches and runs: who is believed an inlier, how that belief grew, and why the run stopped.

Every function returns a :class:`matplotlib.figure.Figure` made without pyplot: nothing to close, no global state, no
window. :func:`save_figure` writes it to a file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.datasets.matching import ImageLike, read_image
from bansac.validate import as_points, as_probabilities, check_same_length

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bansac.result import Trace

__all__ = [
    "plot_matches",
    "plot_point_evolution",
    "plot_probability_evolution",
    "plot_trace",
    "save_figure",
]

_Array = NDArray[np.float64]
_Outline = tuple[str, str, Any, _Array]  # name, colour, line style, points

# Red to blue by way of pale yellow: both ends stand out from a grey image, also to colour-blind eyes.
_COLORS = ["#d7191c", "#f46d43", "#fdae61", "#fee090", "#abd9e9", "#57b5f0", "#1687ff"]
_TRUE, _ESTIMATED, _FAINT = "#2ecc40", "#ff3b30", "#8a8a8a"
_GAP = 0.02  # between the two images, as a share of the width of image 1
# Inches: two images, a title, a colour bar with its labels, a gap, the margin of a figure.
_WIDTH, _TITLE, _BAR, _SPACE, _MARGIN = 10.0, 0.3, 0.85, 0.15, 0.1


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
    """Draw two images side by side and their matches, coloured by probability.

    Parameters
    ----------
    image1, image2 : path or (H, W[, 3 or 4]) array_like
        Images; image 2 is scaled to the height of image 1.
    x1, x2 : (N, 2) array_like
        Matched points in pixels.
    probabilities : (N,) array_like or None, optional
        Probability of every match of being an inlier, in [0, 1]. Without it all matches have one colour, or two with
        ``inliers``.
    inliers : (N,) array_like of bool or None, optional
        Mask; the matches outside it are drawn faintly.
    max_matches : int, optional
        Largest number of matches drawn, chosen at random.
    seed : int, optional
        Seed of that choice.
    title : str or None, optional
        Title of the picture.
    ax : Axes or None, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Figure
        The figure drawn to.

    Raises
    ------
    OSError
        If an image cannot be read.
    ValueError
        If lengths differ or a value is out of its range.
    ImportError
        If Matplotlib is not installed.

    Examples
    --------
    >>> grey = np.full((60, 80), 0.5)
    >>> figure = plot_matches(grey, grey, [[10, 20], [30, 40]], [[12, 20], [70, 5]], [0.9, 0.1])
    >>> len(figure.axes)  # the pair and the colour bar
    2
    """
    gray1, gray2 = read_image(image1), read_image(image2)
    points1, points2 = _as_matches(x1, x2)
    mask = None if inliers is None else _as_mask(inliers, len(points1))
    shown = _subset(len(points1), max_matches, seed)
    if probabilities is not None:
        values = as_probabilities("probabilities", probabilities, len(points1), "")
    else:
        values = np.ones(len(points1)) if mask is None else mask.astype(np.float64)

    top = _TITLE if title else 0.0
    bar = None
    if ax is None:
        panel = _WIDTH, _WIDTH / _aspect(gray1, gray2)
        size = panel[0] + (_BAR if probabilities is not None else 0.0), panel[1] + top
        figure = _new_figure(*size)
        ax = _place(figure, 0, top, *panel)
        if probabilities is not None:
            bar = _place(figure, panel[0] + _SPACE, top, _SPACE, panel[1])
    else:
        figure = ax.figure.figure  # that of the axes, or the one around it if that is a SubFigure
    _draw_matches(
        ax, gray1, gray2, points1[shown], points2[shown], values[shown], None if mask is None else mask[shown]
    )
    if title:
        ax.set_title(title)
    if probabilities is not None:
        _color_bar(figure, ax, bar)
    return figure


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
    """Draw how the probabilities of matches grow over a run, as in the first figure of the BANSAC paper.

    Parameters
    ----------
    image1, image2 : path or (H, W[, 3 or 4]) array_like
        Images.
    x1, x2 : (N, 2) array_like
        Matched points in pixels.
    snapshots : mapping of int to (N,) array_like
        Probabilities after that many iterations (``result.trace.snapshots``).
    iterations : sequence of int, optional
        A panel is drawn for each. Where it has no snapshot, the last one before it is drawn, and the title says so.
    H_true, H_estimated : (3, 3) array_like or None, optional
        Homographies: a further panel shows image 2 with the outline of image 1 mapped by the true one in green and by
        the estimated one in red.
    max_matches : int, optional
        Largest number of matches drawn, chosen at random, the same in all panels.
    seed : int, optional
        Seed of that choice.

    Returns
    -------
    Figure
        The figure.

    Raises
    ------
    OSError
        If an image cannot be read.
    ValueError
        If lengths differ, a value is out of its range, or there is no snapshot at or before an iteration.
    ImportError
        If Matplotlib is not installed.

    Examples
    --------
    >>> grey = np.full((60, 80), 0.5)
    >>> points = [[10, 20], [30, 40]]
    >>> snapshots = {0: [0.5, 0.5], 7: [0.9, 0.8]}
    >>> figure = plot_probability_evolution(grey, grey, points, points, snapshots, iterations=(0, 10))
    >>> [ax.get_title() for ax in figure.axes[:2]]
    ['Start', 'Iteration 10 (last record: 7)']
    """
    gray1, gray2 = read_image(image1), read_image(image2)
    points1, points2 = _as_matches(x1, x2)
    panels = _panels(snapshots, iterations, len(points1))
    outlines = [
        (name, color, style, _outline(argument, H, gray1.shape))
        for name, color, style, argument, H in (
            ("true", _TRUE, "-", "H_true", H_true),
            ("estimated", _ESTIMATED, (0, (5, 2.5)), "H_estimated", H_estimated),
        )
        if H is not None
    ]
    shown = _subset(len(points1), max_matches, seed)

    columns = 1 if len(panels) == 1 else 2
    rows = -(-len(panels) // columns)
    panel = _WIDTH / 2, _WIDTH / 2 / _aspect(gray1, gray2)
    step = panel[0] + _SPACE, panel[1] + _TITLE
    height = rows * step[1]
    bar_left = columns * step[0]
    # The outlined image fills the height of the panels, its legend below, but is no wider than one of them.
    outline_height = height - 2 * _TITLE
    outline_width = min(outline_height * _outlined_aspect(gray2, outlines), panel[0]) if outlines else 0.0
    figure = _new_figure(bar_left + _BAR + outline_width, height)
    first = None
    for k, (title, values) in enumerate(panels):
        ax = _place(figure, k % columns * step[0], k // columns * step[1] + _TITLE, *panel)
        _draw_matches(ax, gray1, gray2, points1[shown], points2[shown], values[shown])
        ax.set_title(title, fontsize="medium")
        first = first or ax
    bar = _place(figure, bar_left, _TITLE, _SPACE, height - _TITLE)
    _color_bar(figure, first, bar)
    if outlines:
        _draw_outlines(_place(figure, bar_left + _BAR, _TITLE, outline_width, outline_height), gray2, outlines)
    return figure


def plot_point_evolution(
    points: ArrayLike,
    snapshots: Mapping[int, ArrayLike],
    *,
    iterations: Sequence[int] = (0, 2, 4, 9, 11, 14),
    curve_true: ArrayLike | None = None,
    curves: Mapping[int, ArrayLike] | None = None,
    columns: int = 3,
) -> Figure:
    """Draw how the probabilities of points of the plane grow over a run, as in the curve example of the BANSAC paper.

    Parameters
    ----------
    points : (N, 2) array_like
        The points.
    snapshots : mapping of int to (N,) array_like
        Probabilities after that many iterations (``result.trace.snapshots``).
    iterations : sequence of int, optional
        A panel is drawn for each. Where it has no snapshot, the last one before it is drawn, and the title says so.
    curve_true : (K, 2) array_like or None, optional
        Points along the true curve, drawn in green.
    curves : mapping of int to (K, 2) array_like, optional
        Points along the estimated curve by iteration, drawn dashed in that iteration's panel.
    columns : int, optional
        Panels a row.

    Returns
    -------
    Figure
        The figure.

    Raises
    ------
    ValueError
        If lengths differ, a value is out of its range, or there is no snapshot at or before an iteration.
    ImportError
        If Matplotlib is not installed.

    Examples
    --------
    >>> figure = plot_point_evolution([[0, 1], [1, 2]], {0: [0.5, 0.5], 3: [0.9, 0.8]}, iterations=(0, 3))
    >>> [ax.get_title() for ax in figure.axes[:2]]
    ['Start', 'Iteration 3']
    """
    data = as_points("points", points, 2)
    if columns < 1:
        raise ValueError(f"columns must be at least 1, got {columns}")
    panels = _panels(snapshots, iterations, len(data))
    true = None if curve_true is None else as_points("curve_true", curve_true, 2)
    estimates = {k: as_points(f"curves[{k}]", curve, 2) for k, curve in (curves or {}).items()}
    limits = _data_limits(data)

    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    side, legend = _WIDTH / 3, _TITLE if true is not None or estimates else 0.0
    height = rows * (side + _TITLE)
    figure = _new_figure(columns * (side + _SPACE) + _BAR, height + legend)
    first, handles = None, {}
    for k, (iteration, (title, values)) in enumerate(zip(iterations, panels, strict=True)):
        ax = _place(figure, k % columns * (side + _SPACE), k // columns * (side + _TITLE) + _TITLE, side, side)
        order = np.argsort(values, kind="stable")
        x, y = data[order].T
        ax.scatter(x, y, c=values[order], cmap=_color_map(), vmin=0, vmax=1, s=14, linewidths=0)
        if true is not None:
            (handles["true curve"],) = ax.plot(*true.T, color=_TRUE, linewidth=5, alpha=0.55, zorder=0)
        if iteration in estimates:
            (line,) = ax.plot(*estimates[iteration].T, color="black", linewidth=1.1, linestyle=(0, (5, 2.5)))
            handles["best model so far"] = line
        ax.set(xlim=limits[0], ylim=limits[1], xticks=[], yticks=[], facecolor="#f4f4f4")
        ax.set_title(title, fontsize="medium")
        ax.spines[:].set_visible(False)
        first = first or ax
    bar = _place(figure, columns * (side + _SPACE), _TITLE, _SPACE, height - _TITLE)
    _color_bar(figure, first, bar)
    if handles:
        middle = columns * (side + _SPACE) / 2 / figure.get_size_inches()[0]
        figure.legend(
            list(handles.values()),
            list(handles),
            loc="lower center",
            bbox_to_anchor=(middle, 0),
            ncols=2,
            frameon=False,
        )
    return figure


def plot_trace(trace: Trace, *, n_points: int | None = None) -> Figure:
    """Draw the course of a run: inlier ratio, gamma and the stop counters over the iterations.

    Parameters
    ----------
    trace : Trace
        Course of a run (``result.trace``, with ``trace=True``).
    n_points : int or None, optional
        Number of data, that the best model's inlier count is divided by. By default it is the sum of its inliers and
        outliers.

    Returns
    -------
    Figure
        The figure.

    Raises
    ------
    ValueError
        If the trace is empty or ``n_points`` is not positive.
    ImportError
        If Matplotlib is not installed.
    """
    steps = len(trace.inlier_ratio)
    if not steps:
        raise ValueError("trace is empty: the run ended before its first iteration")
    if n_points is None:
        n_points = int(trace.best_inliers[-1] + trace.outliers[-1])
    if n_points < 1:
        raise ValueError(f"n_points must be at least 1, got {n_points}")
    iteration = np.arange(1, steps + 1)
    counting = bool(np.isfinite(trace.required_iterations).any())
    figure = _new_figure(8.0, 7.6 if counting else 6.0)
    figure.set_layout_engine("constrained")
    axes = figure.subplots(3 + counting, 1, sharex=True)

    ax = axes[0]
    _dots(ax, iteration, trace.inlier_ratio, "best model of the iteration")
    ax.step(iteration, trace.best_inliers / n_points, where="post", color=_ESTIMATED, label="best model so far")
    ax.set(ylabel="inlier ratio", ylim=(0, 1))

    ax = axes[1]
    _dots(ax, iteration, trace.gamma, None)
    ax.set(ylabel=r"$\gamma$ = P(c = I | x = I)", ylim=(0, 1))

    ax = axes[2]
    ax.step(
        iteration, trace.low_probability, where="post", color="#1687ff", label=r"data with $p < \tau$ ($\tilde{O}$)"
    )
    ax.step(iteration, trace.outliers, where="post", color=_ESTIMATED, label=r"outliers of the best model ($O^*$)")
    ax.set(ylabel="data", ylim=(0, 1.05 * n_points))

    if counting:
        ax = axes[3]
        finite = np.where(np.isfinite(trace.required_iterations), trace.required_iterations, np.nan)
        ax.step(iteration, np.maximum(finite, 1), where="post", color=_ESTIMATED, label="iterations required")
        ax.plot(iteration, iteration, color=_FAINT, linestyle="--", label="iterations done")
        ax.set(ylabel="iterations", yscale="log")

    axes[-1].set_xlabel("iteration")
    axes[0].set_xlim(*((1, steps) if steps > 1 else (0.5, 1.5)))
    for ax in axes:
        ax.grid(color="#e6e6e6", linewidth=0.7)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        if ax.get_legend_handles_labels()[1]:
            # Beside the curves, never over them.
            ax.legend(
                frameon=False, fontsize="small", loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.1
            )
    return figure


def save_figure(figure: Figure, path: str | os.PathLike[str], *, dpi: int = 150) -> Path:
    """Write a figure to a file.

    Parameters
    ----------
    figure : Figure
        The figure.
    path : str or path
        Where to; the ending names the format (png, pdf, svg, jpg, ...).
    dpi : int, optional
        Pixels per inch.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    OSError
        If the folder does not exist or cannot be written to.
    ValueError
        If the ending names no format.
    """
    path = Path(path)
    formats = figure.canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in formats:
        raise ValueError(f"path must end in one of {', '.join(sorted(formats))}; got {str(path)!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}")
    try:
        figure.savefig(path, dpi=dpi)
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def _draw_matches(
    ax: Axes,
    gray1: NDArray[np.uint8],
    gray2: NDArray[np.uint8],
    x1: _Array,
    x2: _Array,
    values: _Array,
    mask: NDArray[np.bool_] | None = None,
) -> None:
    """Draw the pair and its matches, the probable ones on top."""
    from matplotlib.collections import LineCollection

    height, width = gray1.shape
    scale = height / gray2.shape[0]
    left = width * (1 + _GAP)
    _show(ax, gray1, (0, width))
    _show(ax, gray2, (left, left + scale * gray2.shape[1]), height)
    ax.set(xlim=(-0.5, left + scale * gray2.shape[1] - 0.5), ylim=(height - 0.5, -0.5))
    ax.set_axis_off()

    order = np.argsort(values, kind="stable")
    ends1, ends2, colors = x1[order], (x2[order] + 0.5) * scale - 0.5, values[order]
    ends2[:, 0] += left
    # Doubtful matches are drawn lighter still, or a thousand wrong lines would hide the picture.
    alpha = 0.45 + 0.45 * colors
    if mask is not None:
        alpha = np.where(mask[order], 0.9, 0.2)
    rgba = _color_map()(colors)
    rgba[:, 3] = alpha
    segments = np.stack([ends1, ends2], axis=1)
    ax.add_collection(LineCollection(list(segments), colors=rgba, linewidths=0.8, capstyle="round"), autolim=False)
    ends = np.concatenate([ends1, ends2])
    ax.scatter(ends[:, 0], ends[:, 1], s=6, c=np.tile(rgba, (2, 1)), linewidths=0, zorder=3)


def _show(ax: Axes, gray: NDArray[np.uint8], span: tuple[float, float], height: float | None = None) -> None:
    """Show a grey image between two columns, darkened so that coloured lines stand out."""
    bottom = gray.shape[0] if height is None else height
    extent = (span[0] - 0.5, span[1] - 0.5, bottom - 0.5, -0.5)
    ax.imshow(gray, cmap="gray", vmin=0, vmax=360, extent=extent, interpolation="antialiased")


def _draw_outlines(ax: Axes, gray2: NDArray[np.uint8], outlines: list[_Outline]) -> None:
    """Draw image 2 and quadrilaterals on it, with a margin where they reach beyond."""
    ax.imshow(gray2, cmap="gray", vmin=0, vmax=255, interpolation="antialiased")
    for name, color, style, outline in outlines:
        ax.plot(
            *outline.T, color=color, linestyle=style, linewidth=2.2, label=f"image 1, {name}", solid_joinstyle="round"
        )
    low, high = _outlined_limits(gray2, outlines)
    ax.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]))
    ax.set_axis_off()
    ax.set_title("Image 1 seen in image 2", fontsize="medium")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2, frameon=False, fontsize="small")


def _outlined_limits(gray2: NDArray[np.uint8], outlines: list[_Outline]) -> tuple[_Array, _Array]:
    """Return the upper left and lower right end of what :func:`_draw_outlines` shows."""
    # A wild estimate must not shrink the image: a quarter of its side is the widest margin.
    corners = np.array([[-0.5, -0.5], [gray2.shape[1] - 0.5, gray2.shape[0] - 0.5]])
    margin = 0.25 * corners[1]
    reach = np.concatenate([outline for *_, outline in outlines])
    reach = np.clip(reach[np.isfinite(reach).all(axis=1)], -margin, corners[1] + margin)
    points = np.concatenate([corners, reach])
    border = 0.01 * gray2.shape[1]
    return points.min(axis=0) - border, points.max(axis=0) + border


def _outlined_aspect(gray2: NDArray[np.uint8], outlines: list[_Outline]) -> float:
    low, high = _outlined_limits(gray2, outlines)
    return float(np.divide(*(high - low)))


def _outline(argument: str, H: ArrayLike, shape: tuple[int, ...]) -> _Array:
    """Map the outline of an image, edge by edge; NaN where it passes behind the camera."""
    matrix = np.asarray(H, dtype=np.float64)
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise ValueError(f"{argument} must be a finite (3, 3) matrix, got {H!r}")
    height, width = shape
    corners = np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1], [0, 0]], dtype=np.float64)
    along = np.linspace(0, 1, 65)[:, None]
    points = np.concatenate([(1 - along) * a + along * b for a, b in pairwise(corners)])
    mapped = np.column_stack([points, np.ones(len(points))]) @ matrix.T
    centre = matrix[2] @ [(width - 1) / 2, (height - 1) / 2, 1]
    depth = mapped[:, 2] * np.sign(centre)
    in_front = depth > 1e-9 * np.abs(depth).max()
    return np.where(in_front[:, None], mapped[:, :2] / np.where(in_front, mapped[:, 2], 1)[:, None], np.nan)


def _panels(snapshots: Mapping[int, ArrayLike], iterations: Sequence[int], n: int) -> list[tuple[str, _Array]]:
    """Return title and probabilities of the panel of every iteration."""
    if not len(iterations):
        raise ValueError("iterations must not be empty")
    return [_snapshot_at(snapshots, iteration, n) for iteration in iterations]


def _snapshot_at(snapshots: Mapping[int, ArrayLike], iteration: int, n: int) -> tuple[str, _Array]:
    """Return title and probabilities of a panel."""
    before = [k for k in snapshots if k <= iteration]
    if not before:
        raise ValueError(f"snapshots must have one at or before iteration {iteration}, got {sorted(snapshots)}")
    used = max(before)
    title = "Start" if iteration == 0 else f"Iteration {iteration}"
    if used != iteration:
        title += f" (last record: {used})"
    return title, as_probabilities(f"snapshots[{used}]", snapshots[used], n, "")


def _dots(ax: Axes, iteration: NDArray[np.int64], values: _Array, label: str | None) -> None:
    ax.plot(iteration, values, ".", color="#1687ff", markersize=5, alpha=0.5, markeredgewidth=0, label=label)


def _data_limits(points: _Array) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the limits in x and y of a square panel around points, with a margin."""
    if not len(points):
        return (-1.0, 1.0), (-1.0, 1.0)
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.03 * np.where(high > low, high - low, 1.0)
    (x_low, y_low), (x_high, y_high) = (low - margin).tolist(), (high + margin).tolist()
    return (x_low, x_high), (y_low, y_high)


def _color_map() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("probability", _COLORS)


def _color_bar(figure: Figure, ax: Axes | None, bar: Axes | None) -> None:
    """Draw the scale of probabilities into ``bar``, or beside ``ax``."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scale = figure.colorbar(ScalarMappable(Normalize(0, 1), _color_map()), ax=ax, cax=bar)
    scale.set_label("probability of being an inlier")
    scale.ax.spines["outline"].set_visible(False)


def _new_figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures need Matplotlib: pip install 'bansac[plot]'") from error
    return Figure(figsize=(width + 2 * _MARGIN, height + 2 * _MARGIN))


def _place(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Add axes at a place in inches, counted from the upper left corner within the margin."""
    total = figure.get_size_inches()
    lower_left = np.array([left + _MARGIN, total[1] - _MARGIN - top - height])
    return figure.add_axes((*(lower_left / total), *([width, height] / total)))


def _aspect(gray1: NDArray[np.uint8], gray2: NDArray[np.uint8]) -> float:
    """Width by height of the pair, side by side at one height."""
    (height1, width1), (height2, width2) = gray1.shape, gray2.shape
    return float(width1 / height1 * (1 + _GAP) + width2 / height2)


def _subset(n: int, max_matches: int, seed: int) -> NDArray[np.int64]:
    if max_matches < 0:
        raise ValueError(f"max_matches must not be negative, got {max_matches}")
    if n <= max_matches:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, max_matches, replace=False))


def _as_matches(x1: ArrayLike, x2: ArrayLike) -> tuple[_Array, _Array]:
    points1, points2 = as_points("x1", x1, 2), as_points("x2", x2, 2)
    check_same_length("x1", points1, "x2", points2)
    return points1, points2


def _as_mask(inliers: ArrayLike, n: int) -> NDArray[np.bool_]:
    mask = np.asarray(inliers)
    if mask.shape != (n,) or mask.dtype.kind not in "bui":
        raise ValueError(f"inliers must be a mask of shape ({n},), got {mask.dtype} of shape {mask.shape}")
    return mask.astype(bool)
