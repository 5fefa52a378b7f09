"""Several models in the same data, one after the other (sequential RANSAC), with a contest over the shared points.

1. A search finds one model in the points that no model explains yet. A point that is partly explained has a lower prior
   probability. The search is the one of a single model, so it has its estimate of the noise and its significance test.
2. If its best model is not significant, its points are set aside for the next searches. The other models are structure
   that raises the support under chance; without their points the model may be significant. The searches end after
   ``_SET_ASIDE`` more.
3. Each model is estimated again from the points that no other model explains, with its posterior as the prior. Models
   that are no longer significant are dropped. A model is also dropped if another one is more probable at most of its
   points.
4. A model of large noise may be a compromise of several. Finer models replace it if they describe its points in fewer
   bits. If points became free or a model was split, the search goes on.

The posterior odds of a point for each model come from :mod:`bansac.evidence.posterior`. The odds against no model are
1. So P(k) = odds_k / (1 + sum of odds), and a point belongs to the model, or to none, with the highest probability.

Without structure in the data, at most 1 + ``_SET_ASIDE`` models are tested. Each test has at most 1e-4 false alarms.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from bansac.compiled.clock import Stopwatch
from bansac.estimate.generic import as_columns
from bansac.estimate.model_forms import ModelForm, form_of
from bansac.estimate.presets import Arguments, Threshold, check_names
from bansac.estimate.request import Request, make_request
from bansac.estimate.result import MultipleResult, Result
from bansac.estimate.solution import measure
from bansac.estimate.solve import solve
from bansac.evidence.posterior import inlier_probabilities
from bansac.evidence.rivals import RIVAL
from bansac.evidence.weights import prior_of_scores
from bansac.maths.arrays import Bools, Floats
from bansac.maths.validate import as_integer, as_probabilities, as_scores, as_weights
from bansac.problems.estimators import ESTIMATORS, find_estimator
from bansac.problems.problem import Problem
from bansac.problems.trial import try_once

# Number of further searches after one without a significant model, and the largest number of their samples.
_SET_ASIDE, _FEW_SAMPLES = 2, 5000

# Largest number of times that all models are estimated again.
_ROUNDS = 3

# A model is the same as another one that is more probable at this share of its points.
_SAME = 0.5

# A point is explained if the probability that it belongs to a model is at least this.
_EXPLAINED = 0.5

# The smallest threshold at which the parts of a coarse model are searched, in first thresholds.
_FINEST = 0.6

# Finer models replace a coarse one if they shorten the description by this number of nats a point. The errors of a
# structure with another shape, such as the edge of a worn coin, are not independent, and two models shorten it less.
_GAIN = 0.6

# How the message of a result ends, by its reason for the stop.
_ENDS = {
    "max_seconds": "; the time was over before the search ended",
    "max_models": "; the search ended at max_models",
    "no_more": "",
}

# Prior inlier probability of a point without scores and priors, and the smallest one.
_NEUTRAL, _SMALLEST = 0.5, 1e-3


class _Model(NamedTuple):
    """The result of a search, the residuals of all points, and their posterior odds."""

    result: Result
    residuals: Floats
    odds: Floats


class _Task(NamedTuple):
    """The checked request, and the limits of models and of seconds."""

    request: Request
    max_models: float
    seconds: float


def estimate_multiple(
    problem: Problem | str,
    data: ArrayLike,
    *,
    max_models: int | None = None,
    threshold: Threshold = None,
    **settings: Unpack[Arguments],
) -> MultipleResult:
    """Estimate all models of one kind in data with outliers: several lines, circles, planes, homographies or motions.

    The number of models need not be known. The search ends if no further model has more support than chance gives.

    Parameters
    ----------
    problem : Problem, str or callable
        The problem, see :class:`bansac.Problem`, or an estimator as in :func:`bansac.estimate_many`, such as ``"line"``
        or ``"H"``. Data of ``"E"`` and ``"absolute_pose"`` (x, y, X, Y, Z) must be in normalised units.
    data : (N, channels) array_like
        The data, one point or match per row: ``np.hstack([x1, x2])`` for matches.
    max_models : int, optional
        Largest number of models. By default there is no limit.
    threshold : float or "auto", optional
        Largest residual of an inlier. By default it is estimated for each model, as for a single one.
    **settings
        ``scores``, ``priors``, ``weights``, ``preset`` and ``options`` as in
        :func:`bansac.estimate_homography`, with the same errors, and single options, see
        :class:`bansac.Options`. ``max_iterations`` limits each search, ``max_seconds`` the whole call without
        compilation. A trace is not recorded.

    Returns
    -------
    MultipleResult
        The models, the one with most points first, and the label of each point. Models of a name have the form of
        the estimator of that name (``"E"``: essential matrices), those of a ``Problem`` its ``model_shape``.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> x = np.linspace(0, 1, 50)
    >>> points = np.vstack([np.column_stack([x, x]), np.column_stack([x, 1 - 0.5 * x])])
    >>> lines, labels = bansac.estimate_multiple("line", points, threshold=0.001)
    >>> len(lines), np.bincount(labels).tolist()
    (2, [50, 50])
    """
    check_names(settings.keys() & {"initial_model"})
    if isinstance(problem, Problem):
        form = form_of(problem)
    else:
        estimator = find_estimator(problem, (row for row in ESTIMATORS if row.problem is not None))
        problem = estimator.load_problem()
        form = form_of(problem, estimator.name)
    most = math.inf if max_models is None else as_integer("max_models", max_models, 1, " or None")
    columns = as_columns("data", data, problem.channels)
    request = make_request(problem, columns, threshold, settings)
    try_once(problem, columns)
    given: dict[str, Any] = {}
    for name, check in {"scores": as_scores, "priors": as_probabilities, "weights": as_weights}.items():
        if getattr(request, name) is not None:
            given[name] = check(name, getattr(request, name), columns.shape[1])
    request = replace(request, options=request.options.replace(trace=False), **given)
    seconds = request.options.max_seconds
    task = _Task(request, most, math.inf if seconds is None else seconds)
    models, last = _find_all(task)
    return _result(task, models, last, form)


def _find_all(task: _Task) -> tuple[list[_Model], Result]:
    """Return the models, and the result of the last search for a new one."""
    models: list[_Model] = []
    for _ in range(_ROUNDS):
        last = _add_models(task, models)
        free = _free(task, models)
        models = _drop_same(_estimate_again(task, models))
        before, models = len(models), _drop_same(_split(task, models))
        freed = _free(task, models) & ~free
        ended = len(models) >= task.max_models or _out_of_time(task)
        if ended or (len(models) == before and np.count_nonzero(freed) <= task.request.problem.sample_size):
            break
    return models, last


def _add_models(task: _Task, models: list[_Model]) -> Result:
    """Append models found in the points that no model explains; return the result of the last search."""
    aside, failures = np.zeros(task.request.data.shape[1], np.bool_), 0
    given: Any = task.request.priors
    neutral, scores = given, task.request.scores
    if given is None:
        neutral = _NEUTRAL if scores is None else prior_of_scores(np.asarray(scores))
    while True:
        free = _free(task, models) & ~aside
        explained = _shares(task, models).sum(axis=0)
        prior = (1.0 - explained) * neutral if models else given
        result = _search(task, free, prior, most=_FEW_SAMPLES if failures else None)
        found = _measure(task, result) if result.success else None
        if found is not None and np.any(found.odds[free] > 1.0):  # not all points are more likely outliers
            models.append(found)
            aside[:], failures = False, 0
        else:
            aside[np.flatnonzero(free)[result.inliers]] = True
            failures += 1
        nothing_left = failures > _SET_ASIDE or result.num_inliers <= task.request.problem.sample_size
        if nothing_left or len(models) >= task.max_models or _out_of_time(task):
            return result


def _estimate_again(task: _Task, models: list[_Model]) -> list[_Model]:
    """Estimate each model from the points that the others do not explain; keep those that are significant."""
    if len(models) < 2 or _out_of_time(task):
        return models
    shares, kept = _shares(task, models), []
    for share in shares:
        result = _search(task, shares.sum(axis=0) - share < _EXPLAINED, share)
        if result.success:
            kept.append(_measure(task, result))
    return kept


def _drop_same(models: list[_Model]) -> list[_Model]:
    """Return the models in descending order of their inliers, without those most of whose points belong to another."""
    kept = sorted(models, key=lambda model: -model.result.num_inliers)
    for model in kept[::-1]:
        others, own = [other for other in kept if other is not model], model.odds > 1.0
        if any(np.count_nonzero((other.odds >= model.odds)[own]) >= _SAME * np.count_nonzero(own) for other in others):
            kept = others
    return kept


def _split(task: _Task, models: list[_Model]) -> list[_Model]:
    """Return the models, where finer models replace a coarse one if they describe its points better.

    They are searched at half of its threshold, a quarter and so on, down to about the first threshold.
    """
    request, found = task.request, list(models)
    first = request.unit * request.threshold
    for coarse in models if request.is_estimated else ():
        descriptions, threshold = [[coarse]], 0.5 * coarse.result.threshold
        while threshold > _FINEST * first:
            descriptions.append(_parts(task, coarse, threshold))
            threshold *= 0.5
        lengths = [_description_length(task, coarse, parts) for parts in descriptions]
        best = descriptions[lengths.index(min(lengths))]
        is_better = lengths[0] - min(lengths) > _GAIN * np.count_nonzero(coarse.odds > 1.0)
        if is_better and len(best) > 1 and len(found) - 1 + len(best) <= task.max_models:
            found = [model for model in found if model is not coarse] + best
    return found


def _parts(task: _Task, coarse: _Model, threshold: float) -> list[_Model]:
    """Return models of a coarse model's points at a smaller threshold, each with as many points as a rival needs."""
    request, own, parts = task.request, coarse.odds > 1.0, list[_Model]()
    options = request.options.replace(threshold=threshold)
    fine = task._replace(request=replace(request, options=options, is_estimated=False))
    among, least = own, max(RIVAL * np.count_nonzero(own), request.problem.sample_size)
    while np.count_nonzero(among) > least and not _out_of_time(task):
        result = _search(fine, among, None, most=_FEW_SAMPLES)
        part = _measure(task, result) if result.success else None
        if part is None or np.count_nonzero(part.odds[among] > 1.0) <= least:
            break
        parts.append(part)
        among = own & _free(task, parts)
    return parts


