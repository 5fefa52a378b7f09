"""The probability that a model is right, from its evidence alone: a logistic fit of numbers without units.

A pose (E, F, relative pose) is right within 5 degrees, a homography within 5 pixels at the corners of the image. An
absolute pose is right within 5 degrees and 5 % of the depth; it is fitted on synthetic scenes only.
:func:`evidence` returns the numbers, each oriented so that more of it speaks for the model. Their coefficients are
therefore held at 0 or above in the fit (``bansac bench trust``, :mod:`bansac_lab.measurements.trust`), which prints
:data:`COEFFICIENTS`. No number is constant over a data set, such as a focal length. A problem without coefficients has
no confidence.

Inliers that do not move, of a watermark or a dashboard, agree by chance with no model, but with a wrong one. So the
significance is also measured without the matches that do not move, if many of the others move.
"""

import math
from collections.abc import Mapping

import numpy as np

from bansac.estimate.request import Request
from bansac.estimate.solution import Solution
from bansac.evidence.camera_misfit import count_behind
from bansac.evidence.rivals import significance_over_thresholds
from bansac.evidence.significance import EXACT, MeasuredModel
from bansac.maths.arrays import Floats
from bansac.problems.problem import Problem

# A match does not move if its displacement is at most _STILL thresholds. The others decide alone if at least the share
# _MOVING of all matches moves and is no inlier.
_STILL, _MOVING = 2.0, 0.1

# Smallest standard deviation that counts, and the largest one, relative to the size of the model.
_PRECISE, _VAGUE = 1e-6, 1.0

# fmt: off
COEFFICIENTS: Mapping[str, Mapping[str, float]] = {
    "essential matrix": {
        "constant": -5.164, "significance": 0.841, "moving": 1.744, "share": 0.220, "threshold": 0.360,
        "samples": 0.653, "agreement": 0.347, "alternative": 0.364, "success": 2.905, "unambiguous": 2.164,
        "no_misfit": 0.481, "no_plane": 2.004, "precision": 0.434,
    },
    "fundamental matrix": {
        "constant": -9.508, "significance": 0.727, "moving": 0.987, "inliers": 0.263, "share": 0.181,
        "threshold": 0.542, "success": 2.820, "unambiguous": 1.699, "no_misfit": 2.393, "no_plane": 2.633,
    },
    "homography": {
        "constant": -7.733, "significance": 1.858, "moving": 3.265, "inliers": 0.358, "threshold": 0.272,
        "samples": 0.316, "agreement": 1.084, "success": 1.300, "unambiguous": 2.085, "precision": 0.961,
    },
    "absolute pose": {
        "constant": -22.578, "significance": 2.322, "inliers": 0.046, "share": 1.978, "samples": 1.066,
        "alternative": 1.267, "success": 5.350, "unambiguous": 10.058, "no_misfit": 19.024,
    },
}
# fmt: on
"""Coefficient of each number by the name of the problem, as ``bansac bench trust`` fits them on all scenes."""


def model_confidence(solution: Solution, success: bool, configuration: str | None) -> float | None:
    """Return the probability that a model is right, given the verdict; None if inliers are behind a camera."""
    request, measured = solution.request, solution.measured
    if measured is None or (configuration == "misfit" and count_behind(request.problem, request.data, measured) > 0):
        return None
    known = COEFFICIENTS[request.problem.name]
    with np.errstate(all="ignore"):
        numbers = evidence(solution, success, configuration)
    logit = known["constant"] + sum(known.get(name, 0.0) * number for name, number in numbers.items())
    return 1.0 / (1.0 + math.exp(-logit))


def is_covered(request: Request) -> bool:
    """Return whether the coefficients are fitted for a request; they are not for one with verticals."""
    problem = request.problem
    return problem.name in COEFFICIENTS and problem.traits.stricter is None and not request.as_paper


