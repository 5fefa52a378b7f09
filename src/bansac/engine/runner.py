"""One run of the loop: shuffle and normalise, iterate in slices, refine, come back to the caller's coordinates."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.engine.dbn import initial_odds, pack_cpt, probabilities_from_odds, start_belief, tabulate_gamma
from bansac.engine.local_optimization import LocalWork, make_work, optimize_locally
from bansac.engine.loop import run_iterations
from bansac.engine.refinement import refine_least_squares
from bansac.engine.sampling import ACTIVATION_CODES, Guide, guide_probabilities, make_guide
from bansac.engine.state import (
    BLOCK,
    FULL_MODELS,
    HISTORY,
    RUN,
    RUNNING,
    SAMPLER_CODES,
    SETTINGS,
    STOP_REASONS,
    TRACE_COLUMNS,
    State,
    make_record,
)
from bansac.engine.stopping import significant_supports
from bansac.numeric.rng import seed_rng, shuffle
from bansac.options import Options
from bansac.problems.problem import Problem, repair_scratch
from bansac.result import Trace

__all__ = ["Outcome", "chance_supports", "run"]

SNAPSHOTS = (0, 2, 4, 9, 10, 11, 14, 100, 1000, 10000)

_MAX_TESTS = 256

# The paper's thresholds of its stopping criterion, for BANSAC and for P-BANSAC.
_TAU = 0.01
_TAU_INFORMED = 0.1

# A slice lasts about 50 ms: then Ctrl-C and max_seconds are looked at.
_SLICE_SECONDS = 0.05
_SECONDS_AN_ITERATION = 4e-6
_SECONDS_A_DATUM = 6e-9


@dataclass(frozen=True)
class Outcome:
    """What a run found, in the caller's coordinates and order; ``model`` is flat, None where nothing was found."""

    model: NDArray[np.float64] | None
    score: float
    probabilities: NDArray[np.float64] | None
    iterations: int
    models_tested: int
    stop_reason: str
    first_supports: NDArray[np.int64]
    trace: Trace | None


def run(
    problem: Problem,
    data: NDArray[np.float64],
    threshold: float,
    options: Options,
    prior: NDArray[np.float64] | None = None,
    quality: NDArray[np.float64] | None = None,
) -> Outcome:
    """Search for the best model of ``data`` (channels x N, at least one minimal sample) and refine it.

    ``threshold`` is in the units of ``data``; ``options.max_iterations`` must be given. ``prior`` is the probability of
    every datum of being an inlier, ``quality`` orders the data, larger being better.
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
    points = shuffled.astype(problem.precision, copy=False)
    kernels = problem.kernels if options.degeneracy is None else problem.repairing_kernels
    prior = None if prior is None else prior[order]
    ranking = np.empty(0, np.int64) if quality is None else np.argsort(-quality[order], kind="stable")
    informed = prior is not None and bool(prior.min() < prior.max())
    settings = _settings(problem, options, threshold * transform[0], informed=informed)
    state = _state(problem, points, options, rng, prior, ranking)
    radius = options.neighborhood_radius
    guide = make_guide(
        SAMPLER_CODES[options.sampler],
        shuffled,
        problem.sample_size,
        rng,
        ranking=ranking,
        prior=prior,
        radius=None if radius is None else radius * transform[0],
    )
    local = None
    if options.local_optimization is not None:
        local = make_work(problem.channels, n, problem.sample_size, problem.model_size)
    progress = make_record(
        RUN,
        required_iterations=np.inf,
        smallest_odds=1.0 if prior is None else state.odds.min(),
        subset_limit=n,
        chance_support=np.inf,
    )

    recorder = _Recorder(order) if options.trace else None
    stopped = _iterate(kernels, shuffled, points, settings, progress, state, guide, local, deadline, recorder)

    model = None
    if progress["best_inliers"] > 0:
        if local is not None and progress["unoptimized"]:
            optimize_locally(kernels, shuffled, points, settings, progress, state, local)
        model = state.best_model
        if options.refinement is not None:
            models = np.stack([model, model])
            work = (state.scratch, state.model, state.residuals, state.is_inlier[0], np.empty(n))
            refine_least_squares(kernels, shuffled, points, settings, progress, models, *work)
            model = models[0]
        if problem.denormalize is not None:
            problem.denormalize(model, transform)
        if problem.canonical is not None:
            problem.canonical(model)
    return Outcome(
        model=model,
        score=float(progress["best_score"]) if model is not None else 0.0,
        probabilities=_probabilities(options, state, guide, order),
        iterations=int(progress["iterations"]),
        models_tested=int(progress["models_tested"]),
        stop_reason=stopped,
        first_supports=state.supports[: int(progress["full_models"])],
        trace=recorder.trace() if recorder is not None else None,
    )


def chance_supports(problem: Problem, data: NDArray[np.float64], threshold: float) -> NDArray[np.int64]:
    """Return the support of a few models of uniform samples of ``data``, each scored in full."""
    if data.shape[1] < 2 * problem.sample_size:
        return np.empty(0, np.int64)
    options = Options(
        sampler="uniform",
        verification=None,
        stopping=None,
        degeneracy=None,
        refinement=None,
        max_iterations=FULL_MODELS,
    )
    return run(problem, data, threshold, options).first_supports


def _iterate(
    kernels: Any,
    data: NDArray[np.float64],
    points: NDArray[Any],
    settings: Any,
    progress: Any,
    state: State,
    guide: Guide | None,
    local: LocalWork | None,
    deadline: float,
    recorder: _Recorder | None,
) -> str:
    """Call the compiled loop slice by slice until it stops; return why it did."""
    n = data.shape[1]
    slice_length = max(1, int(_SLICE_SECONDS / (_SECONDS_AN_ITERATION + n * _SECONDS_A_DATUM)))
    while progress["stop"] == RUNNING:
        length = min(slice_length, int(settings["max_iterations"] - progress["iterations"]))
        if recorder is not None:
            length = recorder.begin(int(progress["iterations"]), length, state.odds)
            state = state._replace(trace=recorder.rows)
        run_iterations(kernels, data, points, settings, progress, state, guide, local, length)
        if recorder is not None:
            recorder.end(int(progress["iterations"]), state.odds)
        if time.perf_counter() > deadline and progress["stop"] == RUNNING:
            return "max_seconds"
    return STOP_REASONS[int(progress["stop"])]


class _Recorder:
    """Collects the rows of the trace and the probabilities at the paper's iterations."""

    def __init__(self, order: NDArray[np.int64]) -> None:
        self._order = order
        self._parts: list[NDArray[np.float64]] = []
        self._snapshots: dict[int, NDArray[np.float64]] = {}
        self._start = 0
        self.rows = np.empty((0, len(TRACE_COLUMNS)))

    def begin(self, iterations: int, length: int, odds: NDArray[np.float64]) -> int:
        """Make room for the next slice and end it at the next snapshot."""
        if iterations == 0:
            self._snapshots[0] = _unshuffle(probabilities_from_odds(odds), self._order)
        length = min([length] + [at - iterations for at in SNAPSHOTS if at > iterations])
        self._start = iterations
        self.rows = np.empty((length, len(TRACE_COLUMNS)))
        return length

    def end(self, iterations: int, odds: NDArray[np.float64]) -> None:
        """Keep what the slice has recorded."""
        self._parts.append(self.rows[: iterations - self._start])
        self._snapshots = {at: p for at, p in self._snapshots.items() if at in SNAPSHOTS}
        self._snapshots[iterations] = _unshuffle(probabilities_from_odds(odds), self._order)

    def trace(self) -> Trace:
        """Return the record of the whole run."""
        columns = dict(zip(TRACE_COLUMNS, np.concatenate(self._parts).T, strict=True))
        for name in ("best_inliers", "low_probability", "outliers"):
            columns[name] = columns[name].astype(np.int64)
        return Trace(**columns, snapshots=self._snapshots)


