"""The model of a run and what is measured of it.

Lengths are in the caller's unit. :func:`measure` multiplies residuals by the unit of the data, and
``Solution.measured`` divides by it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bansac.engine.trace import Trace
from bansac.estimate.request import Request
from bansac.estimate.result import Rival
from bansac.estimate.verdict import Verdict, explain_no_model, find_verdict, plane_motion_verdict
from bansac.evidence.significance import MeasuredModel
from bansac.maths.arrays import Bools, Floats
from bansac.problems.problem import Problem


@dataclass(frozen=True, eq=False)
class Solution:
    """The model of a run and what is measured of it, in the caller's unit, except ``noise``.

    ``model`` is flat, None if no model was found. ``public`` is its public form, by default that of the request.
    ``noise`` is the limit of :class:`bansac.evidence.significance.MeasuredModel`. ``codimension`` is the number of
    components of the errors with the lengths ``residuals``. If ``is_of_plane``, the model is the motion of the plane of
    inliers. ``undetermined`` is a remark on focal lengths that the data do not determine. ``alternative`` is the best
    score of another hypothesis, relative to that of the model. ``verdict_of_sample`` is that of the sample of many data
    that was searched (:mod:`bansac.estimate.sample`).
    """

    request: Request
    threshold: float
    model: Floats | None
    residuals: Floats
    inliers: Bools
    count: int
    codimension: int
    noise: float = np.inf
    score: float = 0.0
    beliefs: Floats | None = None
    iterations: int = 0
    models_tested: int = 0
    restarts: int = 0
    stop_reason: str = "no_data"
    trace: Trace | None = None
    public: Any = None
    rival: Rival | None = None
    alternative: float = 0.0
    is_of_plane: bool = False
    undetermined: str = ""
    verdict_of_sample: Verdict | None = None

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
        per_unit = 1.0 / self.request.unit
        lengths = per_unit * self.threshold, per_unit * self.residuals
        return MeasuredModel(self.model, *lengths, self.inliers, self.count, self.noise)

    @functools.cached_property
    def verdict(self) -> Verdict:
        """The verdict on the inliers of the model."""
        if self.verdict_of_sample is not None:
            return self.verdict_of_sample
        request, measured = self.request, self.measured
        if measured is None:
            n = request.data.shape[1]
            return Verdict(False, None, explain_no_model(request.problem, n, self.iterations, self.models_tested))
        if self.is_of_plane:
            return plane_motion_verdict(request, measured)
        return find_verdict(request, measured, self.score, "" if self.restarts <= 1 else self.stop_reason)


def measure(
    problem: Problem, data: Floats, model: Floats | None, threshold: float, unit: float = 1.0
) -> tuple[Floats, Bools, int]:
    """Return the residuals of a flat model times ``unit``, inf where undefined, the inliers, and their number."""
    n = data.shape[1]
    if model is None:
        return np.full(n, np.inf), np.zeros(n, np.bool_), 0
    residuals = problem.distances(data, model, unit)
    inliers = residuals <= threshold
    return residuals, inliers, int(np.count_nonzero(inliers))
