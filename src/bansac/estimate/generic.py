"""The estimation of any problem, built in or user-defined."""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from bansac.compiled.clock import Stopwatch
from bansac.estimate.initial_models import as_model
from bansac.estimate.presets import Options, Settings, Threshold, resolve_options
from bansac.estimate.solve import solve
from bansac.maths.validate import as_points
from bansac.problems.problem import Problem
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
    scores, priors, weights, initial_model, preset, options
        As in :func:`bansac.estimate_homography`.
    **settings
        Single options, see :class:`bansac.Options`. ``max_iterations`` is 3000 by default.

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
    return estimate("data", problem, data, threshold, scores, priors, weights, initial_model, preset, options, settings)


def estimate(
    argument: str,
    problem: Problem,
    data: ArrayLike,
    threshold: Threshold | None,
    scores: ArrayLike | None,
    priors: ArrayLike | None,
    weights: ArrayLike | None,
    initial_model: ArrayLike | None,
    preset: str | None,
    options: Options | None,
    settings: Settings,
) -> Result:
    """Estimate a model; ``argument`` is the name of the data in error messages."""
    watch = Stopwatch()
    resolved = resolve_options(problem, options, preset, threshold, settings)
    columns = np.ascontiguousarray(as_points(argument, data, problem.channels).T)
    problem.check_on(columns)
    initial = as_model(problem, initial_model)
    return solve(problem, columns, resolved, scores, priors, weights, watch, initial_model=initial)
