"""Grids of charts of means with standard errors and a common legend."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike

from bansac_lab.frames import Figure, import_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

Scale = Literal["linear", "log"]

STYLES: dict[str, tuple[str, str, str]] = {
    "RANSAC": ("#4d4d4d", "o", "-"),
    "NAPSAC": ("#b8860b", "v", "-"),
    "P-NAPSAC": ("#2a9d57", "^", "--"),
    "PROSAC": ("#8e5bb5", "s", "--"),
    "BaySAC": ("#b8860b", "D", "-"),
    "BANSAC": ("#d62728", "P", "-"),
    "P-BANSAC": ("#1f77b4", "X", "--"),
}
"""Colour, marker and line style of a method in every figure; methods with precomputed scores have dashed lines."""

# Styles of other lines. The colours are distinct for colour-blind readers (Okabe and Ito, Color universal design,
# 2008), and the markers differ as well.
_COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#000000")
_MARKS = "osD^vPX"
_LINES = ("-", "--", ":")  # the second seven lines are dashed, the third seven dotted
# Legend: width of a chart and of a marker with its spacing, in characters; height of a line in inches.
_CHART_CHARACTERS = 68
_MARK_CHARACTERS = 8
_LEGEND_LINE = 0.2


@dataclass(frozen=True, eq=False)
class Series:
    """Line of a chart; NaN leaves a gap."""

    label: str  # determines the style: the same in all charts, and in all figures for a method of STYLES
    x: ArrayLike
    y: ArrayLike
    error: ArrayLike | None = None  # standard errors of y, drawn as bars


@dataclass(frozen=True, eq=False)
class Chart:
    """Chart of several lines; ``level`` is a reference value of y, drawn as a thin dashed line."""

    series: Sequence[Series]
    title: str = ""
    xlabel: str = ""
    ylabel: str = ""
    xscale: Scale = "linear"
    yscale: Scale = "linear"
    level: float | None = None


def plot_charts(charts: Sequence[Sequence[Chart]]) -> Figure:
    """Draw a grid of charts, given as rows of equal length, without pyplot."""
    flat = [chart for row in charts for chart in row]
    labels = list(dict.fromkeys(series.label for chart in flat for series in chart.series))
    # The methods of STYLES have fixed styles, other labels cyclic ones.
    others = itertools.cycle((*look, line) for line in _LINES for look in zip(_COLORS, _MARKS, strict=True))
    looks = {label: STYLES[label] if label in STYLES else next(others) for label in labels}
    # The columns of the legend fit below a row of charts, at most three for each chart.
    fitting = len(charts[0]) * _CHART_CHARACTERS // (max(map(len, labels), default=0) + _MARK_CHARACTERS)
    columns = max(1, min(len(labels), 3 * len(charts[0]), fitting))
    height = 3.2 * len(charts) + 0.2 + _LEGEND_LINE * math.ceil(len(labels) / columns)
    figure = import_figure()(figsize=(4.6 * len(charts[0]), height), layout="constrained")
    axes = figure.subplots(len(charts), len(charts[0]), squeeze=False)
    handles: dict[str, Any] = {}
    for ax, chart in zip(axes.flat, flat, strict=True):
        for series in chart.series:
            look = dict(zip(("color", "marker", "linestyle"), looks[series.label], strict=True))
            style: dict[str, Any] = {"markersize": 5, "linewidth": 1.4, "capsize": 2.5, **look}
            handles[series.label] = ax.errorbar(series.x, series.y, yerr=series.error, **style)
        _frame(ax, chart)
    if len(labels) > 1:
        lines = [handles[label] for label in labels]
        figure.legend(lines, labels, loc="outside lower center", ncols=columns, fontsize="small", frameon=False)
    return figure


def _frame(ax: Axes, chart: Chart) -> None:
    """Set the labels, the scales and the grid of a chart."""
    if chart.level is not None:
        ax.axhline(chart.level, color="#8a8a8a", linestyle="--", linewidth=0.8, zorder=0)
    ax.set(xlabel=chart.xlabel, ylabel=chart.ylabel, xscale=chart.xscale, yscale=chart.yscale)
    for axis, scale in ((ax.xaxis, chart.xscale), (ax.yaxis, chart.yscale)):
        if scale == "log":
            _label_plainly(axis)
    if chart.title:
        ax.set_title(chart.title, fontsize="medium")
    ax.grid(color="#e6e6e6", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _label_plainly(axis: Axis) -> None:
    """Label a logarithmic axis with plain numbers (1, 10, ...), over few decades also within these."""
    from matplotlib.ticker import LogFormatter

    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(LogFormatter(labelOnlyBase=False, minor_thresholds=(1.5, 0.6)))
