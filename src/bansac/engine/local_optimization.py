"""Local optimisation of a new best model: LO-RANSAC.

The model of a minimal sample of inliers is inaccurate because of their noise, and misses inliers. Local optimisation
improves every new best model by fits to larger samples of its inliers (Chum, Matas and Kittler, DAGM 2003). The number
of points of a fit is limited as in Lebeda, Matas and Chum (BMVC 2012). There are three methods:

* *inner*: fits to random samples of the inliers of the best model so far;
* *iterative*: fits to the inliers at a threshold that shrinks to the user's threshold. Alone it starts from the best
  model; together with *inner* it starts from each of the inner fits;
* *lm*: Levenberg-Marquardt with the loss of the MSAC score over the points near the best model. It replaces the other
  two. It stays on the manifold of the models, which linear fits do not. It is one optimisation instead of ten.

The optimisation starts as soon as the first models have given the support of random models. From then on it runs for
every new best model. These are rare, because an optimised model is seldom beaten. The points of a fit are copied to a
small array, so the cost of a fit does not depend on N.
"""

from typing import Any, NamedTuple

import numpy as np

from bansac.compiled.jit import allocating_kernel, inner_kernel, kernel
from bansac.engine.loop import advance, update_stop
from bansac.engine.model_selection import update_if_better
from bansac.engine.refinement.lm import TRUNCATED, move_best_model
from bansac.engine.state import OPTIMIZATION, Run
from bansac.engine.verification import evaluate, mark_inliers
from bansac.maths.arrays import Bools, Floats, Ints
from bansac.maths.linalg import copy
from bansac.maths.rng import next_index

# Repetitions of the inner optimisation (10 in Chum et al.).
_MAX_FITS = 10

# Largest number of points of a fit, in minimal samples (Lebeda et al.).
_SAMPLES_A_FIT = 7

# The iterative optimisation starts at this multiple of the threshold and ends at the threshold, in this many steps.
_WIDEST = 2.0
_STEPS = 4

# Levenberg-Marquardt: the loss is truncated at _WIDEST_LOSS thresholds, then at the threshold. It uses the points
# within _REACH thresholds, at most _MOST_DATA of them.
_WIDEST_LOSS = 3.0
_REACH = 4.0
_MOST_DATA = 1000.0


@kernel
def iterate(
    run: Run, manifold: Any, work: Any, functions: Any, selection: Any, trace: Floats, first: int, end: int
) -> tuple[int, int, int]:
    """Run the loop, and ``optimize`` where it is due; return the same values as ``run_iterations``.

    It is one call, because threads that switch between kernels and Python wait for each other.
    """
    stop, iterations, due = advance(run, trace, first, end)
    while due == OPTIMIZATION:
        optimize(run, manifold, work, functions, selection)
        stop, iterations, due = advance(run, trace, first, end)
    return stop, iterations, due


@kernel
def optimize(run: Run, manifold: Any, work: Any, functions: Any, selection: Any) -> None:
    """Optimise the best model, and compare it with the best optimised one.

    ``manifold`` and ``work`` are None except for Levenberg-Marquardt. ``functions`` and ``selection`` are None without
    model selection. The branches for None arguments are not compiled.
    """
    if manifold is None:
        optimize_locally(run)
    else:
        optimize_by_lm(run, manifold, work)
    if selection is not None:
        update_if_better(run, functions, selection)


@allocating_kernel
def optimize_by_lm(run: Run, manifold: Any, work: Any) -> None:
    """Move ``run.best_model`` to a nearby maximum of the score, and update the stopping criteria."""
    progress = run.progress
    improved = move_best_model(run, manifold, work, TRUNCATED, _WIDEST_LOSS, 1.0, _REACH, _MOST_DATA, 0.0)
    progress.models_tested += 1
    progress.unoptimized = False
    if improved:
        update_stop(run, run.is_inlier[1 - run.candidate.slot])


class _Work(NamedTuple):
    """Arrays of the local optimisation."""

    model: Floats
    data: Floats  # channels x limit: the points of a fit
    weights: Floats  # limit
    indices: Ints  # N


@allocating_kernel
def optimize_locally(run: Run) -> None:
    """Replace ``run.best_model`` by the best fit if its score is higher, and update the stopping criteria."""
    progress, settings, n = run.progress, run.settings, run.data.shape[1]
    data = np.empty((run.data.shape[0], _SAMPLES_A_FIT * run.sample.size))
    for channel in range(data.shape[0]):
        for k in range(data.shape[1]):
            data[channel, k] = 0.0  # a weight of 0 does not hide a NaN
    work = _Work(np.empty(run.best_model.size), data, np.empty(data.shape[1]), np.empty(n, np.int64))
    best, other = np.empty(n, np.bool_), np.empty(n, np.bool_)
    mark_inliers(run, run.best_model, best, settings.squared_threshold)
    repeats = _MAX_FITS if settings.inner else 1
    for _ in range(repeats):
        copy(run.best_model, work.model)
        if settings.inner and not _fit_to_inliers(run, work, best, progress.best_inliers // 2):
            continue
        if settings.iterative and not _shrink_threshold(run, work, other):
            continue
        progress.models_tested += 1
        score, inliers = evaluate(run, work.model, other, progress.best_score, np.inf, run.candidate.first_block)
        if inliers >= 0 and score > progress.best_score:
            progress.best_score = score
            progress.best_inliers = inliers
            copy(work.model, run.best_model)
            best, other = other, best
    progress.unoptimized = False
    update_stop(run, best)


@inner_kernel
def _shrink_threshold(run: Run, work: _Work, is_inlier: Bools) -> bool:
    """Fit ``work.model`` to its inliers several times, at a threshold that shrinks to the user's threshold."""
    fitted = True
    for step in range(_STEPS):
        factor = _WIDEST - (_WIDEST - 1.0) * step / (_STEPS - 1)
        mark_inliers(run, work.model, is_inlier, run.settings.squared_threshold * factor * factor)
        fitted = fitted and _fit_to_inliers(run, work, is_inlier, run.data.shape[1])
    return fitted


@inner_kernel
def _fit_to_inliers(run: Run, work: _Work, is_inlier: Bools, most: int) -> bool:
    """Fit ``work.model`` to a random sample of at most ``most`` inliers."""
    data = run.data
    found = 0
    for n in range(data.shape[1]):
        work.indices[found] = n
        found += 1 if is_inlier[n] else 0
    limit = work.weights.size
    size = limit if limit < most else most
    size = found if found < size else size
    for k in range(limit):
        work.weights[k] = 0.0
    for k in range(size):
        chosen = k + next_index(run.rng, found - k)
        work.indices[k], work.indices[chosen] = work.indices[chosen], work.indices[k]
        n = work.indices[k]
        for channel in range(data.shape[0]):
            work.data[channel, k] = data[channel, n]
        work.weights[k] = 1.0
    return run.kernels.fit(work.data, work.weights, work.model, run.scratch)  # type: ignore[no-any-return]
