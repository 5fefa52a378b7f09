"""The covariance of an estimated model to first order, on the manifold of the model (:mod:`.sandwich`).

The parameters of a model are its small changes, a *chart*. Residuals and their derivatives are those of the problem, or
of distorted images.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bansac.engine.refinement.lm import biweight_scale
from bansac.estimate.absolute_pose import reprojection_errors
from bansac.estimate.cameras import CameraLike, lengths_of_errors, tangent_sampson, unproject
from bansac.estimate.damped_least_squares import differentiate
from bansac.estimate.depth_covariance import covariance_with_depths
from bansac.estimate.generic import as_columns
from bansac.estimate.model_forms import RELATIVE_POSE, form_of
from bansac.estimate.result import AbsolutePose, RelativePose, Result
from bansac.estimate.sandwich import BEYOND, EQUAL, Covariance, Errors, find_doubt, project, spread
from bansac.estimate.two_views import as_depths, as_rays
from bansac.evidence.duplicate_points import groups_of_equals
from bansac.evidence.noise_scale import SMALLEST, WIDE, estimate_threshold
from bansac.evidence.significance import significance_form
from bansac.geometry import cross_matrix, essential_from_pose, orthogonal_axes
from bansac.geometry.camera import Camera
from bansac.maths.arrays import Floats
from bansac.maths.validate import as_matches
from bansac.problems.ellipse import conic_of
from bansac.problems.essential import ESSENTIAL, ESSENTIAL_SYMMETRIC
from bansac.problems.estimators import find_estimator
from bansac.problems.polynomial import polynomial
from bansac.problems.problem import Problem

# Points (channels x N), the unit of their threshold, and errors (N, components) of a model in distorted images.
_Data = tuple[Floats, float, Errors | None]

# Relative step of numerical derivatives, and how small they are at 0.
_STEP, _ZERO = 1e-5, 1e-8
# The covariance is doubtful if the threshold that the noise gives is above this multiple of the threshold of the run.
_SMALL = 1.8

_UNDETERMINED: dict[tuple[str, str | None], str] = {
    ("fundamental", "planar"): "they agree with a homography",
    ("essential", "pure_rotation"): "the camera turns without a translation",
    ("relative_pose", "pure_rotation"): "the camera turns without a translation",
}


class _Chart(NamedTuple):
    """A model as the problem stores it, and its derivatives by the parameters."""

    data: Floats  # channels x N
    model: Floats  # flat, k numbers
    directions: Floats  # p x k
    basis: Floats  # p x m
    exact: Callable[[Floats], Floats] | None = None  # the flat model after a change of the parameters

    def after(self, step: Floats) -> Floats:
        """Return the flat model after a change of the parameters, to first order if ``exact`` is None."""
        return self.model + step @ self.directions if self.exact is None else self.exact(step)


def covariance(
    problem: str | Problem | Callable[..., Result], result: Result, *data: Any, **cameras: Any
) -> Covariance:
    """Return the covariance of the parameters of an estimated model.

    Parameters
    ----------
    problem : str, callable or Problem
        The estimator of the result or its name, as for :func:`bansac.estimate_many`; or the :class:`bansac.Problem`
        given to :func:`bansac.ransac`. A ``Problem`` needs ``linearize``, and ``project`` if its numbers are dependent.
    result : Result
        The result, with success.
    *data, **cameras
        The data of the run: the first arguments of the estimator, for example ``x1, x2, K1, K2``, and ``depth1`` and
        ``depth2`` of a relative pose. If focal lengths were estimated, the cameras are those of ``result.model``; the
        covariance is then that at these focal lengths.

    Returns
    -------
    Covariance
        ``matrix``, in the units of the parameters below, ``basis``, the derivatives of the model by them, and
        ``doubt``.

    Raises
    ------
    ValueError
        If the result has no success, is not from these data, or its inliers do not determine the parameters.
    TypeError
        If the estimator takes other arguments, or ``result`` is no ``Result``.

    Notes
    -----
    The parameters are small changes of the model. Rotations and angles are in radians; ``R -> exp([w]) R`` turns by the
    vector w.

    - relative_pose: w in the frame of camera 2, then t along two tangents of the unit sphere; with depths that the run
      used, t in the unit of ``depth1``, then the logarithm of the scale if both images have depths;
    - absolute_pose: w in the frame of the camera, then t in the unit of the 3D points;
    - rigid_3d, similarity_3d: w in the frame of ``x2``, then t, then the scale of a similarity;
    - similarity: scale, angle, t;
    - homography: the entries but h33, or but the largest one if h33 is not 1;
    - essential, fundamental: five or seven tangent directions, the rows of ``basis``;
    - line: the angle of the normal (a, b), then c; plane: the normal along two tangents, then d;
    - line_3d, cylinder: the axis moved and turned along two normals of it, then the radius of a cylinder;
    - vanishing_point: two tangents of the unit sphere;
    - affine, affine_3d, circle, ellipse, polynomial, sphere: the numbers of the model.

    The errors of the points are assumed independent, except for matches that share a point in an image, such as several
    descriptors of one keypoint. Their size is measured by the residuals near the model. The covariance is that of the
    default refinement; the one of a least-squares estimate is a little smaller. With ``preset="paper"`` it
    is that of the Sampson distance. ``doubt`` says if there are few inliers, if the threshold is small for the noise,
    if the configuration is "misfit" or "static", if chance inliers may hold much of the information on a parameter, if
    depths have a shift, or if the residuals are not linear in the parameters within two standard deviations.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> from bansac.synthetic import epipolar_matches
    >>> scene = epipolar_matches(500, inlier_ratio=0.7, noise=0.5, seed=1)
    >>> result = bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, seed=0)
    >>> matrix, basis = bansac.covariance("relative_pose", result, scene.x1, scene.x2, scene.K)
    >>> degrees = np.degrees(np.sqrt(np.diag(matrix)))  # rotation about x, y, z; direction of the translation
    >>> bool(degrees.max() < 1)
    True
    """
    if not isinstance(result, Result):
        raise TypeError(f"result must be a bansac.Result, got {type(result).__name__}")
    if result.model is None or not result.success:
        raise ValueError(f"the result has no success: {result.message}")
    name, definition = _find(problem, result)
    _check_model(name, definition, result.model)
    if (name, result.configuration) in _UNDETERMINED:
        raise ValueError(f"the inliers do not determine the model: {_UNDETERMINED[name, result.configuration]}")
    read = functools.partial(_reader(name, definition), definition)
    try:
        inspect.signature(read).bind(*data, **cameras)
    except TypeError as error:
        names = ", ".join(inspect.signature(read).parameters)
        raise TypeError(f"the data of {name or definition.name} are {names}: {error}") from None
    points, unit, errors = read(*data, **cameras)
    if points.shape[1] != result.inliers.size:
        raise ValueError(f"the result is of {result.inliers.size} points, and the data are {points.shape[1]}")
    chart, doubt = _chart(name, definition, result.model, points), _doubt_of_result(definition, result)
    if errors is not None:
        numbers = np.concatenate([np.ravel(part) for part in result.model])
        if _are_equal(np.linalg.norm(errors(numbers), axis=1), result):
            depth = np.median(chart.data[4] + numbers[11]) if name == "absolute_pose" else 1.0  # the scale of t
            sizes = _STEP * np.where(chart.basis[:, :9].any(axis=1), 1.0, depth)[:, None]
            derivatives = differentiate(lambda step: errors(numbers + step), sizes * chart.basis) / sizes.T
            thresholds = result.threshold, result.threshold / unit
            return _estimate(
                lambda step: errors(numbers + step @ chart.basis).T, derivatives, thresholds, definition, chart, doubt
            )
    threshold, derivatives = _threshold(definition, chart, result, unit), _linearize(definition, chart)[1]
    if name == "relative_pose" and len(points) > 4 and result.model.scale is not None:
        return covariance_with_depths(result, points, threshold, chart.basis[:3, :9], doubt)

    def residuals_after(step: Floats) -> Floats:
        return _linearize(definition, chart._replace(model=project(definition, chart.after(step))))[0]

    return _estimate(residuals_after, derivatives, (threshold, threshold), definition, chart, doubt)


def _find(problem: Any, result: Result) -> tuple[str, Problem]:
    """Return the name of an estimator, "" for a problem of the caller, and the problem."""
    if isinstance(problem, Problem):
        if problem.linearize is None:
            raise ValueError(f"problem {problem.name!r} has no derivatives: it needs linearize")
        return "", problem
    estimator = find_estimator(problem)
    is_fixed = estimator.problem is not None
    return estimator.name, estimator.load_problem() if is_fixed else polynomial(np.size(result.model) - 1)


def _check_model(name: str, problem: Problem, model: Any) -> None:
    """Raise a ValueError if a model is not one of the estimator."""
    form = RELATIVE_POSE if name == "relative_pose" else form_of(problem, name)
    if not isinstance(model, form.kind) or (form.shape and model.shape != form.shape):
        wanted = f"an array of shape {form.shape}" if form.shape else f"of type {form.kind.__name__}"
        got = f"shape {model.shape}" if isinstance(model, np.ndarray) else type(model).__name__
        raise ValueError(f"the result is not of {name or problem.name}: its model must be {wanted}, got {got}")


def _read_points(problem: Problem, points: ArrayLike, degree: int | None = None) -> _Data:
    return as_columns("points", points, problem.channels), 1.0, None


def _read_matches(problem: Problem, x1: ArrayLike, x2: ArrayLike) -> _Data:
    return as_matches(x1, x2, channels=(problem.channels // 2, problem.channels // 2)), 1.0, None


def _read_rays(
    problem: Problem, x1: ArrayLike, x2: ArrayLike, K1: CameraLike | None = None, K2: CameraLike | None = None
) -> _Data:
    rays, unit, jacobians = as_rays(x1, x2, K1, K2, None)
    if jacobians is None:
        return rays, unit, None

    def errors(numbers: Floats) -> Floats:
        is_pose = numbers.size == 12
        E = essential_from_pose(numbers[:9].reshape(3, 3), numbers[9:]) if is_pose else numbers
        return tangent_sampson(project(problem, np.array(E).ravel()).reshape(3, 3), rays, *jacobians)

    return rays, unit, errors


def _read_pose(
    problem: Problem, x1: Any, x2: Any, K1: Any = None, K2: Any = None, depth1: Any = None, depth2: Any = None
) -> _Data:
    rays, unit, errors = _read_rays(problem, x1, x2, K1, K2)
    depths = as_depths(depth1, depth2, rays.shape[1])
    return (rays if depths is None else np.vstack([rays, depths])), unit, errors


def _read_projections(problem: Problem, points3D: ArrayLike, points2D: ArrayLike, K: CameraLike | None = None) -> _Data:
    data = as_matches(points2D, points3D, ("points2D", "points3D"), (2, 3))
    if K is None:
        return data, 1.0, None
    pixels = data[:2].T.copy()
    rays = unproject("K", K, data[:2])

    def errors(numbers: Floats) -> Floats:
        assert isinstance(K, Camera)
        return reprojection_errors(numbers[:9].reshape(3, 3), numbers[9:], K, data[2:], pixels)

    return data, (rays.fx + rays.fy) / 2.0, errors if rays.is_distorted else None


def _reader(name: str, problem: Problem) -> Callable[..., _Data]:
    """Return the function that reads the data of an estimator; those of a problem of the caller are one array."""
    of_cameras: dict[str, Callable[..., _Data]] = {
        "essential": _read_rays,
        "relative_pose": _read_pose,
        "absolute_pose": _read_projections,
    }
    return of_cameras.get(name, _read_matches if name and problem.traits.are_matches else _read_points)


def _chart(name: str, problem: Problem, model: Any, data: Floats) -> _Chart:
    """Return the chart of a model of an estimator, in the model's own numbers if it has no other."""
    if name in _CHARTS:
        return _CHARTS[name](problem, model, data)
    flat = np.array(model, dtype=np.float64).ravel()
    directions = np.array(_BASES[name](model), dtype=np.float64) if name in _BASES else _tangents(problem, flat)
    return _Chart(data, flat, directions, directions)


