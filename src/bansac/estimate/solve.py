"""One way in and one way out: the public functions make a :class:`Request`, and :func:`solve` makes its ``Result``.

The door is :func:`make_request`. It resolves the options and converts the initial model. :func:`search` converts the
threshold to the unit of the data, in which engine and significance test work. ``finish`` measures the model in the
caller's unit and builds the result, with the verdict of ``bansac.estimate.verdict`` on its inliers.

``_prior_and_quality`` makes the prior inlier probabilities P^0 of P-BANSAC from ``priors``, ``scores`` or neighbours.
``bansac.engine.frame`` converts P^0 to the first odds of the network, and the sampler
``bansac.engine.sampling.bansac`` draws by the odds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bansac.compiled.clock import Stopwatch
from bansac.compiled.jit import kernel
from bansac.engine.frame import Run
from bansac.engine.model_selection import Plausibility
from bansac.engine.options import Options
from bansac.engine.runner import EngineResult, run
from bansac.engine.sampling import SAMPLERS
from bansac.estimate.model_forms import ModelForm, form_of
from bansac.estimate.presets import Resolved, Settings, Threshold, find_preset, resolve_options
from bansac.estimate.result import Result, Rival
from bansac.estimate.verdict import Verdict, find_verdict, plane_motion_verdict
from bansac.evidence.configuration import DETERMINED
from bansac.evidence.neighbours import has_support, neighbour_priors
from bansac.evidence.noise_scale import first_threshold
from bansac.evidence.posterior import inlier_probabilities
from bansac.evidence.rivals import is_rival, significance_over_thresholds
from bansac.evidence.significance import MeasuredModel, is_significant
from bansac.evidence.weights import density_weights, reliability_weights, scale_weights
from bansac.maths.arrays import Bools, Floats
from bansac.maths.validate import as_weights, check_probabilities, scores_and_range
from bansac.problems.problem import Problem

# If a run fails, this number of samples is drawn to find out why, and the message may say one of these.
_FEW_ITERATIONS = 150
_REVERSED = (
    "without scores and priors a model has {inliers} inliers, so these may be reversed: larger values mean better data"
)
_NOISY = "with threshold={threshold:.3g} a model has {inliers} inliers, so the noise may be larger than estimates allow"

# A coarse threshold, in first thresholds: a tenth of the extent of the data.
_COARSE = 20.0

# Models of different noise are compared over thresholds from this number of first thresholds on.
_SMALLEST = 0.05

# If the threshold is estimated, displacements within this number of first thresholds may differ by their noise only.
_NOISE = 2.0

# The points of matches of two images, whose neighbours tell which matches to search.
_TWO_IMAGES = ((0, 1), (2, 3))


@dataclass(frozen=True, eq=False)
class Arguments:
    """The arguments that all public functions have; ``watch`` starts with the call."""

    threshold: Threshold | None
    scores: ArrayLike | None
    priors: ArrayLike | None
    weights: ArrayLike | None
    initial_model: Any
    preset: str | None
    options: Options | None
    settings: Settings
    watch: Stopwatch = field(default_factory=Stopwatch)


def is_default_threshold(threshold: Threshold | None, options: Options | None) -> bool:
    """Return whether no number is given for the threshold, or for the one that an estimate starts from."""
    if isinstance(threshold, str):
        return threshold == "auto"
    return threshold is None and not (isinstance(options, Options) and options.threshold is not None)


@dataclass(frozen=True, eq=False)
class Request:
    """A checked call: what is estimated, from which data, and how.

    A distance of 1 in ``data`` (channels x N) is ``unit`` in the caller's unit, that of thresholds and residuals.
    ``initial_model`` is flat. If ``two_views``, the data are matches of two views, whose configuration is determined.
    ``plausibility`` is a factor of the score of optimised models. ``conclude`` refines the solution of the engine or
    gives it its public form. ``hint`` is appended to the message. ``as_paper`` is that of the preset.
    """

    problem: Problem
    data: Floats
    resolved: Resolved
    form: ModelForm
    scores: ArrayLike | None
    priors: ArrayLike | None
    weights: ArrayLike | None
    initial_model: Floats | None
    watch: Stopwatch
    unit: float = 1.0
    two_views: bool = False
    plausibility: Plausibility | None = None
    conclude: Callable[[Solution], Solution] | None = None
    hint: str = ""
    as_paper: bool = False

    @property
    def options(self) -> Options:
        """The complete options."""
        return self.resolved.options

    @functools.cached_property
    def neighbour_priors(self) -> Floats | None:
        """The priors of matches of two images from their neighbours; None if the search does not use them."""
        options = self.options
        uses = options.neighbours and options.sampler_row.prior and self.priors is None
        return neighbour_priors(self.data) if uses and self.problem.points == _TWO_IMAGES else None


def make_request(
    problem: Problem,
    data: Floats,
    arguments: Arguments,
    *,
    form: ModelForm | None = None,
    default_threshold: float | None = None,
    epipolar_choice: bool = False,
    **more: Any,
) -> Request:
    """Return the request of a public function for checked data; ``more`` are fields of :class:`Request`."""
    a = arguments
    resolved = resolve_options(
        problem, a.options, a.preset, a.threshold, a.settings,
        default_threshold=default_threshold, epipolar_choice=epipolar_choice,
    )  # fmt: skip
    form = form_of(problem) if form is None else form
    initial = None if a.initial_model is None else form.from_public(a.initial_model)
    more["as_paper"] = find_preset(a.preset).as_paper
    return Request(problem, data, resolved, form, a.scores, a.priors, a.weights, initial, a.watch, **more)


@dataclass(frozen=True, eq=False)
class Solution:
    """The model of a run and what is measured of it, in the caller's unit.

    ``model`` is flat, None if no model was found. ``public`` is its public form, by default that of the request.
    ``first_threshold`` is None if the threshold was given. ``codimension`` is the number of components of the errors
    with the lengths ``residuals``. If ``is_of_plane``, the model is the motion of the plane of inliers.
    ``undetermined`` is a remark on focal lengths that the data do not determine.
    """

    request: Request
    outcome: EngineResult
    threshold: float
    first_threshold: float | None
    model: Floats | None
    residuals: Floats
    inliers: Bools
    count: int
    codimension: int
    public: Any = None
    rival: Rival | None = None
    is_of_plane: bool = False
    undetermined: str = ""

    def moved(self, model: Floats, residuals: Floats | None = None, **changes: Any) -> Self:
        """Return the solution with another flat model, measured again unless its residuals are given."""
        request = self.request
        if residuals is None:
            residuals, inliers, count = measure(request.problem, request.data, model, self.threshold, request.unit)
        else:
            inliers = residuals <= self.threshold
            count = int(np.count_nonzero(inliers))
        return replace(self, model=model, residuals=residuals, inliers=inliers, count=count, **changes)

    @property
    def measured(self) -> MeasuredModel | None:
        """The model as it is measured, in the unit of the data; None if there is none."""
        if self.model is None:
            return None
        unit = self.request.unit
        noise = _noise_limit(self.first_threshold, unit)
        return MeasuredModel(self.model, self.threshold / unit, self.residuals / unit, self.inliers, self.count, noise)

    @functools.cached_property
    def verdict(self) -> Verdict:
        """The verdict on the inliers of the model."""
        request, measured = self.request, self.measured
        if self.is_of_plane and measured is not None:
            return plane_motion_verdict(request.problem, request.data, measured, request.unit)
        two_views, unit = request.two_views, request.unit
        return find_verdict(request.problem, request.data, measured, self.outcome, two_views=two_views, unit=unit)


def solve(request: Request) -> Result:
    """Return the result of a request.

    If a run fails, short ones show whether scores or priors mislead, and whether a larger threshold has a success. With
    ``preset="paper"`` there are none.
    """
    result, hint = solve_once(request), f"; {request.hint}" if request.hint else ""
    if not (result.success or request.as_paper) and request.options.max_seconds is None:
        for attempt, text in _short_attempts(request):
            other = solve_once(replace(attempt, initial_model=None, conclude=None))
            if other.success:
                hint = f"; {text.format(inliers=other.num_inliers, threshold=other.threshold)}{hint}"
            result = replace(result, seconds=other.seconds, loading_seconds=other.loading_seconds)
    return replace(result, message=result.message + hint) if hint else result


def _short_attempts(request: Request) -> Iterator[tuple[Request, str]]:
    """Yield short requests whose success shows why a request fails, with what the message then says."""
    (options, is_estimated), n = request.resolved, request.data.shape[1]

    def shorten(**changes: Any) -> Options:
        few = min(_FEW_ITERATIONS, options.max_iterations or _FEW_ITERATIONS)
        return options.replace(max_iterations=few, min_iterations=0, trace=False, **changes)

    informed = (request.scores is not None or request.priors is not None) and options.sampler_row.prior
    if informed and not options.needs_order(informed=False):
        resolved = request.resolved._replace(options=shorten())
        yield replace(request, resolved=resolved, scores=None, priors=None), _REVERSED
    if is_estimated and options.threshold is None and n > request.problem.sample_size:
        threshold = _COARSE * first_threshold(request.problem, request.data) * request.unit
        yield replace(request, resolved=Resolved(shorten(threshold=threshold), is_estimated=False)), _NOISY


def solve_once(request: Request) -> Result:
    """Run the engine once and make its result."""
    with np.errstate(all="ignore"):  # near the limits of floats; a model that is not finite is none
        solution = search(request)
        if request.conclude is not None and solution.model is not None:
            solution = request.conclude(solution)
        return finish(solution)


def finish(solution: Solution) -> Result:
    """Return the result of a solution: its model in public form, with the verdict and the posterior of its inliers."""
    request, outcome, verdict, n = solution.request, solution.outcome, solution.verdict, solution.residuals.size
    start, public, configuration, remark = "", solution.public, verdict.configuration, verdict.text
    if solution.model is not None:
        name = "relative pose" if solution.is_of_plane and public is not None else request.problem.name
        start = f"{name} with {solution.count} of {n} inliers"
        public = request.form.to_public(solution.model) if public is None else public
        if not verdict.success and not all(np.isfinite(part).all() for part in public):  # only its flat form is finite
            public, solution = None, replace(solution, residuals=np.full(n, np.inf), inliers=np.zeros(n, np.bool_))
    if solution.undetermined and configuration in (DETERMINED if request.two_views else (None,)):
        configuration, remark = "undetermined_focal", f"{remark}; {solution.undetermined}"
    rival = solution.rival if verdict.success else None
    if rival is not None:
        configuration = "ambiguous"
        inliers = np.count_nonzero(rival.inliers)
        remark += f"; a second {request.problem.name} has {inliers} inliers, threshold {rival.threshold:.3g}"
    posterior: Any = functools.partial(
        inlier_probabilities, solution.residuals, solution.threshold, solution.codimension
    )
    assert request.options.seed is not None
    seconds, loading_seconds = request.watch.read()
    return Result(
        model=public,
        inliers=solution.inliers,
        residuals=solution.residuals,
        probabilities=posterior if verdict.success else None,
        beliefs=outcome.beliefs,
        score=outcome.score,
        threshold=solution.threshold,
        iterations=outcome.iterations,
        models_tested=outcome.models_tested,
        restarts=outcome.restarts,
        stop_reason=outcome.stop_reason,
        success=verdict.success,
        message=f"{start}{remark}",
        seed=request.options.seed,
        seconds=seconds,
        loading_seconds=loading_seconds,
        trace=outcome.trace,
        configuration=configuration,
        rival=rival,
        first_threshold=solution.first_threshold,
    )


def _noise_limit(first_threshold: float | None, unit: float) -> float:
    """Return the largest threshold, in the unit of the data, for which displacements may differ by their noise only."""
    return np.inf if first_threshold is None else _NOISE * first_threshold / unit


def search(request: Request) -> Solution:
    """Run the engine, with all lengths in the unit of the data, and measure its model."""
    problem, data, (options, is_estimated), unit = request.problem, request.data, request.resolved, request.unit
    n = data.shape[1]
    threshold = options.threshold
    if threshold is None:
        threshold = first_threshold(problem, data) * unit
    first = threshold if is_estimated else None
    prior, quality = _prior_and_quality(request)
    weights = _score_weights(request, quality)
    test = functools.partial(is_significant, problem, noise=_noise_limit(first, unit))
    if n < problem.sample_size:
        start = np.full(n, 0.5) if prior is None else prior.copy()
        beliefs = start if options.sampler_row.prior else None
        outcome = EngineResult(None, 0.0, beliefs, 0, 0, "no_data", None, 0, threshold=None, scale=1.0, others=[])
    else:
        outcome = run(
            Run(
                problem,
                data,
                options,
                threshold=threshold / unit,
                radius=None if options.neighborhood_radius is None else options.neighborhood_radius / unit,
                prior=prior,
                quality=quality,
                weights=weights,
                plausibility=request.plausibility,
                significance=functools.partial(
                    significance_over_thresholds, problem, data, _SMALLEST * threshold / unit
                ),
                is_significant=test if is_estimated or request.initial_model is not None else None,
                is_estimated=is_estimated,
                initial_model=request.initial_model,
                supported=lambda: has_support(request.neighbour_priors),
            )
        )
    if outcome.threshold is not None:
        threshold = outcome.threshold * (unit / outcome.scale)
    measured = measure(problem, data, outcome.model, threshold, unit)
    solution = Solution(request, outcome, threshold, first, outcome.model, *measured, problem.codimension)
    return replace(solution, rival=_find_rival(solution)) if outcome.others else solution


def _find_rival(solution: Solution) -> Rival | None:
    """Return the best of the other hypotheses that is a rival; None if there is none."""
    request, outcome, best = solution.request, solution.outcome, solution.measured
    if best is None:
        return None
    for model, value, share in outcome.others:
        threshold = value / outcome.scale
        if is_rival(request.problem, request.data, best, model, threshold, share):
            threshold *= request.unit
            inliers = measure(request.problem, request.data, model, threshold, request.unit)[1]
            return Rival(request.form.to_public(model), inliers, threshold)
    return None


def measure(
    problem: Problem, data: Floats, model: Floats | None, threshold: float, unit: float = 1.0
) -> tuple[Floats, Bools, int]:
    """Return the residuals of a flat model times ``unit``, inf where undefined, the inliers, and their number."""
    n = data.shape[1]
    if model is None:
        return np.full(n, np.inf), np.zeros(n, np.bool_), 0
    residuals, inliers = np.empty(n), np.empty(n, np.bool_)
    return residuals, inliers, _write_distances(problem.float64, data, model, threshold, unit, residuals, inliers)


@kernel
def _write_distances(
    float64: Any, data: Floats, model: Floats, threshold: float, unit: float, residuals: Floats, inliers: Bools
) -> int:
    """Write the residuals times ``unit`` (inf for NaN) and the mask of the inliers; return the number of inliers."""
    float64.residuals(data, model, 0, residuals.size, residuals)
    count = 0
    for n in range(residuals.size):
        root = np.sqrt(residuals[n]) * unit
        residuals[n] = root if root >= 0.0 else np.inf
        inliers[n] = residuals[n] <= threshold
        count += 1 if inliers[n] else 0
    return count


def _prior_and_quality(request: Request) -> tuple[Floats | None, Floats | None]:
    """Return the prior inlier probabilities P^0, and the quality that orders the points; None if not given.

    For a sampler that starts from a prior, ``scores`` are the prior if no ``priors`` are given. The quality is
    ``scores``, or else ``priors`` if they are not all equal. Without both, the neighbours give the prior and the
    quality for an epipolar geometry, for which they gain.
    """
    scores, priors, options, n = request.scores, request.priors, request.options, request.data.shape[1]
    sampler = options.sampler_row
    if priors is not None and not sampler.prior:
        names = ", ".join(row.name for row in SAMPLERS.values() if row.prior)
        raise ValueError(f"priors need one of the samplers {names}; the sampler is {sampler.name!r}")
    if scores is not None and not options.uses_scores(request.problem):
        raise ValueError(
            f"scores have no effect with sampler={sampler.name!r} without the stop 'prosac' or weighting='scores'"
        )
    prior = quality = None
    if scores is not None:
        quality, lowest, highest = scores_and_range("scores", scores, n)
        if sampler.prior and priors is None:
            advice = "; bring them there, for example by 1 - SNN ratio, or give priors"
            check_probabilities("scores", lowest, highest, advice)
            prior = quality if lowest < highest else None  # equal scores give no information
    if priors is not None:
        prior, lowest, highest = scores_and_range("priors", priors, n)
        check_probabilities("priors", lowest, highest)
        quality = prior if quality is None and lowest < highest else quality
    elif scores is None and request.problem.codimension == 1:
        prior = request.neighbour_priors
        # Weights are squares of the quality. Neighbours tell less than scores, so the weight is the root of the prior.
        quality = None if prior is None else prior**0.25
    if quality is None and options.needs_order(informed=False):
        what = f"sampler={sampler.name!r}" if sampler.order else f"stopping={options.stopping!r}"
        raise ValueError(f"{what} needs scores, which order the data")
    return prior, quality


def _score_weights(request: Request, quality: Floats | None) -> Floats | None:
    """Return the weights of the points in the score: the caller's, or those of ``weighting``; None for no weights."""
    data, weighting = request.data, request.options.weights(request.problem)
    if request.weights is not None:
        factors = [as_weights("weights", request.weights, data.shape[1])]
    else:
        density = density_weights(data[:4]) if "density" in weighting else None  # without verticals
        reliability = reliability_weights(quality) if "scores" in weighting and quality is not None else None
        factors = [factor for factor in (density, reliability) if factor is not None]
    if not factors:
        return None
    product = factors[0].copy() if len(factors) == 1 else factors[0] * factors[1]
    scale_weights(product)
    return product
