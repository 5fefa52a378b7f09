"""Points coloured by the models that they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.plotting.layout import FAINT_COLOR, WIDTH, new_figure, place
from bansac.validate import as_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_labels(points: ArrayLike, labels: NDArray[np.int64], *, ax: Axes | None = None) -> Figure:
    """Draw 2D points coloured by their labels; points with the label -1 are grey.

    Parameters
    ----------
    points : (N, 2) array_like
        2D points.
    labels : (N,) ndarray of int
        The labels.
    ax : matplotlib.axes.Axes or None, optional
        Axes to draw into; by default a new figure.

    Returns
    -------
    Figure
        The figure.

    Raises
    ------
    ValueError
        If the lengths differ.
    ImportError
        If Matplotlib is not installed.

    Examples
    --------
    >>> figure = plot_labels([[0, 1], [1, 2], [5, 0]], np.array([0, 0, -1]))
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['no model', 'model 0']
    """
    data = as_points("points", points, 2)
    if len(data) != len(labels):
        raise ValueError(f"points must be the {len(labels)} points of the result, got {len(data)}")
    if ax is None:
        ax = place(new_figure(WIDTH, WIDTH), 0.0, 0.0, WIDTH, WIDTH)
    for label in range(-1, int(labels.max(initial=-1)) + 1):
        name, color = ("no model", FAINT_COLOR) if label < 0 else (f"model {label}", f"C{label % 10}")
        ax.scatter(*data[labels == label].T, s=14, linewidths=0, color=color, label=name)
    ax.set_aspect("equal")
    ax.legend()
    return ax.figure.figure  # the parent figure if the axes belong to a SubFigure
