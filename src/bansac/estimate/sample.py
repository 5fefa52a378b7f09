"""The search of many data: it looks at a random sample, and its model is refined and measured on all data.

What a search learns depends on the number of data that it looks at, and hardly on how many there are. The accuracy of
a model depends on all its inliers. So restarts, threshold, neighbours, verdict and configuration are those of a sample,
and one refinement (the last stage of :mod:`bansac.engine.refinement.lm`) uses all data near the model. If a sample has
no significant model, or few inliers, the next one is larger.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bansac.engine.refinement.levenberg_marquardt import make_work, select_manifold
from bansac.engine.refinement.lm import biweight_scale, minimize_biweight
from bansac.estimate.request import Request
from bansac.estimate.solution import Solution, measure
from bansac.maths.arrays import Floats, Ints
from bansac.maths.validate import as_weights, scores_and_range

# Number of data of the first sample; the next one is larger by a factor. The sample has at most half of the data.
_SIZE, _GROWTH = 5000, 8

# Least inlier ratio of a sample. The model of fewer inliers may be too far from that of all data for a refinement.
_LEAST_RATIO = 0.2

# Largest number of Gauss-Newton steps on all data, and the least gain of another one, in mean squared errors. Few steps
# are enough unless outliers near the model are as many as its inliers.
_STEPS, _LEAST_GAIN = 15, 0.05

# Largest share of the inliers of a sample that the refinement loses.
_LOST = 0.05


def samples(request: Request) -> Iterator[tuple[Request, Ints]]:
    """Yield the requests of larger and larger samples, with the indices of their data; none if all data are needed.

    A trace and the method of the paper need all data. Another refinement than that of all data may be chosen.
    """
    problem, options, n = request.problem, request.options, request.data.shape[1]
    needs_all = options.trace or request.as_paper or request.needs_all
    if n < 2 * _SIZE or needs_all or options.refiner(problem) != "lm":
        return
    columns = dict[str, Floats]()
    if request.scores is not None or request.priors is not None:
        request.prior_and_quality()  # it checks them
    for name in ("scores", "priors"):
        if getattr(request, name) is not None:
            columns[name] = scores_and_range(name, getattr(request, name), n)[0]
    if request.weights is not None:
        columns["weights"] = as_weights("weights", request.weights, n)
    rng, size = np.random.default_rng(options.seed), _SIZE
    while 2 * size <= n:
        rows = np.sort(rng.choice(n, size, replace=False, shuffle=False))
        part: dict[str, Any] = {name: values[rows] for name, values in columns.items()}
        yield replace(request, data=np.take(request.data, rows, axis=1), **part), rows
        size *= _GROWTH


def is_enough(solution: Solution) -> bool:
    """Return whether the model of a sample is a success with enough inliers for a refinement on all data."""
    return solution.count >= _LEAST_RATIO * solution.residuals.size and solution.verdict.success


def refine_on_all(solution: Solution, request: Request) -> Solution:
    """Return the solution of a sample with the model that all data of the request near it give.

    It keeps its model if the refinement fails, or loses inliers of the sample.
    """
    assert solution.model is not None
    problem, threshold = request.problem, solution.threshold / request.unit
    scale = biweight_scale(solution.residuals / request.unit, problem, threshold)
    near = np.compress(problem.distances(request.data, solution.model) < scale, request.data, axis=1)
    model = _minimize(solution, near, scale)
    if model is None:
        return solution
    refined = solution.moved(model)
    return refined if refined.count >= (1.0 - _LOST) * solution.count else solution


def _minimize(solution: Solution, near: Floats, scale: float) -> Floats | None:
    """Return the model of a solution after a refinement on data, which it normalises in place; None if it fails."""
    problem, transform = solution.request.problem, np.zeros(1 + 2 * len(near))
    assert solution.model is not None
    transform[0] = 1.0
    if problem.normalise is not None:
        problem.normalise(near, transform)
    model = problem.to_frame(solution.model, transform)
    if model is None:
        return None
    manifold, work, square = select_manifold(problem), make_work(problem), (scale * float(transform[0])) ** 2
    gain = _LEAST_GAIN / max(near.shape[1], 1)  # relative to the sum
    minimize_biweight(manifold, work, near, square, _STEPS, gain, model, np.empty(problem.scratch_size))
    model = problem.from_frame(model, transform)
    return model if np.isfinite(model).all() else None


def expand(solution: Solution, request: Request, rows: Ints) -> Solution:
    """Return the solution of a sample, measured on all data of the request; its verdict is that of the sample.

    Data that the search has not looked at keep their prior as beliefs.
    """
    data, unit, n, rival = request.data, request.unit, request.data.shape[1], solution.rival
    beliefs = solution.beliefs
    if beliefs is not None:
        prior = request.prior_and_quality()[0] if request.scores is not None or request.priors is not None else None
        beliefs = np.full(n, 0.5) if prior is None else prior.copy()
        beliefs[rows] = solution.beliefs
    if rival is not None:
        flat = request.form.from_public(rival.model)
        rival = rival._replace(inliers=measure(request.problem, data, flat, rival.threshold, unit)[1])
    residuals, inliers, count = measure(request.problem, data, solution.model, solution.threshold, unit)
    return replace(
        solution,
        request=request,
        residuals=residuals,
        inliers=inliers,
        count=count,
        beliefs=beliefs,
        rival=rival,
        verdict_of_sample=solution.verdict,
    )
