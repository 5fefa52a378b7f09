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
from bansac.engine.sampling import Setup
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
from bansac.numeric.arrays import Floats, Ints
from bansac.numeric.rng import seed_rng, shuffle
from bansac.problems.problem import Problem, repair_scratch

__all__ = ["Outcome", "run"]

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
    probabilities: Floats | None
    iterations: int
    models_tested: int
    stop_reason: str
    trace: Trace | None


def run(
    problem: Problem,
    data: Floats,
    options: Options,
    *,
    unit: float = 1.0,
    prior: Floats | None = None,
    quality: Floats | None = None,
) -> Outcome:
    """Search for the best model of ``data`` (channels x N, at least one minimal sample) and refine it.

    ``options`` must have a threshold and a number of iterations; distances in them are ``unit`` times those of
    ``data``. ``prior`` is the inlier probability of every datum, ``quality`` orders the data, larger being better.
    """
    deadline = np.inf if options.max_seconds is None else time.perf_counter() + options.max_seconds
    n = data.shape[1]
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
    state, bounds = _start(problem, options, setup, _inner_distance(options.threshold, unit, transform))
    recorder = Recorder(order) if options.trace else None
    stop_reason, model = _search(problem, state, bounds, options, deadline, recorder)
    if model is not None:
        if problem.denormalize is not None:
            problem.denormalize(model, transform)
        if problem.canonical is not None:
            problem.canonical(model)
    progress = state.progress
    return Outcome(
        model=model,
        score=float(progress["best_score"]) if model is not None else 0.0,
        probabilities=_probabilities(options, state, order),
        iterations=int(progress["iterations"]),
        models_tested=int(progress["models_tested"]),
        stop_reason=stop_reason,
        trace=recorder.trace() if recorder is not None else None,
    )


def _inner_distance(distance: float | None, unit: float, transform: Floats) -> float | None:
    """Return a distance of the options in the normalised frame of the run."""
    return None if distance is None else distance / unit * transform[0]


def _start(problem: Problem, options: Options, setup: Setup, threshold: float | None) -> tuple[Run, tuple[Stop, ...]]:
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
    state = Run(
        kernels=select_kernels(
            problem, sampler, options.score_row, bounds, higher_order, options.degeneracy is not None
        ),
        settings=_settings(problem, options, bounds, stops != bounds, threshold, informed=informed),
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
) -> Any:
    assert threshold is not None
    local = options.local_optimization or ""
    return make_record(
        SETTINGS,
        squared_threshold=threshold * threshold,
        confidence=options.confidence,
        max_iterations=options.max_iterations,
        min_iterations=options.min_iterations,
        adaptive=options.sampler_row.adaptive,
        counts=options.score_row.module is None,
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
    problem: Problem, state: Run, bounds: tuple[Stop, ...], options: Options, deadline: float, recorder: Recorder | None
) -> tuple[str, Floats | None]:
    """Run the loop and refine its best model; return why it stopped, and the model in the frame of the run."""
    packed = pack_run(state)
    interludes: dict[int, Callable[[], None]] = {REPAIR: functools.partial(_repair, problem, state, packed)}
    if options.local_optimization is not None:
        from bansac.engine.local_optimization import make_work, optimize_locally

        channels, n = state.data.shape
        work = make_work(channels, n, state.sample.size, state.best_model.size)
        interludes[OPTIMIZATION] = functools.partial(optimize_locally, packed, work)
    stop = _iterate(packed, state, options, interludes, deadline, recorder)
    model = None
    if state.progress["best_inliers"] > 0:
        model = state.best_model
        if options.local_optimization is not None and state.progress["unoptimized"]:
            interludes[OPTIMIZATION]()
        if options.refiner_row is not None:
            find_function(options.refiner_row, "refine")(packed, problem)
    return _stop_reason(stop, bounds), model


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
) -> int:
    """Call the compiled loop slice by slice until it stops; return what stopped it, ``RUNNING`` for the time limit."""
    progress, started = state.progress, time.perf_counter()
    slice_length = _FIRST_SLICE
    while progress["stop"] == RUNNING:
        first = int(progress["iterations"])
        length = min(slice_length, int(state.settings["max_iterations"]) - first)
        if recorder is not None:
            length = recorder.begin(first, length, _current_probabilities(options, state))
        rows = _NO_TRACE if recorder is None else recorder.rows
        run_iterations(packed, rows, first, first + length)
        while progress["due"] != NOTHING:
            interludes[progress["due"]]()
            run_iterations(packed, rows, first, first + length)
        if recorder is not None:
            recorder.end(int(progress["iterations"]), _current_probabilities(options, state))
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


def _probabilities(options: Options, state: Run, order: Ints) -> Floats | None:
    """Return the inlier probabilities in the caller's order, None if the sampler has none."""
    sampler = options.sampler_row
    if not sampler.adaptive and find_function(sampler, "probabilities", _no_probabilities) is _no_probabilities:
        return None
    found = _current_probabilities(options, state)
    probabilities = np.empty_like(found)
    probabilities[order] = found
    return probabilities


def _current_probabilities(options: Options, state: Run) -> Floats:
    """Return the inlier probabilities of the sampler; those of the network, at first the prior, if it has none."""
    found = find_function(options.sampler_row, "probabilities", _no_probabilities)(
        state.sampler_numbers, state.sampler_indices
    )
    return probabilities_from_odds(state.odds) if found is None else np.asarray(found)


def _no_probabilities(numbers: Floats, indices: Ints) -> None:
    return None
