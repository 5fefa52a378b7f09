"""NAPSAC: a sample is a random point and points near it, because inliers are closer to each other than to outliers.

Myatt, Torr, Nasuto, Bishop and Craddock, BMVC 2002. Distances are measured in the joint space of all channels. For
matches these are the four coordinates in both images, so neighbours are close in both images and have similar motions.
"""

import math
from typing import Any

import numpy as np

from bansac.compiled.jit import inlined
from bansac.engine.sampling.input import SamplerInput
from bansac.maths.arrays import Floats, Ints, Singles, Words
from bansac.maths.extent import GRID, near_box
from bansac.maths.rng import draw_distinct, next_index

# Radius over the diagonal of the bounding box of the points without far ones (``maths.extent``): 40 pixels for matches
# spread over two images of 1000 x 1000 pixels.
_RADIUS_SHARE = 0.02


def neighbourhood_radius(data: Floats) -> float:
    """Return the default radius, a fiftieth of the diagonal of the box of ``data`` (channels x N)."""
    low, high = near_box(data, GRID)
    return _RADIUS_SHARE * math.hypot(*(high - low))


@inlined
def _fill(rng: Words, data: Floats, centre: np.int64, neighbours: Ints, count: int, sample: Ints) -> bool:
    """Draw the sample from the centre and its neighbours without duplicates; return whether there are enough."""
    sample[0] = centre
    drawn = 1
    for i in range(count):  # the first steps of a shuffle
        if drawn == sample.size:
            break
        j = i + next_index(rng, count - i)
        new = True
        for k in range(drawn):
            new = new and not _are_equal(data, sample[k], neighbours[j])
        if new:
            sample[drawn] = neighbours[j]
            drawn += 1
        neighbours[j] = neighbours[i]
    return drawn == sample.size


@inlined
def _are_equal(data: Floats, first: np.int64, second: np.int64) -> bool:
    """Return whether two points are equal in all channels."""
    equal = 0
    for c in range(data.shape[0]):
        equal += 1 if data[c, first] == data[c, second] else 0
    return bool(equal == data.shape[0])


@inlined
def _find_neighbours(data: Floats, centre: np.int64, squared_radius: float, neighbours: Ints) -> int:
    """Write the indices of all points within the radius of ``centre`` to ``neighbours``; return their number."""
    x = data[0]
    candidates = 0
    for i in range(x.size):  # the first channel leaves few candidates
        square = (x[i] - x[centre]) * (x[i] - x[centre])
        neighbours[candidates] = i
        candidates += 1 if square <= squared_radius else 0
    count = 0
    for k in range(candidates):
        i = neighbours[k]
        square = 0.0
        for c in range(data.shape[0]):
            square += (data[c, i] - data[c, centre]) * (data[c, i] - data[c, centre])
        neighbours[count] = i
        count += 1 if square <= squared_radius and i != centre else 0
    return count


def start(setup: SamplerInput) -> tuple[Floats, Ints]:
    """Return the squared radius; and the possible centres, their number, and N numbers of work space."""
    radius = neighbourhood_radius(setup.data) if setup.radius is None else setup.radius
    return np.array([radius * radius]), np.arange(2 * setup.data.shape[1] + 1)


def draw(
    rng: Words, data: Floats, odds: Singles, ranking: Ints, progress: Any, numbers: Floats, indices: Ints, sample: Ints
) -> None:
    """Draw a uniform centre as the first point of the sample, and the others uniformly from its neighbours.

    At first all points are possible centres. A centre with too few distinct neighbours is removed. If none is left,
    samples are uniform.
    """
    n, others = data.shape[1], sample.size - 1
    centres, neighbours = indices[: n + 1], indices[n + 1 :]
    while centres[n] > 0:
        place = next_index(rng, np.int64(centres[n]))
        centre = centres[place]
        count = _find_neighbours(data, centre, numbers[0], neighbours)
        if count >= others and _fill(rng, data, centre, neighbours, count, sample):
            return
        centres[n] -= 1
        centres[place] = centres[centres[n]]
    draw_distinct(rng, n, sample, np.int64(0), sample.size)
