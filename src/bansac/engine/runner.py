"""One run: shuffle and normalise the data, search for the best model, and return it in the coordinates of the data.

Two conversions take place here:

* ``run`` converts the threshold and the neighbourhood radius from the unit of the data to the frame of the run: it
  multiplies by the scale of the normalisation.
* ``start_state`` converts the prior inlier probabilities P^0 of P-BANSAC to the first odds of the network. P^0 comes
  from ``bansac.estimate.solve``; the sampler ``bansac.engine.sampling.bansac`` draws by the odds.
"""

import functools
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bansac.compiled.jit import kernel
from bansac.engine.dbn import tabulate_gamma, write_initial_odds
from bansac.engine.hypotheses import Hypothesis
from bansac.engine.model_selection import Plausibility
from bansac.engine.options import Options
from bansac.engine.plan import NO_FLOATS, NO_INTS, Plan, find_plan
from bansac.engine.sampling import SamplerInput
from bansac.engine.search import Search
from bansac.engine.slices import current_beliefs
from bansac.engine.state import State, open_records
from bansac.engine.threshold import AdaptiveThreshold, Significance, SignificanceTest
from bansac.engine.trace import Recorder, Trace
from bansac.engine.warm_start import normalize_model
from bansac.maths.arrays import Bools, Floats, Ints, Words
from bansac.maths.rng import seed_rng, shuffle
from bansac.problems.contract import repair_scratch
from bansac.problems.problem import Problem


class Run(NamedTuple):
    """The input of a run. Lengths are in the unit of the data, and not those of the options.

    The data (channels x N) have at least one minimal sample; the options have a number of iterations and a seed.
    ``prior`` (N) holds the prior inlier probabilities. ``quality`` (N) orders the points, larger is better.
    ``weights`` (N) are the weights of the points in the score, at most 1 (``bansac.engine.scoring.weights``).
    ``plausibility`` is a factor of the score, used to compare optimised models and restarts. ``is_significant`` says
    whether chance explains the support of a model at a threshold. If it is given, the threshold is estimated, starting
    from ``threshold``, except if ``is_estimated`` is False. ``significance`` compares structures of different
    thresholds, by default their score. ``initial_model`` (flat) competes with the search; it needs ``is_significant``.
    ``supported`` marks the data of most restarts; it may return None.
    """

    problem: Problem
    data: Floats
    options: Options
    threshold: float
    radius: float | None = None
    prior: Floats | None = None
    quality: Floats | None = None
    weights: Floats | None = None
    plausibility: Plausibility | None = None
    is_significant: SignificanceTest | None = None
    significance: Significance | None = None
    is_estimated: bool = True
    initial_model: Floats | None = None
    supported: Callable[[], Bools | None] | None = None


class EngineResult(NamedTuple):
    """The result of a run, in the coordinates and in the order of the data.

    ``model`` is flat, None if no model was found. ``threshold`` is the estimated one in the frame of the run, None if
    it is the first one. ``scale`` is the length of one unit of the data in this frame. ``others`` are the flat models
    of the other hypotheses, their thresholds in this frame, and their significance as a share of that of the best.
    """

    model: Floats | None
    score: float
    beliefs: Floats | None
    iterations: int
    models_tested: int
    stop_reason: str
    trace: Trace | None
    restarts: int
    threshold: float | None
    scale: float
    others: list[tuple[Floats, float, float]]


def run(task: Run) -> EngineResult:
    """Search for the best model of the data and refine it."""
    problem, options = task.problem, task.options
    deadline = np.inf if options.max_seconds is None else time.perf_counter() + options.max_seconds
    order, transform, sampling = _prepare(task)
    scale = transform[0]
    weights = None if task.weights is None else task.weights[order]
    state, plan = start_state(problem, options, sampling, task.threshold * scale, weights)
    criteria = ["bansac"] * bool(state.settings["stop_bansac"]) + [stop.name for stop in plan.criteria]
    recorder = Recorder(order, criteria) if options.trace else None
    test = None
    if task.is_significant is not None:
        test = functools.partial(_test_there, task.is_significant, problem, transform)
    initial = None if task.initial_model is None else normalize_model(problem, task.initial_model, transform)
    search = Search(
        problem,
        options,
        plan,
        state,
        functools.partial(_restricted_state, problem, options, sampling, weights),
        AdaptiveThreshold(problem, state, task.threshold * scale, test, is_estimated=task.is_estimated),
        deadline,
        recorder,
        transform,
        task.plausibility,
        functools.partial(_significance_there, task.significance, problem, transform),
        None if task.supported is None else functools.partial(_supported_there, task.supported, order),
    )
    hypotheses, stop_reason = search.run(initial)
    best = hypotheses.best
    model = None if best is None else _to_data(problem, best.model, transform)
    if model is not None and not np.isfinite(model).all():  # beyond the range of floats in the unit of the data
        best = model = None
    return EngineResult(
        model=model,
        score=0.0 if best is None else best.score,
        beliefs=_beliefs(options, plan, state, order),
        iterations=hypotheses.iterations,
        models_tested=hypotheses.models_tested,
        stop_reason=stop_reason,
        trace=recorder.trace() if recorder is not None else None,
        restarts=hypotheses.count,
        threshold=None if best is None or best.threshold == search.threshold.first else best.threshold,
        scale=scale,
        others=[
            (
                _to_data(problem, h.model.copy(), transform),
                h.threshold,
                h.significance / max(hypotheses.ranked[0].significance, 1.0),
            )
            for h in hypotheses.ranked[1:]
        ],
    )


