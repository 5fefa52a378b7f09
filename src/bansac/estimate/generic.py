"""The estimation of any problem, built in or user-defined."""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from bansac.estimate.model_forms import ModelForm
from bansac.estimate.presets import Options, Settings, Threshold
from bansac.estimate.solve import Arguments, make_request, solve
from bansac.maths.arrays import Floats
from bansac.maths.validate import as_points
from bansac.problems.problem import Problem
from bansac.problems.trial import try_once
from bansac.result import Result

__all__ = ["ransac"]


def ransac(
    problem: Problem,
    data: ArrayLike,
    *,
    threshold: Threshold | None = None,
    scores: ArrayLike | None = None,
    priors: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    initial_model: ArrayLike | None = None,
    preset: str | None = None,
    options: Options | None = None,
    **settings: Unpack[Settings],
) -> Result:
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
    scores, priors, weights, initial_model, preset, options, **settings
        As in :func:`bansac.estimate_homography`; ``max_iterations`` is 3000 by default.

    Returns
    -------
    Result
        ``model`` has the problem's ``model_shape``.

    Raises
    ------
    ValueError
        If an argument has the wrong shape, holds NaN or infinity, or is out of its range.
    TypeError
        If an option does not exist.

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
    arguments = Arguments(threshold, scores, priors, weights, initial_model, preset, options, settings)
    return estimate(problem, as_points("data", data, problem.channels), arguments)


def estimate(problem: Problem, points: Floats, arguments: Arguments, form: ModelForm | None = None) -> Result:
    """Estimate a model from points (N x channels)."""
    columns = np.ascontiguousarray(points.T)
    request = make_request(problem, columns, arguments, form=form)
    try_once(problem, columns)
    return solve(request)
