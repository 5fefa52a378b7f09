"""What all estimators share: priors and order of the data, the run, and its result."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.engine.kernels import find_function
from bansac.engine.options import Options
from bansac.engine.runner import Outcome, run
from bansac.engine.sampling import SAMPLERS
from bansac.estimate.verdict import judge
from bansac.problems.problem import Problem
from bansac.result import Result
from bansac.validate import as_probabilities, as_scores

__all__ = ["solve"]


def solve(
    problem: Problem,
    data: NDArray[np.float64],
    options: Options,
    scores: ArrayLike | None,
    priors: ArrayLike | None,
    started: float,
    unit: float = 1.0,
) -> Result:
    """Run the loop on checked data (channels x N); a residual of the problem times ``unit`` is the caller's."""
    n = data.shape[1]
    threshold = options.threshold
    assert threshold is not None
    prior, quality = _prior_and_quality(scores, priors, n, options)
    _check_abilities(problem, options)
    if n < problem.sample_size:
        outcome = _no_data(prior, n, options)
    else:
        outcome = run(problem, data, options, unit=unit, prior=prior, quality=quality)
    residuals = np.full(n, np.inf)
    if outcome.model is not None:
        problem.exact_residuals(data, outcome.model, 0, n, residuals)
        residuals = np.sqrt(residuals) * unit
        residuals[np.isnan(residuals)] = np.inf
    inliers = residuals <= threshold
    success, message = judge(problem, data, threshold, unit, outcome, residuals)
    return Result(
        model=None if outcome.model is None else outcome.model.reshape(problem.model_shape),
        inliers=inliers,
        residuals=residuals,
        probabilities=outcome.probabilities,
        score=outcome.score,
        threshold=threshold,
        iterations=outcome.iterations,
        models_tested=outcome.models_tested,
        stop_reason=outcome.stop_reason,
        success=success,
        message=message,
        seed=int(options.seed),
        seconds=time.perf_counter() - started,
        trace=outcome.trace,
    )


def _prior_and_quality(
    scores: ArrayLike | None, priors: ArrayLike | None, n: int, options: Options
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return the prior inlier probabilities P^0, and the quality by which the data are ordered; None where unknown."""
    sampler = options.sampler_row
    ordered_stops = [stop.name for stop in options.stops(informed=False) if stop.order]
    needs_order = sampler.order or bool(ordered_stops)
    if priors is not None and not sampler.prior:
        names = ", ".join(row.name for row in SAMPLERS.values() if row.prior)
        raise ValueError(f"priors need one of the samplers {names}; the sampler is {sampler.name!r}")
    if scores is not None and not sampler.prior and not needs_order:
        raise ValueError(f"scores are of no use to sampler={sampler.name!r} without the stop 'prosac'")
    prior = None if priors is None else as_probabilities("priors", priors, n, "")
    quality = None if scores is None else as_scores("scores", scores, n)
    if sampler.prior and prior is None and scores is not None:
        advice = "; bring them there, for example by 1 - SNN ratio, or give priors"
        prior = as_probabilities("scores", scores, n, advice)
        if n > 0 and prior.min() == prior.max():
            prior = None  # scores that are all equal say nothing
    if quality is None and prior is not None and n > 0 and prior.min() < prior.max():
        quality = prior
    if needs_order and quality is None:
        what = f"sampler={sampler.name!r}" if sampler.order else f"stopping={options.stopping!r}"
        raise ValueError(f"{what} needs scores, which order the data")
    return prior, quality


def _check_abilities(problem: Problem, options: Options) -> None:
    """Refuse what the problem has no function for."""
    if options.degeneracy == "degensac" and problem.is_degenerate is None:
        raise ValueError(f"degeneracy='degensac' is for the fundamental matrix, not for a {problem.name}")
    if options.local_optimization is not None and problem.fit is None:
        raise ValueError(f"local_optimization needs a non-minimal solver, and problem {problem.name!r} has no fit")
    refiner = options.refiner_row
    if refiner is not None and not find_function(refiner, "supports", _supports_all)(problem):
        raise ValueError(f"refinement={refiner.name!r} is not for problem {problem.name!r}")


def _supports_all(problem: Problem) -> bool:
    return True


def _no_data(prior: NDArray[np.float64] | None, n: int, options: Options) -> Outcome:
    start = np.full(n, 0.5) if prior is None else prior.copy()
    probabilities = start if options.sampler_row.prior else None
    return Outcome(None, 0.0, probabilities, 0, 0, "no_data", None)
