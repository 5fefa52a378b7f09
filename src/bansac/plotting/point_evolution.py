"""Evolution of the inlier probabilities of 2D points during a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bansac.maths.arrays import Floats
from bansac.maths.validate import as_points
from bansac.plotting.layout import SPACE, TITLE, TRUE_COLOR, WIDTH, color_map, panel_grid, panel_title, snapshot_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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

    Parameters
    ----------
    points : (N, 2) array_like
        2D points.
    snapshots, iterations
        As in :func:`plot_probability_evolution`.
    curve_true : (K, 2) array_like or None, optional
        Points on the true curve, drawn in green.
    curves : mapping of int to (K, 2) array_like, optional
        Points on the estimated curves by iteration, each drawn dashed in the panel of its iteration.
    columns : int, optional
        Number of panels in a row.

    Returns
    -------
    Figure
        The figure.

    Raises
    ------
    ValueError
        If lengths differ, a value is out of range, or there is no snapshot at or before an iteration.
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
    panels = snapshot_panels(snapshots, iterations, len(data))
    true = None if curve_true is None else as_points("curve_true", curve_true, 2)
    estimates = {k: as_points(f"curves[{k}]", curve, 2) for k, curve in (curves or {}).items()}
    limits = _data_limits(data)

    columns = min(columns, len(panels))
    side, legend = WIDTH / 3, TITLE if true is not None or estimates else 0.0
    figure, axes = panel_grid([panel_title(k) for k, _ in panels], columns, side, side, below=legend)
    handles = {}
    for ax, (iteration, values) in zip(axes, panels, strict=True):
        order = np.argsort(values, kind="stable")
        x, y = data[order].T
        ax.scatter(x, y, c=values[order], cmap=color_map(), vmin=0, vmax=1, s=14, linewidths=0)
        if true is not None:
            (handles["true curve"],) = ax.plot(*true.T, color=TRUE_COLOR, linewidth=5, alpha=0.55, zorder=0)
        if iteration in estimates:
            (line,) = ax.plot(*estimates[iteration].T, color="black", linewidth=1.1, linestyle=(0, (5, 2.5)))
            handles["best model so far"] = line
        ax.set(xlim=limits[0], ylim=limits[1], xticks=[], yticks=[], facecolor="#f4f4f4")
        ax.spines[:].set_visible(False)
    if handles:
        middle = columns * (side + SPACE) / 2 / figure.get_size_inches()[0]
        at: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (middle, 0), "ncols": 2, "frameon": False}
        figure.legend(list(handles.values()), list(handles), **at)
    return figure


def _data_limits(points: Floats) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the x and y limits of a square panel around points, with a margin."""
    if not len(points):
        return (-1.0, 1.0), (-1.0, 1.0)
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.03 * np.where(high > low, high - low, 1.0)
    (x_low, y_low), (x_high, y_high) = (low - margin).tolist(), (high + margin).tolist()
    return (x_low, x_high), (y_low, y_high)
