"""The frame of a run: the data in random order and normalised, and the way back for models.

Two conversions take place here:

* :class:`Frame` converts the threshold and the neighbourhood radius from the unit of the data to the frame of the run:
  it multiplies by the scale of the normalisation.
* ``start_state`` converts the prior inlier probabilities P^0 of P-BANSAC to the first odds of the network. P^0 comes
  from ``bansac.estimate.solve``; the sampler ``bansac.engine.sampling.bansac`` draws by the odds.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bansac.engine.dbn import tabulate_gamma, write_initial_odds
from bansac.engine.hypotheses import Hypothesis
from bansac.engine.kernels import find_function
from bansac.engine.model_selection import Plausibility
from bansac.engine.options import Options
from bansac.engine.plan import NO_FLOATS, NO_INTS, Plan, find_plan
from bansac.engine.sampling import SAMPLERS, Sampler, SamplerInput
from bansac.engine.state import State, open_records
from bansac.maths.arrays import Bools, Floats, Ints
from bansac.maths.normalization import apply_inverse, normalize
from bansac.maths.rng import seed_rng, shuffle
from bansac.problems.contract import repair_scratch
from bansac.problems.problem import Problem
from bansac.problems.trial import interpret


class Run(NamedTuple):
    """The input of a run. Lengths are in the unit of the data, and not those of the options.

    The data (channels x N) have at least one minimal sample; the options have a number of iterations and a seed.
    ``prior`` (N) holds the prior inlier probabilities. ``quality`` (N) orders the points, larger is better.
    ``weights`` (N) are the weights of the points in the score, at most 1 (``bansac.evidence.weights``).
    ``plausibility`` is a factor of the score, used to compare optimised models and restarts. ``is_significant`` says
    whether data support a model at a threshold more than chance explains; if its last argument is True, only the fast
    test is made. If it is given, the threshold is estimated, starting from ``threshold``, except if ``is_estimated`` is
    False. ``significance``, that of a model over all thresholds up to its own, compares structures of different
    thresholds; by default their score does. ``initial_model`` (flat) competes with the search; it needs
    ``is_significant``. ``supported`` marks the data of most restarts; it may return None.
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
    is_significant: Callable[[Floats, Floats, float, bool], bool] | None = None
    significance: Callable[[Floats, float], float] | None = None
    is_estimated: bool = True
    initial_model: Floats | None = None
    supported: Callable[[], Bools | None] | None = None


class Frame:
    """The frame of a run, and what the search asks of the data.

    ``order`` are the indices of the shuffled data. ``transform`` is that of ``normalize`` of the problem, and ``scale``
    the length of one unit of the data in the frame. ``is_informed`` says whether there are prior probabilities.
    """

    def __init__(self, task: Run) -> None:
        problem, options, n = task.problem, task.options, task.data.shape[1]
        assert options.seed is not None
        rng = seed_rng(options.seed)
        self._task, self.order, self.is_informed = task, np.empty(n, np.int64), task.prior is not None
        shuffle(rng, self.order)
        shuffled = np.take(task.data, self.order, axis=1)
        self.transform = np.zeros(1 + 2 * problem.channels)
        self.transform[0] = 1.0
        if problem.normalize is not None:
            problem.normalize(shuffled, self.transform)
        self.scale = self.transform[0]
        self.threshold = task.threshold * self.scale
        quality = task.quality if task.quality is not None and options.needs_order(informed=True) else None
        self._weights = None if task.weights is None else task.weights[self.order]
        self._sampling = SamplerInput(
            data=shuffled,
            sample_size=problem.sample_size,
            rng=rng,
            ranking=NO_INTS if quality is None else np.argsort(-quality[self.order], kind="stable"),
            prior=None if task.prior is None else task.prior[self.order],
            radius=None if task.radius is None else task.radius * self.scale,
            activation=options.activation,
            weight_floor=options.weight_floor,
        )

    def start(self) -> tuple[State, Plan]:
        """Return the state before the first iteration, and the plan."""
        return start_state(self._task.problem, self._task.options, self._sampling, self.threshold, self._weights)

    def restrict(self, members: Bools, *, with_prior: bool = True) -> State:
        """Return the state before the first iteration for the data of a mask; its threshold is not yet set."""
        sampling, ranking, weights = self._sampling, self._sampling.ranking, self._weights
        sampling = sampling._replace(
            data=np.compress(members, sampling.data, axis=1),
            prior=sampling.prior[members] if with_prior and sampling.prior is not None else None,
            ranking=(np.cumsum(members) - 1)[ranking[members[ranking]]] if ranking.size else ranking,
        )
        weights = None if weights is None else weights[members]
        return start_state(self._task.problem, self._task.options, sampling, np.nan, weights)[0]

    def to_data(self, model: Floats) -> Floats:
        """Return a model of the frame in the coordinates of the data."""
        problem, model = self._task.problem, model.copy()
        if problem.denormalize is not None:
            problem.denormalize(model, self.transform)
        if problem.canonical is not None and np.isfinite(model).all():
            problem.canonical(model)
        return model

    def is_significant(self, model: Floats, threshold: float, fast: bool = False, members: Bools | None = None) -> bool:
        """Test the significance of a model in this frame, of all data or the members; the task must have a test."""
        assert self._task.is_significant is not None
        data = self._task.data if members is None else np.take(self._task.data, self.order[members], axis=1)
        return self._task.is_significant(data, self.to_data(model), threshold * (1.0 / self.scale), fast)

    def significance(self, hypothesis: Hypothesis) -> float:
        """Return the significance of a hypothesis over all thresholds, times its plausibility and cheirality."""
        if self._task.significance is None:
            return hypothesis.weighted_score
        factor = hypothesis.weighted_score / hypothesis.score if hypothesis.score > 0.0 else 0.0
        return factor * self._task.significance(self.to_data(hypothesis.model), hypothesis.threshold / self.scale)

    @functools.cached_property
    def supported(self) -> Bools | None:
        """The mask of the data that neighbours support; None if nothing is known of their support."""
        mask = None if self._task.supported is None else self._task.supported()
        return None if mask is None else mask[self.order]


