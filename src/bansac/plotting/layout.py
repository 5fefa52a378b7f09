"""Figures with axes placed in inches, and the colour map of probabilities."""

from __future__ import annotations

import functools
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from bansac.maths.optional import import_optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FAINT_COLOR = "#8a8a8a"
# Sizes in inches: width of an image pair, height of a title, width of a colour bar with labels, gap; margin of a
# figure.
WIDTH, TITLE, BAR, SPACE = 10.0, 0.3, 0.85, 0.15
_MARGIN = 0.1
# From red through pale yellow to blue. Both ends contrast with a grey image, also for colour-blind readers.
COLORS = ["#d7191c", "#f46d43", "#fdae61", "#fee090", "#abd9e9", "#57b5f0", "#1687ff"]
# Of Okabe and Ito, for up to seven models; colour-blind readers can tell them apart.
MODEL_COLORS = ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#0072b2", "#d55e00", "#f0e442"]


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure with a margin around a width and height in inches; a notebook shows it."""
    module = import_optional("matplotlib.figure", "figures need Matplotlib", "matplotlib")
    figure: Any = module.Figure(figsize=(width + 2 * _MARGIN, height + 2 * _MARGIN))
    figure._repr_png_ = functools.partial(_as_png, figure)
    return figure  # type: ignore[no-any-return]


def _as_png(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def place(figure: Figure, left: float, top: float, width: float, height: float, projection: str | None = None) -> Axes:
    """Add axes at a position in inches, measured from the upper left corner inside the margin."""
    total = figure.get_size_inches()
    lower_left = np.array([left + _MARGIN, total[1] - _MARGIN - top - height])
    return figure.add_axes((*(lower_left / total), *([width, height] / total)), projection=projection)


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
