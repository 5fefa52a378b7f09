"""One run: shuffle and normalise the data, search for the best model, and return it in the caller's coordinates.

Two conversions take place here:

* ``_inner_distance`` converts the threshold and the neighbourhood radius from the caller's unit to the frame of the
  run. It divides by ``unit`` and multiplies by the scale of the normalisation.
* ``_start`` converts the prior inlier probabilities P^0 of P-BANSAC to the first odds of the network. P^0 comes from
  ``bansac.estimate.solve``; the sampler ``bansac.engine.sampling.bansac`` draws by the odds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bansac.compiled.jit import kernel
from bansac.engine.dbn import tabulate_gamma, write_initial_odds, write_probabilities
from bansac.engine.model_selection import Plausibility
from bansac.engine.options import Options
from bansac.engine.plan import NO_FLOATS, NO_INTS, Plan, find_plan
from bansac.engine.sampling import SamplerInput
from bansac.engine.search import Search, current_beliefs
from bansac.engine.state import State, open_records
from bansac.engine.threshold import AdaptiveThreshold
from bansac.engine.trace import Recorder, Trace
from bansac.engine.warm_start import normalize_model
from bansac.maths.arrays import Floats, Ints, Words
from bansac.maths.rng import seed_rng, shuffle
from bansac.problems.contract import repair_scratch
from bansac.problems.problem import Problem

__all__ = ["EngineResult", "run"]


class EngineResult(NamedTuple):
    """The result of a run, in the caller's coordinates and order; ``model`` is flat, None if no model was found."""

    model: Floats | None
    score: float
    beliefs: Floats | None
    iterations: int
    models_tested: int
    stop_reason: str
    trace: Trace | None
    restarts: int
    threshold: float


def run(
    problem: Problem,
    data: Floats,
    options: Options,
    *,
    threshold: float | None = None,
    unit: float = 1.0,
    prior: Floats | None = None,
    quality: Floats | None = None,
    weights: Floats | None = None,
    plausibility: Plausibility | None = None,
    is_significant: Callable[[Floats, float, bool], bool] | None = None,
    is_estimated: bool = True,
    initial_model: Floats | None = None,
) -> EngineResult:
    """Search for the best model of ``data`` (channels x N, at least one minimal sample) and refine it.

    ``options`` must have a number of iterations and a seed; ``threshold`` is by default theirs. A distance of 1 in
    ``data`` is a distance of ``unit`` in the options. ``prior`` (N) holds the prior inlier probabilities. ``quality``
    (N) orders the points; a larger value is better. ``weights`` (N) are the weights of the points in the score, at most
    1 (``bansac.engine.scoring.weights``). ``plausibility`` is a factor of the score, used to compare optimised models
    and restarts. ``is_significant`` says whether chance explains the support of a model at a threshold, both in the
    caller's coordinates. If it is given, the threshold is estimated, starting from ``threshold``, except if
    ``is_estimated`` is False. ``initial_model`` (flat) competes with the search; it needs ``is_significant``.
    """
    deadline = np.inf if options.max_seconds is None else time.perf_counter() + options.max_seconds
    n = data.shape[1]
    assert options.seed is not None
    rng = seed_rng(options.seed)
    order, shuffled = np.empty(n, np.int64), np.empty(data.shape)
    _shuffle(rng, data, order, shuffled)
    transform = np.zeros(1 + 2 * problem.channels)
    transform[0] = 1.0
    if problem.normalize is not None:
        problem.normalize(shuffled, transform)
    ranked = quality[order] if quality is not None and options.needs_order(informed=True) else None
    threshold = options.threshold if threshold is None else threshold
    assert threshold is not None
    first = threshold / unit * transform[0]
    state, plan = _start(
        problem,
        options,
        SamplerInput(
            data=shuffled,
            sample_size=problem.sample_size,
            rng=rng,
            ranking=NO_INTS if ranked is None else _rank(ranked),
            prior=None if prior is None else prior[order],
            radius=_inner_distance(options.neighborhood_radius, unit, transform),
            activation=options.activation,
            weight_floor=options.weight_floor,
        ),
        first,
        None if weights is None else weights[order],
    )
    recorder = Recorder(order) if options.trace else None
    length = unit / transform[0]  # of one unit of the frame of the run, for the caller

    def is_significant_there(model: Floats, threshold: float, fast: bool) -> bool:
        assert is_significant is not None
        return is_significant(_to_caller(problem, model.copy(), transform), threshold * length, fast)

    test = None if is_significant is None else is_significant_there
    search = Search(
        problem,
        options,
        state,
        AdaptiveThreshold(problem, state, first, test, is_estimated=is_estimated),
        plan,
        deadline,
        recorder,
        transform,
        plausibility,
        None if initial_model is None else normalize_model(problem, initial_model, transform),
    )
    restarts, stop_reason = search.run()
    best = restarts.best
    model = None if best is None else _to_caller(problem, best.model, transform)
    if model is not None and not np.isfinite(model).all():  # beyond the range of floats in the caller's unit
        best = model = None
    return EngineResult(
        model=model,
        score=0.0 if best is None else best.score,
        beliefs=_beliefs(options, plan, state, order),
        iterations=restarts.iterations,
        models_tested=restarts.models_tested,
        stop_reason=stop_reason,
        trace=recorder.trace() if recorder is not None else None,
        restarts=restarts.count,
        threshold=threshold if search.threshold.is_first else search.threshold.value * length,
    )


