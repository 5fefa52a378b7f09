"""Homography, fundamental matrix, essential matrix and relative pose of two images."""

from __future__ import annotations

import functools
import math
import warnings
from dataclasses import replace
from typing import TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from bansac.engine.model_selection import Plausibility
from bansac.estimate import cameras
from bansac.estimate.cameras import CameraLike
from bansac.estimate.model_forms import RELATIVE_POSE, ModelForm
from bansac.estimate.presets import Arguments, Threshold, find_preset
from bansac.estimate.request import Request, is_default_threshold, make_request
from bansac.estimate.result import RelativePose, Result
from bansac.estimate.solution import Solution
from bansac.estimate.solve import solve
from bansac.evidence.configuration import DETERMINED
from bansac.geometry import essential_from_pose, recover_pose
from bansac.geometry.camera import Camera
from bansac.geometry.focal_lengths import focal_plausibility
from bansac.maths.arrays import Bools, Floats, as_floats
from bansac.maths.normalisation import fix_sign
from bansac.maths.validate import as_matches, as_numbers, as_size

Jacobians: TypeAlias = tuple[Floats, Floats]
"""Derivatives (N or 1, 2, 2) of the pixels by the rays in both images."""

# Default threshold of the essential matrix if camera matrices are given, in pixels.
_DEFAULT_PIXELS = 0.5

# More matches than this, with coordinates below this size, are not in pixels.
_FEWEST, _LARGEST_NORMALISED = 7, 2.0


def estimate_homography(
    x1: ArrayLike, x2: ArrayLike, *, threshold: Threshold = None, **settings: Unpack[Arguments]
) -> Result[Floats]:
    """Estimate the homography between two images from matches with outliers.

    Parameters
    ----------
    x1, x2 : (N, 2) array_like
        Matched points in the first and the second image, in pixels; (N, 1, 2) works too.
    threshold : float or "auto", optional
        Largest transfer error ``|x2 - H x1|`` of an inlier, in pixels. By default it is estimated from the
        data, starting from 2 (see :class:`bansac.Options`); ``Result.threshold`` is the estimate. If the extent of
        ``x2`` is below 50 or above 50,000, it is in another unit: the estimate starts from .002 of the extent.
        ``preset="paper"`` has 1. ``"auto"`` estimates it even if ``options`` or ``preset`` have a threshold.
    **settings
        Single options, see :class:`bansac.Options`; they override ``options``. ``max_iterations`` is 20,000 by default,
        and 12,000 for essential matrices.

    Other Parameters
    ----------------
    scores : (N,) array_like, optional
        Quality of the matches, larger is better. Scores define the order of PROSAC, P-NAPSAC and PROSAC's stopping
        criterion. Samplers that start from probabilities (BANSAC, BaySAC, AR) use the scores as prior inlier
        probabilities if ``priors`` is not given; scores outside of [0, 1], such as the negative
        distances of descriptors, are then replaced by their ranks divided by N. If the run fails, a short run
        without scores and priors follows, except with ``preset="paper"``. ``Result.message`` says if it finds a model.
    priors : (N,) array_like, optional
        Prior inlier probabilities in [0, 1].
    weights : (N,) array_like, optional
        Positive weights of the matches in the model score; their scale has no effect. By default they follow from the
        option ``weighting``.
    initial_model : array_like, optional
        A model to start from, such as that of the last frame of a video, in the form and in the coordinates of
        ``Result.model``. It is optimised and competes with the search. If chance does not explain its support, a short
        restart that leads to the same model ends the search. A wrong model has no effect.
    preset : str, optional
        ``"fast"`` runs one short restart, ``"accurate"`` more restarts than the default. ``"paper"`` runs the pipeline
        of the paper with its settings and thresholds, ``"paper-20"`` the same with
        ``network=Network(min_updates=20)``.
    options : Options, optional
        All options at once.

    Returns
    -------
    Result
        ``model`` is H (3 x 3) with ``x2 ~ H x1`` and ``H[2, 2] = 1``. If ``H[2, 2]`` vanishes, because H maps the
        origin of image 1 to infinity, H has unit norm.

    Raises
    ------
    ValueError
        If an argument has the wrong shape, holds NaN or infinity, or is out of its range.
    TypeError
        If an option does not exist.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> x1 = np.random.default_rng(0).uniform(0, 500, (100, 2))
    >>> H, inliers = bansac.estimate_homography(x1, x1 + [10.0, 20.0])
    >>> np.round(H, 6) + 0.0
    array([[ 1.,  0., 10.],
           [ 0.,  1., 20.],
           [ 0.,  0.,  1.]])
    """
    from bansac.problems.homography import HOMOGRAPHY

    return solve(make_request(HOMOGRAPHY, as_matches(x1, x2), threshold, settings, two_views=True))


