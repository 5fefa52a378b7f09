"""Algorithm 1 of the paper: one compiled function for all problems, samplers, scores and stopping criteria.

It follows the paper's algorithm (alg:bansac)::

    S^k     <- weighted_sampling(Q, P^{k-1})
    theta^k <- hypothesis(S^k)
    C^k     <- model_evaluation(Q, theta^k)
    theta*, C* <- best_model(C^k, theta^k)
    P^k     <- update_probabilities(C^k)
    if stopping_criteria(P^k): break

The methods differ in the sampling, the update and the stopping criteria. Uniform sampling without an update is RANSAC.
"""

import math
from typing import Any

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel, lean_kernel
from bansac.engine.dbn import start_belief, summarize
from bansac.engine.state import (
    BLOCK,
    CLASSIFICATIONS_FOR_UPDATE,
    DUPLICATE,
    FULL_MODELS,
    MAX_ITERATIONS,
    NOTHING,
    OPTIMIZATION,
    REPAIR,
    RUNNING,
    STOPPED_BANSAC,
    STOPPED_CRITERION,
    Run,
)
from bansac.engine.verification import Unscored, design_test, evaluate, learn_from_rejection
from bansac.evidence.rivals import are_same
from bansac.maths.arrays import Bools, Floats
from bansac.maths.linalg import copy
from bansac.maths.rng import next_index


@inner_kernel
def advance(run: Run, trace: Floats, first: int, end: int) -> tuple[int, int, int]:
    """Run the loop until iteration ``end``, until a criterion stops it, or until a repair or optimisation is due.

    A new best model is repaired or optimised between two calls (``progress.due``). So the code of these steps is
    compiled only for runs that need it. The next call continues with the rest of the same iteration.

    ``first`` and ``end`` are the numbers of iterations before and after this slice. ``trace`` has a row for each of its
    iterations, or none. Returns the fields ``stop``, ``iterations`` and ``due`` of ``run.progress``.
    """
    kernels, progress, settings, candidate = run.kernels, run.progress, run.settings, run.candidate
    while progress.due != NOTHING or (progress.stop == RUNNING and progress.iterations < end):
        if progress.due == NOTHING:
            kernels.draw(
                run.rng, run.data, run.odds, run.ranking, progress, run.sampler_numbers, run.sampler_indices, run.sample
            )
            hypotheses = kernels.solve(run.data, run.sample, run.models, run.scratch)
            _evaluate_hypotheses(run, hypotheses)
            progress.iterations += 1
            candidate.degenerate = False
            improved = candidate.score > progress.best_score
            if candidate.row >= 0 and (improved or settings.adaptive):
                candidate.degenerate = kernels.is_degenerate(
                    run.data, run.sample, run.models[candidate.row], settings.squared_threshold, run.repair_work
                )
            if candidate.degenerate and improved:
                progress.due = REPAIR
                break
        if progress.due != OPTIMIZATION:
            if candidate.score > progress.best_score:
                _accept(run)
            if candidate.row >= 0 and settings.adaptive:
                progress.classifications += 1
                if not candidate.degenerate:
                    _learn(run)
            kernels.learn_from_failure(run.rng, run.sampler_numbers, run.sampler_indices, run.sample)
            is_due = settings.optimize and progress.unoptimized and progress.best_inliers > progress.chance_support
            if is_due and progress.stop == RUNNING:
                progress.due = OPTIMIZATION
                break
        progress.due = NOTHING
        _check_stop(settings, progress, run.data.shape[1])
        if trace.shape[0] > 0:
            _record(progress, candidate, trace[progress.iterations - 1 - first], run.data.shape[1])
    return progress.stop, progress.iterations, progress.due


run_iterations = lean_kernel(advance)


