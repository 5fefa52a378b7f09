"""The part that all estimators share: priors, weights and order of the points, the run, and its result.

``_prior_and_quality`` makes the prior inlier probabilities P^0 of P-BANSAC from ``priors`` or ``scores``.
``bansac.engine.runner`` converts P^0 to the first odds of the network, and the sampler
``bansac.engine.sampling.bansac`` draws by the odds. ``bansac.significance.verdict`` decides ``success``.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.compiled.clock import Stopwatch
from bansac.compiled.jit import kernel
from bansac.engine.model_selection import Plausibility
from bansac.engine.noise_scale import first_threshold
from bansac.engine.options import Options
from bansac.engine.posterior import inlier_probabilities
from bansac.engine.runner import EngineResult, run
from bansac.engine.sampling import SAMPLERS
from bansac.engine.scoring.weights import density_weights, reliability_weights, scale_weights
from bansac.estimate.presets import Resolved
from bansac.maths.arrays import Bools, Floats
from bansac.maths.validate import as_weights, check_probabilities, scores_and_range
from bansac.problems.problem import Problem
from bansac.result import Result
from bansac.significance.verdict import find_verdict, is_significant

__all__ = ["distances", "solve", "solve_once"]

# If a run with scores or priors fails, this number of samples is drawn without them. A success shows that they mislead.
_WITHOUT_SCORES = 150

# If the threshold is estimated, displacements within this number of first thresholds may differ by their noise only.
_NOISE = 2.0


def solve(
    problem: Problem,
    data: NDArray[np.float64],
    resolved: Resolved,
    scores: ArrayLike | None,
    priors: ArrayLike | None,
    weights: ArrayLike | None,
    watch: Stopwatch,
    unit: float = 1.0,
    *,
    two_views: bool = False,
    plausibility: Plausibility | None = None,
    initial_model: Floats | None = None,
) -> Result:
    """Estimate the model of checked data (channels x N).

    ``resolved`` comes from ``resolve_options``, which checks that the problem supports the options. The residual in the
    caller's unit is the residual of the problem times ``unit``. If ``two_views``, the data are matches of two views,
    and their configuration is determined. ``initial_model`` is flat.
    """
    options = resolved.options
    result = solve_once(
        problem, data, resolved, scores, priors, weights, watch, unit, two_views, plausibility, initial_model
    )
    informed = (scores is not None or priors is not None) and options.sampler_row.prior
    if result.success or not informed or options.max_seconds is not None or options.needs_order(informed=False):
        return result
    few = min(_WITHOUT_SCORES, options.max_iterations or _WITHOUT_SCORES)
    short = options.replace(max_iterations=few, min_iterations=0, trace=False)
    blind = solve_once(
        problem, data, resolved._replace(options=short), None, None, weights, watch, unit, two_views, plausibility
    )
    hint = (
        f"; without scores and priors a model has {blind.num_inliers} inliers, "
        "so these may be reversed: larger values mean better data"
    )
    message = result.message + hint if blind.success else result.message
    return dataclasses.replace(result, message=message, seconds=blind.seconds, loading_seconds=blind.loading_seconds)


def solve_once(
    problem: Problem,
    data: NDArray[np.float64],
    resolved: Resolved,
    scores: ArrayLike | None,
    priors: ArrayLike | None,
    weights: ArrayLike | None,
    watch: Stopwatch,
    unit: float,
    two_views: bool,
    plausibility: Plausibility | None,
    initial_model: Floats | None = None,
) -> Result:
    """Run the engine once and make its result."""
    n = data.shape[1]
    options, auto = resolved
    threshold = options.threshold
    if threshold is None:
        threshold = first_threshold(problem, data) * unit if n > 0 else np.nan
    assert options.seed is not None
    noise = _NOISE * threshold if auto else np.inf
    prior, quality = _prior_and_quality(problem, scores, priors, n, options)
    score_weights = _score_weights(data, weights, quality, options.weights(problem))
    test = functools.partial(is_significant, problem, data, unit, noise)
    with np.errstate(all="ignore"):  # near the limits of floats; a model that is not finite is none
        if n < problem.sample_size:
            outcome = _no_data(prior, n, options, threshold)
        else:
            outcome = run(
                problem,
                data,
                options,
                threshold=threshold,
                unit=unit,
                prior=prior,
                quality=quality,
                weights=score_weights,
                plausibility=plausibility,
                is_significant=test if auto or initial_model is not None else None,
                is_estimated=auto,
                initial_model=initial_model,
            )
        threshold = outcome.threshold
        residuals, inliers, count = _measure(problem, data, outcome.model, threshold, unit)
        verdict = find_verdict(
            problem, data, threshold, unit, outcome, residuals, inliers, count, two_views=two_views, noise=noise
        )
    posterior: Any = functools.partial(inlier_probabilities, residuals, threshold, problem.codimension)
    seconds, loading_seconds = watch.read()
    return Result(
        model=None if outcome.model is None else outcome.model.reshape(problem.model_shape),
        inliers=inliers,
        residuals=residuals,
        probabilities=posterior if verdict.success else None,
        beliefs=outcome.beliefs,
        score=outcome.score,
        threshold=threshold,
        iterations=outcome.iterations,
        models_tested=outcome.models_tested,
        restarts=outcome.restarts,
        stop_reason=outcome.stop_reason,
        success=verdict.success,
        message=verdict.message,
        seed=options.seed,
        seconds=seconds,
        loading_seconds=loading_seconds,
        trace=outcome.trace,
        configuration=verdict.configuration,
    )


def distances(
    problem: Problem, data: NDArray[np.float64], model: NDArray[np.float64], unit: float
) -> NDArray[np.float64]:
    """Return the residuals of the data (N) in the caller's unit; inf where a residual is undefined."""
    return _measure(problem, data, model, 0.0, unit)[0]


