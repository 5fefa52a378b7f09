"""Estimation of the threshold from the data, in alternation with the model: ``threshold="auto"``.

The threshold is proportional to the scale sigma of the noise. Sigma is estimated from the residuals of the best model
so far. The next run uses the threshold below which 99 % of the inliers lie. This is the scheme of SIMFIT (Edstedt, Less
Biased Noise Scale Estimation for Threshold-Robust RANSAC, arXiv 2503.13433, 2025).

As in SIMFIT, two biases of the estimate are removed: the model was fitted to the same points, and the residuals are
truncated at some distance. Here the residuals within this distance are explained by a mixture of inliers and outliers
(:mod:`.posterior`).
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.engine.options import Options
from bansac.estimate.posterior import inlier_scale
from bansac.problems.problem import Problem
from bansac.result import Result

__all__ = ["LARGEST", "SMALLEST", "estimate_threshold", "solve_auto", "threshold_factor"]

SMALLEST, LARGEST = 0.1, 6.0
"""The thresholds that are looked for, in thresholds of the start."""

# Largest number of runs: usually two, and three if the first threshold was far off. Thresholds whose ratio is below
# _CLOSE count as equal.
_RUNS = 3
_CLOSE = 1.25

# Sigma is estimated from a window of residuals, and the window depends on sigma: largest number of iterations, and the
# relative change at which they end.
_WINDOWS = 10
_CONVERGED = 0.02

# 99 % quantile of the standard normal distribution.
_QUANTILE_99 = 2.3263478740408408


def solve_auto(solve: Callable[[Options], Result], problem: Problem, options: Options) -> Result:
    """Call ``solve`` at the threshold of the options, and then at estimated thresholds.

    All runs together draw at most ``max_iterations`` samples. The first run has half of them, because the others may
    need as many.
    If the first run has no success, the noise may be larger, so the largest threshold is tried. Returns the result of
    the last run with success, or of the first run if there is none. Its numbers of iterations, models and restarts are
    the sums over all runs. Its trace is that of one run.
    """
    assert options.threshold is not None
    assert options.max_iterations is not None
    deadline = None if options.max_seconds is None else time.perf_counter() + options.max_seconds
    bounds = SMALLEST * options.threshold, LARGEST * options.threshold
    runs = [solve(_limited(options, (options.max_iterations + 1) // 2))]
    best = runs[0]
    while len(runs) < _RUNS:
        following = estimate_threshold(best.residuals, problem, bounds) if best.success else bounds[1]
        if max(following / best.threshold, best.threshold / following) < _CLOSE:
            break
        left = options.max_iterations - sum(run.iterations for run in runs)
        if left <= 0:
            break
        changes: dict[str, Any] = {"threshold": following}
        if deadline is not None:
            changes["max_seconds"] = deadline - time.perf_counter()
            if changes["max_seconds"] <= 0.0:
                break
        runs.append(solve(_limited(options, left).replace(**changes)))
        if not runs[-1].success:
            break
        best = runs[-1]
    return _with_totals(best, runs)


def _limited(options: Options, most: int) -> Options:
    """Return the options with at most ``most`` iterations."""
    return options.replace(max_iterations=most, min_iterations=min(options.min_iterations, most))


def estimate_threshold(residuals: NDArray[np.float64], problem: Problem, bounds: tuple[float, float]) -> float:
    """Return the distance from a model below which 99 % of its inliers lie.

    The first window of residuals is the widest one. If the threshold was too small, the inliers of the model are spread
    over several thresholds, and a narrow window would give the threshold instead of the noise.

    Parameters
    ----------
    residuals : (N,) ndarray
        Residuals of the points; inf for a point that cannot be an inlier.
    problem : Problem
        The problem, for its codimension and sample size.
    bounds : tuple of float
        The smallest and the largest threshold.

    Returns
    -------
    float
        The threshold, in the unit of ``residuals``.
    """
    codimension = problem.codimension
    explained = problem.sample_size * codimension
    factor = threshold_factor(codimension)
    smallest, largest = bounds
    threshold = largest
    for _ in range(_WINDOWS):
        sigma, inliers = inlier_scale(residuals, threshold, codimension)
        errors = codimension * inliers
        sigma *= math.sqrt(errors / max(errors - explained, 1.0))
        last, threshold = threshold, min(max(factor * sigma, smallest), largest)
        if abs(threshold - last) < _CONVERGED * last:
            break
    return threshold


def threshold_factor(codimension: int) -> float:
    """Return the 99 % quantile of the length of a standard normal vector (Wilson and Hilferty, 1931).

    Examples
    --------
    >>> round(threshold_factor(1), 2), round(threshold_factor(2), 2)
    (2.57, 3.04)
    """
    spread = 2.0 / (9.0 * codimension)
    cube_root = 1.0 - spread + _QUANTILE_99 * math.sqrt(spread)
    return math.sqrt(codimension * cube_root * cube_root * cube_root)


def _with_totals(result: Result, runs: list[Result]) -> Result:
    """Return a copy of ``result`` with the time and the counts of all runs."""
    return dataclasses.replace(
        result,
        iterations=sum(run.iterations for run in runs),
        models_tested=sum(run.models_tested for run in runs),
        restarts=sum(run.restarts for run in runs),
        seconds=runs[-1].seconds,
        loading_seconds=runs[-1].loading_seconds,
    )