def estimate_fundamental(
    x1: ArrayLike,
    x2: ArrayLike,
    *,
    threshold: Threshold = None,
    image_size1: tuple[int, int] | None = None,
    image_size2: tuple[int, int] | None = None,
    **settings: Unpack[Arguments],
) -> Result[Floats]:
    """Estimate the fundamental matrix of two images from matches with outliers.

    Parameters
    ----------
    x1, x2, **settings
        As in :func:`bansac.estimate_homography` (``scores``, ``priors`` and all others), with the same errors.
    threshold : float or "auto", optional
        Largest Sampson distance of an inlier, in pixels. Without a threshold, coordinates below 2 have a warning,
        because they look normalised. By default it is estimated, as in
        :func:`bansac.estimate_homography`, starting from 0.5, the threshold of ``preset="paper"``.
    image_size1, image_size2 : (height, width), optional
        Sizes of the images in pixels. If both are given, optimised models are also compared by the focal lengths they
        imply, with the principal points at the image centres. Models with implausible focal lengths need three times
        as many agreeing restarts. A single size has no effect and a warning. If height and width seem swapped, or most
        points lie outside of the image, a ValueError is raised.

    Returns
    -------
    Result
        ``model`` is F (3 x 3, unit norm, rank 2) with ``x2^T F x1 = 0``.

    Examples
    --------
    >>> import bansac
    >>> from bansac.synthetic import epipolar_matches
    >>> scene = epipolar_matches(200, inlier_ratio=0.6, noise=0.1, seed=1)
    >>> result = bansac.estimate_fundamental(scene.x1, scene.x2)
    >>> result.success
    True
    """
    data = as_matches(x1, x2)
    parts = data[:, :_FEWEST], data  # the first matches of pixels tell
    look_normalised = data.shape[1] > _FEWEST and all(np.abs(part).max() < _LARGEST_NORMALISED for part in parts)
    if look_normalised and is_default_threshold(threshold, settings.get("options")):
        what = f"x1 and x2 look normalised (all coordinates are below {_LARGEST_NORMALISED:g})"
        warnings.warn(f"{what}, but the default threshold is in pixels: give pixels or a threshold", stacklevel=2)
    plausibility = _focal_plausibility(image_size1, image_size2, data)
    from bansac.problems.fundamental import FUNDAMENTAL

    request = make_request(FUNDAMENTAL, data, threshold, settings, two_views=True, plausibility=plausibility)
    return solve(request, _of_plane)


def _of_plane(solution: Solution) -> Solution:
    """Return the solution with its rival off a plane, if any.

    A planar solution is first replaced by the geometry of its plane that more matches off the plane agree with.
    """
    verdict = solution.verdict
    if solution.request.as_paper or not verdict.success or verdict.configuration == "ambiguous":
        return solution
    from bansac.estimate.planar_motion import choose_epipole, choose_motion, compare_off_plane
    from bansac.estimate.twins import choose_twin

    if verdict.configuration == "planar" and solution.request.problem.traits.unit == "normalised":
        solution = choose_motion(solution)
    elif verdict.configuration in ("planar", "pure_rotation"):
        solution = choose_epipole(solution)
    elif verdict.configuration in ("general", "misfit") and solution.request.problem.traits.unit == "normalised":
        solution = choose_twin(solution)
    return compare_off_plane(solution) if solution.rival is None else solution


def _focal_plausibility(
    image_size1: tuple[int, int] | None, image_size2: tuple[int, int] | None, data: Floats
) -> Plausibility | None:
    """Check the sizes against matches (4 x N) and return the plausibility of focal lengths; None without two sizes."""
    arguments = {"image_size1": (image_size1, data[:2]), "image_size2": (image_size2, data[2:])}
    sizes = {name: as_size(name, size) for name, (size, _) in arguments.items() if size is not None}
    for name, size in sizes.items():
        cameras.check_size(name, size, arguments[name][1])
    if len(sizes) == 1:
        (missing,) = arguments.keys() - sizes.keys()
        warnings.warn(f"{missing} is missing: one size of two has no effect", stacklevel=3)
    if len(sizes) < 2:
        return None
    views = [(0.5 * (width - 1), 0.5 * (height - 1), math.hypot(height, width)) for height, width in sizes.values()]
    return Plausibility(focal_plausibility, np.array(views).ravel())


