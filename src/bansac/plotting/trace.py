"""Inlier ratio, gamma and the counters of the stopping criteria over the iterations of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bansac.engine.trace import Trace
from bansac.maths.arrays import Floats, Ints
from bansac.maths.validate import as_integer
from bansac.plotting.layout import ESTIMATED_COLOR, FAINT_COLOR, POINT_COLOR, legend_outside, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_trace(trace: Trace, *, n_points: int | None = None) -> Figure:
    """Draw the inlier ratio, gamma and the counters of the stopping criteria over the iterations of a run.

    The inlier count of the best model is divided by ``n_points``, by default the number of its inliers and outliers. An
    empty trace is a ValueError.
    """
    steps = len(trace.inlier_ratio)
    if not steps:
        raise ValueError("trace is empty: the run ended before its first iteration")
    if n_points is None:
        n_points = int(trace.best_inliers[-1] + trace.outliers[-1])
    as_integer("n_points", n_points, 1)
    iteration = np.arange(1, steps + 1)
    counting = bool(np.isfinite(trace.required_iterations).any())
    figure = new_figure(8.0, 7.6 if counting else 6.0)
    figure.set_layout_engine("constrained")
    axes = figure.subplots(3 + counting, 1, sharex=True)

    ax = axes[0]
    _dots(ax, iteration, trace.inlier_ratio, "best model of the iteration")
    ax.step(iteration, trace.best_inliers / n_points, where="post", color=ESTIMATED_COLOR, label="best model so far")
    ax.set(ylabel="inlier ratio", ylim=(0, 1))

    ax = axes[1]
    _dots(ax, iteration, trace.gamma, None)
    ax.set(ylabel="weight of a vote (gamma)", ylim=(0, 1))

    ax = axes[2]
    ax.step(
        iteration, trace.low_probability, where="post", color=POINT_COLOR, label="improbable data (belief below tau)"
    )
    ax.step(iteration, trace.outliers, where="post", color=ESTIMATED_COLOR, label="outliers of the best model")
    ax.set(ylabel="number of data", ylim=(0, 1.05 * n_points))

    if counting:
        ax = axes[3]
        finite = np.where(np.isfinite(trace.required_iterations), trace.required_iterations, np.nan)
        ax.step(iteration, np.maximum(finite, 1), where="post", color=ESTIMATED_COLOR, label="iterations required")
        ax.plot(iteration, iteration, color=FAINT_COLOR, linestyle="--", label="iterations done")
        ax.set(ylabel="iterations", yscale="log")

    axes[-1].set_xlabel("iteration")
    axes[0].set_xlim(*((1, steps) if steps > 1 else (0.5, 1.5)))
    for ax in axes:
        ax.grid(color="#e6e6e6", linewidth=0.7)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        if ax.get_legend_handles_labels()[1]:
            legend_outside(ax)
    return figure


def _dots(ax: Axes, iteration: Ints, values: Floats, label: str | None) -> None:
    ax.plot(iteration, values, ".", color=POINT_COLOR, markersize=5, alpha=0.5, markeredgewidth=0, label=label)