def normalize_model(problem: Problem, model: Floats, transform: Floats) -> Floats | None:
    """Return a flat model of the caller in the frame of a run, with its constraints; None if it is degenerate.

    ``transform`` is that of ``normalize`` of the problem. A problem with ``normalize``, but not ``normalize_model``,
    raises a ValueError.
    """
    model = model.copy()
    with np.errstate(all="ignore"):
        if problem.normalize is not None:
            if problem.normalize_model is not None:
                problem.normalize_model(model, transform)
            elif problem.normalize is normalize and problem.denormalize is not None:
                apply_inverse(problem.denormalize, model, transform)
            else:
                raise ValueError(f"initial_model needs normalize_model, which problem {problem.name!r} does not define")
        if problem.project is not None and problem.linearize is not None:
            project = problem.manifold[-1]
            if not project(model, np.empty(problem.scratch_size)):
                return None
    return model if np.isfinite(model).all() else None


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
    plan = find_plan(problem, options, informed=informed)
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
        score_weights=np.asarray(NO_FLOATS if weights is None else weights, points.dtype),
    )
    if options.sampler_row not in SAMPLERS.values():
        _try_draw(options.sampler_row, state)
    return state, plan


def _try_draw(sampler: Sampler, state: State) -> None:
    """Draw once in plain Python: compiled code would not notice a wrong sample, and might crash the interpreter."""
    n, sample, draw = state.data.shape[1], np.full(state.sizes.sample_size, -1), find_function(sampler, "draw")
    progress = np.array(state.progress).reshape(1).view(np.recarray)[0]
    memory = state.sampler_numbers.copy(), state.sampler_indices.copy()
    with np.errstate(all="ignore"):
        interpret(draw, {})(state.rng.copy(), state.data, state.odds, state.ranking, progress, *memory, sample)
    if np.unique(sample).size < sample.size or sample.min() < 0 or sample.max() >= n:
        raise ValueError(
            f"{sampler.name!r}: draw must write {sample.size} distinct indices of {n} points, got {sample}"
        )


def _stop_indices(plan: Plan, n: int, sample_size: int) -> Ints:
    """Return the memory of the stopping criteria, one row each."""
    rows = [NO_INTS if prepare is None else prepare(n, sample_size) for prepare in plan.prepare]
    indices = np.zeros((len(rows), max([row.size for row in rows], default=0)), np.int64)
    for k, row in enumerate(rows):
        indices[k, : row.size] = row
    return indices
