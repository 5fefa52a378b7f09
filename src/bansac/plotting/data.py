"""The points or matches of a result with its model: curves, planes, matches without images, poses, motions of space."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bansac.geometry.camera import Camera
from bansac.maths.arrays import Bools, Floats, Ints
from bansac.maths.validate import as_camera, as_points
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
    points: tuple[ArrayLike, ArrayLike | None],
    model: Any,
    residuals: Floats,
    values: Floats,
    K: ArrayLike | Camera | None,
    ax: Axes | None,
    rival: tuple[Bools, Bools] | None,
) -> Figure:
    """Draw points (N, 2 or 3), or matches of two such arrays, coloured by ``values``, with the model of a result.

    ``rival`` are the inliers of the rival, and those that are not of the model; the latter get rings.
    """
    arrays = [_as_points(name, x, len(values)) for name, x in zip(("x1", "x2"), points, strict=True) if x is not None]
    dimensions = [x.shape[1] for x in arrays]
    if dimensions == [2, 3]:
        raise ValueError("x1 must be the 3D points and x2 the image points of an absolute pose")
    if ax is None:
        ax = _new_axes(spatial=dimensions in ([3], [3, 3]), above=0.0 if rival is None else layout.TITLE)
    order = np.argsort(values, kind="stable")  # probable points on top
    if dimensions == [2, 2]:
        from matplotlib.collections import LineCollection

        segments, colors = np.stack(arrays, axis=1)[order], layout.color_map()(values[order])
        ax.add_collection(LineCollection(list(segments), colors=colors, linewidths=0.8))
    scatter: Any = ax.scatter
    scatter(*arrays[-1][order].T, c=values[order], cmap=layout.color_map(), vmin=0, vmax=1, s=14, linewidths=0)
    if rival is not None:
        label = f"rival: {np.count_nonzero(rival[0])} inliers"
        scatter(
            *arrays[-1][rival[1]].T, s=40, facecolors="none", edgecolors=layout.POINT_COLOR, linewidths=0.9, label=label
        )
        layout.legend_outside(ax)
    good = values >= 0.5
    if dimensions == [2]:
        if _draw_curve(ax, model, residuals, arrays[0], "black") != "polynomial":  # its axes have units of their own
            ax.set_aspect("equal", adjustable="datalim")
    elif dimensions == [3]:
        if _is_plane(model, residuals, arrays[0]):
            _draw_plane(ax, model, arrays[0][good] if good.any() else arrays[0], layout.FAINT_COLOR)
        ax.set_aspect("equal")
    elif dimensions == [3, 3]:
        if isinstance(model, np.ndarray) and model.shape == (3, 4):
            moved = arrays[0][good] @ model[:, :3].T + model[:, 3]
            scatter(*moved.T, marker="x", color="black", s=14, linewidths=0.8)
        ax.set_aspect("equal")
    else:
        if dimensions == [3, 2] and model is not None:
            _draw_projections(ax, model, K, arrays[0][good])
        _as_image(ax)
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
        if k >= 0 and data.shape[1] == 3:
            if _is_plane(*models[k], data):
                _draw_plane(ax, models[k][0], own, color)
            ax.set_aspect("equal")
        elif k >= 0:
            curve = _draw_curve(ax, *models[k], data, color)
            curves.add(curve)
            if not curve:
                _draw_outline(ax, own, color)
    if data.shape[1] == 2 and any(getattr(model, "ndim", 2) == 2 for model, _ in models):
        _as_image(ax)  # a matrix or a pose describes matches: these are points of an image
    elif data.shape[1] == 2 and "polynomial" not in curves:
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


def _draw_curve(ax: Axes, model: Any, residuals: Floats, points: Floats, color: str) -> str:
    """Draw the zeros of the function of a curve near the points of the plane; return its name, "" if there is none."""
    function = _find_curve(model, residuals, points)
    if function is None:
        return ""
    x, y = np.linspace(*layout.limits(points, _MARGIN), _GRID).T
    ax.contour(x, y, function(*np.meshgrid(x, y)), levels=[0.0], colors=color, linewidths=1.1)
    return function.__name__


def _draw_outline(ax: Axes, points: Floats, color: str) -> None:
    """Draw the convex outline of points, which shows the extent of a plane in an image."""
    from matplotlib.collections import LineCollection
    from matplotlib.tri import Triangulation

    with contextlib.suppress(RuntimeError, ValueError):  # points on a line have no outline
        mesh = Triangulation(*points.T)
        triangles, corners = np.nonzero(mesh.neighbors < 0)  # a side without neighbour is on the outline
        ends = [mesh.triangles[triangles, (corners + k) % 3] for k in (0, 1)]
        ax.add_collection(LineCollection(list(points[np.stack(ends, axis=1)]), colors=color, linewidths=1.1))


def _find_curve(model: Any, residuals: Floats, points: Floats) -> Callable[[Floats, Floats], Floats] | None:
    """Return the signed distance from the curve whose distances are the residuals; None if no curve has them."""
    if not isinstance(model, np.ndarray) or model.ndim != 1:
        return None

    def line(x: Floats, y: Floats) -> Floats:
        return np.asarray(model[0] * x + model[1] * y + model[2])

    def circle(x: Floats, y: Floats) -> Floats:
        return np.asarray(np.hypot(x - model[0], y - model[1]) - model[2])

    def ellipse(x: Floats, y: Floats) -> Floats:
        cos, sin = np.cos(model[4]), np.sin(model[4])
        u = ((x - model[0]) * cos + (y - model[1]) * sin) / model[2]
        v = ((y - model[1]) * cos - (x - model[0]) * sin) / model[3]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((u * u + v * v - 1) / (2 * np.hypot(u / model[2], v / model[3])))

    def polynomial(x: Floats, y: Floats) -> Floats:
        return np.asarray(y - np.polynomial.polynomial.polyval(x, model))

    curves = {3: [line, circle], 5: [ellipse]}.get(model.size, [])
    for curve in (*curves, polynomial):
        if _are_residuals(curve(*points.T), residuals):
            return curve
    return None


def _is_plane(model: Any, residuals: Floats, points: Floats) -> bool:
    """Return whether a model is the plane whose distances are the residuals; a sphere has four numbers, too."""
    if not isinstance(model, np.ndarray) or model.shape != (4,):
        return False
    return _are_residuals(points @ model[:3] + model[3], residuals)


def _are_residuals(distances: Floats, residuals: Floats) -> bool:
    return np.allclose(np.abs(distances), residuals, rtol=_SAME, atol=1e-9 + _SAME * float(np.median(residuals)))


def _draw_plane(ax: Any, model: Floats, points: Floats, color: str) -> None:
    """Draw the part of the plane a x + b y + c z + d = 0 near the points."""
    normal, offset = model[:3], model[3]
    flat = points - np.outer(points @ normal + offset, normal)
    centre = flat.mean(axis=0)
    _, _, axes = np.linalg.svd(flat - centre, full_matrices=True)
    along, across = np.abs((flat - centre) @ axes[:2].T).max(axis=0)[:, None] * axes[:2]
    corners = centre + np.array([[u * along + v * across for u in (-1, 1)] for v in (-1, 1)])
    ax.plot_surface(*np.moveaxis(corners, 2, 0), color=color, alpha=0.3)


def _draw_projections(ax: Any, pose: Any, K: ArrayLike | Camera | None, points: Floats) -> None:
    """Draw the projections of the 3D points in front of the camera as crosses."""
    R, t = pose
    seen = points @ R.T + t
    seen = seen[seen[:, 2] > 0]
    projected = seen[:, :2] / seen[:, 2:]
    if isinstance(K, Camera):
        projected = K.project(projected)
    elif K is not None:
        matrix = as_camera("K", K)
        projected = projected @ matrix[:2, :2].T + matrix[:2, 2]
    ax.scatter(*projected.T, marker="x", color="black", s=30, linewidths=0.8)


def _as_image(ax: Axes) -> None:
    """Let y point down, as in an image."""
    ax.set_aspect("equal", adjustable="datalim")
    ax.autoscale_view()
    if not ax.yaxis_inverted():
        ax.invert_yaxis()
