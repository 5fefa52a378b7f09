"""Estimation of the threshold from the residuals of a significant model.

The threshold is the distance below which 99 % of the inliers lie. It is proportional to the scale sigma of the noise.
Sigma is that of most inliers, so that of Gaussian noise 95 to 98 % of them lie below it.
Sigma is estimated in alternation with the model, as in SIMFIT (Edstedt, Less Biased Noise Scale Estimation for
Threshold-Robust RANSAC, arXiv 2503.13433, 2025). As in SIMFIT, two biases of the estimate are removed: the model was
fitted to the same points, and the residuals are truncated at some distance. Here the residuals within this distance are
explained by a mixture of inliers and outliers (:mod:`.posterior`). The sigma of few matches is raised.

The search alternates (``bansac.engine.search``): once a restart has a significant model, the model is optimised at the
estimated threshold, and the search goes on there. Until then the restarts alternate between the first threshold and a
wide one, because the noise may be larger than expected.
"""

import functools
import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from bansac.compiled.jit import kernel
from bansac.evidence.posterior import CONVERGED, MAX_STEPS, WINDOW, inlier_scale, peak_ratio
from bansac.maths.arrays import Floats
from bansac.maths.extent import GRID, grid_step, near_box
from bansac.problems.problem import Problem

SMALLEST = 0.1
"""The smallest estimated threshold, in thresholds of the start."""

# If the first threshold is from the extent, many outliers are within .1 of it of a curve or plane. The smallest one is
# then _OF_MANY / N first thresholds, but at least this share of the first and this number of steps of a grid.
_OF_MANY, _LEAST, _STEPS = 3.0, 0.01, 4.0

LARGEST, LARGEST_IN_PLANE, LARGEST_IN_SPACE = 26.0, 6.5, 40.0
"""The largest threshold, in thresholds of the start: for residuals of one component, of two, and of more.

The bound for two components is the smallest: in images, matches found at random in a search window look like noise.
Problems in space start from a small share of the extent of the data.
"""

WIDE = 4.0
"""The wide threshold, in thresholds of the start."""

# The first threshold is a share of the extent of the data for problems without a default, and in other units than
# pixels. Then a default in pixels is that of an image with an extent of _IMAGE pixels. Points with an extent of at
# least the first of _PIXELS and coordinates up to the last look like pixels, with a smaller extent than the second
# perhaps like a larger unit.
_SHARE, _IMAGE, _PIXELS = 0.005, 1000.0, (50.0, 500.0, 5e4)

# Thresholds whose ratio is below _CLOSE count as equal.
_CLOSE = 1.25

# With n < _FEW degrees of freedom, sigma may be raised by a share of _RAISED (1 / n - 1 / _FEW), at most _HIGHEST. The
# numbers were chosen on synthetic pairs of 20 to 60 matches.
_FEW, _RAISED, _HIGHEST = 50.0, 8.0, 0.5


def first_threshold(problem: Problem, data: NDArray[np.float64]) -> float:
    """Return the first threshold from the extent of the data (channels x N).

    It is for problems without a default, and for data in another unit than that of the default. The extent of a single
    point, and of no data, is 1.
    """
    default = problem.default_threshold
    return (_SHARE if default is None else default / _IMAGE) * (_extent(_box(problem, data)) or 1.0)


def is_in_other_unit(problem: Problem, data: Floats, *, perhaps: bool = False) -> bool:
    """Return whether the default threshold is in pixels, but the points are not, or ``perhaps`` not.

    The points are those to which residuals belong. Epipolar geometries keep their default, because their residuals
    belong to both images.
    """
    if problem.traits.unit != "pixels" or problem.traits.codimension == 1 or problem.default_threshold is None:
        return False
    box = _box(problem, data)
    extent, farthest = _extent(box), np.abs(box).max()
    return extent > 0.0 and not (_PIXELS[perhaps] <= extent and farthest <= _PIXELS[-1])


