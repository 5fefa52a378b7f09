"""The points or matches of a result with its model: curves, planes, matches without images, poses, motions of space."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.geometry.camera import Camera
from bansac.maths.validate import as_camera, as_points
from bansac.plotting.layout import BAR, FAINT_COLOR, SPACE, WIDTH, color_bar, color_map, new_figure, place

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Shown", "plot_data", "plot_labels"]

_Array = NDArray[np.float64]

_SIDE = 0.6 * WIDTH
_LEFT, _BELOW = 0.5, 0.3  # for the numbers at the axes
_GRID = 400  # points of a side of the grid on which a curve is traced
_MARGIN = 0.05  # around the points, relative to their extent
_SAME = 1e-4  # relative error of the residuals that identify a curve


class Shown(NamedTuple):
    """The model, and the values (N) from 0 to 1 that colour the points."""

    model: Any
    values: _Array
    residuals: _Array


def plot_data(
    shown: Shown, first: ArrayLike, second: ArrayLike | None, K: ArrayLike | Camera | None, ax: Axes | None
) -> Figure:
    """Draw points (N, 2 or 3), or matches of two such arrays, with the model; the arguments of ``Result.plot``."""
    arrays = [_as_points(name, x, len(shown.values)) for name, x in (("x1", first), ("x2", second)) if x is not None]
    dimensions = [x.shape[1] for x in arrays]
    if dimensions == [2, 3]:
        raise ValueError("x1 must be the 3D points and x2 the image points of an absolute pose")
    if ax is None:
        ax = _new_axes(spatial=dimensions in ([3], [3, 3]))
    order = np.argsort(shown.values, kind="stable")  # probable points on top
    sorted_arrays = [x[order] for x in arrays]
    shown = Shown(shown.model, shown.values[order], shown.residuals[order])
    if dimensions == [2]:
        _draw_curve(ax, shown, *sorted_arrays)
    elif dimensions == [3]:
        _draw_plane(ax, shown, *sorted_arrays)
    elif dimensions == [3, 2]:
        _draw_projections(ax, shown, K, *sorted_arrays)
    elif dimensions == [3, 3]:
        _draw_motion(ax, shown, *sorted_arrays)
    else:
        _draw_matches(ax, shown, *sorted_arrays)
    return ax.figure.figure  # the parent figure if the axes belong to a SubFigure


def plot_labels(points: ArrayLike, labels: NDArray[np.int64], count: int, ax: Axes | None) -> Figure:
    """Draw points (N, 2) coloured by the index of their model; the arguments of ``MultipleResult.plot``."""
    data = as_points("points", points, 2)
    if len(data) != len(labels):
        raise ValueError(f"points must be the {len(labels)} points of the result, got {len(data)}")
    if ax is None:
        ax = place(new_figure(WIDTH, WIDTH), 0.0, 0.0, WIDTH, WIDTH)
    for k in range(-1, count):
        color, name = (FAINT_COLOR, "no model") if k < 0 else (f"C{k % 10}", f"model {k}")
        x, y = data[labels == k].T
        ax.scatter(x, y, s=14, linewidths=0, color=color, label=name)
    ax.set_aspect("equal")
    ax.legend()
    return ax.figure.figure  # the parent figure if the axes belong to a SubFigure


def _as_points(name: str, x: ArrayLike, n: int) -> _Array:
    width = np.shape(x)[-1] if np.ndim(x) else 0
    points = as_points(name, x, 3 if width == 3 else 2)
    if len(points) != n:
        raise ValueError(f"{name} must be the {n} points of the result, got {len(points)}")
    return points


def _new_axes(*, spatial: bool) -> Axes:
    """Return the axes of a new figure with a colour bar."""
    figure = new_figure(_LEFT + _SIDE + BAR, _SIDE + _BELOW)
    ax = place(figure, _LEFT, 0.0, _SIDE, _SIDE, projection="3d" if spatial else None)
    bar = place(figure, _LEFT + _SIDE + SPACE, 0.0, SPACE, _SIDE)
    color_bar(figure, ax, bar, "colour: probability of being an inlier")
    return ax


def _scatter(ax: Any, shown: Shown, points: _Array) -> None:
    ax.scatter(*points.T, c=shown.values, cmap=color_map(), vmin=0, vmax=1, s=14, linewidths=0)


def _draw_curve(ax: Axes, shown: Shown, points: _Array) -> None:
    """Draw points of the plane and the zeros of the function of the curve."""
    _scatter(ax, shown, points)
    function = _find_curve(shown, points)
    if function is not None:
        low, high = points.min(axis=0), points.max(axis=0)
        margin = _MARGIN * np.where(high > low, high - low, 1.0)
        x, y = (np.linspace(a, b, _GRID) for a, b in zip(low - margin, high + margin, strict=True))
        distances = function(*np.meshgrid(x, y))
        ax.contour(x, y, distances, levels=[0.0], colors="black", linewidths=1.1)
    if function is None or function.__name__ != "polynomial":  # its axes have units of their own
        ax.set_aspect("equal", adjustable="datalim")


def _find_curve(shown: Shown, points: _Array) -> Callable[[_Array, _Array], _Array] | None:
    """Return the signed distance from the curve whose distances are the residuals; None if no curve has them."""
    model = shown.model
    if not isinstance(model, np.ndarray) or model.ndim != 1:
        return None

    def line(x: _Array, y: _Array) -> _Array:
        return np.asarray(model[0] * x + model[1] * y + model[2])

    def circle(x: _Array, y: _Array) -> _Array:
        return np.asarray(np.hypot(x - model[0], y - model[1]) - model[2])

    def ellipse(x: _Array, y: _Array) -> _Array:
        cos, sin = np.cos(model[4]), np.sin(model[4])
        u = ((x - model[0]) * cos + (y - model[1]) * sin) / model[2]
        v = ((y - model[1]) * cos - (x - model[0]) * sin) / model[3]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((u * u + v * v - 1) / (2 * np.hypot(u / model[2], v / model[3])))

    def polynomial(x: _Array, y: _Array) -> _Array:
        return np.asarray(y - np.polynomial.polynomial.polyval(x, model))

    curves = {3: [line, circle], 5: [ellipse]}.get(model.size, [])
    for curve in (*curves, polynomial):
        distances = np.abs(curve(*points.T))
        if np.allclose(distances, shown.residuals, rtol=_SAME, atol=1e-9 + _SAME * float(np.median(shown.residuals))):
            return curve
    return None


def _draw_plane(ax: Any, shown: Shown, points: _Array) -> None:
    """Draw points of space and the part of the plane a x + b y + c z + d = 0 near the inliers."""
    _scatter(ax, shown, points)
    if isinstance(shown.model, np.ndarray) and shown.model.shape == (4,):
        normal, offset = shown.model[:3], shown.model[3]
        good = points[shown.values >= 0.5] if (shown.values >= 0.5).any() else points
        flat = good - np.outer(good @ normal + offset, normal)
        centre = flat.mean(axis=0)
        _, _, axes = np.linalg.svd(flat - centre, full_matrices=True)
        reach = np.abs((flat - centre) @ axes[:2].T).max(axis=0)
        u, v = np.meshgrid([-1, 1], [-1, 1])
        corners = (
            centre[:, None, None] + (reach[0] * axes[0])[:, None, None] * u + (reach[1] * axes[1])[:, None, None] * v
        )
        ax.plot_surface(*corners, color=FAINT_COLOR, alpha=0.3)
    ax.set_aspect("equal")


def _draw_motion(ax: Any, shown: Shown, first: _Array, second: _Array) -> None:
    """Draw the second points, and the first ones moved by the model as crosses, joined to them."""
    _scatter(ax, shown, second)
    if isinstance(shown.model, np.ndarray) and shown.model.shape == (3, 4):
        moved = first @ shown.model[:, :3].T + shown.model[:, 3]
        good = shown.values >= 0.5
        ax.scatter(*moved[good].T, marker="x", color="black", s=14, linewidths=0.8)
    ax.set_aspect("equal")


def _draw_projections(
    ax: Any, shown: Shown, K: ArrayLike | Camera | None, points: _Array, image_points: _Array
) -> None:
    """Draw image points, and the projections of the 3D points in front of the camera as crosses."""
    _scatter(ax, shown, image_points)
    if shown.model is not None:
        R, t = shown.model
        seen = points @ R.T + t
        seen = seen[(shown.values >= 0.5) & (seen[:, 2] > 0)]
        projected = seen[:, :2] / seen[:, 2:]
        if isinstance(K, Camera):
            projected = K.project(projected)
        elif K is not None:
            matrix = as_camera("K", K)
            projected = projected @ matrix[:2, :2].T + matrix[:2, 2]
        ax.scatter(*projected.T, marker="x", color="black", s=30, linewidths=0.8)
    _as_image(ax)


def _draw_matches(ax: Axes, shown: Shown, first: _Array, second: _Array) -> None:
    """Draw the points of image 2, joined to those of image 1."""
    from matplotlib.collections import LineCollection

    colors = color_map()(shown.values)
    ax.add_collection(LineCollection(list(np.stack([first, second], axis=1)), colors=colors, linewidths=0.8))
    _scatter(ax, shown, second)
    _as_image(ax)


def _as_image(ax: Axes) -> None:
    """Let y point down, as in an image."""
    ax.set_aspect("equal", adjustable="datalim")
    ax.autoscale_view()
    if not ax.yaxis_inverted():
        ax.invert_yaxis()