def _tangents(problem: Problem, model: Floats) -> Floats:
    """Return the directions of ``tangent``; without it those in which the models of ``project`` change, if any."""
    if problem.project is None or problem.tangent is not None:
        return problem.tangent_basis(model)
    sizes = _STEP * np.maximum(np.abs(model), 1.0)
    changes = differentiate(lambda step: project(problem, model + step), np.diag(sizes)) / sizes
    directions, lengths, _ = np.linalg.svd(changes)
    return np.asarray(directions.T[lengths > _ZERO * lengths[0]])


def _along_similarity(model: Floats) -> list[ArrayLike]:
    a, b = model[:, 0]
    scale = np.array([a, -b, 0.0, b, a, 0.0]) / np.hypot(a, b)
    return [scale, [-b, -a, 0, a, -b, 0], np.eye(6)[2], np.eye(6)[5]]


def _ellipse(problem: Problem, model: Floats, data: Floats) -> _Chart:
    def after(step: Floats) -> Floats:
        return conic_of(model + step)

    steps = _STEP * np.diag([*model[[3, 3, 2, 3]], 1.0])
    conics = [(after(step) - after(-step)) / (2.0 * step.sum()) for step in steps]
    return _Chart(data, conic_of(model), np.array(conics), np.eye(5), after)