def _settings(problem: Problem, options: Options, threshold: float, *, informed: bool) -> Any:
    criteria = options.criteria(informed=informed)
    local = options.local_optimization or ""
    return make_record(
        SETTINGS,
        squared_threshold=threshold * threshold,
        confidence=options.confidence,
        max_iterations=options.max_iterations,
        min_iterations=options.min_iterations,
        sampler=SAMPLER_CODES[options.sampler],
        msac=options.scoring == "msac",
        sprt=options.verification == "sprt",
        stop_ransac="ransac" in criteria,
        stop_sprt="sprt" in criteria,
        stop_prosac="prosac" in criteria,
        stop_bansac="bansac" in criteria,
        activation=ACTIVATION_CODES[options.activation],
        weight_floor=options.weight_floor,
        tau=(_TAU_INFORMED if informed else _TAU) if options.tau is None else options.tau,
        solver_cost=problem.solver_cost,
        inner="inner" in local,
        iterative="iterative" in local,
    )


def _state(
    problem: Problem,
    points: NDArray[Any],
    options: Options,
    rng: NDArray[np.uint64],
    prior: NDArray[np.float64] | None,
    ranking: NDArray[np.int64],
) -> State:
    n = points.shape[1]
    adaptive = options.sampler == "bansac"
    higher_order = adaptive and options.order > 1
    odds = np.ones(n) if prior is None else initial_odds(prior)
    state = State(
        rng=rng,
        sample=np.empty(problem.sample_size, np.int64),
        models=np.empty((problem.max_models, problem.model_size)),
        scratch=np.empty(problem.scratch_size),
        best_model=np.zeros(problem.model_size),
        minimal_model=np.empty(problem.model_size),
        model=np.empty(problem.model_size, points.dtype),
        residuals=np.empty(BLOCK, points.dtype),
        is_inlier=np.empty((2, n), np.bool_),
        odds=odds,
        odds_bits=odds.view(np.int64),
        belief=np.zeros((2**options.order if higher_order else 0, n)),
        belief_work=np.empty(2 ** (options.order + 1)),
        gamma=tabulate_gamma(options.gamma, n) if adaptive else np.empty(0),
        cpt=pack_cpt(options.cpt, options.order),
        history=np.zeros((_MAX_TESTS, HISTORY)),
        supports=np.zeros(FULL_MODELS, np.int64),
        ranking=ranking,
        significant=np.empty(n + 1 if ranking.size else 0, np.int64),
        recovery=np.empty(repair_scratch(n) if problem.repair_degenerate is not None else 0),
        trace=np.empty((0, len(TRACE_COLUMNS))),
    )
    if ranking.size:
        significant_supports(problem.sample_size, state.significant)
    if higher_order:
        start_belief(state.belief, state.odds)
    return state


def _probabilities(
    options: Options, state: State, guide: Guide | None, order: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Return the posterior of every datum in the caller's order, where the sampler has one."""
    if options.sampler == "bansac":
        return _unshuffle(probabilities_from_odds(state.odds), order)
    if guide is None:
        return None
    found = guide_probabilities(SAMPLER_CODES[options.sampler], guide)
    return None if found is None else _unshuffle(found, order)


def _unshuffle(values: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return one value a datum in the caller's order."""
    unshuffled = np.empty_like(values)
    unshuffled[order] = values
    return unshuffled
