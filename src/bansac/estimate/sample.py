"""The search of many data: it looks at a random sample, and its model is refined and measured on all data.

What a search learns depends on the number of data that it looks at, and hardly on how many there are. The accuracy of
a model depends on all its inliers. So restarts, threshold, neighbours, verdict and configuration are those of a sample,
and one refinement uses all data near the model: that of the last stage of :mod:`bansac.engine.refinement.lm`, with few
steps near those of Newton. If a sample has no significant model, or few inliers, the next one is larger.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bansac.engine.refinement.levenberg_marquardt import make_work, select_manifold, step_on_many
from bansac.engine.refinement.lm import biweight_scale
from bansac.estimate.request import Request
from bansac.estimate.solution import Solution, measure
from bansac.maths.arrays import Floats, Ints
from bansac.maths.validate import as_weights, scores_and_range

# Number of data of the first sample; the next one is larger by a factor. The sample has at most half of the data.
_SIZE, _GROWTH = 2500, 8

# Least inlier ratio of a sample. The model of fewer inliers may be too far from that of all data for a refinement.
_LEAST_RATIO = 0.2

# How far the matrix of a step is Newton's. Less than in full, because the few leverages of outliers do not cancel. If
# the steps fail, those of reweighted least squares follow.
_LONGER = 0.9, 0.0

# Largest number of steps on a share of the data. A step is negligible if its decrease is less than this part of that of
# one standard deviation of the noise. Larger shares than ``_HALF`` are all data.
_STEPS, _NEGLIGIBLE, _HALF = 15, 0.3, 0.5

# Largest share of the inliers of a sample that the refinement loses.
_LOST = 0.05


def samples(request: Request) -> Iterator[tuple[Request, Ints]]:
    """Yield the requests of larger and larger samples, with the indices of their data; none if all data are needed.

    A trace and the method of the paper need all data. Another refinement than that of all data may be chosen.
    """
    problem, options, n = request.problem, request.options, request.data.shape[1]
    needs_all = options.trace or request.as_paper or request.needs_all
    if n < 4 * _SIZE or needs_all or options.refiner(problem) != "lm":
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
    problem, sample = request.problem, solution.request.data.copy()
    transform = np.zeros(1 + 2 * len(sample))
    transform[0] = 1.0
    if problem.normalise is not None:
        problem.normalise(sample, transform)
    assert solution.model is not None
    start = problem.to_frame(solution.model, transform)
    if start is None:
        return solution
    to_frame = float(transform[0]) / request.unit
    scale = to_frame * biweight_scale(solution.residuals, problem, solution.threshold)
    noise = float(np.mean((to_frame * solution.residuals[solution.inliers]) ** 2)) / problem.residual_size
    step = functools.partial(
        step_on_many, select_manifold(problem), make_work(problem), problem.float64, request.data,
        _affine_map(solution.request.data, sample), scale**2, np.empty(problem.scratch_size),
    )  # fmt: skip
    for longer in _LONGER:
        model = start.copy()
        _descend(functools.partial(step, longer, model), request.data.shape[1], noise)
        model = problem.from_frame(model, transform)
        if np.isfinite(model).all():
            refined = solution.moved(model)
            if refined.count >= (1.0 - _LOST) * solution.count:
                return refined
    return solution


def _descend(step: Callable[[float], float], n: int, noise: float) -> None:
    """Call ``step``, which moves a model, with shares of ``n`` data until the next step is negligible, or one fails.

    A step returns the decrease of the cost. ``noise`` is the decrease for one standard deviation. The quotient of two
    decreases tells that of the next step.
    """
    rate, first = 1.0, max(_GROWTH * _SIZE / n, 1.0 / _GROWTH)
    for share in (first, 1.0) if first < _HALF else (1.0,):
        last = np.inf
        for _ in range(_STEPS):
            decrease = step(share)
            if not decrease > 0.0:
                return
            rate = min(decrease / last, 1.0) if last < np.inf else rate
            if rate * decrease < _NEGLIGIBLE * noise:
                break
            last = decrease


def _affine_map(data: Floats, normalised: Floats) -> Floats:
    """Return the factor and the shift of each channel that normalise the data.

    With a normalisation of another form the refined model would lose inliers, and that of the sample is kept.
    """
    channels, first, last = np.arange(len(data)), data.argmin(axis=1), data.argmax(axis=1)
    extent = data[channels, last] - data[channels, first]
    change = normalised[channels, last] - normalised[channels, first]
    factor = np.divide(change, extent, out=np.ones(len(data)), where=extent > 0.0)
    return np.stack([factor, normalised[channels, first] - factor * data[channels, first]])


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
    assert solution.model is not None
    whole = replace(solution, request=request, beliefs=beliefs, rival=rival, verdict_of_sample=solution.verdict)
    return whole.moved(solution.model)
