"""Figures of matches and runs: the probability of each datum of being an inlier, how beliefs grew, why the run stopped.

Every function returns a :class:`matplotlib.figure.Figure` made without pyplot: nothing to close, no global state, no
window. :func:`save_figure` writes it to a file. May import ``geometry``, ``images`` and ``validate``.
"""

from __future__ import annotations

from bansac.plotting.layout import save_figure
from bansac.plotting.match_evolution import plot_probability_evolution
from bansac.plotting.matches import plot_matches
from bansac.plotting.point_evolution import plot_point_evolution
from bansac.plotting.trace import plot_trace

__all__ = [
    "plot_matches",
    "plot_point_evolution",
    "plot_probability_evolution",
    "plot_trace",
    "save_figure",
]