def _measure(
    problem: Problem, data: NDArray[np.float64], model: NDArray[np.float64] | None, threshold: float, unit: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_], int]:
    """Return the residuals in the caller's unit (inf where undefined), the mask of the inliers, and their number."""
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


def _prior_and_quality(
    problem: Problem, scores: ArrayLike | None, priors: ArrayLike | None, n: int, options: Options
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return the prior inlier probabilities P^0, and the quality that orders the points; None if not given.

    For a sampler that starts from a prior, ``scores`` are the prior if no ``priors`` are given. The quality is
    ``scores``, or else ``priors`` if they are not all equal.
    """
    sampler = options.sampler_row
    if priors is not None and not sampler.prior:
        names = ", ".join(row.name for row in SAMPLERS.values() if row.prior)
        raise ValueError(f"priors need one of the samplers {names}; the sampler is {sampler.name!r}")
    if scores is not None and not options.uses_scores(problem):
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
    if quality is None and options.needs_order(informed=False):
        what = f"sampler={sampler.name!r}" if sampler.order else f"stopping={options.stopping!r}"
        raise ValueError(f"{what} needs scores, which order the data")
    return prior, quality


def _score_weights(
    data: NDArray[np.float64],
    weights: ArrayLike | None,
    quality: NDArray[np.float64] | None,
    weighting: tuple[str, ...],
) -> NDArray[np.float64] | None:
    """Return the weights of the points in the score: the caller's, or those of ``weighting``; None for no weights."""
    if weights is not None:
        factors = [as_weights("weights", weights, data.shape[1])]
    else:
        density = density_weights(data[:4]) if "density" in weighting else None  # without verticals
        reliability = reliability_weights(quality) if "scores" in weighting and quality is not None else None
        factors = [factor for factor in (density, reliability) if factor is not None]
    if not factors:
        return None
    found = factors[0].copy() if len(factors) == 1 else factors[0] * factors[1]
    scale_weights(found)
    return found


def _no_data(prior: NDArray[np.float64] | None, n: int, options: Options, threshold: float) -> EngineResult:
    start = np.full(n, 0.5) if prior is None else prior.copy()
    beliefs = start if options.sampler_row.prior else None
    return EngineResult(None, 0.0, beliefs, 0, 0, "no_data", None, restarts=0, threshold=threshold)