def evidence(solution: Solution, success: bool, configuration: str | None) -> dict[str, float]:
    """Return the numbers that speak for a model, by name; ``success`` and ``configuration`` are its verdict.

    ``significance`` is log10(1 - log10 NFA) over all thresholds, and ``moving`` what it loses without the matches that
    do not move. ``inliers`` and ``samples``, those of a search without a limit, are log10. ``share`` is the logit of
    the inlier ratio, and ``threshold`` the log2 of its first one over it. ``alternative`` is minus the best score of
    another hypothesis, relative to that of the model. ``precision`` is that of :func:`precision`. The others are 1 or
    0: the restarts agree, chance does not explain the model, and it has none of the configurations that speak against
    it.
    """
    request, measured = solution.request, solution.measured
    assert measured is not None
    problem, n, count = request.problem, solution.residuals.size, solution.count
    inliers, is_epipolar = solution.inliers, problem.traits.codimension == 1
    moves = np.zeros(n, np.bool_)
    if len(request.data) == 4:
        moves = np.hypot(*(request.data[2:] - request.data[:2])) > _STILL * measured.threshold
    significance = moving = _significance(problem, request.data, measured)
    if np.mean(moves & ~inliers) >= _MOVING:
        moving = min(moving, _significance(problem, np.compress(moves, request.data, axis=1), measured))
    agrees = solution.stop_reason == "agreement"
    samples = solution.iterations if agrees else max(solution.iterations, problem.default_max_iterations)
    ratio = solution.threshold / (request.unit * request.threshold) if request.is_estimated else 1.0
    return {
        "significance": significance,
        "moving": moving - significance,
        "inliers": math.log10(1 + count),
        "share": math.log((count + 0.5) / (n - count + 0.5)),
        "threshold": -max(math.log2(ratio), 0.0),
        "samples": -math.log10(1 + samples),
        "agreement": float(agrees),
        "alternative": -min(solution.alternative, 1.0),
        "success": float(success),
        "unambiguous": float(configuration not in ("ambiguous", "static")),
        "no_misfit": float(configuration != "misfit"),
        "no_plane": float(not is_epipolar or configuration not in ("planar", "pure_rotation")),
        "precision": precision(problem, request.data, measured),
    }


def _significance(problem: Problem, data: Floats, measured: MeasuredModel) -> float:
    """Return log10(1 - log10 NFA) of a model on some of the data; 0 if chance explains its support."""
    smallest, threshold = EXACT * measured.threshold, measured.threshold
    log_odds = significance_over_thresholds(problem, data, smallest, measured.model, threshold) if data.size else 0.0
    return math.log10(1.0 + max(log_odds, 0.0) / math.log(10))


def precision(problem: Problem, data: Floats, measured: MeasuredModel) -> float:
    """Return -log10 of the standard deviation of a model to first order, s^2 (J^T J)^-1 with the inliers' noise s.

    It is the largest one over the changes of a unit epipolar geometry, radians for E, and the mean one of the points
    that a homography maps, relative to the extent of the data.
    """
    data, transform = data.copy(), np.empty(1 + 2 * problem.channels)
    if problem.normalise is not None:
        problem.normalise(data, transform)
    model = problem.to_frame(measured.model, transform)
    if model is None:
        return -math.log10(_VAGUE)
    residuals, derivatives = problem.linearized(data, model)
    changes = np.einsum("pk,ckn->pcn", problem.tangent_basis(model), derivatives)
    p = len(changes)
    own, errors = changes[:, :, measured.inliers].reshape(p, -1), residuals[:, measured.inliers].ravel()
    information = own @ own.T
    if not (np.isfinite(information).all() and information.any()):
        return -math.log10(_VAGUE)
    values, axes = np.linalg.eigh(information)
    root = axes / np.sqrt(np.maximum(values, np.finfo(float).eps * values[-1]))  # its square is (J^T J)^-1
    noise = float(np.linalg.norm(errors)) / math.sqrt(max(errors.size - p, 1))
    if problem.traits.codimension == 1:
        deviation = noise * float(np.linalg.norm(root, 2) / np.linalg.norm(model))
    else:
        deviation = noise * float(np.linalg.norm(root.T @ changes.reshape(p, -1))) / math.sqrt(data.shape[1])
    return -math.log10(min(_VAGUE, max(deviation, _PRECISE)))