def _relative_pose(problem: Problem, model: RelativePose, data: Floats) -> _Chart:
    direction = model.t / np.linalg.norm(model.t)  # of depths, t has a length
    turned, moved = [_turn(axis, model.R) for axis in np.eye(3)], orthogonal_axes(direction)
    directions = [essential_from_pose(R, direction) for R in turned] + [essential_from_pose(model.R, t) for t in moved]
    basis = np.zeros((5, 12))
    basis[:3, :9], basis[3:, 9:] = np.reshape(turned, (3, 9)), moved
    return _Chart(data, essential_from_pose(model.R, direction).ravel(), np.reshape(directions, (5, 9)), basis)


def _motion(problem: Problem, model: Any, data: Floats) -> _Chart:
    """Return the chart of X -> s R X + t; the points are turned, so that the quaternion is 1, with w / 2 as change."""
    is_pose = isinstance(model, AbsolutePose)
    matrix, t = model if is_pose else (model[:, :3], model[:, 3])
    points, turned = (slice(2, 5) if is_pose else slice(0, 3)), data.copy()
    turned[points] = matrix @ data[points]
    p = problem.parameters or 7
    directions, basis = np.zeros((p, 7)), np.zeros((p, 3, 4))
    directions[:3, 1:4], directions[3:6, 4:] = 0.5 * np.eye(3), np.eye(3)
    basis[:3, :, :3], basis[3:6, :, 3] = [_turn(axis, matrix) for axis in np.eye(3)], np.eye(3)
    if p == 7:
        scale = np.cbrt(np.linalg.det(matrix))
        directions[6, 0], basis[6, :, :3] = 0.5 / scale, matrix / scale
    numbers = np.hstack([basis[:, :, :3].reshape(p, 9), basis[:, :, 3]]) if is_pose else basis.reshape(p, 12)
    return _Chart(turned, np.array([1.0, 0.0, 0.0, 0.0, *t]), directions, numbers)


