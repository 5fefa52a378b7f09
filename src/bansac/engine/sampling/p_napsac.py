"""P-NAPSAC: samples from neighbourhoods that grow from local to global (Barath et al., 2019; MAGSAC++, CVPR 2020).

The first point of a sample is its centre. It is drawn by PROSAC with samples of one point. The others are its
neighbours. Point i has a hit counter t_i, the number of samples that contained it as centre or as neighbour of the
centre. Its neighbourhood consists of its first k_i neighbours. It grows with t_i by PROSAC's growth function for
samples of m - 1. The sample contains the k_i-th neighbour and m - 2 of the k_i - 1 neighbours before it.

Neighbours are found in grids over the bounding box of the points, in the joint space of all channels. Far points
(``maths.extent``) do not enlarge the box. The grids have 16, 8, 4 and 2 cells per axis. The neighbours of a point are
the points of its cell in the finest grid in which there are at least k_i of them. Within a cell they are ordered by
quality, not by distance: cells are small, and the better matches come first, as in PROSAC.

A neighbourhood has at most ten points (or m - 1), so it is soon exhausted. This limit exists because noise makes the
models of samples of close points inaccurate, above all for calibrated pairs. If no cell has enough points, or the
neighbourhood is exhausted, the sample is the centre completed by PROSAC over all points, at the current number of
samples. After 20 N samples all samples are PROSAC's.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from bansac.compiled.jit import inlined
from bansac.engine.sampling import prosac
from bansac.engine.sampling.input import SamplerInput
from bansac.engine.sampling.prosac import complete_by_prosac, grow_subset, growth_function
from bansac.maths.arrays import Floats, Ints, Singles, Words
from bansac.maths.extent import GRID, near_box
from bansac.maths.rng import draw_distinct, next_index

# Number of local samples per point, and T_N / N of the growth functions of the centre and of its neighbourhood.
LOCAL_DRAWS = 20

# Largest size of a neighbourhood.
MAX_NEIGHBOURS = 10

# Cells per axis, from the finest layer on. Each number is half of the one before, so cells are unions of finer cells.
CELLS = (16, 8, 4, 2)


class Neighbourhoods(NamedTuple):
    """The neighbourhoods of all points. A point is given by its rank (0: the best).

    ``members[layer]`` lists the ranks cell by cell, in ascending order within a cell. The cell of rank r in a layer
    starts at ``starts[layer, r]`` and has ``counts[layer, r]`` members, r among them.
    """

    members: Ints  # layers x N
    starts: Ints  # layers x N
    counts: Ints  # layers x N
    hits: Ints  # t_i
    sizes: Ints  # k_i
    growth: Ints  # T'_k for k = 0, ..., N - 1 neighbours


def build_layers(data: Floats, ranking: Ints) -> tuple[Ints, Ints, Ints]:
    """Sort the points into the cells of all layers; return the members, starts and counts of ``Neighbourhoods``."""
    n = ranking.size
    finest = _cell_coordinates(np.take(data, ranking, axis=1))
    members, starts, counts = (np.empty((len(CELLS), n), np.int64) for _ in range(3))
    for layer, cells in enumerate(CELLS):
        coordinates = finest * cells // CELLS[0]
        order = np.lexsort(coordinates[::-1])  # by rank within a cell
        boundaries = np.flatnonzero(np.diff(coordinates[:, order], prepend=-1).any(axis=0))
        lengths = np.diff(boundaries, append=n)
        members[layer] = order
        starts[layer, order] = np.repeat(boundaries, lengths)
        counts[layer, order] = np.repeat(lengths, lengths)
    return members, starts, counts


def _cell_coordinates(points: Floats) -> Ints:
    """Return the cell of each point on every axis of the finest layer; far points are in the cells of the border."""
    if points.shape[1] == 0:
        return np.empty(points.shape, np.int64)
    low, high = np.concatenate([near_box(points[c : c + 1], GRID) for c in range(len(points))], axis=1)[:, :, None]
    extent = high - low
    extent[extent == 0] = 1.0  # all in the first cell
    cells: Ints = np.minimum((points.clip(low, high) - low) / extent * CELLS[0], CELLS[0] - 1).astype(np.int64)
    return cells


def make_neighbourhoods(data: Floats, ranking: Ints, sample_size: int) -> Neighbourhoods:
    """Return the neighbourhoods at the start of a run; a ValueError for sample sizes that are not in [2, N].

    The growth function has T_N = 20 N, or the number of different sets of m - 1 neighbours if that is less. For
    example, with m = 2 each neighbour gives only one sample, and drawing it twenty times is useless.
    """
    n = data.shape[1]
    if not 2 <= sample_size <= n:
        raise ValueError(f"sample_size must be at least 2 for P-NAPSAC and at most {n} (N), got {sample_size}")
    members, starts, counts = build_layers(data, ranking)
    growth = np.empty(n, np.int64)
    growth_function(sample_size - 1, min(LOCAL_DRAWS * n, math.comb(n - 1, sample_size - 1)), growth)
    sizes = np.full(n, sample_size - 1, np.int64)
    return Neighbourhoods(members, starts, counts, np.zeros(n, np.int64), sizes, growth)


@inlined
def _draw_neighbours(
    rng: Words, neighbourhoods: Neighbourhoods, layer: int, centre: int | np.int64, size: int, sample: Ints
) -> None:
    """Fill all places of the sample except the last: m - 2 of the first ``size`` - 1 neighbours, and the next one."""
    others = sample.size - 1
    draw_distinct(rng, size - 1, sample, 0, others - 1)
    sample[others - 1] = size - 1
    members = neighbourhoods.members[layer]
    cell = neighbourhoods.starts[layer, centre]
    for i in range(others):
        rank = members[cell + sample[i]]
        if rank >= centre:  # skip the centre, which is no neighbour of itself
            rank = members[cell + sample[i] + 1]
        sample[i] = rank
        neighbourhoods.hits[rank] += 1


@inlined
def views(indices: Ints, n: int) -> tuple[Neighbourhoods, Ints]:
    """Return the neighbourhoods of N points in ``indices``, and the memory of PROSAC that follows them."""
    layers = len(CELLS)
    cells, end = indices[: 3 * layers * n].reshape(3, layers, n), 3 * (layers + 1) * n
    points = indices[3 * layers * n : end].reshape(3, n)
    neighbourhoods = Neighbourhoods(cells[0], cells[1], cells[2], points[0], points[1], points[2])
    return neighbourhoods, indices[end:]


def start(setup: SamplerInput) -> tuple[Floats, Ints]:
    """Return an empty array, and the neighbourhoods followed by the memory of PROSAC."""
    neighbourhoods = make_neighbourhoods(setup.data, setup.ranking, setup.sample_size)
    return np.empty(0), np.concatenate([*map(np.ravel, neighbourhoods), prosac.start(setup)[1]])


def draw(
    rng: Words, data: Floats, odds: Singles, ranking: Ints, progress: Any, numbers: Floats, indices: Ints, sample: Ints
) -> None:
    """Draw the next sample, of at least two points."""
    limit = progress.subset_limit
    neighbourhoods, memory = views(indices, ranking.size)
    memory[0] += 1
    draws = memory[0]
    known = 0
    largest = sample.size - 1 if sample.size > MAX_NEIGHBOURS else MAX_NEIGHBOURS
    if draws <= LOCAL_DRAWS * ranking.size:
        known = 1
        n = 2 + (draws - 2) // LOCAL_DRAWS  # PROSAC for samples of one draws the n-th point: T'_n = 1 + 20 (n - 1)
        centre = n - 1 if n <= limit else next_index(rng, limit)
        hits, sizes, members = neighbourhoods.hits, neighbourhoods.sizes, neighbourhoods.counts
        hits[centre] += 1
        size = grow_subset(neighbourhoods.growth, hits[centre], sizes[centre], ranking.size - 1)
        sizes[centre] = size
        layer = 0
        while layer < members.shape[0] and (members[layer, centre] <= size or size > largest):
            layer += 1
        if layer < members.shape[0]:
            known = sample.size
            _draw_neighbours(rng, neighbourhoods, layer, centre, size, sample)
        sample[known - 1] = centre
    if known < sample.size:
        complete_by_prosac(rng, memory, limit, sample, known)
    for i in range(sample.size):
        sample[i] = ranking[sample[i]]
