"""The box of points without those that are far from the others.

One wrong point at a distance of many image sizes must not set the unit of lengths of all others. So a value is far if
it is outside of the middle 70 % of the values by more than ``reach`` times the width of this middle. Data without far
values have the box of all values.
"""

import numpy as np

from bansac.compiled.jit import inner_kernel, kernel
from bansac.maths.arrays import Floats

# Values of ``reach``. A grid over the box must resolve the middle. A unit of length only has to be of the order of the
# distances, and ordinary data should count in full.
GRID, UNIT = 1.25, 10.0

# Share of the values on each side of the middle.
_TAIL = 0.15
# Largest number of values, evenly spaced, from which the middle is measured.
SAMPLE = 100


def near_box(data: Floats, reach: float) -> Floats:
    """Return the smallest and the largest value of each channel that are not far: the box (2, channels).

    ``data`` (channels, N) has one unit, and N is at least 1. Values are far if they are more than ``reach`` widths of
    the widest middle from the middle of their channel.
    """
    box = np.empty((2, data.shape[0]))
    _write_box(data, reach, box, np.empty(SAMPLE))
    return box


@inner_kernel
def bound_near(data: Floats, reach: float, box: Floats, ordered: Floats) -> None:
    """Write the bounds of ``near_box`` to ``box``; ``ordered`` is work space for ``SAMPLE`` numbers."""
    low, high, widest = box[0], box[1], 0.0
    for c in range(low.size):
        _find_middle(data[c], low, high, c, ordered)
        widest = max(widest, high[c] - low[c])
    limit = reach * widest if widest > 0.0 else np.inf
    for c in range(low.size):
        lower, upper = low[c] - limit, high[c] + limit
        smallest, largest = np.inf, -np.inf
        for x in data[c]:
            if not smallest <= x <= largest:  # seldom, so that no value waits for the bounds of the one before
                smallest = x if lower <= x < smallest else smallest
                largest = x if upper >= x > largest else largest
        low[c], high[c] = smallest, largest


@inner_kernel
def _find_middle(values: Floats, low: Floats, high: Floats, c: int, ordered: Floats) -> None:
    """Write the bounds of the middle of the values to ``low[c]`` and ``high[c]``."""
    n = values.size
    size = min(n, ordered.size)
    for k in range(size):
        value, i = values[k * n // size], k
        while i > 0 and ordered[i - 1] > value:
            ordered[i] = ordered[i - 1]
            i -= 1
        ordered[i] = value
    tail = int(_TAIL * size)
    low[c], high[c] = ordered[tail], ordered[size - 1 - tail]


_write_box = kernel(bound_near)


def grid_step(values: Floats) -> float:
    """Return the smallest difference of values (N) if some of them are equal, as on a grid; 0 otherwise."""
    distinct = np.unique(values)
    if not 1 < distinct.size < values.size:
        return 0.0
    steps = np.diff(distinct)
    return float(steps[steps > 1e-9 * (distinct[-1] - distinct[0])].min())