def _turn(axis: Floats, matrix: Floats) -> Floats:
    """Return the derivative of exp([axis] angle) M by the angle."""
    return np.asarray(cross_matrix(axis) @ matrix)


# Directions in which the numbers of a model change; without a problem the tangents of the problem, or each number.
_BASES: dict[str, Callable[[Floats], Any]] = {
    "homography": lambda model: np.delete(np.eye(9), 8 if model[2, 2] == 1.0 else np.argmax(np.abs(model)), axis=0),
    "similarity": _along_similarity,
    "line": lambda model: [[-model[1], model[0], 0], [0, 0, 1]],
    "plane": lambda model: [*([*along, 0] for along in orthogonal_axes(model[:3])), [0, 0, 0, 1]],
}

# Charts of models that the problem stores in another form.
_CHARTS: dict[str, Callable[[Problem, Any, Floats], _Chart]] = {
    "ellipse": _ellipse,
    "relative_pose": _relative_pose,
    **dict.fromkeys(("absolute_pose", "rigid_3d", "similarity_3d"), _motion),
}


def _threshold(problem: Problem, chart: _Chart, result: Result, unit: float) -> float:
    """Return the threshold in the unit of the problem, for residuals of Sampson or the symmetric distance (twice)."""
    for other, width in ((problem, 1.0), (ESSENTIAL_SYMMETRIC, 2.0)) if problem is ESSENTIAL else ((problem, 1.0),):
        residuals = other.distances(chart.data, chart.model)
        for scale in (unit, 1.0):
            if _are_equal(scale * residuals, result):
                return result.threshold / (scale * width)
    raise ValueError("the data are not those of the result: its inliers have other residuals")


