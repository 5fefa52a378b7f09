"""Figures and pages of matches and results.

Every function returns a :class:`matplotlib.figure.Figure` that is created without pyplot: it opens no window, has no
global state and need not be closed; ``savefig`` writes it to a file. ``report`` makes a page of a result.
"""

from bansac.plotting.matches import plot_matches as plot_matches
from bansac.plotting.warp import plot_warp as plot_warp
