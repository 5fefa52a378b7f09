"""The estimation of any problem, built in or user-defined."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from bansac.estimate.model_forms import form_of
from bansac.estimate.presets import Arguments, Threshold
from bansac.estimate.request import make_request
from bansac.estimate.result import Result
from bansac.estimate.solve import solve
from bansac.maths.arrays import Floats
from bansac.maths.validate import as_points
from bansac.problems.estimators import find_estimator
from bansac.problems.problem import Problem
from bansac.problems.trial import try_once


def ransac(
    problem: Problem, data: ArrayLike, *, threshold: Threshold = None, **settings: Unpack[Arguments]
) -> Result[Floats]:
    """Estimate any model, built in or user-defined, from data with outliers.

    Parameters
    ----------
    problem : Problem
        The problem, see :class:`bansac.Problem`.
    data : (N, channels) array_like
        The data, one point or match per row.
    threshold : float or "auto", optional
        Largest residual of an inlier, a distance. By default it is estimated, starting from the default of the problem,
        or from a share of the extent of the data.
    **settings
        ``scores`` and all further arguments as in :func:`bansac.estimate_homography`, with the same errors;
        ``max_iterations`` is 3000 by default.

    Returns
    -------
    Result
        ``model`` has the problem's ``model_shape``.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> from bansac.problems.line import LINE
    >>> x = np.linspace(0, 1, 50)
    >>> bansac.ransac(LINE, np.column_stack([x, x]), threshold=0.01).num_inliers
    50
    """
    if not isinstance(problem, Problem):
        raise ValueError(f"problem must be a bansac.Problem, got {type(problem).__name__}")
    columns = as_columns("data", data, problem.channels)
    request = make_request(problem, columns, threshold, settings)
    try_once(problem, columns)
    return solve(request)


def as_columns(name: str, points: ArrayLike, channels: int) -> Floats:
    """Check points (N x channels) and return them as channels x N."""
    return np.ascontiguousarray(as_points(name, points, channels).T)


def estimate(problem: Problem | str, data: Floats, threshold: Threshold, settings: Arguments, **more: Any) -> Result:
    """Estimate a model from data (channels x N) of a problem, or of the estimator with this name in ``ESTIMATORS``.

    ``more`` are arguments of ``make_request``.
    """
    if isinstance(problem, str):
        row = find_estimator(problem)
        problem = row.load_problem()
        more["form"] = form_of(problem, row.name)
    return solve(make_request(problem, data, threshold, settings, **more))