def _extent(box: Floats) -> float:
    """Return the longest side of a box; 0 for that of no data, from inf to -inf."""
    return max(float((box[1] - box[0]).max()), 0.0)


def _box(problem: Problem, data: Floats) -> Floats:
    """Return the box of the last point, or of the last channel if the data have no points, without far data.

    Residuals have its unit.
    """
    channels = list(problem.traits.points[-1]) if problem.traits.points else [problem.channels - 1]
    step = max(data.shape[1] // 10_000, 1)  # some of many data tell it
    return near_box(np.ascontiguousarray(data[channels, ::step]), GRID)


def threshold_bounds(problem: Problem, first: float, data: Floats) -> tuple[float, float]:
    """Return the smallest and the largest threshold of data (channels x N) for a first threshold."""
    largest = {1: LARGEST, 2: LARGEST_IN_PLANE}.get(problem.traits.codimension, LARGEST_IN_SPACE)
    smallest, least = SMALLEST * first, max(_OF_MANY / max(data.shape[1], 1), _LEAST) * first
    if problem.default_threshold is None and problem.traits.codimension == 1:
        step = max(map(grid_step, data[list(problem.traits.points[-1])] if problem.traits.points else data[-1:]))
        smallest = min(max(least, _STEPS * step), smallest)
    elif is_in_other_unit(problem, data, perhaps=True):
        smallest = min(least, smallest)
    return smallest, largest * first


def are_close(first: float, second: float) -> bool:
    """Return whether two thresholds count as equal."""
    return max(first / second, second / first) < _CLOSE


def estimate_threshold(
    residuals: NDArray[np.float64], problem: Problem, bounds: tuple[float, float], *, raised: bool = False
) -> float:
    """Return the distance from a model below which 99 % of its inliers lie.

    ``residuals`` are inf for points that cannot be inliers; ``bounds`` are the smallest and the largest threshold. The
    first window of residuals is the widest one. If the threshold was too small, the inliers of the model are spread
    over several thresholds, and a narrow window would give the threshold instead of the noise. If ``raised``, sigma of
    few inliers is larger: they do not determine it, and too small a threshold costs more accuracy than too large a one.
    """
    codimension = problem.traits.codimension
    # Samples with verticals determine fewer parameters than the model has.
    explained = max(problem.sample_size * codimension, problem.parameters or 0)
    factor, peak = threshold_factor(codimension), peak_ratio(codimension)
    return _estimate_threshold(residuals, codimension, explained, factor, peak, *bounds, _RAISED * raised)


@kernel
def _estimate_threshold(
    residuals: Floats,
    codimension: int,
    explained: int,
    factor: float,
    peak: float,
    smallest: float,
    largest: float,
    raised: float,
) -> float:
    """Alternate between the window of residuals and sigma; the model explains ``explained`` errors of its inliers."""
    near, size, threshold = np.empty(residuals.size), 0, largest
    for r in residuals:
        near[size] = r  # no later window is wider
        size += 1 if r / largest < WINDOW else 0
    for _ in range(MAX_STEPS):
        sigma, inliers = inlier_scale(near[:size], threshold, codimension, peak)
        errors = codimension * inliers
        free = max(errors - explained, 1.0)
        sigma *= math.sqrt(errors / free) * (1.0 + min(raised * max(1.0 / free - 1.0 / _FEW, 0.0), _HIGHEST))
        last, threshold = threshold, min(max(factor * sigma, smallest), largest)
        if abs(threshold - last) < CONVERGED * last:
            break
    return threshold


@functools.cache
def threshold_factor(codimension: int) -> float:
    """Return the 99 % quantile of the length of a standard normal vector (Wilson and Hilferty, 1931)."""
    spread = 2.0 / (9.0 * codimension)
    cube_root = 1.0 - spread + NormalDist().inv_cdf(0.99) * math.sqrt(spread)
    return math.sqrt(codimension * cube_root * cube_root * cube_root)