def _prepare(task: Run) -> tuple[Ints, Floats, SamplerInput]:
    """Shuffle and normalise the data; return the order, the transformation, and the input of the sampler."""
    problem, options, n = task.problem, task.options, task.data.shape[1]
    assert options.seed is not None
    rng = seed_rng(options.seed)
    order, shuffled = np.empty(n, np.int64), np.empty(task.data.shape)
    _shuffle(rng, task.data, order, shuffled)
    transform = np.zeros(1 + 2 * problem.channels)
    transform[0] = 1.0
    if problem.normalize is not None:
        problem.normalize(shuffled, transform)
    quality = task.quality if options.needs_order(informed=True) else None
    return order, transform, SamplerInput(
        data=shuffled,
        sample_size=problem.sample_size,
        rng=rng,
        ranking=NO_INTS if quality is None else _rank(quality[order]),
        prior=None if task.prior is None else task.prior[order],
        radius=None if task.radius is None else task.radius * transform[0],
        activation=options.activation,
        weight_floor=options.weight_floor,
    )  # fmt: skip


def _test_there(
    is_significant: SignificanceTest, problem: Problem, transform: Floats, model: Floats, threshold: float, fast: bool
) -> bool:
    """Test the significance of a model in the frame of the run."""
    return is_significant(_to_data(problem, model.copy(), transform), threshold * (1.0 / transform[0]), fast)


def _significance_there(
    significance: Significance | None, problem: Problem, transform: Floats, hypothesis: Hypothesis
) -> float:
    """Return the significance of a hypothesis in the frame of the run, times its plausibility and cheirality."""
    if significance is None:
        return hypothesis.weighted_score
    factor = hypothesis.weighted_score / hypothesis.score if hypothesis.score > 0.0 else 0.0
    model = _to_data(problem, hypothesis.model.copy(), transform)
    return factor * significance(model, hypothesis.threshold / transform[0])


def _supported_there(supported: Callable[[], Bools | None], order: Ints) -> Bools | None:
    """Mark the supported data in the order of the run; None if nothing is known of their support."""
    mask = supported()
    return None if mask is None else mask[order]


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


def _to_data(problem: Problem, model: Floats, transform: Floats) -> Floats:
    """Transform a model from the frame of the run to the coordinates of the data, in place."""
    if problem.denormalize is not None:
        problem.denormalize(model, transform)
    if problem.canonical is not None and np.isfinite(model).all():
        problem.canonical(model)
    return model


def start_state(
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
    numbers, indices = (NO_FLOATS, NO_INTS) if plan.start is None else plan.start(setup)
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


def _restricted_state(
    problem: Problem, options: Options, setup: SamplerInput, weights: Floats | None, members: Bools
) -> State:
    """Return the state before the first iteration for the data of a mask; its threshold is not yet set."""
    ranking = setup.ranking
    setup = setup._replace(
        data=np.compress(members, setup.data, axis=1),
        prior=None if setup.prior is None else setup.prior[members],
        ranking=(np.cumsum(members) - 1)[ranking[members[ranking]]],
    )
    return start_state(problem, options, setup, np.nan, None if weights is None else weights[members])[0]


def _stop_indices(plan: Plan, n: int, sample_size: int) -> Ints:
    """Return the memory of the stopping criteria, one row each."""
    rows = [NO_INTS if prepare is None else prepare(n, sample_size) for prepare in plan.prepare]
    indices = np.zeros((len(rows), max([row.size for row in rows], default=0)), np.int64)
    for k, row in enumerate(rows):
        indices[k, : row.size] = row
    return indices


def _beliefs(options: Options, plan: Plan, state: State, order: Ints) -> Floats | None:
    """Return the sampler's inlier probabilities in the caller's order; None if the sampler has none."""
    if plan.probabilities is None and not options.sampler_row.adaptive:
        return None
    beliefs = np.empty(order.size)
    beliefs[order] = current_beliefs(plan, state)
    return beliefs