def estimate_essential(
    x1: ArrayLike,
    x2: ArrayLike,
    K1: CameraLike | None = None,
    K2: CameraLike | None = None,
    *,
    threshold: Threshold = None,
    **settings: Unpack[Arguments],
) -> Result[Floats]:
    """Estimate the essential matrix of two calibrated images from matches with outliers.

    Parameters
    ----------
    x1, x2 : (N, 2) array_like
        Matched points: in pixels if ``K1`` is given, else in normalised units (``K^-1`` applied).
    K1, K2 : (3, 3) array_like or Camera, optional
        Camera matrices, or cameras with lens distortion (:class:`bansac.Camera`). Without ``K2`` both images are
        assumed to have the camera ``K1``. If all points are far from the principal point, or most have a focal length
        too small for them, a warning names the argument.
    threshold : float or "auto", optional
        Largest distance of an inlier: in pixels if ``K1`` is given, else in normalised units. By default it is
        estimated, as in :func:`bansac.estimate_homography`, starting from 0.5 pixels or 5e-4. A threshold in pixels is
        divided by the mean focal length; of a camera with distortion, by the median of the local ones, and the model is
        then refined with the Sampson distance in the distorted image, which also gives residuals and inliers. With
        ``preset="paper"`` the threshold is in normalised units, 1e-3 by default, and the distance is the root of the
        summed squares of the distances to both epipolar lines, about twice the Sampson distance.
    **settings
        ``scores`` and all further arguments as in :func:`bansac.estimate_homography`, with the same errors.

    Returns
    -------
    Result
        ``model`` is E (3 x 3, singular values 1, 1, 0) with ``x2^T K2^-T E K1^-1 x1 = 0``. ``residuals`` are in
        the unit of the threshold. If the inliers lie on a plane, E is that of the motion of
        :func:`estimate_relative_pose`.

    Examples
    --------
    >>> import bansac
    >>> from bansac.synthetic import epipolar_matches
    >>> scene = epipolar_matches(200, inlier_ratio=0.6, noise=0.1, seed=1)
    >>> result = bansac.estimate_essential(scene.x1, scene.x2, scene.K, threshold=1.0)
    >>> result.success
    True
    """
    request, jacobians = _request_essential(x1, x2, K1, K2, threshold, settings)
    return solve(request, functools.partial(_conclude_essential, jacobians))


def _conclude_essential(jacobians: Jacobians | None, solution: Solution) -> Solution:
    """Return the matrix with the motion of a plane, refined and measured in distorted images."""
    solution = _of_plane(solution)
    if jacobians is not None:
        solution = replace(_measure_in_image(_with_pose(solution), jacobians), rival=solution.rival)
    return solution if solution.public is None else replace(solution, public=None)  # the matrix