@kernel
def _shuffle(rng: Words, data: Floats, order: Ints, shuffled: Floats) -> None:
    """Write the indices of the points in random order to ``order``, and the points in this order to ``shuffled``."""
    shuffle(rng, order)
    for channel in range(data.shape[0]):
        for n in range(order.size):
            shuffled[channel, n] = data[channel, order[n]]


def _rank(quality: Floats) -> Ints:
    """Return the indices of the points by decreasing quality."""
    return np.argsort(-quality, kind="stable")


def _to_caller(problem: Problem, model: Floats, transform: Floats) -> Floats:
    """Transform a model from the frame of the run to the caller's coordinates, in place."""
    if problem.denormalize is not None:
        problem.denormalize(model, transform)
    if problem.canonical is not None and np.isfinite(model).all():
        problem.canonical(model)
    return model


def _inner_distance(distance: float | None, unit: float, transform: Floats) -> float | None:
    """Convert a distance of the options to the normalised frame of the run."""
    return None if distance is None else distance / unit * transform[0]


def _start(
    problem: Problem, options: Options, setup: SamplerInput, threshold: float, weights: Floats | None = None
) -> tuple[State, Plan]:
    """Return the state before the first iteration, and the plan."""
    n = setup.data.shape[1]
    odds, largest_odds, informed = np.empty(n, np.float32), 1.0, False
    if setup.prior is None:
        odds.fill(1.0)
    else:
        largest_odds, informed = write_initial_odds(setup.prior, odds)
    plan = find_plan(problem, options, informed=bool(informed))
    memory = plan.memory.copy()
    settings, progress = open_records(memory)
    settings["squared_threshold"], settings["counts"] = threshold * threshold, weights is None and plan.counts
    progress["largest_odds"], progress["subset_limit"] = largest_odds, n
    numbers, indices = plan.start(setup)
    with np.errstate(over="ignore"):  # coordinates beyond float32 become infinite: outliers
        points = setup.data.astype(problem.precision, copy=False)
    tabulated = options.sampler_row.adaptive and options.gamma != "gamma_1"
    state = State(
        settings=settings,
        progress=progress,
        sizes=plan.sizes if problem.is_degenerate is None else plan.sizes._replace(repair_size=repair_scratch(n)),
        kernels=plan.kernels,
        memory=memory,
        data=setup.data,
        points=points,
        rng=setup.rng,
        best_model=np.zeros(problem.model_size),
        odds=odds,
        gamma=tabulate_gamma(options.gamma, n) if tabulated else NO_FLOATS,
        cpt=plan.cpt,
        ranking=setup.ranking,
        sampler_numbers=numbers,
        sampler_indices=indices,
        stop_indices=_stop_indices(plan, n, problem.sample_size),
        score_weights=plan.no_weights if weights is None else weights.astype(points.dtype, copy=False),
    )
    return state, plan


def _stop_indices(plan: Plan, n: int, sample_size: int) -> Ints:
    """Return the memory of the stopping criteria, one row each."""
    if not plan.prepare:
        return plan.no_stop_indices
    rows = [prepare(n, sample_size) for prepare in plan.prepare]
    indices = np.zeros((len(rows), max([row.size for row in rows], default=0)), np.int64)
    for k, row in enumerate(rows):
        indices[k, : row.size] = row
    return indices


def _beliefs(options: Options, plan: Plan, state: State, order: Ints) -> Floats | None:
    """Return the sampler's inlier probabilities in the caller's order; None if the sampler has none."""
    if plan.probabilities is None and not options.sampler_row.adaptive:
        return None
    beliefs = np.empty(order.size)
    if plan.probabilities is None:
        write_probabilities(state.odds, order, beliefs)
    else:
        beliefs[order] = current_beliefs(plan, state)
    return beliefs
