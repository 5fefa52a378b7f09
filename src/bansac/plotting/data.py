"""The points or matches of a result with its model: curves, planes, and matches without images."""

from __future__ import annotations

from collections.abc import Sequence
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
_GRID = 400  # points of a side of the grid on which a curve is traced
_MARGIN = 0.05  # around the points, relative to their extent
_COLUMNS = 6  # of a legend of models
_SAME = 1e-4  # relative error of the residuals that identify a curve


def plot_data(
    x1: ArrayLike, x2: ArrayLike | None, model: Any, residuals: Floats, values: Floats, ax: Axes | None
) -> Figure:
    """Draw points (N, 2 or 3), or matches of the plane, coloured by ``values``, with the model of a result."""
    points = _as_points("x1", x1, len(values))
    if ax is None:
        ax = _new_axes(spatial=points.shape[1] == 3, above=0.0)
    order = np.argsort(values, kind="stable")  # probable points on top
    ends = points
    if x2 is not None:
        from matplotlib.collections import LineCollection

        points, ends = (as_points(name, x, 2, len(values)) for name, x in (("x1", x1), ("x2", x2)))
        segments, colors = np.stack([points, ends], axis=1)[order], layout.color_map()(values[order])
        ax.add_collection(LineCollection(list(segments), colors=colors, linewidths=0.8))
    scatter: Any = ax.scatter
    scatter(*ends[order].T, c=values[order], cmap=layout.color_map(), vmin=0, vmax=1, s=14, linewidths=0)
    if x2 is not None:
        _as_image(ax)
    else:
        probable = points[values >= 0.5]
        color = "black" if points.shape[1] == 2 else layout.FAINT_COLOR
        curve = _draw_model(ax, model, residuals, points, probable if len(probable) else points, color)
        if curve != "polynomial":  # its axes have units of their own
            ax.set_aspect("equal", adjustable="datalim" if points.shape[1] == 2 else None)
    return ax.figure.figure  # the parent figure if the axes belong to a SubFigure


def plot_labels(points: ArrayLike, labels: Ints, models: Sequence[tuple[Any, Floats]], ax: Axes | None) -> Figure:
    """Draw points (N, 2 or 3) coloured by the index of their model, and the models, given with their residuals."""
    data = _as_points("points", points, len(labels))
    columns = min(len(models) + 1, _COLUMNS)
    if ax is None:
        rows = -(-(len(models) + 1) // columns)
        ax = _new_axes(spatial=data.shape[1] == 3, above=rows * layout.TITLE, scaled=False)
    scatter: Any = ax.scatter
    curves = set()
    for k in range(-1, len(models)):
        color, name = (layout.FAINT_COLOR, "no model") if k < 0 else (f"C{k % 10}", f"model {k}")
        own = data[labels == k]
        scatter(*own.T, s=14, linewidths=0, color=color, label=name)
        if k >= 0:
            curves.add(_draw_model(ax, *models[k], data, own, color))
    if data.shape[1] == 2 and any(getattr(model, "ndim", 2) == 2 for model, _ in models):
        _as_image(ax)  # a matrix or a pose describes matches: these are points of an image
    elif "polynomial" not in curves:
        ax.set_aspect("equal")
    layout.legend_outside(ax, columns=columns)
    return ax.figure.figure  # the parent figure if the axes belong to a SubFigure


def _as_points(name: str, x: ArrayLike, n: int) -> Floats:
    return as_points(name, x, 3 if np.shape(x)[-1:] == (3,) else 2, n)


def _new_axes(*, spatial: bool, above: float, scaled: bool = True) -> Axes:
    """Return the axes of a new figure, with a colour bar if ``scaled``, and with space above them."""
    figure = layout.new_figure(_LEFT + _SIDE + (layout.BAR if scaled else layout.SPACE), above + _SIDE + _BELOW)
    ax = layout.place(figure, _LEFT, above, _SIDE, _SIDE, projection="3d" if spatial else None)
    if scaled:
        bar = layout.place(figure, _LEFT + _SIDE + layout.SPACE, above, layout.SPACE, _SIDE)
        layout.color_bar(figure, ax, bar, "colour: probability of being an inlier")
    return ax


def _draw_model(ax: Any, model: Any, residuals: Floats, points: Floats, own: Floats, color: str) -> str:
    """Draw the curve of points of the plane, or a plane beside its own points; return its name, "" if there is none.

    It is the one whose distances of the points are the residuals, because several have as many numbers.
    """
    if not isinstance(model, np.ndarray) or model.ndim != 1:
        return ""
    spatial, atol = points.shape[1] == 3, 1e-9 + _SAME * float(np.median(residuals))
    names = {3: ("line", "circle"), 5: ("ellipse",)}.get(model.size, ())
    for name in ("plane",) * (model.size == 4) if spatial else (*names, "polynomial"):
        if np.allclose(np.abs(_distance(name, model, *points.T)), residuals, rtol=_SAME, atol=atol):
            if spatial:
                _draw_plane(ax, model, own, color)
            else:
                x, y = np.linspace(*layout.limits(points, _MARGIN), _GRID).T
                distances = _distance(name, model, *np.meshgrid(x, y))
                ax.contour(x, y, distances, levels=[0.0], colors=color, linewidths=1.1)
            return name
    return ""


def _distance(name: str, model: Floats, x: Floats, y: Floats, z: float | Floats = 0.0) -> Floats:
    """Return the signed distance of points from a curve or a plane."""
    match name:
        case "line":
            distance = model[0] * x + model[1] * y + model[2]
        case "plane":
            distance = model[0] * x + model[1] * y + model[2] * z + model[3]
        case "circle":
            distance = np.hypot(x - model[0], y - model[1]) - model[2]
        case "ellipse":
            cos, sin = np.cos(model[4]), np.sin(model[4])
            u = ((x - model[0]) * cos + (y - model[1]) * sin) / model[2]
            v = ((y - model[1]) * cos - (x - model[0]) * sin) / model[3]
            with np.errstate(divide="ignore", invalid="ignore"):
                distance = (u * u + v * v - 1) / (2 * np.hypot(u / model[2], v / model[3]))
        case _:
            distance = y - np.polynomial.polynomial.polyval(x, model)
    return np.asarray(distance)


def _draw_plane(ax: Any, model: Floats, points: Floats, color: str) -> None:
    """Draw the part of the plane a x + b y + c z + d = 0 near the points."""
    normal, offset = model[:3], model[3]
    flat = points - np.outer(points @ normal + offset, normal)
    centre = flat.mean(axis=0)
    _, _, axes = np.linalg.svd(flat - centre, full_matrices=True)
    along, across = np.abs((flat - centre) @ axes[:2].T).max(axis=0)[:, None] * axes[:2]
    corners = centre + np.array([[u * along + v * across for u in (-1, 1)] for v in (-1, 1)])
    ax.plot_surface(*np.moveaxis(corners, 2, 0), color=color, alpha=0.3)


def _as_image(ax: Axes) -> None:
    """Let y point down, as in an image."""
    ax.set_aspect("equal", adjustable="datalim")
    ax.autoscale_view()
    if not ax.yaxis_inverted():
        ax.invert_yaxis()
