"""The frame of a run: the data in random order and normalised.

All lengths of the engine are in the unit of the data. Only this module knows the scale of the normalisation:
:class:`Frame` multiplies the threshold and the neighbourhood radius by it for the kernels, and divides the distances of
its data by it. It also converts the prior inlier probabilities P^0 of P-BANSAC to the first odds of the network.
"""

import copy
import functools
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from typing import Self

import numpy as np

from bansac.engine.components import NO_FLOATS, NO_INTS, Components, find_components
from bansac.engine.dbn import initial_odds, tabulate_gamma
from bansac.engine.model_selection import Plausibility
from bansac.engine.options import Options
from bansac.engine.sampling import SAMPLERS, Sampler
from bansac.engine.state import State, open_records
from bansac.maths.arrays import Bools, Floats, Ints
from bansac.maths.rng import seed_rng, shuffle
from bansac.problems.contract import repair_scratch
from bansac.problems.problem import Problem
from bansac.problems.trial import interpret


@dataclass(eq=False)
class Frame:
    """The input of a run, in the frame of the run: at least one minimal sample of data; larger qualities are better."""

    problem: Problem
    caller_data: Floats  # channels x N, in the caller's order
    options: Options  # with a number of iterations and a seed
    threshold: float  # the first one, in the unit of the data
    radius: float | None = None  # of a neighbourhood, in the unit of the data
    prior: Floats | None = None  # inlier probabilities
    quality: InitVar[Floats | None] = None  # orders the data
    weights: Floats | None = None  # of the data in the score, at most 1 (``bansac.evidence.weights``)
    plausibility: Plausibility | None = None  # a factor of the score of optimised models and of hypotheses
    is_estimated: bool = False  # whether the threshold is estimated, starting from the first one
    noise: float = np.inf  # the limit of :class:`bansac.evidence.significance.MeasuredModel`
    find_supported: Callable[[], Bools | None] = lambda: None  # the mask of the data of most restarts

    def __post_init__(self, quality: Floats | None) -> None:
        """Shuffle and normalise the data."""
        problem, options, n = self.problem, self.options, self.caller_data.shape[1]
        assert options.seed is not None
        self.rng, self.order = seed_rng(options.seed), np.empty(n, np.int64)
        shuffle(self.rng, self.order)
        self.data = np.take(self.caller_data, self.order, axis=1)
        self.transform = np.zeros(1 + 2 * problem.channels)
        self.transform[0] = 1.0
        if problem.normalise is not None:
            problem.normalise(self.data, self.transform)
        self.scale = float(self.transform[0])
        # What samplers read; see ``bansac.engine.sampling``.
        self.sample_size, self.activation = problem.sample_size, options.network.activation
        self.weight_floor = options.network.weight_floor
        self.radius = None if self.radius is None else self.radius * self.scale
        self.ranking = NO_INTS
        if quality is not None and options.needs_order(informed=True):
            self.ranking = np.argsort(-quality[self.order], kind="stable")
        self.prior = None if self.prior is None else self.prior[self.order]
        self.weights = None if self.weights is None else self.weights[self.order]

    def restrict(self, members: Bools | None, *, with_prior: bool = True) -> Self:
        """Return the frame of the data of a mask, None for all, with the prior or with equal odds."""
        part, ranking = copy.copy(self), self.ranking
        if not with_prior:
            part.prior = None
        if members is None:
            return part
        part.data = self.data.compress(members, axis=1)
        part.prior = None if part.prior is None else part.prior[members]
        part.weights = None if self.weights is None else self.weights[members]
        part.ranking = (np.cumsum(members) - 1)[ranking[members[ranking]]] if ranking.size else ranking
        return part

    def start(self) -> tuple[State, Components]:
        """Return the state before the first iteration, and the components; its threshold is not yet set."""
        problem, options, n = self.problem, self.options, self.data.shape[1]
        sampler = options.sampler_row
        odds, informed = (np.ones(n, np.float32), False) if self.prior is None else initial_odds(self.prior)
        components = find_components(problem, options, informed=informed)
        memory = components.memory.copy()
        settings, progress = open_records(memory)
        settings["counts"] = self.weights is None and components.counts
        progress["largest_odds"], progress["subset_limit"] = odds.max(), n
        numbers, indices = (NO_FLOATS, NO_INTS) if sampler.start is None else sampler.start(self)
        points = self.data.astype(problem.precision, copy=False)  # coordinates beyond float32 are infinite: outliers

        state = State(
            settings=settings,
            progress=progress,
            sample_size=problem.sample_size,
            max_models=problem.max_models,
            beliefs=components.beliefs,
            repair_size=0 if problem.is_degenerate is None else repair_scratch(n),
            scratch_size=problem.scratch_size,
            kernels=components.kernels,
            memory=memory,
            data=self.data,
            points=points,
            rng=self.rng,
            best_model=np.zeros(problem.model_size),
            odds=odds,
            gamma=tabulate_gamma(options.network.gamma, n) if sampler.adaptive else NO_FLOATS,
            cpt=components.cpt,
            ranking=self.ranking,
            sampler_numbers=numbers,
            sampler_indices=indices,
            stop_indices=_stop_indices(components, n, problem.sample_size),
            score_weights=NO_FLOATS.astype(points.dtype) if self.weights is None else self.weights.astype(points.dtype),
            target=np.empty(n, np.bool_),
        )
        if sampler not in SAMPLERS.values():
            _try_draw(sampler, state)
        return state, components

    def set_threshold(self, state: State, threshold: float) -> None:
        """Write a threshold, in the unit of the data, to a state."""
        state.settings["squared_threshold"] = (threshold * self.scale) ** 2

    def distances(self, model: Floats) -> Floats:
        """Return the distances of the shuffled data from a model of the frame, in the unit of the data."""
        return self.problem.distances(self.data, model, 1.0 / self.scale)

    def to_data(self, model: Floats) -> Floats:
        """Return a model of the frame in the coordinates of the data."""
        return self.problem.from_frame(model, self.transform)

    def from_data(self, model: Floats) -> Floats | None:
        """Return a flat model of the data in the frame, with its constraints; None if it is degenerate.

        A problem with ``normalise``, but not ``normalise_model``, raises a ValueError.
        """
        problem = self.problem
        with np.errstate(all="ignore"):
            converted = problem.to_frame(model, self.transform)
            if converted is None:
                lack = f"normalise_model, which problem {problem.name!r} does not define"
                raise ValueError(f"initial_model needs {lack}")
            if problem.project is not None and problem.linearize is not None:
                project = problem.manifold[-1]
                if not project(converted, np.empty(problem.scratch_size)):
                    return None
        return converted if np.isfinite(converted).all() else None

    def prior_beliefs(self) -> Floats:
        """Return the inlier probabilities before the first iteration, in the order of the frame."""
        return np.full(self.order.size, 0.5) if self.prior is None else np.array(self.prior, float)

    @functools.cached_property
    def supported(self) -> Bools | None:
        """The mask of the data that neighbours support; None if nothing is known of their support."""
        mask = self.find_supported()
        return None if mask is None else mask[self.order]


def _try_draw(sampler: Sampler, state: State) -> None:
    """Draw once in plain Python: compiled code would not notice a wrong sample, and might crash the interpreter."""
    n, sample = state.data.shape[1], np.full(state.sample_size, -1)
    progress = np.array(state.progress).reshape(1).view(np.recarray)[0]
    memory = state.sampler_numbers.copy(), state.sampler_indices.copy()
    with np.errstate(all="ignore"):
        interpret(sampler.draw, {})(state.rng.copy(), state.data, state.odds, state.ranking, progress, *memory, sample)
    if np.unique(sample).size < sample.size or sample.min() < 0 or sample.max() >= n:
        raise ValueError(
            f"{sampler.name!r}: draw must write {sample.size} distinct indices of {n} points, got {sample}"
        )


def _stop_indices(components: Components, n: int, sample_size: int) -> Ints:
    """Return the memory of the stopping criteria, one row each."""
    rows = [NO_INTS if stop.prepare is None else stop.prepare(n, sample_size) for stop in components.criteria]
    indices = np.zeros((len(rows), max((row.size for row in rows), default=0)), np.int64)
    for k, row in enumerate(rows):
        indices[k, : row.size] = row
    return indices
