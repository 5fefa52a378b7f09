"""One record out: :func:`solve` runs the engine on a request, judges the model, and makes the ``Result``.

Lengths are converted where the frame of the run is made, and in :mod:`.solution`: a request and a result are in the
caller's unit, engine and evidence in that of the data.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bansac.compiled.clock import Stopwatch
from bansac.engine.frame import Frame
from bansac.engine.options import Options
from bansac.engine.search import Search
from bansac.estimate.model_confidence import is_covered, model_confidence
from bansac.estimate.request import Request
from bansac.estimate.result import Result, Rival
from bansac.estimate.sample import expand, is_enough, refine_on_all, samples
from bansac.estimate.solution import Solution, measure
from bansac.evidence.configuration import DETERMINED
from bansac.evidence.neighbours import has_support
from bansac.evidence.noise_scale import first_threshold
from bansac.evidence.posterior import inlier_probabilities
from bansac.evidence.rivals import is_rival

# If a run fails, this number of samples is drawn to find out why, and the message may say one of these.
_FEW_ITERATIONS = 150
_REVERSED = (
    "without scores and priors a model has {inliers} inliers, so these may be reversed: larger values mean better data"
)
_UNITS = "estimate_similarity_3d finds a model with {inliers} inliers, so the units may differ"
_NOISY = "with threshold={threshold:.3g} a model has {inliers} inliers, so the noise may be larger than estimates allow"

# A coarse threshold, in first thresholds from the extent of the data: a tenth of it for problems without a default.
_COARSE = 20.0

# If the threshold is estimated, displacements within this number of first thresholds may differ by their noise only.
_NOISE = 2.0

# Fields of a solution that the result has, too.
_OF_SEARCH = "iterations", "models_tested", "restarts", "stop_reason", "beliefs", "trace"
_OF_RESULT = *_OF_SEARCH, "inliers", "residuals", "score", "threshold"

# Smallest limit of the time of a search.
_LEAST_SECONDS = 1e-3


_Conclude = Callable[[Solution], Solution]  # what follows the engine


def solve(request: Request, conclude: _Conclude | None = None, *, explains: bool = True) -> Result:
    """Return the result of a request.

    ``conclude`` refines the solution of the engine or gives it its public form. If a run fails and ``explains``, short
    runs show whether scores or priors mislead, the units differ, and a larger threshold has a success. With
    ``preset="paper"`` there are none.
    """
    with np.errstate(all="ignore"):  # near the limits of floats; a model that is not finite is none
        solution = find_solution(request, conclude)
        hint = f"; {request.hint}" if request.hint else ""
        if explains and not (solution.verdict.success or request.as_paper) and request.options.max_seconds is None:
            for attempt, text in _short_attempts(request):
                other = solve(replace(attempt, initial_model=None, hint=""), explains=False)
                if other.success:
                    hint = f"; {text.format(inliers=other.num_inliers, threshold=other.threshold)}{hint}"
        return finish(solution, hint)


def find_solution(request: Request, conclude: _Conclude | None = None) -> Solution:
    """Return the solution of a sample of many data, refined and measured on all, or that of the search of all data.

    The counts are those of all searches.
    """
    counts: dict[str, Any] = dict.fromkeys(("iterations", "models_tested", "restarts"), 0)
    limit = request.options.max_seconds

    def run(part: Request) -> Solution:
        if limit is not None:
            left = max(limit - request.watch.read()[0], _LEAST_SECONDS)
            part = replace(part, options=part.options.replace(max_seconds=left))
        found = search(part)
        counts.update({name: number + getattr(found, name) for name, number in counts.items()})
        return replace(found, **counts)

    for part, rows in samples(request):
        found = run(part)
        is_over = limit is not None and request.watch.read()[0] >= limit
        if found.model is None or not (is_over or is_enough(found)):
            continue
        found = refine_on_all(found, request)
        concluded = found if conclude is None else conclude(found)
        if concluded.model is found.model:
            return expand(concluded, request, rows)
        break
    found = run(request)
    return found if conclude is None or found.model is None else conclude(found)


def _short_attempts(request: Request) -> Iterator[tuple[Request, str]]:
    """Yield short requests whose success shows why a request fails, with what the message then says."""
    from bansac.problems.motion_3d import RIGID_3D, SIMILARITY_3D  # here, because every estimator imports this module

    options, n = request.options, request.data.shape[1]

    def shorten(**changes: Any) -> Options:
        few = min(_FEW_ITERATIONS, options.max_iterations or _FEW_ITERATIONS)
        return options.replace(max_iterations=few, min_iterations=0, trace=False, **changes)

    informed = (request.scores is not None or request.priors is not None) and options.sampler_row.prior
    if informed and not options.needs_order(informed=False):
        yield replace(request, options=shorten(), scores=None, priors=None), _REVERSED
    if request.problem is RIGID_3D:
        yield replace(request, options=shorten(), problem=SIMILARITY_3D), _UNITS
    if request.is_estimated and options.threshold is None and n > request.problem.sample_size:
        threshold = _COARSE * first_threshold(request.problem, request.data) * request.unit
        yield replace(request, options=shorten(threshold=threshold), is_estimated=False), _NOISY


def search(request: Request) -> Solution:
    """Run the engine and measure its model."""
    problem, data, options, unit = request.problem, request.data, request.options, request.unit
    n, (prior, quality) = data.shape[1], request.prior_and_quality()
    weights = request.score_weights(quality)
    noise = _NOISE * request.threshold if request.is_estimated else np.inf
    if n < problem.sample_size:
        nothing = measure(problem, data, None, request.threshold)
        start = np.full(n, 0.5) if prior is None else prior.copy()
        beliefs = start if options.sampler_row.prior else None
        return Solution(
            request, unit * request.threshold, None, *nothing, problem.traits.codimension, noise, beliefs=beliefs
        )
    radius = options.sampler_row.neighbourhood_radius
    watch, seconds = Stopwatch(), options.max_seconds  # kernels that compile take no time of the run
    frame = Frame(
        problem,
        data,
        options,
        request.threshold,
        radius=None if radius == "default" else radius / unit,
        prior=prior,
        quality=quality,
        weights=weights,
        plausibility=request.plausibility,
        is_estimated=request.is_estimated,
        noise=noise,
        find_supported=lambda: has_support(request.neighbour_priors),
    )
    run = Search(frame, lambda: seconds is not None and watch.read()[0] > seconds)
    stop_reason = run.run(request.initial_model)
    history, best = run.history, run.history.best
    model = None if best is None else frame.to_data(best.model)
    if best is None or model is None or not np.isfinite(model).all():  # beyond the range of floats
        best = model = None
    threshold = unit * (request.threshold if best is None else best.threshold)
    solution = Solution(
        request,
        threshold,
        model,
        *measure(problem, data, model, threshold, unit),
        problem.traits.codimension,
        noise,
        score=0.0 if best is None else best.score,
        beliefs=run.beliefs(),
        iterations=history.iterations,
        models_tested=history.models_tested,
        restarts=history.count,
        stop_reason=stop_reason,
        trace=run.trace(),
    )
    if len(history.ranked) < 2 or best is None:
        return solution
    alternative = max(other.score for other in history.ranked[1:]) / max(best.score, 1e-12)
    return replace(solution, rival=_find_rival(solution, run), alternative=alternative)


def refine(solution: Solution, **changes: Any) -> Solution:
    """Refine the model of a solution and its threshold, as an initial model with one iteration after it."""
    request = solution.request
    options = request.options.replace(max_iterations=1, min_iterations=0, restarts=1, trace=False, **changes)
    refined = search(replace(request, options=options, initial_model=solution.model))
    kept = {name: getattr(solution, name) for name in (*_OF_SEARCH, "alternative")}
    return replace(refined, request=request, rival=None, **kept)


def _find_rival(solution: Solution, run: Search) -> Rival | None:
    """Return the best of the other hypotheses that is a rival; None if there is none."""
    request, measured = solution.request, solution.measured
    if measured is None:
        return None
    for other in run.history.ranked[1:]:
        model = run.frame.to_data(other.model)
        if is_rival(request.problem, request.data, measured, model, other.threshold):
            threshold = request.unit * other.threshold
            inliers = measure(request.problem, request.data, model, threshold, request.unit)[1]
            return Rival(request.form.to_public(model), inliers, threshold)
    return None


def finish(solution: Solution, hint: str = "") -> Result:
    """Return the result of a solution: its model in public form, with the verdict and the posterior of its inliers."""
    request, (success, configuration, text), n = solution.request, solution.verdict, solution.residuals.size
    start, public, seed = "", solution.public, request.options.seed
    if solution.model is not None:
        name = "relative pose" if solution.is_of_plane and public is not None else request.problem.name
        start = f"{name} with {solution.count} of {n} inliers"
        public = request.form.to_public(solution.model) if public is None else public
        if not success and not all(np.isfinite(part).all() for part in public):  # only its flat form is finite
            public, solution = None, replace(solution, residuals=np.full(n, np.inf), inliers=np.zeros(n, np.bool_))
    if solution.undetermined and configuration in (DETERMINED if request.two_views else (None,)):
        configuration, text = "undetermined_focal", f"{text}; {solution.undetermined}"
    rival = solution.rival if success else None
    if rival is not None:
        configuration = "ambiguous"
        inliers = np.count_nonzero(rival.inliers)
        text += f"; a second {request.problem.name} has {inliers} inliers, threshold {rival.threshold:.3g}"
    posterior: Any = functools.partial(
        inlier_probabilities, solution.residuals, solution.threshold, solution.codimension
    )
    confidence: Any = functools.partial(model_confidence, solution, success, configuration)
    assert seed is not None
    seconds, loading_seconds = request.watch.read()
    return Result(
        model=public,
        probabilities=posterior if success else None,
        success=success,
        message=f"{start}{text}{hint}",
        seed=seed,
        seconds=seconds,
        loading_seconds=loading_seconds,
        configuration=configuration,
        rival=rival,
        first_threshold=request.unit * request.threshold if request.is_estimated else None,
        model_confidence=confidence if public is not None and is_covered(request) else None,
        **{name: getattr(solution, name) for name in _OF_RESULT},
    )
