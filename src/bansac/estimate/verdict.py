"""The verdict on a model in words: ``success``, ``message`` and ``configuration`` of a result.

:func:`find_verdict` decides whether a model is a success, and :func:`plane_motion_verdict` the motion of a plane. It is
a success if chance does not explain its support (:mod:`bansac.evidence.significance`) and its inliers do not lie on a
line. Inliers on a line do not determine the model. If a few others determine it, they may be too few to verify it.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from bansac.estimate.request import Request
from bansac.evidence.ambiguity import count_other_support
from bansac.evidence.camera_misfit import count_behind, find_focal_factors
from bansac.evidence.configuration import (
    SEARCHED,
    TOLERANCE,
    UNVERIFIED,
    configuration_message,
    find_configuration,
    threshold_of_noise,
)
from bansac.evidence.curvature import find_simpler_curve
from bansac.evidence.duplicate_points import count_off_line, determines_plane, first_of_equals, threshold_of_flat
from bansac.evidence.misfit import has_misfit
from bansac.evidence.significance import (
    EXACT,
    Judgement,
    MeasuredModel,
    Reason,
    first_of_inliers,
    judge,
    significance_form,
)
from bansac.evidence.static_share import count_static
from bansac.maths.arrays import Bools, Floats
from bansac.problems.problem import Problem

_Outcome = TypeVar("_Outcome")

# A model of fewer inliers than this share of its score in the search is not represented by its numbers.
_ROUNDED_SHARE = 0.5

# Configurations of models with significantly many inliers on a line.
_FLAT = {Reason.COLLINEAR: "collinear", Reason.FEW_OFF_LINE: UNVERIFIED}

# Limits that end a search before its restarts agree, and what a success then says.
_LIMITS = "max_iterations", "max_seconds", "restarts"
_NOT_CONFIRMED = "; the limit {} ended the search before its restarts agreed, and a larger one searches longer"

_REPEATS = "; the inliers lie on a plane or one step to either side of it, as if a pattern on it repeats"
_OTHER_SUPPORT = "; off a plane of many inliers, {} outliers support another {}"
_STATIC = "; {} inliers do not move and others do, as with a logo or a date stamp: leave out the matches of overlays"
_BEHIND = "; {} inliers are behind a camera, as with a mirrored image, or with (y, x) for (x, y) in one image"
_MISFIT = "; residuals of neighbours are alike, as with lens distortion, a deformation or a wrong model"
_CAMERA = "; other focal lengths or lens distortion fit better: correct the camera, or see Camera.unknown_focal"
_FOCAL = "; a focal length of about {:.4g} instead of {:.4g} fits better: correct it, or see Camera.unknown_focal"

# So many data cannot verify a model if some of them are outliers.
_FEW = 20

# The message names a focal length that differs by more than this share.
_OTHER_FOCAL = 0.05

_SIMPLER_CURVE = "; a {} fits as well, so the inliers do not determine the {}"
_FROM_PLANE = ", from the homography of their plane, with which two motions agree"


class Verdict(NamedTuple):
    """The verdict on the model of a ``Result``.

    ``configuration`` is that of the ``Result``. ``text`` says why the model is no success, or why there is none, and
    what else the message says.
    """

    success: bool
    configuration: str | None
    text: str


def find_verdict(request: Request, measured: MeasuredModel, score: float, stop_reason: str) -> Verdict:
    """Decide whether the model of a run is a success, and why.

    If the data are matches of two views, their configuration is determined, too. ``score`` is that of the search, and
    ``stop_reason`` that of its restarts.
    """
    problem, data = request.problem, request.data
    judgement, configuration = judge(problem, data, measured), None
    is_significant = judgement.is_significant
    if not is_significant and measured.num_inliers < _ROUNDED_SHARE * score:
        judgement = Judgement(Reason.ROUNDED)
    text = explain(judgement, problem, measured, request.unit)
    residuals, threshold, others, repeats, static = measured.residuals, measured.threshold, 0, False, 0
    if is_significant and problem.traits.flat == "line" and not problem.traits.are_matches:
        some = np.random.default_rng(0).permutation(first_of_inliers(measured, problem, data, threshold))
        some = some[: np.searchsorted(np.cumsum(measured.inliers[some]), SEARCHED)]
        if not determines_plane(data[:, some], measured.inliers[some], threshold):
            points = np.ascontiguousarray(data[:, measured.inliers])
            flat = threshold_of_flat(problem, points, residuals, threshold)
            outliers = measured.inliers.size - measured.num_inliers
            configuration = UNVERIFIED if count_off_line(points, flat) > outliers else "collinear"
    else:
        configuration = _FLAT.get(judgement.reason)
    simpler_curve = find_simpler_curve(problem, data, measured) if is_significant else ""
    if simpler_curve:
        configuration = "undetermined_curvature"
        text += _SIMPLER_CURVE.format(simpler_curve, problem.name)
    if request.two_views and configuration != "collinear" and judgement.reason is not Reason.LARGE_THRESHOLD:
        data = np.ascontiguousarray(data[:4])  # without the verticals
        found = find_configuration(problem, data, residuals, threshold, by_chance=not is_significant)
        configuration = found if configuration is None or found == "collinear" else configuration
    if is_significant and configuration not in _FLAT.values() and problem.traits.of_images:
        static = count_static(data, measured.inliers, threshold)
    text += configuration_message(problem, configuration)
    if configuration == "general":
        others, repeats = count_other_support(data, residuals, threshold_of_noise(problem, residuals, threshold))
    if others > 0 or repeats:
        configuration = "ambiguous"
        text += _REPEATS if repeats else _OTHER_SUPPORT.format(others, problem.name)
    elif static > 0:
        configuration = "static"
        text += _STATIC.format(static)
    elif configuration == "general" or (
        is_significant and configuration is None and problem.traits.unit == "normalised"
    ):
        misfit = _explain_misfit(problem, data, measured, request.unit)
        configuration = "misfit" if misfit else configuration
        text += misfit
    success = is_significant and configuration not in _FLAT.values()
    if success and stop_reason in _LIMITS:
        text += _NOT_CONFIRMED.format(stop_reason)
    return Verdict(success, None if configuration == UNVERIFIED else configuration, text)


def plane_motion_verdict(request: Request, measured: MeasuredModel) -> Verdict:
    """Return the verdict on a relative pose that was computed from the homography of the inliers."""
    judgement = judge(request.problem, request.data, measured)
    configuration = "collinear" if judgement.reason is Reason.COLLINEAR else "planar"
    text = explain(judgement, request.problem, measured, request.unit) + _FROM_PLANE
    return Verdict(judgement.reason is Reason.SIGNIFICANT, configuration, text)


def explain(judgement: Judgement, problem: Problem, measured: MeasuredModel, unit: float) -> str:
    """Return why a model is no success; "" if it is significant. A length of 1 is ``unit`` in the text."""
    match judgement.reason:
        case Reason.SIGNIFICANT | Reason.COLLINEAR | Reason.FEW_OFF_LINE:
            return ""
        case Reason.ROUNDED:
            return (
                ": rounded to double precision it has other residuals, so move the origin of coordinates nearer to the "
                "data"
            )
        case Reason.MIRRORED:
            return ", but mirrored matches have a better model: change the sign of one coordinate of the second points"
        case Reason.WINDOW:
            return ", but their errors are uniform, as those of wrong matches in a search window"
        case Reason.COPLANAR:
            return f" on a plane, which does not determine the {problem.name}"
        case Reason.FEW_OFF_PLANE:
            return f", of which too few lie off a plane to verify the {problem.name}"
        case Reason.LARGE_THRESHOLD if np.isfinite(measured.noise):
            return (
                f", but within the estimated threshold of {unit * measured.threshold:.3g} a random data point is an "
                f"inlier with probability {judgement.chance:.2f}"
            )
        case Reason.LARGE_THRESHOLD:
            return (
                f", but the threshold of {unit * measured.threshold:.3g} is too large for data with an extent of "
                f"{unit * judgement.extent:.3g}: a random data point is an inlier with probability "
                f"{judgement.chance:.2f}"
            )
    return _explain_chance(judgement.distinct, measured)


def _explain_chance(distinct: int, measured: MeasuredModel) -> str:
    """Return a text on a support that chance explains, with the number of inliers that share no point with others."""
    text, count = ", no more than chance gives", measured.num_inliers
    if distinct == count:
        return f"{text}: few data cannot verify it" if measured.inliers.size <= _FEW else text
    if distinct > 0.5 * count:
        return f" ({distinct} without a common point){text}"
    reason = "or the threshold is large compared with their distances"
    if np.isfinite(measured.noise):
        reason = "or their distances are small compared with the noise"
    return f", but only {distinct} of them at distinct points: points repeat, {reason}{text}"


def _explain_misfit(problem: Problem, data: Floats, measured: MeasuredModel, unit: float) -> str:
    """Return how residuals show that the model, or its camera, does not fit; "" if they do not."""
    if problem.traits.of_images and len(data) > 4:  # with depths, which fit badly themselves
        return ""
    if behind := count_behind(problem, data, measured):
        return _BEHIND.format(behind)
    if problem.traits.of_images and _says(has_misfit, problem, data, measured, measured.inliers):
        return _MISFIT
    if problem.traits.unit != "normalised":
        return ""
    near = measured.residuals <= TOLERANCE * measured.threshold  # inliers of a wrong camera are those that it explains
    match _says(functools.partial(find_focal_factors, problem), problem, data, measured, near):
        case []:
            return ""
        case [factor] if abs(factor - 1.0) > _OTHER_FOCAL:
            return _FOCAL.format(factor * unit, unit)
    return _CAMERA


def _says(
    test: Callable[..., _Outcome], problem: Problem, data: Floats, measured: MeasuredModel, members: Bools
) -> _Outcome:
    """Return the outcome of a test of members; if it is positive, that of the members without equal points."""
    model, exact = measured.model, EXACT * measured.threshold
    outcome = test(data, model, members, exact)
    if not outcome:
        return outcome
    distinct = np.zeros(members.size, np.bool_)
    distinct[first_of_equals(*significance_form(problem, data, model)[:2], measured.threshold)] = True
    return test(data, model, members & distinct, exact)


def explain_no_model(problem: Problem, n: int, iterations: int, models_tested: int) -> str:
    """Return the message of a run of ``n`` points or matches that found no model."""
    if n < problem.sample_size:
        return f"{problem.name} needs at least {problem.sample_size} data points, got {n}"
    reason = f"none of the {models_tested} models tested has an inlier"
    if models_tested == 0:
        flat = "coincident, collinear, coplanar" if problem.traits.flat == "plane" else "coincident, collinear"
        reason = f"none of {iterations} samples gives a valid model ({flat} or contradictory data?)"
    return f"no {problem.name} found: {reason}"
