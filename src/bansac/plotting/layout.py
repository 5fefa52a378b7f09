"""Figures with axes placed in inches, grids of panels, the colour map of probabilities, and saving of figures."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bansac.matches.storage import write_atomically
from bansac.maths.arrays import Floats
from bansac.maths.optional import import_optional
from bansac.maths.validate import as_probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TRUE_COLOR, ESTIMATED_COLOR, FAINT_COLOR, POINT_COLOR = "#2ecc40", "#ff3b30", "#8a8a8a", "#1687ff"
# Sizes in inches: width of an image pair, height of a title, width of a colour bar with labels, gap; margin of a
# figure.
WIDTH, TITLE, BAR, SPACE = 10.0, 0.3, 0.85, 0.15
_MARGIN = 0.1
# From red through pale yellow to blue. Both ends contrast with a grey image, also for colour-blind readers.
COLORS = ["#d7191c", "#f46d43", "#fdae61", "#fee090", "#abd9e9", "#57b5f0", "#1687ff"]


def save_figure(figure: Figure, path: str | os.PathLike[str], *, dpi: int = 150) -> Path:
    """Write a figure to a file and return its path; the suffix selects the format (png, pdf, svg, jpg, ...).

    An unknown suffix is a ValueError, a folder that is missing or not writable an OSError.
    """
    path = Path(path)
    formats = figure.canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in formats:
        raise ValueError(f"path must end in one of {', '.join(sorted(formats))}; got {str(path)!r}")
    write_atomically(path, lambda temporary: figure.savefig(temporary, dpi=dpi))
    return path


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure with a margin around a width and height in inches."""
    module = import_optional("matplotlib.figure", "figures need Matplotlib", "matplotlib")
    figure: Figure = module.Figure(figsize=(width + 2 * _MARGIN, height + 2 * _MARGIN))
    return figure


def place(figure: Figure, left: float, top: float, width: float, height: float, projection: str | None = None) -> Axes:
    """Add axes at a position in inches, measured from the upper left corner inside the margin."""
    total = figure.get_size_inches()
    lower_left = np.array([left + _MARGIN, total[1] - _MARGIN - top - height])
    return figure.add_axes((*(lower_left / total), *([width, height] / total)), projection=projection)


def panel_grid(
    iterations: Sequence[int], columns: int, width: float, height: float, *, right: float = 0.0, below: float = 0.0
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel for each iteration, a colour bar, and free space to the right and below."""
    step = width + SPACE, height + TITLE
    rows = -(-len(iterations) // columns)
    figure = new_figure(columns * step[0] + BAR + right, rows * step[1] + below)
    axes = []
    for k, iteration in enumerate(iterations):
        axes.append(place(figure, k % columns * step[0], k // columns * step[1] + TITLE, width, height))
        axes[-1].set_title(f"Iteration {iteration}" if iteration else "Start", fontsize="medium")
    bar = place(figure, columns * step[0], TITLE, SPACE, rows * step[1] - TITLE)
    color_bar(figure, axes[0], bar, "colour: belief in\nbeing an inlier, $P^k$")  # short, for one row of panels
    return figure, axes


def limits(points: Floats, margin: float) -> tuple[Floats, Floats]:
    """Return the lower and upper limits of points (N, 2) with a margin, relative to their extent."""
    low, high = points.min(axis=0), points.max(axis=0)
    border = margin * np.where(high > low, high - low, 1.0)
    return low - border, high + border


def color_map() -> Any:
    """Return the colour map of probabilities from 0 to 1."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("probability", COLORS)


def color_bar(figure: Figure, ax: Axes | None, bar: Axes | None, label: str) -> None:
    """Draw the colour bar of probabilities into ``bar``, or beside ``ax``."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scale = figure.colorbar(ScalarMappable(Normalize(0, 1), color_map()), ax=ax, cax=bar)
    scale.set_label(label)
    scale.ax.spines["outline"].set_visible(False)


def legend_outside(ax: Axes, *, below: bool = False, columns: int = 2, **more: Any) -> None:
    """Add a legend above the axes, or below those without ticks, so that it covers no data."""
    place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1, 1)}
    if below:
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0)}
    ax.legend(frameon=False, fontsize="small", ncols=columns, borderaxespad=0.2, **place, **more)


def snapshot_panels(snapshots: Mapping[int, ArrayLike], iterations: Sequence[int], n: int) -> list[tuple[int, Floats]]:
    """Return, for each iteration, the last snapshot at or before it and its iteration, without repetitions."""
    if not len(iterations):
        raise ValueError("iterations must not be empty")
    records: dict[int, Floats] = {}
    for iteration in iterations:
        last = max((k for k in snapshots if k <= iteration), default=None)
        if last is None:
            raise ValueError(f"snapshots must have one at or before iteration {iteration}, got {sorted(snapshots)}")
        records[last] = as_probabilities(f"snapshots[{last}]", snapshots[last], n)
    return list(records.items())