def estimate_relative_pose(
    x1: ArrayLike,
    x2: ArrayLike,
    K1: CameraLike | None = None,
    K2: CameraLike | None = None,
    *,
    threshold: Threshold = None,
    gravity1: ArrayLike | None = None,
    gravity2: ArrayLike | None = None,
    depth1: ArrayLike | None = None,
    depth2: ArrayLike | None = None,
    **settings: Unpack[Arguments],
) -> Result[RelativePose]:
    """Estimate the motion between two calibrated cameras from matches with outliers.

    The essential matrix of :func:`bansac.estimate_essential` is decomposed into four motions. The motion with most
    inliers in front of both cameras is returned.

    If the inliers lie on a plane, noise determines the translation of a linearly estimated essential matrix. The motion
    is then computed from the homography of the plane, unless it has fewer inliers or ``preset="paper"``. Two motions
    agree with a plane. If both have the plane in front of the cameras, matches off the plane decide. Without such
    matches, the motion with the less oblique view is returned, unless the score of the other one is higher by two
    standard deviations.

    Parameters
    ----------
    x1, x2, K1, K2, threshold, **settings
        As in :func:`bansac.estimate_essential`; without ``K2`` both images are assumed to have the camera ``K1``.
        ``K1`` and ``K2`` may be cameras without a focal length (:meth:`bansac.Camera.unknown_focal`). It is then
        estimated, too. The same camera twice, or ``K2=None``, has one focal length in both images.
    gravity1, gravity2 : (3,) array_like, optional
        The vertical direction, up or down in both, in the frames of the two cameras (x to the right, y down, z
        forward), for example from an accelerometer. Samples then have three matches instead of five, so that fewer
        inliers suffice. The directions are used for the samples only: the final model is refined without them. An error
        of the directions of e radians moves points by about e focal lengths; if that is far above the threshold,
        samples have few inliers.
    depth1, depth2 : (N,) array_like, optional
        Depths of the points along the optical axes, for example of a network for single images; NaN if unknown. The
        depths of each image may have any unit, and a constant shift. Samples of three matches use them, and the last
        fit, which weights them by their noise. The message says whether they agree with the matches; if not, the result
        is that without them. One image with depths is enough. See the page on depths in the documentation.

    Returns
    -------
    Result
        ``model`` is a :class:`bansac.RelativePose` with the rotation ``R`` and the direction ``t`` of the translation:
        ``X2 = R X1 + t``. If focal lengths were estimated, it has the camera matrices ``K1`` and ``K2``. If depths were
        used, ``t`` is in the unit of ``depth1``, and ``scale`` is that of ``depth2`` over it.

    Raises
    ------
    ValueError, TypeError
        As in :func:`bansac.estimate_homography`, and if only one gravity is given, or if gravity or depths are given
        with unknown focal lengths, lens distortion or ``preset="paper"``.

    Examples
    --------
    >>> import bansac
    >>> from bansac.synthetic import epipolar_matches
    >>> scene = epipolar_matches(200, inlier_ratio=0.6, noise=0.1, seed=1)
    >>> (R, t), inliers = bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, threshold=1.0)
    >>> R.shape, t.shape
    ((3, 3), (3,))
    """
    verticals = _as_verticals(gravity1, gravity2)
    if any(isinstance(K, Camera) and not K.has_focal for K in (K1, K2)):
        if verticals is not None or depth1 is not None or depth2 is not None:
            raise ValueError("gravity1, gravity2, depth1 and depth2 need known focal lengths")
        from bansac.estimate.unknown_focal import estimate_unknown_focal

        return estimate_unknown_focal(as_matches(x1, x2), K1, K2, threshold, settings, _DEFAULT_PIXELS)
    request, jacobians = _request_essential(x1, x2, K1, K2, threshold, settings, RELATIVE_POSE)
    if verticals is not None:
        from bansac.problems.upright import upright

        data = np.vstack([request.data, np.tile(verticals, request.data.shape[1])])
        request = replace(request, problem=upright(request.problem), data=data)
    depths = as_depths(depth1, depth2, request.data.shape[1])
    if depths is not None:
        return _solve_with_depths(request, jacobians, depths)
    return solve(request, functools.partial(_as_pose, jacobians))


def as_depths(depth1: ArrayLike | None, depth2: ArrayLike | None, n: int) -> Floats | None:
    """Return the depths of both images (2 x n), 0 if they are unknown; None if all are."""
    if depth1 is None and depth2 is None:
        return None
    depths = np.zeros((2, n))
    for row, (name, value) in zip(depths, (("depth1", depth1), ("depth2", depth2)), strict=True):
        values = as_floats(name, np.zeros(n) if value is None else value)
        if values.shape != (n,):
            raise ValueError(f"{name} must have shape ({n},), one depth for each match, got {values.shape}")
        known = np.isfinite(values)
        if (values[known] < 0.0).any():
            raise ValueError(f"{name} must be positive, or NaN if unknown, got {values[known].min():g}")
        row[known] = values[known]
    return depths if depths.any() else None


def _solve_with_depths(request: Request, jacobians: Jacobians | None, depths: Floats) -> Result[RelativePose]:
    """Return the result of :mod:`bansac.estimate.relative_depth`; a ValueError for requests that cannot use depths."""
    if request.as_paper or jacobians is not None or len(request.data) > 4:
        raise ValueError(
            "depth1 and depth2 need cameras without distortion, no gravity, and another preset than 'paper'"
        )
    from bansac.estimate.relative_depth import solve_with_depths

    return solve_with_depths(request, depths, functools.partial(_as_pose, None))


def _as_pose(jacobians: Jacobians | None, solution: Solution) -> Solution:
    """Return the motion of an essential matrix, or of the plane of its inliers, refined in distorted images."""
    solution = _of_plane(_with_pose(solution))
    solution = _with_pose(solution) if solution.public is None else solution
    return solution if jacobians is None else _measure_in_image(solution, jacobians)


