"""Points, and matches without images, coloured by their probability or by their model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bansac.maths.arrays import Floats, Ints
from bansac.maths.validate import as_points
from bansac.plotting import layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIDE = 0.6 * layout.WIDTH
_LEFT, _BELOW = 0.5, 0.3  # for the numbers at the axes
_COLUMNS = 6  # of a legend of models


def plot_data(x1: ArrayLike, x2: ArrayLike | None, values: Floats, ax: Axes | None) -> Figure:
    """Draw points (N, 2 or 3), or the segments of matches of the plane, coloured by ``values``, the probable on top.

    Matches of space, and of distant sets such as pixels and UTM, are points in two axes; in ``ax``, those of ``x2``.
    """
    order = np.argsort(values, kind="stable")
    spatial = np.shape(x1)[-1:] == (3,)
    points = [as_points(name, x, 2 + spatial, len(values)) for name, x in (("x1", x1), ("x2", x2)) if x is not None]
    if ax is not None and spatial and ax.name != "3d":
        raise ValueError('ax must have projection="3d" for 3D points')
    apart = x2 is not None and (spatial or (ax is None and are_distant(*points)))
    count = 1 + (apart and ax is None)
    axes = _new_axes(spatial=spatial, above=(count - 1) * layout.TITLE, count=count) if ax is None else [ax]
    for panel, x in zip(axes, points[-count:], strict=True):
        scatter: Any = panel.scatter
        scatter(*x[order].T, c=values[order], cmap=layout.color_map(), vmin=0, vmax=1, s=14, linewidths=0)
    if x2 is not None and not apart:
        from matplotlib.collections import LineCollection

        segments, colors = np.stack(points, axis=1)[order], layout.color_map()(values[order])
        axes[0].add_collection(LineCollection(list(segments), colors=colors, linewidths=0.8))
        axes[0].set_aspect("equal", adjustable="datalim")
        axes[0].autoscale_view()
    if x2 is not None and not spatial and not axes[0].yaxis_inverted():  # y points down, as in an image
        axes[0].invert_yaxis()
    return axes[0].figure.figure  # the parent figure if the axes belong to a SubFigure


def are_distant(x1: Floats, x2: Floats) -> bool:
    """Return whether all displacements of matches are longer than twice the extent of both sets."""
    return len(x1) > 0 and bool(np.abs(x2 - x1).min(axis=0).max() > 2.0 * np.ptp([x1, x2], axis=1).max())


def plot_labels(points: ArrayLike, labels: Ints, ax: Axes | None) -> Figure:
    """Draw points (N, 2 or 3) coloured by the index of their model."""
    spatial, count = np.shape(points)[-1:] == (3,), int(labels.max(initial=-1)) + 1
    data, columns = as_points("points", points, 2 + spatial, len(labels)), min(count + 1, _COLUMNS)
    if ax is None:
        (ax,) = _new_axes(spatial=spatial, above=-(-(count + 1) // columns) * layout.TITLE, scaled=False)
    scatter: Any = ax.scatter
    colors = layout.MODEL_COLORS
    for k in range(-1, count):
        color, name = (layout.FAINT_COLOR, "no model") if k < 0 else (colors[k % len(colors)], f"model {k}")
        scatter(*data[labels == k].T, s=14, linewidths=0, color=color, label=name)
    layout.legend_outside(ax, columns=columns)
    return ax.figure.figure  # the parent figure if the axes belong to a SubFigure


def _new_axes(*, spatial: bool, above: float, scaled: bool = True, count: int = 1) -> list[Axes]:
    """Return the axes of a new figure, with a colour bar if ``scaled``, and with space above them."""
    width, step = count * (2 * _LEFT + _SIDE) - _LEFT, 2 * _LEFT + _SIDE
    figure = layout.new_figure(width + (layout.BAR if scaled else layout.SPACE), above + _SIDE + _BELOW)
    lefts, projection = [_LEFT + k * step for k in range(count)], "3d" if spatial else None
    axes = [layout.place(figure, left, above, _SIDE, _SIDE, projection=projection) for left in lefts]
    if scaled:
        bar = layout.place(figure, width + layout.SPACE, above, layout.SPACE, _SIDE)
        layout.color_bar(figure, axes[-1], bar, "colour: probability of being an inlier")
    return axes
