"""Algorithm 1 of the paper: one compiled function for all problems.

It reads like the paper's box (alg:bansac)::

    S^k     <- weighted_sampling(Q, P^{k-1})
    theta^k <- hypothesis(S^k)
    C^k     <- model_evaluation(Q, theta^k)
    theta*, C* <- best_model(C^k, theta^k)
    P^k     <- update_probabilities(C^k)
    if stopping_criteria(P^k): break

with uniform sampling and no update it is RANSAC. Only the sampling and the stop vary between the methods.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.engine.dbn import summarize, update_general, update_order_1
from bansac.engine.local_optimization import optimize_locally
from bansac.engine.sampling import sample_guided, sample_uniform, sample_weighted, update_guide
from bansac.engine.state import (
    BANSAC,
    BLOCK,
    FULL_MODELS,
    MAX_ITERATIONS,
    RUNNING,
    STOPPED_BANSAC,
    STOPPED_PROSAC,
    STOPPED_RANSAC,
    STOPPED_SPRT,
    State,
)
from bansac.engine.stopping import prosac_iterations, ransac_iterations, sprt_iterations
from bansac.engine.verification import REJECTED, design_test, evaluate, learn_from_rejection
from bansac.numeric.jit import inlined, kernel
from bansac.numeric.linalg import copy
from bansac.numeric.rng import next_index
from bansac.problems.problem import NOT_DEGENERATE, REPAIRED

__all__ = ["run_iterations"]


@kernel
def run_iterations(
    kernels: Any,
    data: NDArray[np.float64],
    points: NDArray[Any],
    settings: Any,
    run: Any,
    state: State,
    guide: Any,
    local: Any,
    iterations: int,
) -> None:
    """Run at most ``iterations`` more iterations of the loop, or up to the one that stops it.

    ``guide`` and ``local`` may be None: Numba then leaves out what they are needed for, and most runs compile less.

    Parameters
    ----------
    kernels : struct
        The functions of the problem.
    data : (channels, N) ndarray of float64
        The data in their random order, for the solver.
    points : (channels, N) ndarray
        The same data in the number type of the residuals.
    settings, run : record
        See ``bansac.engine.state``.
    state : State
        The arrays of the run.
    guide : Guide or None
        What the samplers but BANSAC's and the uniform one go by.
    local : LocalWork or None
        The arrays of the local optimisation; None for none.
    iterations : int
        Length of this slice.
    """
    n = data.shape[1]
    for k in range(iterations):
        if guide is not None:
            sample_guided(data, settings.sampler, run, state, guide)
        elif settings.sampler == BANSAC:
            sample_weighted(
                state.rng, state.odds, run.smallest_odds, settings.activation, settings.weight_floor, state.sample
            )
        else:
            sample_uniform(state.rng, n, state.sample)
        hypotheses = kernels.solve(data, state.sample, state.models, state.scratch)
        _evaluate_hypotheses(kernels, data, points, settings, run, state, hypotheses)
        run.iterations += 1
        if run.tests > 0:
            state.history[run.tests - 1, 3] += 1
        gamma = np.nan
        if run.row >= 0:
            improved = run.score > run.best_score
            degenerate = False
            if improved or settings.sampler == BANSAC:
                degenerate = _recover(kernels, data, points, settings, run, state, improved)
            if improved:
                _accept(settings, run, state, n)
            if settings.sampler == BANSAC and not degenerate:
                gamma = state.gamma[run.inliers]
                _learn(run, state, state.is_inlier[run.slot], gamma, settings)
        if guide is not None:
            update_guide(settings.sampler, state, guide)
        if local is not None and run.unoptimized and run.best_inliers > run.chance_support:
            _update_stop(settings, run, state, optimize_locally(kernels, data, points, settings, run, state, local), n)
        _check_stop(settings, run, n)
        if state.trace.shape[0] > 0:
            _record(run, state.trace[k], n, gamma)
        if run.stop != RUNNING:
            break


@inlined
def _evaluate_hypotheses(
    kernels: Any,
    data: NDArray[np.float64],
    points: NDArray[Any],
    settings: Any,
    run: Any,
    state: State,
    hypotheses: int,
) -> None:
    """Score all models of a sample and leave in ``run`` the best of those that were scored to the end.

    An adaptive sampler needs the whole classification C^k of its iteration's best model, so there a model is abandoned
    only when it cannot beat that one; else when it cannot beat the best model so far.
    """
    run.score = -1.0
    run.inliers = 0
    run.row = -1
    for row in range(hypotheses):
        candidate = state.models[row]
        if not kernels.is_valid(data, candidate, state.sample):
            continue
        run.models_tested += 1
        in_full = run.full_models < FULL_MODELS
        to_beat, log_decision = -1.0, np.inf
        if not in_full:
            to_beat = run.score if settings.sampler == BANSAC or run.score > run.best_score else run.best_score
            if settings.sprt:
                log_decision = run.log_decision
                run.first_block = next_index(state.rng, (points.shape[1] + BLOCK - 1) // BLOCK)
        slot = 1 - run.slot
        score, inliers = evaluate(
            kernels, points, candidate, state.model, state.residuals, state.is_inlier[slot],
            settings.squared_threshold, settings, run, to_beat, log_decision,
        )  # fmt: skip
        if inliers == REJECTED:
            learn_from_rejection(run, state.history, settings.solver_cost)
        elif in_full:
            _count_support(settings, run, state, points.shape[1], inliers)
        if inliers >= 0 and score > run.score:
            run.score = score
            run.inliers = inliers
            run.row = row
            run.slot = slot


@inlined
def _count_support(settings: Any, run: Any, state: State, n: int, inliers: np.int64) -> None:
    """Learn from the first models how much support a bad one has; then start the sequential test."""
    state.supports[run.full_models] = inliers
    run.full_models += 1
    if run.full_models < FULL_MODELS:
        return
    best = 0
    total = 0
    for support in state.supports:
        best = support if support > best else best
        total += support
    delta = (total - best) / (n * (FULL_MODELS - 1.0))
    run.chance_support = _chance_support(delta, n)
    if settings.sprt:
        design_test(run, state.history, settings.solver_cost, best / n, delta)


@inlined
def _chance_support(delta: float, n: int) -> float:
    """Return the support that one bad model in a hundred exceeds, if a datum agrees with probability ``delta``."""
    return n * delta + 2.32 * math.sqrt(n * delta * (1 - delta)) + 1


@inlined
def _recover(
    kernels: Any,
    data: NDArray[np.float64],
    points: NDArray[Any],
    settings: Any,
    run: Any,
    state: State,
    improved: bool,
) -> bool:
    """Tell whether the sample is degenerate; where it gave a new best model and the problem can, mend the model.

    The mended model takes the place of the iteration's best one if it scores more.
    """
    model = state.models[run.row]
    if improved:
        copy(model, state.minimal_model)
    verdict = kernels.repair_degenerate(
        data, state.sample, model, settings.squared_threshold, improved, state.rng, state.recovery
    )
    if verdict == REPAIRED:
        run.models_tested += 1
        slot = 1 - run.slot
        score, inliers = evaluate(
            kernels, points, model, state.model, state.residuals, state.is_inlier[slot], settings.squared_threshold,
            settings, run, run.score, np.inf,
        )  # fmt: skip
        if inliers >= 0 and score > run.score:
            run.score = score
            run.inliers = inliers
            run.slot = slot
        else:
            copy(state.minimal_model, model)
    return bool(verdict != NOT_DEGENERATE)


@inlined
def _accept(settings: Any, run: Any, state: State, n: int) -> None:
    """Make the iteration's best model the best of the run and bring the counting criteria up to date."""
    run.best_score = run.score
    run.best_inliers = run.inliers
    run.unoptimized = True
    copy(state.models[run.row], state.best_model)
    _update_stop(settings, run, state, state.is_inlier[run.slot], n)


