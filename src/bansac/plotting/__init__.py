"""Figures of matches and runs: inlier probabilities, and the stopping criteria.

Every function returns a :class:`matplotlib.figure.Figure` that is created without pyplot: it opens no window, has no
global state and need not be closed; ``savefig`` writes it to a file. ``report`` makes a page of a result.
"""

from bansac.plotting.matches import plot_matches as plot_matches
from bansac.plotting.trace import plot_trace as plot_trace
