"""NAPSAC: a sample is a random point and points near it, because inliers are closer to each other than to outliers.

Myatt, Torr, Nasuto, Bishop and Craddock, BMVC 2002. Distances are measured in the joint space of all channels. For
matches these are the four coordinates in both images, so neighbours are close in both images and have similar motions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel, plain
from bansac.engine.sampling import SamplerInput
from bansac.engine.sampling.uniform import sample_uniform
from bansac.maths.arrays import Floats, Ints, Singles, Words
from bansac.maths.extent import GRID, near_box
from bansac.maths.rng import next_index

__all__ = ["Memory", "draw", "neighborhood_radius", "sample_napsac", "start", "views"]

# Radius over the diagonal of the bounding box of the points: 36 pixels for matches spread evenly over two images of
# 1000 x 1000 pixels.
_RADIUS_SHARE = 0.02
# The box excludes this share of the points at both ends of each channel, so that a few outliers do not enlarge it. More
# outliers may be far (``maths.extent``); they are moved to the border of the others.
_STRAY_SHARE = 0.05


def neighborhood_radius(data: Floats) -> float:
    """Return the default radius of a neighbourhood.

    Parameters
    ----------
    data : (channels, N) ndarray
        The data, N at least 1.

    Returns
    -------
    float
        One fiftieth of the diagonal of the box of the middle 90 % of the points in every channel, in the unit of
        ``data``. It is 36 pixels for matches spread evenly over two images of 1000 x 1000 pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from bansac.engine.sampling.napsac import neighborhood_radius
    >>> x = np.linspace(0.0, 1000.0, 101)
    >>> neighborhood_radius(np.stack([x, x[::-1], x, x[::-1]]))
    36.0
    """
    lowest, highest = near_box(data, GRID)[:, :, None]
    low, high = np.quantile(data.clip(lowest, highest), (_STRAY_SHARE, 1 - _STRAY_SHARE), axis=1)
    return _RADIUS_SHARE * math.hypot(*(high - low))


@inner_kernel
def sample_napsac(
    rng: Words, data: Floats, squared_radius: float, centres: Ints, neighbors: Ints, sample: Ints
) -> None:
    """Draw a uniform centre as the first point of the sample, and the others uniformly from its neighbours.

    Parameters
    ----------
    data : (channels, N) ndarray
        The data.
    centres : (N + 1,) ndarray of int
        The indices of the possible centres; the last entry is their number. At first all points are possible centres.
        A centre with too few distinct neighbours is removed. If none is left, samples are uniform.
    neighbors : (N,) ndarray of int
        Work space.
    """
    n = data.shape[1]
    others = sample.size - 1
    while centres[n] > 0:
        place = next_index(rng, np.int64(centres[n]))
        centre = centres[place]
        found = _find_neighbors(data, centre, squared_radius, neighbors)
        if found >= others and _fill(rng, data, centre, neighbors, found, sample):
            return
        centres[n] -= 1
        centres[place] = centres[centres[n]]
    sample_uniform(rng, n, sample)


@inlined
def _fill(rng: Words, data: Floats, centre: np.int64, neighbors: Ints, found: int, sample: Ints) -> bool:
    """Draw the sample from the centre and its neighbours without duplicates; return whether there are enough."""
    sample[0] = centre
    chosen = 1
    for i in range(found):  # the first steps of a shuffle
        if chosen == sample.size:
            break
        j = i + next_index(rng, found - i)
        new = True
        for k in range(chosen):
            new = new and not _are_equal(data, sample[k], neighbors[j])
        if new:
            sample[chosen] = neighbors[j]
            chosen += 1
        neighbors[j] = neighbors[i]
    return chosen == sample.size


@inlined
def _are_equal(data: Floats, first: np.int64, second: np.int64) -> bool:
    """Return whether two points are equal in all channels."""
    equal = 0
    for c in range(data.shape[0]):
        equal += 1 if data[c, first] == data[c, second] else 0
    return bool(equal == data.shape[0])


@inlined
def _find_neighbors(data: Floats, centre: np.int64, squared_radius: float, neighbors: Ints) -> int:
    """Write the indices of all points within the radius of ``centre`` to ``neighbors``; return their number."""
    row = data[0]
    candidates = 0
    for i in range(row.size):  # the first channel leaves few candidates
        square = (row[i] - row[centre]) * (row[i] - row[centre])
        neighbors[candidates] = i
        candidates += 1 if square <= squared_radius else 0
    found = 0
    for k in range(candidates):
        i = neighbors[k]
        square = 0.0
        for c in range(data.shape[0]):
            square += (data[c, i] - data[c, centre]) * (data[c, i] - data[c, centre])
        neighbors[found] = i
        found += 1 if square <= squared_radius and i != centre else 0
    return found


class Memory(NamedTuple):
    """The arrays of NAPSAC; ``sample_napsac`` describes them."""

    squared_radius: Floats  # one number
    centres: Ints  # N + 1
    neighbors: Ints  # N


@inlined
def views(numbers: Floats, indices: Ints) -> Memory:
    """Return the arrays that ``numbers`` (1) and ``indices`` (2 N + 1) hold."""
    n = indices.size // 2
    return Memory(numbers, indices[: n + 1], indices[n + 1 :])


def start(setup: SamplerInput) -> tuple[Floats, Ints]:
    """Return the memory before the first sample."""
    n = setup.data.shape[1]
    radius = neighborhood_radius(setup.data) if setup.radius is None else setup.radius
    numbers, indices = np.empty(1), np.empty(2 * n + 1, np.int64)
    memory = plain(views)(numbers, indices)
    memory.squared_radius[0] = radius * radius
    memory.centres[:] = np.arange(n + 1)  # the last entry, n, is their number
    return numbers, indices


def draw(
    rng: Words, data: Floats, odds: Singles, ranking: Ints, progress: Any, numbers: Floats, indices: Ints, sample: Ints
) -> None:
    """Draw the next sample."""
    memory = views(numbers, indices)
    sample_napsac(rng, data, memory.squared_radius[0], memory.centres, memory.neighbors, sample)