def _description_length(task: _Task, coarse: _Model, models: list[_Model]) -> float:
    """Return the length of a description of the points of a coarse model by a mixture of models, in nats.

    It is the Bayesian information criterion (Schwarz, 1978) of Gaussian residuals, with the logarithm of the number of
    samples that may give a model. Points of no model are uniform within the threshold of the coarse model.
    """
    m, d, own = task.request.problem.sample_size, task.request.problem.traits.codimension, coarse.odds > 1.0
    n, shares = int(np.count_nonzero(own)), _shares(task, models)[:, own]
    density = np.maximum(1.0 - shares.sum(axis=0), 1e-3).mean() / (2.0 * coarse.result.threshold) ** d
    for model, share in zip(models, shares, strict=True):
        squares = np.minimum(model.residuals[own], 1e150) ** 2  # inf for some points far away
        variance = max(float(share @ squares) / (d * max(float(share.sum()) - m, 1.0)), 1e-300)
        density = density + share.mean() * np.exp(-0.5 * squares / variance) / (2.0 * math.pi * variance) ** (0.5 * d)
    of_a_model = 0.5 * (m * d + 2) * math.log(n) + math.log(math.comb(n, m))
    return float(len(models) * of_a_model - np.sum(np.log(density)))


def _search(task: _Task, among: Bools, prior: Floats | None, most: int | None = None) -> Result:
    """Search for one model in some of the points, with at most ``most`` samples if that is fewer than the option."""
    indices, options = np.flatnonzero(among), task.request.options
    if task.seconds < math.inf:
        options = options.replace(max_seconds=max(task.seconds - task.request.watch.read()[0], 1e-3))
    if most is not None and options.max_iterations is not None and most < options.max_iterations:
        options = options.replace(max_iterations=max(most, options.min_iterations))
    takes_prior = task.request.priors is not None or options.sampler_row.prior
    prior = np.clip(prior[indices], _SMALLEST, 1.0) if takes_prior and prior is not None else None
    data, given = np.ascontiguousarray(task.request.data[:, indices]), (task.request.scores, task.request.weights)
    scores, weights = (None if values is None else np.asarray(values)[indices] for values in given)
    part: dict[str, Any] = {"data": data, "options": options, "scores": scores, "priors": prior, "weights": weights}
    return solve(replace(task.request, **part, watch=Stopwatch()), explains=False)