@kernel
def _update_stop(settings: Any, run: Any, state: State, is_inlier: NDArray[np.bool_], n: int) -> None:
    """Bring the sequential test and the counting criteria up to date with the best model and its inliers."""
    sample_size = state.sample.size
    inliers = run.best_inliers
    if run.tests > 0 and inliers > run.epsilon * n:
        design_test(run, state.history, settings.solver_cost, inliers / n, run.delta)
    run.required_iterations = np.inf
    if settings.stop_ransac:
        run.required_iterations = ransac_iterations(inliers, n, sample_size, settings.confidence)
        run.required_by = STOPPED_RANSAC
    if settings.stop_sprt:
        bound = sprt_iterations(
            inliers, n, sample_size, settings.confidence, state.history[: run.tests], run.iterations
        )
        if bound < run.required_iterations:
            run.required_iterations = bound
            run.required_by = STOPPED_SPRT
    if settings.stop_prosac:
        bound, size = prosac_iterations(is_inlier, state.ranking, state.significant, sample_size, settings.confidence)
        run.subset_limit = size
        if bound < run.required_iterations:
            run.required_iterations = bound
            run.required_by = STOPPED_PROSAC


@inlined
def _learn(run: Any, state: State, is_inlier: NDArray[np.bool_], gamma: float, settings: Any) -> None:
    """Update the probabilities by the classification of the iteration's best model."""
    if state.cpt.shape[0] == 1:
        update_order_1(state.odds, is_inlier, gamma, state.cpt)
    else:
        update_general(state.belief, state.odds, is_inlier, gamma, state.cpt, run.updates, state.belief_work)
    run.updates += 1
    run.smallest_odds, run.low_probability = summarize(state.odds, state.odds_bits, settings.tau)


@inlined
def _check_stop(settings: Any, run: Any, n: int) -> None:
    """Decide whether this iteration was the last one."""
    if run.iterations >= settings.min_iterations and run.best_inliers > 0:
        if settings.stop_bansac and run.updates > 0 and run.low_probability >= n - run.best_inliers:
            run.stop = STOPPED_BANSAC
        elif run.iterations >= run.required_iterations:
            run.stop = run.required_by
    if run.stop == RUNNING and run.iterations >= settings.max_iterations:
        run.stop = MAX_ITERATIONS


@inlined
def _record(run: Any, row: NDArray[np.float64], n: int, gamma: float) -> None:
    """Write one row of the trace."""
    row[0] = run.inliers / n if run.row >= 0 else np.nan
    row[1] = gamma
    row[2] = run.best_score
    row[3] = run.best_inliers
    row[4] = run.low_probability
    row[5] = n - run.best_inliers
    row[6] = run.required_iterations