def _with_pose(solution: Solution) -> Solution:
    """Return a solution with the motions of its matrix and of that of its rival."""
    assert solution.model is not None
    rays, rival = solution.request.data[:4], solution.rival
    if rival is not None:
        rival = rival._replace(model=_recover(rival.model, rays, rival.inliers))
    pose = _recover(solution.model.reshape(3, 3), rays, solution.inliers)
    return replace(solution, public=pose, rival=rival)


def _recover(E: Floats, rays: Floats, inliers: Bools) -> RelativePose:
    """Return the motion of an essential matrix that puts most inliers in front of both cameras."""
    return RelativePose(*recover_pose(E, rays[:2].T, rays[2:].T, inliers)[:2])


def _as_verticals(gravity1: ArrayLike | None, gravity2: ArrayLike | None) -> Floats | None:
    """Return the unit verticals of both cameras below each other, (6, 1); None without them."""
    if gravity1 is None and gravity2 is None:
        return None
    units = []
    for name, gravity in (("gravity1", gravity1), ("gravity2", gravity2)):
        if gravity is None:
            raise ValueError(f"{name} must be given if the other one is")
        direction = as_numbers(name, gravity, (3,))
        length = np.linalg.norm(direction)
        if not length > 0.0:
            raise ValueError(f"{name} must not be zero")
        units.append(direction / length)
    return np.concatenate(units)[:, None]


def _measure_in_image(solution: Solution, jacobians: Jacobians) -> Solution:
    """Measure a motion with Sampson distances in distorted images; refine it if its inliers determine it."""
    rays, (R, t) = solution.request.data[:4], solution.public

    def errors(R: Floats, t: Floats) -> Floats:
        return cameras.tangent_sampson(essential_from_pose(R, t), rays, *jacobians)

    residuals = cameras.lengths_of_errors(errors(R, t))
    if solution.verdict.configuration in DETERMINED:
        R, t, residuals = cameras.refine_in_image(R, t, solution.threshold, errors, 1.0)
    t = t / np.linalg.norm(t)
    E = essential_from_pose(R, t).ravel()
    fix_sign(E)
    return solution.moved(E, residuals, codimension=1, public=RelativePose(R, t))


def _request_essential(
    x1: ArrayLike,
    x2: ArrayLike,
    K1: CameraLike | None,
    K2: CameraLike | None,
    threshold: Threshold,
    settings: Arguments,
    form: ModelForm | None = None,
) -> tuple[Request, Jacobians | None]:
    """Return the request of E with its epipolar error, and the jacobians of :func:`as_rays` for Sampson's."""
    from bansac.problems.essential import ESSENTIAL, ESSENTIAL_SYMMETRIC

    rays, unit, jacobians = as_rays(x1, x2, K1, K2, settings.get("preset"))
    request = make_request(
        ESSENTIAL, rays, threshold, settings, form=form, unit=unit, two_views=True,
        default_threshold=None if unit == 1.0 else _DEFAULT_PIXELS,
        needs_all=jacobians is not None,
        hint=_pixels_hint(rays) if K1 is None else "",
    )  # fmt: skip
    if request.as_paper:
        return replace(request, problem=ESSENTIAL_SYMMETRIC), None
    return request, jacobians


def as_rays(
    x1: ArrayLike, x2: ArrayLike, K1: CameraLike | None, K2: CameraLike | None, preset: str | None
) -> tuple[Floats, float, Jacobians | None]:
    """Check matched points; return them in normalised units (4 x N) with the unit of the threshold.

    If a camera has distortion and the unit is pixels, the derivatives of the pixels by the rays are returned, too.
    """
    data = as_matches(x1, x2)
    if K1 is None:
        if K2 is not None:
            raise ValueError("K1 must be given if K2 is")
        return data, 1.0, None
    first = cameras.unproject("K1", K1, data[:2], depth=5)
    second = cameras.unproject("K1" if K2 is None else "K2", K1 if K2 is None else K2, data[2:], depth=5)
    if find_preset(preset).as_paper:
        return data, 1.0, None
    focal = (first.fx + first.fy + second.fx + second.fy) / 4
    if not (first.is_distorted or second.is_distorted):
        return data, focal, None
    return data, focal, (first.jacobian, second.jacobian)


def _pixels_hint(data: Floats) -> str:
    """Return a hint if matches look like pixels, most outside a field of view of 140 degrees, else ""."""
    if not data.size or max(data.max(), -data.min()) < cameras.WIDEST or np.median(np.abs(data)) < cameras.WIDEST:
        return ""
    return "these look like pixels, and normalised coordinates are expected where no camera matrices are given"