def _are_equal(residuals: Floats, result: Result) -> bool:
    """Return whether the inliers have the residuals of the result."""
    inliers = result.inliers
    return np.allclose(residuals[inliers], result.residuals[inliers], rtol=0.0, atol=EQUAL * result.threshold)


def _linearize(problem: Problem, chart: _Chart) -> tuple[Floats, Floats]:
    """Return residuals (c, N) and their derivatives (N, c, p) by the parameters."""
    residuals, derivatives = problem.linearized(chart.data, chart.model)
    return residuals, np.einsum("pk,ckn->ncp", chart.directions, derivatives)


def _estimate(
    evaluate: Errors, derivatives: Floats, thresholds: tuple[float, float], problem: Problem, chart: _Chart, doubt: str
) -> Covariance:
    """Return the covariance, with this ``doubt`` if there is no other one.

    ``evaluate`` returns the residuals (c, N) after a change of the parameters. ``thresholds`` are in the units
    of the residuals and of the data.
    """
    threshold, of_data = thresholds
    p = derivatives.shape[2]
    residuals = evaluate(np.zeros(p))
    distances = lengths_of_errors(residuals.T)
    scale = biweight_scale(distances, problem, threshold)
    near, beyond = distances < scale, (distances >= scale) & (distances < BEYOND * scale)
    tested, points, _ = significance_form(problem, chart.data, chart.model)
    groups = groups_of_equals(tested, np.compress(near, points, axis=1), of_data)
    moves, rounding = (derivatives[near], derivatives[beyond]), _rounding(chart.data) ** 2 / 12.0
    matrix, share = spread(residuals[:, near], *moves, problem.traits.codimension, groups, scale, rounding)
    errors = len(residuals) * np.unique(groups).size
    doubt = find_doubt(matrix, errors, share, lambda step: evaluate(step)[:, near], threshold, doubt)
    return Covariance(matrix, chart.basis, doubt)


def _doubt_of_result(problem: Problem, result: Result) -> str:
    """Return a doubt if errors depend on the place, or if the threshold excludes the largest ones; else ""."""
    if result.configuration == "misfit":
        return "residuals depend on the place or the camera, so errors are not independent"
    if result.configuration == "static":
        return "many inliers are static, as those of an overlay"
    threshold = result.threshold
    estimated = estimate_threshold(result.residuals.copy(), problem, (SMALLEST * threshold, WIDE * threshold))
    if estimated <= _SMALL * threshold:
        return ""
    return f"the threshold of {threshold:.3g} is small for the noise, which needs {estimated:.3g}"


def _rounding(data: Floats) -> float:
    """Return the step to which points of a curve or plane are rounded, else 0; errors of matches are independent."""
    if len(data) > 3:
        return 0.0
    gaps = [np.diff(values) for values in map(np.unique, data) if values.size > 1]
    steps = [float(gap.min()) for gap in gaps]
    are_rounded = all(np.allclose(gap / step, np.round(gap / step)) for gap, step in zip(gaps, steps, strict=True))
    return min(steps) if steps and are_rounded else 0.0
