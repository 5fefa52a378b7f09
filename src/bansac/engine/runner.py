"""One run of the loop: shuffle and normalise, iterate in slices, refine, transform back to the caller's coordinates."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bansac.engine.dbn import initial_odds, pack_cpt, start_belief, tabulate_gamma
from bansac.engine.kernels import find_function, select_kernels
from bansac.engine.options import Options
from bansac.engine.sampling import Setup
from bansac.engine.scoring import SCORES
from bansac.engine.search import Search, current_beliefs, no_probabilities
from bansac.engine.state import BLOCK, FULL_MODELS, HISTORY, Run, make_records
from bansac.engine.stopping import Stop
from bansac.engine.trace import Recorder, Trace
from bansac.numeric.arrays import Floats, Ints
from bansac.numeric.rng import seed_rng, shuffle
from bansac.problems.problem import Problem, repair_scratch

__all__ = ["Outcome", "run"]

_MAX_TESTS = 256

# The paper's thresholds of its stopping criterion, for BANSAC and for P-BANSAC.
_TAU = 0.01
_TAU_INFORMED = 0.1


@dataclass(frozen=True)
class Outcome:
    """What a run found, in the caller's coordinates and order; ``model`` is flat, None if nothing was found."""

    model: Floats | None
    score: float
    beliefs: Floats | None
    iterations: int
    models_tested: int
    stop_reason: str
    trace: Trace | None
    rounds: int = 1


def run(
    problem: Problem,
    data: Floats,
    options: Options,
    *,
    unit: float = 1.0,
    prior: Floats | None = None,
    quality: Floats | None = None,
    weights: Floats | None = None,
    plausibility: Callable[[Floats], float] | None = None,
) -> Outcome:
    """Search for the best model of ``data`` (channels x N, at least one minimal sample) and refine it.

    ``options`` must have a threshold, a number of iterations and a seed; distances in them are ``unit`` times those of
    ``data``. ``prior`` is the inlier probability of every datum, ``quality`` orders the data, larger being better;
    ``weights`` are those of the data in the score, at most 1 (``bansac.engine.scoring.weights``). ``plausibility`` is a
    factor in (0, 1] for the support of a model in the caller's coordinates, when the models of several rounds compete.
    """
    deadline = np.inf if options.max_seconds is None else time.perf_counter() + options.max_seconds
    n = data.shape[1]
    assert options.seed is not None
    rng = seed_rng(options.seed)
    order = np.empty(n, np.int64)
    shuffle(rng, order)
    shuffled = data.take(order, axis=1)
    transform = np.empty(1 + 2 * problem.channels)
    transform[0] = 1.0
    if problem.normalize is not None:
        problem.normalize(shuffled, transform)
    ranked = quality[order] if quality is not None and options.needs_order(informed=True) else None
    setup = Setup(
        data=shuffled,
        sample_size=problem.sample_size,
        rng=rng,
        ranking=np.empty(0, np.int64) if ranked is None else _rank(ranked),
        prior=None if prior is None else prior[order],
        radius=_inner_distance(options.neighborhood_radius, unit, transform),
        activation=options.activation,
        weight_floor=options.weight_floor,
    )
    state, bounds = _start(
        problem,
        options,
        setup,
        _inner_distance(options.threshold, unit, transform),
        None if weights is None else weights[order],
    )
    recorder = Recorder(order) if options.trace else None

    def plausible(model: Floats) -> float:
        return 1.0 if plausibility is None else plausibility(_to_caller(problem, model.copy(), transform))

    rounds, stop_reason = Search(problem, state, bounds, options, deadline, recorder, plausible).run()
    best = rounds.best
    return Outcome(
        model=None if best is None else _to_caller(problem, best.model, transform),
        score=0.0 if best is None else best.score,
        beliefs=_beliefs(options, state, order),
        iterations=rounds.iterations,
        models_tested=rounds.models_tested,
        stop_reason=stop_reason,
        trace=recorder.trace() if recorder is not None else None,
        rounds=rounds.count,
    )


def _rank(quality: Floats) -> Ints:
    """Return the indices of the data by decreasing quality."""
    return np.argsort(-quality, kind="stable")


def _to_caller(problem: Problem, model: Floats, transform: Floats) -> Floats:
    """Take a model in the frame of the run back to the caller's coordinates, in place."""
    if problem.denormalize is not None:
        problem.denormalize(model, transform)
    if problem.canonical is not None:
        problem.canonical(model)
    return model


def _inner_distance(distance: float | None, unit: float, transform: Floats) -> float | None:
    """Return a distance of the options in the normalised frame of the run."""
    return None if distance is None else distance / unit * transform[0]


