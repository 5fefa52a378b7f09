"""The options of a run, in one frozen dataclass that checks its values."""

from __future__ import annotations

import dataclasses
import difflib
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from bansac.engine.option_fields import (
    DISTANCE,
    PROBABILITY,
    Checked,
    Group,
    boolean,
    integer,
    number,
    option,
)
from bansac.engine.option_groups import Network, Restarts
from bansac.engine.sampling import SAMPLERS, Sampler, SamplerName
from bansac.engine.scoring import SCORES, Score, ScoreName
from bansac.engine.stopping import MAX_CRITERIA, STOPS, Stop, StopName
from bansac.maths.validate import check_name
from bansac.problems.problem import Problem

Weighting = Literal["default", "density", "scores", "density+scores"]
Verification = Literal["sprt"]
LocalOptimization = Literal["default", "inner", "iterative", "inner+iterative", "lm"]
Degeneracy = Literal["default", "degensac"]
RefinerName = Literal["default", "least_squares", "lm"]

REFINERS = {"least_squares": "fit", "lm": "linearize"}
"""The function of a problem that each refiner needs."""

_COUNT = integer(1, 2**31 - 1)
_SEED = integer(0, 2**64 - 1)
_POSITIVE = number("> 0", lambda v: v > 0)


@dataclass(frozen=True, kw_only=True)
class Options(Checked):
    """Settings of a robust estimation.

    The defaults are the best trade-off between accuracy and time. ``preset="paper"`` has the settings of the paper
    (Piedade and Miraldo, ICCV 2023). Numbers may be of any type, including 0-d arrays. Whole numbers may be floats,
    such as 1e4.

    Parameters
    ----------
    threshold : float or None
        Largest residual of an inlier, a distance (not squared). With None the threshold is estimated from the data: the
        distance from the model below which 99 % of the inliers lie (:mod:`bansac.evidence.noise_scale`). The search
        starts from 2 pixels for homographies, affine maps and similarities; 0.5 pixels for fundamental matrices, and
        for essential matrices with cameras, 5e-4 in normalised units without; 4 pixels for absolute poses with a
        camera, 4e-3 without; and .005 of the extent of the data for other problems. Estimates lie between .1 and 26
        times this start, 6.5 times if the error of a point has two components (homographies, absolute poses), 40 times
        for three. ``preset="paper"`` has fixed thresholds.
    confidence : float
        Confidence of the stopping criteria within one restart, in (0, 1). A bound such as RANSAC's ends a restart after
        enough samples for this probability of one sample without outliers. By default a run ends by the agreement of
        restarts instead, so this is not the probability that the result is the best model.
    max_iterations : int or None
        Maximum number of minimal samples, of all restarts together. None takes the problem's default. From 10,000 data
        on it holds for each sample that is searched.
    min_iterations : int
        Minimum number of minimal samples. No stopping criterion ends a restart before this number. Further restarts
        follow until all restarts together have this number.
    max_seconds : float or None
        Time limit. The result of a run that reaches it depends on the speed of the machine. The last step is completed,
        and what follows the search is not limited: to measure the model of 1,000,000 points takes up to .1 s. The time
        to compile kernels does not count.
    stopping : str or Sequence[StopName or Stop] or None
        Stopping criteria of a restart: names joined by ``+``, or a sequence. The first one that is met ends it. The
        names are ``"ransac"``, ``"sprt"``, ``"prosac"`` (which needs ``scores``) and ``"bansac"``. With None a restart
        has all its samples, and with ``restarts=1`` the run has all ``max_iterations``. ``"default"`` is ``"ransac"``.
        ``"sampler"`` is the choice of the paper: ``"bansac+sprt"`` for the ``"bansac"`` sampler, ``"bansac+prosac"`` if
        it has scores or priors, ``"prosac"`` for ``"prosac"``, ``"ransac+sprt"`` for ``"p-napsac"``, ``"sprt"`` for the
        others. Without SPRT verification ``"ransac"`` replaces ``"sprt"``.
    sampler : {"bansac", "uniform", "prosac", "napsac", "p-napsac", "baysac", "ar"} or Sampler
        How minimal samples are drawn; ``uniform`` is RANSAC. ``"bansac"`` draws by the probabilities of the dynamic
        Bayesian network; ``"prosac"`` (Chum and Matas, 2005) takes the best matches first and ``"p-napsac"`` (Barath et
        al., 2020) the best ones and their neighbours, both by ``scores``; ``"napsac"`` (Myatt et al., 2002) takes
        neighbours; ``"baysac"`` (Botterill et al., 2009) and ``"ar"`` (Wei et al., 2023) take the most probable points
        or matches and learn from failures.
    neighbours : bool
        Search where the neighbours of a match moved with it; for E and F without scores, also the priors. Three of four
        restarts are among the matches of two images with more such neighbours than chance gives
        (:mod:`bansac.evidence.neighbours`). Without ``scores``, neighbours give the prior probabilities of an epipolar
        geometry. It is for samplers that start from them, such as ``"bansac"``, and without ``priors``.
    network : Network
        The dynamic Bayesian network of the sampler ``bansac``. See :class:`bansac.Network`.
    restarts : int or Restarts
        Largest number of restarts. A :class:`bansac.Restarts` has their other rules, too. When a criterion ends a
        restart, the next one starts from the prior probabilities, because a network that has learnt a wrong model
        seldom finds another one. The refined model with the best score is returned.
    scoring : {"inliers", "msac", "magsac++"} or Score
        Score of a model. ``"inliers"`` counts the inliers; ``"msac"`` gives every inlier ``1 - (residual /
        threshold)**2``; ``"magsac++"`` (Barath et al., 2020) marginalises over noise scales up to the one whose 99 %
        quantile is the threshold. It needs a threshold that is two to three times larger.
    weighting : {"default", "density", "scores", "density+scores"} or None
        Weights of the points or matches in the score, if the caller gives none. ``"density"``: the weight of a match
        falls with the number of matches near it in both images; ``"scores"``: the weight is the squared score or prior,
        if these lie in [0, 1]; ``"density+scores"``: the product of both (:mod:`bansac.evidence.weights`). The numbers
        of inliers that the stopping criteria and the network use are not weighted. ``"default"`` is the product for the
        fundamental matrix, ``"scores"`` for homographies, None for other problems.
    verification : {"sprt"} or None
        Sequential probability ratio test, which rejects bad models early. With None the test of a model ends early only
        if it cannot reach the best score.
    local_optimization : {"default", "inner", "iterative", "inner+iterative", "lm"} or None
        Local optimisation of a new best model (LO-RANSAC, Chum et al., 2003). Least squares on random subsets of its
        inliers (``"inner"``), on inliers to a threshold that shrinks (``"iterative"``), or both; or Levenberg-Marquardt
        with the loss of MSAC (``"lm"``). ``"default"`` is ``"inner+iterative"``, ``"inner"`` for fundamental and
        essential matrices, ``"lm"`` for absolute poses, and None for a problem without a non-minimal solver.
    degeneracy : {"default", "degensac"} or None
        Detection of degenerate samples. ``"degensac"`` (fundamental matrix only) detects samples on a dominant plane,
        repairs the model of a new best one, and keeps the better of the two (Chum et al., 2005). Degenerate samples do
        not change the probabilities. ``"default"`` is ``"degensac"`` without local optimisation, if the problem
        supports it.
    refinement : {"default", "least_squares", "lm"} or None
        Last step on the inliers of the best model. Linear least squares (``"least_squares"``), or Levenberg-Marquardt
        with robust losses (``"lm"``). ``"default"`` is ``"lm"`` if the problem has derivatives, else
        ``"least_squares"`` if it has a non-minimal solver, else None.
    seed : int or None
        Seed of the random numbers: the same seed and input give the same result, bit for bit. With None every call of
        an estimator draws a new seed. ``Result.seed`` is the seed that was used.
    trace : bool
        Record every iteration of the run in ``Result.trace``.

    Examples
    --------
    >>> from bansac import Options
    >>> Options(threshold=2.0, stopping="bansac").replace(seed=7).seed
    7
    """

    threshold: float | None = option("threshold and error", None, DISTANCE, flag=True)
    confidence: float = option("stop", 0.999, PROBABILITY, flag=True)
    max_iterations: int | None = option("stop", None, _COUNT, flag=True)
    min_iterations: int = option("stop", 0, integer(0, 2**31 - 1))
    max_seconds: float | None = option("stop", None, _POSITIVE)
    stopping: str | Sequence[StopName | Stop] | None = option("stop", "default")
    sampler: SamplerName | Sampler = option("sampling", "bansac", choices=SAMPLERS, instances=Sampler, flag=True)
    neighbours: bool = option("sampling", True, boolean)
    network: Network = option("sampling", Network(min_updates=20), Network.check)
    restarts: int | Restarts = option("stop", Restarts(limit=16), Restarts.check, flag=True)
    scoring: ScoreName | Score = option("score", "msac", choices=SCORES, instances=Score, flag=True)
    weighting: Weighting | None = option("score", "default", choices=get_args(Weighting), optional=True)
    verification: Verification | None = option("score", "sprt", choices=get_args(Verification), optional=True)
    local_optimization: LocalOptimization | None = option(
        "local optimisation and refinement", "default", choices=get_args(LocalOptimization), optional=True
    )
    degeneracy: Degeneracy | None = option(
        "local optimisation and refinement", "default", choices=get_args(Degeneracy), optional=True
    )
    refinement: RefinerName | None = option(
        "local optimisation and refinement", "default", choices=REFINERS, optional=True
    )
    seed: int | None = option("run", 0, _SEED, optional=True, flag=True)
    trace: bool = option("run", False, boolean)

    if not TYPE_CHECKING:  # a type checker reports unknown names

        def __new__(cls, **settings: Any) -> Options:
            """Check the names; one that is not an option is a TypeError."""
            check_names(settings)
            return super().__new__(cls)

    def __post_init__(self) -> None:
        """Check every value, then the combinations of values."""
        super().__post_init__()
        for field in self.__dataclass_fields__.values():
            if isinstance(field.default, Group):
                object.__setattr__(self, field.name, getattr(self, field.name).over(field.default))
        self._check_iterations()
        self._check_stopping()
        network = self.network
        if not self.sampler_row.adaptive and network != Network(min_updates=network.min_updates):
            raise ValueError(
                f"network needs sampler='bansac': {self.sampler_row.name!r} has no dynamic Bayesian network"
            )

    def _check_iterations(self) -> None:
        """Raise a ValueError if the smallest number of iterations exceeds a largest one."""
        rules = self.restart_rules
        limits = {"max_iterations": self.max_iterations}
        if rules.limit == 1 and rules.iterations != "default":
            limits["the iterations of one restart"] = rules.iterations
        for name, most in limits.items():
            if most is not None and self.min_iterations > most:
                raise ValueError(f"min_iterations must be at most {name} ({most}), got {self.min_iterations}")

    @property
    def restart_rules(self) -> Restarts:
        """The rules of the restarts; ``restarts`` accepts their limit instead."""
        return cast(Restarts, self.restarts)

    @functools.cached_property
    def sampler_row(self) -> Sampler:
        """The sampler, with its traits."""
        return self.sampler if isinstance(self.sampler, Sampler) else SAMPLERS[self.sampler]

    def refiner(self, problem: Problem) -> str | None:
        """Return the name of the refiner for a problem, or None."""
        if self.refinement == "default":
            return next((name for name in reversed(REFINERS) if getattr(problem, REFINERS[name]) is not None), None)
        return self.refinement

    def optimization(self, problem: Problem) -> str | None:
        """Return the name of the local optimisation for a problem, or None."""
        if self.local_optimization != "default":
            return self.local_optimization
        name = problem.default_local_optimization
        return None if (problem.linearize if name == "lm" else problem.fit) is None else name

    def tests_samples(self, problem: Problem) -> bool:
        """Return whether samples are tested for being degenerate."""
        if self.degeneracy != "default":
            return self.degeneracy is not None
        return problem.repair_degenerate is None or self.optimization(problem) is None

    def weights(self, problem: Problem) -> tuple[str, ...]:
        """Return the factors of the score weights: ``"density"``, ``"scores"``, both or none."""
        weighting = problem.default_weighting if self.weighting == "default" else self.weighting
        return () if weighting is None else tuple(weighting.split("+"))

    def uses_scores(self, problem: Problem) -> bool:
        """Return whether a problem uses scores of the points: as a prior, for their order or as weights."""
        return self.sampler_row.prior or self.needs_order(informed=False) or "scores" in self.weights(problem)

    @functools.cached_property
    def score_row(self) -> Score:
        """The score."""
        return self.scoring if isinstance(self.scoring, Score) else SCORES[self.scoring]

    def stops(self, *, informed: bool) -> tuple[Stop, ...]:
        """Return the criteria, the built-in ones first; ``informed``: there are scores or priors, not all equal."""
        names = _names(self.stopping)
        if names == ("sampler",):  # P-BANSAC has "prosac" instead of "sprt"
            last = "prosac" if self.sampler_row.adaptive and informed else self.verification or "ransac"
            names = tuple(last if name == "sprt" else name for name in self.sampler_row.stopping)
        named = ("ransac",) if names == ("default",) else names
        stops = dict.fromkeys(name if isinstance(name, Stop) else STOPS[name] for name in named)
        built_in = [stop for stop in STOPS.values() if stop in stops]
        return (*built_in, *(stop for stop in stops if stop not in built_in))

    def needs_order(self, *, informed: bool) -> bool:
        """Return whether the sampler or a stopping criterion needs the ranking; ``informed`` as for :meth:`stops`."""
        return self.sampler_row.order or any(stop.order for stop in self.stops(informed=informed))

    @functools.cached_property
    def components(self) -> dict[Any, Any]:
        """The components of runs with these options and any seed, by the problem and whether there is a prior."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for copies and pickles, without the components, which hold compiled functions."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def _check_stopping(self) -> None:
        """Raise a ValueError for unknown criteria, too many, or those that the other options exclude."""
        names = _names(self.stopping)
        for name in () if names in (("default",), ("sampler",)) else names:
            if not isinstance(name, Stop):
                check_name("stopping", name, ("default", "sampler", *STOPS))
        for name in self.sampler_row.stopping:
            check_name(f"stopping of sampler {self.sampler_row.name!r}", name, tuple(STOPS))
        stops = self.stops(informed=False)
        if sum(stop.required_iterations is not None for stop in stops) > MAX_CRITERIA:
            raise ValueError(
                f"stopping must name at most {MAX_CRITERIA} criteria besides 'bansac', got {self.stopping!r}"
            )
        for stop in stops:
            if stop.verification and self.verification != "sprt":
                raise ValueError(
                    f"stopping={stop.name!r} needs verification='sprt': its bound comes from the history of the tests"
                )
            if stop.adaptive and not self.sampler_row.adaptive:
                raise ValueError(
                    f"stopping={stop.name!r} needs sampler='bansac': {self.sampler_row.name!r} keeps no probabilities"
                )

    def with_seed(self, seed: int | None) -> Options:
        """Return a copy with another seed; unlike :meth:`replace`, do not check the other options again."""
        other, seed = object.__new__(Options), None if seed is None else _SEED("seed", seed)
        other.__dict__.update(self.__dict__, components=self.components, seed=seed)
        return other

    def replace(self, **changes: Any) -> Options:
        """Return a copy with changes; an unknown option is a TypeError, a value that is not allowed a ValueError."""
        check_names(changes)
        for name, value in changes.items():
            if isinstance(base := getattr(self, name), Group):  # what a group leaves open stays
                changes[name] = base.check(name, value).over(base)
        return dataclasses.replace(self, **changes)


# Where names are that a caller may look for among the options.
_PLACES = {field.name: f"network=Network({field.name}=...)" for field in dataclasses.fields(Network)} | {
    "agreement": "restarts=Restarts(agreement=...)",
    "restart_iterations": "restarts=Restarts(iterations=...)",
    "neighbourhood_radius": "sampler=Napsac(neighbourhood_radius=...)",
}


def check_names(settings: Iterable[str], others: Sequence[str] = ()) -> None:
    """Raise a TypeError for a setting that is not an option; ``others`` are further arguments of the caller."""
    known = [*Options.__dataclass_fields__]
    for name in settings:
        if name in known:
            continue
        if name in _PLACES:
            raise TypeError(f"{name} is now {_PLACES[name]}")
        similar = difflib.get_close_matches(name, [*known, *others, *_PLACES], 1)
        question = f"did you mean {similar[0]!r}? " if similar else ""
        also = f"; other arguments are {', '.join(others)}" if others else ""
        raise TypeError(f"{question}unknown option {name!r}; the options are {', '.join(known)}{also}")


def _names(value: Any) -> tuple[Any, ...]:
    """Return the names and criteria of the option ``stopping``."""
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split("+"))
    try:
        return tuple(value)
    except TypeError:
        raise ValueError(f"stopping must be names joined by '+', or a list of names or Stops, got {value!r}") from None