def _measure(task: _Task, result: Result) -> _Model:
    """Return a model with the residuals and the posterior odds of all points."""
    residuals = measure(task.request.problem, task.request.data, result.model.flatten(), result.threshold)[0]
    inlier = inlier_probabilities(residuals, result.threshold, task.request.problem.traits.codimension)
    return _Model(result, residuals, inlier / np.maximum(1.0 - inlier, 1e-12))


def _shares(task: _Task, models: list[_Model]) -> Floats:
    """Return the probability (models x N) that a point belongs to a model."""
    odds = np.array([model.odds for model in models]).reshape(len(models), task.request.data.shape[1])
    return np.asarray(odds / (1.0 + odds.sum(axis=0)))


def _free(task: _Task, models: list[_Model]) -> Bools:
    """Return which points no model explains."""
    return np.asarray(_shares(task, models).sum(axis=0) < _EXPLAINED)


def _out_of_time(task: _Task) -> bool:
    return task.request.watch.read()[0] > task.seconds


def _result(task: _Task, models: list[_Model], last: Result, form: ModelForm) -> MultipleResult:
    shares = _shares(task, models)
    probabilities = np.vstack([shares, 1.0 - shares.sum(axis=0)]).T
    labels = np.argmax(probabilities, axis=1)
    labels[labels == len(models)] = -1
    order = np.argsort([-np.count_nonzero(labels == k) for k in range(len(models))], kind="stable")
    labels = np.append(np.argsort(order), -1)[labels]
    probabilities = probabilities[:, [*order, len(models)]]
    name, n = task.request.problem.name, labels.size
    results = []
    for column, model in enumerate(models[k] for k in order):
        inliers = model.residuals <= model.result.threshold
        message = (
            f"{name} with {np.count_nonzero(labels == column)} of {n} points, {inliers.sum()} within its threshold"
        )
        of_all = {"inliers": inliers, "residuals": model.residuals, "probabilities": probabilities[:, column]}
        of_all["model"] = form.to_public(model.result.model.flatten())
        of_one = dict.fromkeys(("beliefs", "configuration", "rival", "model_confidence"))
        results.append(replace(model.result, **of_all, **of_one, message=message))
    reason = "max_seconds" if _out_of_time(task) else "max_models" if len(models) >= task.max_models else "no_more"
    seconds, loading_seconds = task.request.watch.read()
    seed = task.request.options.seed
    assert seed is not None
    points = ", ".join(str(np.count_nonzero(labels == k)) for k in range(len(models)))
    message = f"{len(models)} x {name} with {points} of {n} points{_ENDS[reason]}"
    if not models:
        message = (
            last.message if len(last.inliers) == n else f"no {name} in {n} points; the last search: {last.message}"
        )
    return MultipleResult(
        labels=labels,
        probabilities=probabilities,
        results=tuple(results),
        stop_reason=reason,
        success=bool(models),
        message=message,
        seed=seed,
        seconds=seconds,
        loading_seconds=loading_seconds,
    )
