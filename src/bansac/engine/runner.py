"""One run of the loop: shuffle and normalise, iterate in slices, refine, transform back to the caller's coordinates."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bansac.engine.dbn import initial_odds, pack_cpt, probabilities_from_odds, start_belief, tabulate_gamma
from bansac.engine.degeneracy import score_repaired
from bansac.engine.kernels import find_function, select_kernels
from bansac.engine.loop import run_iterations
from bansac.engine.options import Options
from bansac.engine.rounds import Candidate, Rounds, Start
from bansac.engine.sampling import Setup
from bansac.engine.scoring import SCORES
from bansac.engine.state import (
    BLOCK,
    CANDIDATE,
    FULL_MODELS,
    HISTORY,
    MAX_ITERATIONS,
    NOTHING,
    OPTIMIZATION,
    PROGRESS,
    REPAIR,
    RUNNING,
    SETTINGS,
    SPRT,
    STOPPED_BANSAC,
    STOPPED_BOUND,
    Run,
    make_record,
    pack_run,
)
from bansac.engine.stopping import Stop
from bansac.engine.trace import TRACE_COLUMNS, Recorder, Trace
from bansac.engine.visibility import visible_score
from bansac.numeric.arrays import Floats, Ints
from bansac.numeric.rng import seed_rng, shuffle
from bansac.problems.problem import Problem, repair_scratch

__all__ = ["Outcome", "chance_supports", "run"]

_MAX_TESTS = 256

# The paper's thresholds of its stopping criterion, for BANSAC and for P-BANSAC.
_TAU = 0.01
_TAU_INFORMED = 0.1

# A slice lasts about 50 ms: then Ctrl-C and max_seconds are checked. The first one measures how fast the loop is.
_SLICE_SECONDS = 0.05
_FIRST_SLICE = 16

_NO_TRACE = np.empty((0, len(TRACE_COLUMNS)))


@dataclass(frozen=True)
class Outcome:
    """What a run found, in the caller's coordinates and order; ``model`` is flat, None if nothing was found."""

    model: Floats | None
    score: float
    beliefs: Floats | None
    iterations: int
    models_tested: int
    stop_reason: str
    first_supports: Ints
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
    shuffled = np.take(data, order, axis=1)
    transform = np.empty(1 + 2 * problem.channels)
    transform[0] = 1.0
    if problem.normalize is not None:
        problem.normalize(shuffled, transform)
    setup = Setup(
        data=shuffled,
        sample_size=problem.sample_size,
        rng=rng,
        ranking=np.empty(0, np.int64) if quality is None else np.argsort(-quality[order], kind="stable"),
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

    rounds, stop_reason = _search(problem, state, bounds, options, deadline, recorder, plausible)
    best = rounds.best
    return Outcome(
        model=None if best is None else _to_caller(problem, best.model, transform),
        score=0.0 if best is None else best.score,
        beliefs=_beliefs(options, state, order),
        iterations=rounds.iterations,
        models_tested=rounds.models_tested,
        stop_reason=stop_reason,
        first_supports=state.supports[: int(state.sprt["full_models"])],
        trace=recorder.trace() if recorder is not None else None,
        rounds=rounds.count,
    )


def _to_caller(problem: Problem, model: Floats, transform: Floats) -> Floats:
    """Take a model in the frame of the run back to the caller's coordinates, in place."""
    if problem.denormalize is not None:
        problem.denormalize(model, transform)
    if problem.canonical is not None:
        problem.canonical(model)
    return model


def chance_supports(problem: Problem, data: Floats, threshold: float) -> Ints:
    """Return the support of a few models of uniform samples of ``data``, each scored in full."""
    if data.shape[1] < 2 * problem.sample_size:
        return np.empty(0, np.int64)
    options = Options(  # written out: a change of a default must not change what a preset gives
        threshold=threshold,
        max_iterations=FULL_MODELS,
        min_iterations=0,
        max_seconds=None,
        seed=0,
        sampler="uniform",
        scoring="inliers",
        weighting=None,
        verification=None,
        stopping=None,
        local_optimization=None,
        degeneracy=None,
        refinement=None,
        trace=False,
    )
    return run(problem, data, options).first_supports


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
    score_weights = np.ones(n) if weights is None else weights
    state = Run(
        kernels=select_kernels(
            problem, sampler, options.score_row, bounds, higher_order, options.degeneracy is not None
        ),
        settings=_settings(
            problem, options, bounds, stops != bounds, threshold, informed=informed, weights=weights, n=n
        ),
        progress=make_record(
            PROGRESS,
            required_iterations=np.inf,
            smallest_odds=1.0 if setup.prior is None else odds.min(),
            subset_limit=n,
            chance_support=np.inf,
        ),
        candidate=make_record(CANDIDATE),
        sprt=make_record(SPRT),
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
        score_weights=score_weights.astype(points.dtype, copy=False),
        block_weights=np.add.reduceat(score_weights, np.arange(0, n, BLOCK)),
    )
    if higher_order:
        start_belief(state.belief, state.odds)
    return state, bounds


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
) -> Any:
    assert threshold is not None
    local = options.optimization(problem) or ""
    return make_record(
        SETTINGS,
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
    indices = np.zeros((len(rows), max((row.size for row in rows), default=0)), np.int64)
    for k, row in enumerate(rows):
        indices[k, : row.size] = row
    return indices


def _start_nothing(setup: Setup) -> tuple[Floats, Ints]:
    return np.empty(0), np.empty(0, np.int64)


def _prepare_nothing(n: int, sample_size: int) -> Ints:
    return np.empty(0, np.int64)


def _search(
    problem: Problem,
    state: Run,
    bounds: tuple[Stop, ...],
    options: Options,
    deadline: float,
    recorder: Recorder | None,
    plausible: Callable[[Floats], float],
) -> tuple[Rounds, str]:
    """Run the rounds, each from the same start, and refine the best model of each; say why the last one ended."""
    packed = pack_run(state)
    interludes = _interludes(problem, state, packed, options)
    refiner = options.refiner(problem)
    rounds = Rounds(options)
    start = Start(state) if options.rounds > 1 else None
    while True:
        state.settings["max_iterations"] = rounds.iterations_left()
        stop = _iterate(packed, state, options, interludes, deadline, recorder, rounds.iterations)
        candidate = None
        if state.progress["best_inliers"] > 0:
            if state.settings["optimize"] and state.progress["unoptimized"]:
                interludes[OPTIMIZATION]()
            if refiner is not None:
                find_function(refiner, "refine")(packed, problem)
            candidate = _candidate(problem, state, packed, options, plausible)
        rounds.end_round(state, candidate)
        if stop == RUNNING or start is None or rounds.over():
            break
        start.restore(state)
    if rounds.best_odds is not None:
        state.odds[:] = rounds.best_odds
    return rounds, "agreement" if rounds.agree() else _stop_reason(stop, bounds)


def _interludes(problem: Problem, state: Run, packed: Any, options: Options) -> dict[int, Callable[[], None]]:
    """Return what takes place between two calls of the loop."""
    interludes: dict[int, Callable[[], None]] = {REPAIR: functools.partial(_repair, problem, state, packed)}
    optimization = options.optimization(problem)
    if optimization is not None:
        from bansac.engine.local_optimization import select_optimization

        interludes[OPTIMIZATION] = select_optimization(optimization, problem, state, packed)
    return interludes


def _candidate(
    problem: Problem, state: Run, packed: Any, options: Options, plausible: Callable[[Floats], float]
) -> Candidate:
    """Return the model of a round; its support decides between several rounds."""
    model, score = state.best_model.copy(), float(state.progress["best_score"])
    if options.rounds == 1:
        return Candidate(model, score, score, state.is_inlier[0])
    is_inlier = np.empty(state.odds.size, np.bool_)
    return Candidate(
        model, score, visible_score(problem, state, packed, model, is_inlier) * plausible(model), is_inlier
    )


def _repair(problem: Problem, state: Run, packed: Any) -> None:
    """Repair the iteration's best model, whose sample is degenerate, if the problem can."""
    candidate = state.candidate
    model = state.other_model
    model[:] = state.models[candidate["row"]]
    threshold = state.settings["squared_threshold"]
    if problem.repair is not None and problem.repair(
        state.data, state.sample, model, threshold, state.rng, state.repair_work
    ):
        score_repaired(packed)


def _iterate(
    packed: Any,
    state: Run,
    options: Options,
    interludes: dict[int, Callable[[], None]],
    deadline: float,
    recorder: Recorder | None,
    before: int,
) -> int:
    """Call the compiled loop slice by slice until it stops; return what stopped it, ``RUNNING`` for the time limit.

    ``before`` iterations were those of earlier rounds.
    """
    progress, started = state.progress, time.perf_counter()
    slice_length = _FIRST_SLICE
    while progress["stop"] == RUNNING:
        first = int(progress["iterations"])
        length = min(slice_length, int(state.settings["max_iterations"]) - first)
        if recorder is not None:
            length = recorder.begin(before + first, length, _current_beliefs(options, state))
        rows = _NO_TRACE if recorder is None else recorder.rows
        run_iterations(packed, rows, first, first + length)
        while progress["due"] != NOTHING:
            interludes[progress["due"]]()
            run_iterations(packed, rows, first, first + length)
        if recorder is not None:
            recorder.end(before + int(progress["iterations"]), _current_beliefs(options, state))
        now = time.perf_counter()
        if now > deadline and progress["stop"] == RUNNING:
            break
        done = int(progress["iterations"]) - first
        slice_length = max(1, int(_SLICE_SECONDS * done / max(now - started, 1e-9)))
        started = now
    return int(progress["stop"])


def _stop_reason(stop: int, bounds: tuple[Stop, ...]) -> str:
    """Return the name of what ended the run."""
    if stop >= STOPPED_BOUND:
        return bounds[stop - STOPPED_BOUND].name
    return {RUNNING: "max_seconds", MAX_ITERATIONS: "max_iterations", STOPPED_BANSAC: "bansac"}[stop]


def _beliefs(options: Options, state: Run, order: Ints) -> Floats | None:
    """Return the sampler's inlier probabilities in the caller's order, None if it has none."""
    sampler = options.sampler_row
    if not sampler.adaptive and find_function(sampler, "probabilities", _no_probabilities) is _no_probabilities:
        return None
    found = _current_beliefs(options, state)
    beliefs = np.empty_like(found)
    beliefs[order] = found
    return beliefs


def _current_beliefs(options: Options, state: Run) -> Floats:
    """Return the inlier probabilities of the sampler; those of the network, at first the prior, if it has none."""
    found = find_function(options.sampler_row, "probabilities", _no_probabilities)(
        state.sampler_numbers, state.sampler_indices
    )
    return probabilities_from_odds(state.odds) if found is None else np.asarray(found)


def _no_probabilities(numbers: Floats, indices: Ints) -> None:
    return None
