"""Levenberg-Marquardt over the points near the best model: with the truncated loss, then with Tukey's biweight loss.

The truncated loss moves the model to the nearest maximum of the MSAC score. The biweight loss starts from there. Its
minimum has less variance, because it needs no sharp limit. The residuals give its scale: the one for which the variance
of the model is smallest (for Huber's loss: Wang, Lin, Zhu and Bai, Journal of Computational and Graphical Statistics
2007). So the fit is that of least squares if the errors are normal, and ignores large errors if there are more of them.
The MSAC score of the minimum may be slightly lower, so a small decrease of the score is allowed.
"""

import math
from typing import Any

import numpy as np

from bansac.compiled.jit import allocating_kernel, inner_kernel, kernel
from bansac.engine.refinement.levenberg_marquardt import CONVERGED, Work, make_work, minimize, select_manifold
from bansac.engine.state import BLOCK, Run
from bansac.engine.verification import evaluate, mark_inliers
from bansac.evidence.noise_scale import SMALLEST, estimate_threshold
from bansac.maths.arrays import Bools, Floats
from bansac.maths.linalg import copy
from bansac.problems.problem import Problem

# Losses.
TRUNCATED, BIWEIGHT = False, True

# The distance within which the truncated loss uses points, in thresholds. The largest scale of the biweight loss, in
# thresholds that the residuals give: 95 % of the accuracy of least squares need 4.7 standard deviations.
_REACH, _WIDEST = 2.0, 2.75
_MAX_STEPS = 25  # of each scale
# Largest relative decrease of the score by the biweight loss.
_TOLERANCE = 0.05


def refine(run: Run, problem: Problem) -> None:
    """Move the best model to a maximum of its MSAC score and from there to a minimum of the biweight loss."""
    manifold, work = select_manifold(problem), make_work(problem)
    _move_by_lm(run, manifold, work, TRUNCATED, 1.0, 1.0, _REACH, np.inf, 0.0)
    distances, threshold = best_distances(run)
    scale = biweight_scale(distances, problem, threshold) / threshold
    _move_by_lm(run, manifold, work, BIWEIGHT, scale, scale, scale, np.inf, _TOLERANCE)


minimize_near = kernel(minimize)


@kernel
def best_distances(run: Run) -> tuple[Floats, float]:
    """Return the distances of the data from the best model, inf where undefined, and the threshold."""
    model, residuals, n = run.model, run.residuals, run.points.shape[1]
    distances = np.empty(n)
    copy(run.best_model, model)
    for start in range(0, n, BLOCK):
        stop = start + BLOCK if start + BLOCK < n else n
        run.kernels.residuals(run.points, model, start, stop, residuals[: stop - start])
        for k in range(start, stop):
            square = np.float64(residuals[k - start])
            distances[k] = math.sqrt(square) if square >= 0.0 else np.inf
    return distances, math.sqrt(run.settings.squared_threshold)


def biweight_scale(distances: Floats, problem: Problem, threshold: float) -> float:
    """Return the scale of the biweight loss, for the distances of all data from a model."""
    widest = _WIDEST * estimate_threshold(distances, problem, (SMALLEST * threshold, threshold), raised=True)
    parameters = problem.parameters or problem.model_size
    return _scale_of_least_variance(distances, widest, problem.residual_size, parameters)


@kernel
def _scale_of_least_variance(distances: Floats, widest: float, components: int, parameters: int) -> float:
    """Halve the scale while the variance of a model with this number of parameters falls.

    The variance is the sum of |psi|^2 over the square of the sum of the mean derivatives of psi, where psi is the
    gradient of the loss. The residuals are those of a model that was fitted to the same points. So the number of
    parameters is subtracted from the second sum, twice as in Akaike's criterion. Otherwise the smallest scale would be
    the best one for few points.
    """
    scale, least = widest, np.inf
    while True:
        variance, information = 0.0, -2.0 * parameters / components
        for distance in distances:
            u = distance / scale
            if u < 1.0:
                u *= u
                weight = (1.0 - u) * (1.0 - u)
                variance += weight * weight * u
                information += weight - 4.0 / components * u * (1.0 - u)
        variance *= scale * scale
        if not (information > 0.0 and variance < least * information * information):
            return min(2.0 * scale, widest)
        scale, least = 0.5 * scale, variance / (information * information)


@allocating_kernel
def move_best_model(
    run: Run,
    manifold: Any,
    work: Work,
    loss: bool,
    widest: float,
    scale: float,
    reach: float,
    limit: float,
    tolerance: float,
) -> bool:
    """Move the best model to a minimum of a loss over the points near it; return whether the new model is kept.

    The loss has the scale ``widest``, then ``scale``. It uses the points within ``reach``, at most ``limit`` of them.
    ``widest``, ``scale`` and ``reach`` are multiples of the threshold. The points are in random order, so the first
    ones are a random subset. The new model is kept unless its score is lower by more than the share ``tolerance``. Its
    mask is then in the row of ``run.is_inlier`` that the candidate does not use.
    """
    progress, model, is_inlier = run.progress, run.other_model, run.is_inlier[1 - run.candidate.slot]
    squared_threshold, first = run.settings.squared_threshold, run.candidate.first_block
    copy(run.best_model, model)
    count = mark_inliers(run, model, is_inlier, reach * reach * squared_threshold)
    near = np.empty((run.data.shape[0], np.int64(min(np.float64(count), limit))))
    _gather(run.data, is_inlier, near)
    for factor in (widest, scale):
        minimize(
            manifold, work, near, factor * factor * squared_threshold, loss, _MAX_STEPS, CONVERGED, model, run.scratch
        )
        if widest == scale:
            break
    score, inliers = evaluate(run, model, is_inlier, -1.0, np.inf, first)
    if not score >= (1.0 - tolerance) * progress.best_score:
        return False
    copy(model, run.best_model)
    progress.best_score = score
    progress.best_inliers = inliers
    return True


_move_by_lm = kernel(move_best_model)


@inner_kernel
def _gather(data: Floats, chosen: Bools, found: Floats) -> None:
    """Fill ``found`` with the first of the chosen columns of ``data``."""
    for channel in range(data.shape[0]):
        n = 0
        for k in range(found.shape[1]):
            while not chosen[n]:
                n += 1
            found[channel, k] = data[channel, n]
            n += 1