@inner_kernel
def _evaluate_hypotheses(run: Run, hypotheses: int) -> None:
    """Score all models of a sample, and write the best one that was scored to the end to ``candidate``.

    A model is abandoned as soon as it cannot beat the best model so far. An adaptive sampler needs the whole
    classification C^k of the iteration's best model. There a model is abandoned only if it cannot beat that one.
    """
    progress, settings, candidate, sprt = run.progress, run.settings, run.candidate, run.sprt
    n = run.points.shape[1]
    candidate.score = -1.0
    candidate.inliers = 0
    candidate.row = -1
    candidate.gamma = np.nan
    for row in range(hypotheses):
        model = run.models[row]
        if not run.kernels.is_valid(run.data, model, run.sample):
            continue
        progress.models_tested += 1
        in_full = sprt.full_models < FULL_MODELS
        to_beat, log_decision = -1.0, np.inf
        if not in_full:
            best = candidate.score
            to_beat = best if settings.adaptive or best > progress.best_score else progress.best_score
            if settings.sprt:
                log_decision = sprt.log_decision
                candidate.first_block = next_index(run.rng, (n + BLOCK - 1) // BLOCK)
        slot = 1 - candidate.slot
        score, inliers = evaluate(run, model, run.is_inlier[slot], to_beat, log_decision, candidate.first_block)
        if inliers == Unscored.REJECTED:
            learn_from_rejection(sprt, progress, run.history, settings.solver_cost)
        elif in_full:
            _count_support(run, inliers)
        if inliers >= 0 and score > candidate.score:
            candidate.score = score
            candidate.inliers = inliers
            candidate.row = row
            candidate.slot = slot
    if sprt.tests > 0:
        run.history[sprt.tests - 1, 3] += 1


@inner_kernel
def _count_support(run: Run, inliers: np.int64) -> None:
    """Estimate the support of a bad model from the first ``FULL_MODELS`` models, then start the sequential test.

    ``delta`` is the probability that a point agrees; 1 % of bad models have more inliers than ``chance_support``.
    """
    settings, progress, sprt, n = run.settings, run.progress, run.sprt, run.points.shape[1]
    run.supports[sprt.full_models] = inliers
    sprt.full_models += 1
    if sprt.full_models < FULL_MODELS:
        return
    best = 0
    total = 0
    for support in run.supports:
        best = support if support > best else best
        total += support
    delta = (total - best) / (n * (FULL_MODELS - 1.0))
    progress.chance_support = n * delta + 2.32 * math.sqrt(n * delta * (1 - delta)) + 1
    if settings.sprt:
        design_test(sprt, progress, run.history, settings.solver_cost, (best if best > 0 else 1) / n, delta)


@inlined
def _accept(run: Run) -> None:
    """Make the iteration's best model the best model of the run."""
    progress, candidate = run.progress, run.candidate
    progress.best_score = candidate.score
    progress.best_inliers = candidate.inliers
    progress.unoptimized = True
    copy(run.models[candidate.row], run.best_model)
    copy(run.sample, run.best_sample)
    update_stop(run, run.is_inlier[candidate.slot])


@inlined
def _learn(run: Run) -> None:
    """Update the probabilities with the classification of the iteration's best model."""
    progress, candidate = run.progress, run.candidate
    is_inlier = run.is_inlier[candidate.slot]
    candidate.gamma = run.gamma[candidate.inliers]
    if progress.updates == 0 and run.belief.shape[0] > 0:
        start_belief(run.belief, run.odds)
    run.kernels.update(run.odds, run.belief, is_inlier, candidate.gamma, run.cpt, progress.updates, run.belief_work)
    progress.updates += 1
    progress.largest_odds, progress.low_probability = summarize(run.odds, run.odds_bits, run.settings.tau)


@inner_kernel
def update_stop(run: Run, is_inlier: Bools) -> None:
    """Update the sequential test and the required iterations for the best model; a duplicate ends the restart."""
    progress, settings, sprt = run.progress, run.settings, run.sprt
    n = is_inlier.size
    if sprt.tests > 0 and progress.best_inliers > sprt.epsilon * n:
        design_test(sprt, progress, run.history, settings.solver_cost, progress.best_inliers / n, sprt.delta)
    progress.required_iterations = np.inf
    for k in range(settings.criteria):
        required = run.kernels.criteria[k](
            is_inlier, run.ranking, run.history[: sprt.tests], progress, run.stop_indices[k], run.sample.size,
            settings.confidence,
        )  # fmt: skip
        if required < progress.required_iterations:
            progress.required_iterations = required
            progress.required_by = k
    target, inliers = settings.target_inliers, progress.best_inliers
    if 0 < target <= inliers and are_same(run.target, is_inlier, target, inliers):
        progress.stop = DUPLICATE


@inlined
def _check_stop(settings: Any, progress: Any, n: int) -> None:
    """Set ``progress.stop`` if a criterion or the maximum number of iterations ends the run."""
    if progress.stop == RUNNING and progress.iterations >= settings.min_iterations and progress.best_inliers > 0:
        learnt = progress.updates >= settings.min_updates
        if settings.stop_bansac and learnt and progress.low_probability >= n - progress.best_inliers:
            progress.stop = STOPPED_BANSAC
        elif progress.iterations >= progress.required_iterations and (
            learnt
            or progress.classifications >= CLASSIFICATIONS_FOR_UPDATE * settings.min_updates
            or not settings.adaptive
        ):
            progress.stop = STOPPED_CRITERION + progress.required_by
    if progress.stop == RUNNING and progress.iterations >= settings.max_iterations:
        progress.stop = MAX_ITERATIONS


@inlined
def _record(progress: Any, candidate: Any, row: Floats, n: int) -> None:
    """Write one row of the trace (``TRACE_COLUMNS``)."""
    row[0] = candidate.inliers / n if candidate.row >= 0 else np.nan
    row[1] = candidate.gamma
    row[2] = progress.best_score
    row[3] = progress.best_inliers
    row[4] = progress.low_probability
    row[5] = n - progress.best_inliers
    row[6] = progress.required_iterations
