"""Local optimisation of a new best model: LO-RANSAC.

A model of a minimal sample of inliers is inaccurate because of their noise, and misses inliers. When a new best
model appears, least squares on larger samples of its inliers improve it (Chum, Matas and Kittler, DAGM 2003; with the
number of data of a fit limited as in Lebeda, Matas and Chum, BMVC 2012):

* *inner*: fits to random samples of the inliers of the best model so far;
* *iterative*: fits to inliers to a threshold that shrinks to the user's; on its own it starts from the best model, with
  *inner* from each of its fits;
* *lm*: Levenberg-Marquardt with the loss of the MSAC score over the data near the best model, in place of both: it
  keeps to the manifold of the models, where linear fits do not, and costs one optimisation where they cost ten.

It waits until the support of random models is known, from the first models, and then runs for every new best model:
few come after it, as it leaves less to be improved. The data of one fit are gathered in a small array, so that its cost
does not depend on N.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bansac.engine.incumbent import Contest, compete, repair_sampled
from bansac.engine.loop import run_iterations, update_stop
from bansac.engine.refinement.levenberg_marquardt import find_work, select_manifold
from bansac.engine.refinement.lm import TRUNCATED, move_best_model
from bansac.engine.state import OPTIMIZATION, Run, State
from bansac.engine.verification import evaluate, mark_inliers
from bansac.numeric.arrays import Bools, Floats, Ints
from bansac.numeric.jit import context_kernel, kernel
from bansac.numeric.linalg import copy
from bansac.numeric.rng import next_index
from bansac.problems.problem import Problem

__all__ = [
    "LocalWork",
    "Optimization",
    "iterate",
    "make_work",
    "optimize",
    "optimize_by_lm",
    "optimize_locally",
    "select_optimization",
]

# Rounds of the inner optimisation (Chum et al. have 10).
_ROUNDS = 10

# The most data of a fit, in minimal samples (Lebeda et al.).
_SAMPLES_A_FIT = 7

# The iterative optimisation starts at this multiple of the threshold and ends at the threshold, in this many steps.
_WIDEST = 2.0
_STEPS = 4

# Levenberg-Marquardt: the loss is truncated at this multiple of the threshold, then at the threshold; the data within
# the second multiple take part, at most so many, in at most so many steps each time.
_WIDEST_LOSS = 3.0
_REACH = 4.0
_MOST_DATA = 1000.0
_LM_STEPS = 10


class Optimization(NamedTuple):
    """A local optimisation, prepared for a run."""

    optimize: Callable[[], None]
    iterate: Callable[[Floats, int, int], None]


def select_optimization(
    name: str, problem: Problem, run: State, packed: Any, contest: Contest | None = None
) -> Optimization:
    """Return the functions of an optimisation; ``packed`` is the struct of ``run``.

    ``optimize()`` improves ``run.best_model``, which then competes if there is a contest; ``iterate(trace, first,
    end)`` is ``run_iterations`` with the optimisations that are due, in one call: threads that go back and forth
    between kernels and Python wait for each other.
    """
    manifold, lm_work, local = None, None, None
    if name == "lm":
        manifold, lm_work = select_manifold(problem), find_work(problem)
    else:
        channels, n = run.data.shape
        local = make_work(channels, n, problem.sample_size, problem.model_size)
    arguments = packed, manifold, lm_work, local, contest
    return Optimization(functools.partial(optimize, *arguments), functools.partial(iterate, *arguments))


@kernel
def iterate(run: Run, manifold: Any, work: Any, local: Any, contest: Any, trace: Floats, first: int, end: int) -> None:
    """Run the loop with ``optimize`` where it is due."""
    run_iterations(run, trace, first, end)
    while run.progress.due == OPTIMIZATION:
        optimize(run, manifold, work, local, contest)
        run_iterations(run, trace, first, end)


@kernel
def optimize(run: Run, manifold: Any, work: Any, local: Any, contest: Any) -> None:
    """Optimise the best model, which then competes, as does its repair, optimised, if its sample is degenerate.

    What is None is not compiled: ``manifold`` and ``work`` or ``local``, and ``contest`` if no models compete.
    """
    if contest is not None:
        copy(run.best_model, contest.sampled)
    _improve(run, manifold, work, local)
    if contest is not None and compete(run, contest) and repair_sampled(run, contest):
        _improve(run, manifold, work, local)
        compete(run, contest)


@inlined
def _improve(run: Run, manifold: Any, work: Any, local: Any) -> None:
    if manifold is not None:
        optimize_by_lm(run, manifold, work)
    if local is not None:
        optimize_locally(run, local)


@kernel
def optimize_by_lm(run: Run, manifold: Any, work: Any) -> None:
    """Move ``run.best_model`` to a maximum of the score nearby, and bring the stopping criteria up to date."""
    progress = run.progress
    improved = move_best_model(run, manifold, work, TRUNCATED, _WIDEST_LOSS, 1.0, _REACH, _MOST_DATA, _LM_STEPS, 0.0)
    progress.models_tested += 1
    progress.unoptimized = False
    if improved:
        update_stop(run, run.is_inlier[1 - run.candidate.slot])


class LocalWork(NamedTuple):
    """Arrays of the local optimisation."""

    model: Floats
    data: Floats  # channels x limit: the data of a fit
    weights: Floats  # limit
    indices: Ints  # N
    is_inlier: Bools  # 2 x N: the best model and the one at hand


def make_work(channels: int, n: int, sample_size: int, model_size: int) -> LocalWork:
    """Return the arrays for N data of a problem."""
    limit = _SAMPLES_A_FIT * sample_size
    return LocalWork(
        model=np.empty(model_size),
        data=np.zeros((channels, limit)),  # a weight of 0 does not hide a NaN
        weights=np.empty(limit),
        indices=np.empty(n, np.int64),
        is_inlier=np.empty((2, n), np.bool_),
    )


@kernel
def optimize_locally(run: Run, local: LocalWork) -> None:
    """Improve ``run.best_model`` if a better one is found, and bring the stopping criteria up to date."""
    progress, settings = run.progress, run.settings
    best, other = 0, 1
    mark_inliers(run, run.best_model, local.is_inlier[best], settings.squared_threshold)
    rounds = _ROUNDS if settings.inner else 1
    for _ in range(rounds):
        copy(run.best_model, local.model)
        if settings.inner:
            half = progress.best_inliers // 2
            if not _fit_to_inliers(run, local, best, half):
                continue
        if settings.iterative and not _shrink_threshold(run, local, other):
            continue
        progress.models_tested += 1
        score, inliers = evaluate(
            run, local.model, local.is_inlier[other], settings.squared_threshold, progress.best_score, np.inf,
            run.candidate.first_block,
        )  # fmt: skip
        if inliers >= 0 and score > progress.best_score:
            progress.best_score = score
            progress.best_inliers = inliers
            copy(local.model, run.best_model)
            best, other = other, best
    progress.unoptimized = False
    update_stop(run, local.is_inlier[best])


@context_kernel
def _shrink_threshold(run: Run, local: LocalWork, row: int) -> bool:
    """Fit ``local.model`` to its inliers again and again, to a threshold that shrinks from a multiple."""
    fitted = True
    for step in range(_STEPS):
        factor = _WIDEST - (_WIDEST - 1.0) * step / (_STEPS - 1)
        mark_inliers(run, local.model, local.is_inlier[row], run.settings.squared_threshold * factor * factor)
        fitted = fitted and _fit_to_inliers(run, local, row, run.data.shape[1])
    return fitted


@context_kernel
def _fit_to_inliers(run: Run, local: LocalWork, row: int, most: int) -> bool:
    """Fit ``local.model`` to at most ``most`` of the inliers in ``local.is_inlier[row]``, drawn at random."""
    data = run.data
    found = 0
    for n in range(data.shape[1]):
        local.indices[found] = n
        found += 1 if local.is_inlier[row, n] else 0
    limit = local.weights.size
    size = limit if limit < most else most
    size = found if found < size else size
    for k in range(limit):
        local.weights[k] = 0.0
    for k in range(size):
        chosen = k + next_index(run.rng, found - k)
        local.indices[k], local.indices[chosen] = local.indices[chosen], local.indices[k]
        n = local.indices[k]
        for channel in range(data.shape[0]):
            local.data[channel, k] = data[channel, n]
        local.weights[k] = 1.0
    return run.kernels.fit(local.data, local.weights, local.model, run.scratch)  # type: ignore[no-any-return]