def _start(
    problem: Problem, options: Options, setup: Setup, threshold: float | None, weights: Floats | None = None
) -> tuple[Run, tuple[Stop, ...]]:
    """Allocate the context of a run; return it and its stopping criteria with a number of samples."""
    n = setup.data.shape[1]
    informed = setup.prior is not None and bool(setup.prior.min() < setup.prior.max())
    stops = options.stops(informed=informed)
    sampler, adaptive = options.sampler_row, options.sampler_row.adaptive
    higher_order = adaptive and options.order > 1
    numbers, indices = find_function(sampler, "start", _start_nothing)(setup)
    points = setup.data.astype(problem.precision, copy=False)
    odds = np.ones(n) if setup.prior is None else initial_odds(setup.prior)
    bounds = tuple(stop for stop in stops if stop.module is not None)
    settings, progress, candidate, sprt = make_records(
        _settings(problem, options, bounds, stops != bounds, threshold, informed=informed, weights=weights, n=n)
    )
    progress["subset_limit"] = n
    progress["smallest_odds"] = 1.0 if setup.prior is None else odds.min()
    progress["required_iterations"] = progress["chance_support"] = np.inf
    state = Run(
        kernels=select_kernels(
            problem, sampler, options.score_row, bounds, higher_order, options.degeneracy is not None
        ),
        settings=settings,
        progress=progress,
        candidate=candidate,
        sprt=sprt,
        data=setup.data,
        points=points,
        rng=setup.rng,
        sample=np.empty(problem.sample_size, np.int64),
        models=np.empty((problem.max_models, problem.model_size)),
        scratch=np.empty(problem.scratch_size),
        best_model=np.zeros(problem.model_size),
        other_model=np.empty(problem.model_size),
        model=np.empty(problem.model_size, points.dtype),
        residuals=np.empty(BLOCK, points.dtype),
        is_inlier=np.empty((2, n), np.bool_),
        odds=odds,
        odds_bits=odds.view(np.int64),
        belief=np.zeros((2**options.order if higher_order else 0, n)),
        belief_work=np.empty(2 ** (options.order + 1)),
        gamma=tabulate_gamma(options.gamma, n) if adaptive else np.empty(0),
        cpt=pack_cpt(options.cpt, options.order),
        ranking=setup.ranking,
        sampler_numbers=numbers,
        sampler_indices=indices,
        stop_indices=_stop_indices(bounds, n, problem.sample_size),
        history=np.zeros((_MAX_TESTS, HISTORY)),
        supports=np.zeros(FULL_MODELS, np.int64),
        repair_work=np.empty(repair_scratch(n) if problem.is_degenerate is not None else 0),
        weights=np.empty(n),
        score_weights=np.ones(n, points.dtype) if weights is None else weights.astype(points.dtype, copy=False),
        block_weights=_sum_blocks(weights, n),
    )
    if higher_order:
        start_belief(state.belief, state.odds)
    return state, bounds


def _sum_blocks(weights: Floats | None, n: int) -> Floats:
    """Return the sums of the weights of the data in the score, one for each block."""
    if weights is not None:
        return np.asarray(np.add.reduceat(weights, np.arange(0, n, BLOCK)))
    sums = np.full((n + BLOCK - 1) // BLOCK, float(BLOCK))
    sums[-1] -= sums.size * BLOCK - n
    return sums


def _settings(
    problem: Problem,
    options: Options,
    bounds: tuple[Stop, ...],
    stop_bansac: bool,
    threshold: float | None,
    *,
    informed: bool,
    weights: Floats | None,
    n: int,
) -> dict[str, Any]:
    assert threshold is not None
    local = options.optimization(problem) or ""
    return dict(
        squared_threshold=threshold * threshold,
        confidence=options.confidence,
        max_iterations=options.max_iterations,
        min_iterations=options.min_iterations,
        adaptive=options.sampler_row.adaptive,
        counts=weights is None and options.score_row == SCORES["inliers"],
        total_weight=n if weights is None else weights.sum(),
        sprt=options.verification == "sprt",
        bounds=len(bounds),
        stop_bansac=stop_bansac,
        tau=(_TAU_INFORMED if informed else _TAU) if options.tau is None else options.tau,
        solver_cost=problem.solver_cost,
        optimize=bool(local),
        inner="inner" in local,
        iterative="iterative" in local,
    )


def _stop_indices(bounds: tuple[Stop, ...], n: int, sample_size: int) -> Ints:
    """Return the arrays of the stopping criteria, one per row."""
    rows = [find_function(stop, "prepare", _prepare_nothing)(n, sample_size) for stop in bounds]
    indices = np.zeros((len(rows), max([row.size for row in rows], default=0)), np.int64)
    for k, row in enumerate(rows):
        indices[k, : row.size] = row
    return indices


def _start_nothing(setup: Setup) -> tuple[Floats, Ints]:
    return np.empty(0), np.empty(0, np.int64)


def _prepare_nothing(n: int, sample_size: int) -> Ints:
    return np.empty(0, np.int64)


def _beliefs(options: Options, state: Run, order: Ints) -> Floats | None:
    """Return the sampler's inlier probabilities in the caller's order, None if it has none."""
    sampler = options.sampler_row
    if not sampler.adaptive and find_function(sampler, "probabilities", no_probabilities) is no_probabilities:
        return None
    found = current_beliefs(options, state)
    beliefs = np.empty_like(found)
    beliefs[order] = found
    return beliefs
