"""The absolute pose of a camera from 3D points and their images."""

from __future__ import annotations

import functools
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from bansac.estimate.cameras import CameraLike, refine_in_image, unproject
from bansac.estimate.model_forms import as_pose, form_of
from bansac.estimate.presets import Arguments, Threshold, find_preset
from bansac.estimate.request import make_request
from bansac.estimate.result import AbsolutePose, Result
from bansac.estimate.solution import Solution
from bansac.estimate.solve import solve
from bansac.estimate.twins import choose_pose
from bansac.geometry.camera import Camera
from bansac.maths.arrays import Bools, Floats
from bansac.maths.quaternion import model_of
from bansac.maths.validate import as_matches
from bansac.problems.absolute_pose import ABSOLUTE_POSE

# Default threshold if a camera matrix is given, in pixels.
_DEFAULT_PIXELS = 4.0


def estimate_absolute_pose(
    points3D: ArrayLike,
    points2D: ArrayLike,
    K: CameraLike | None = None,
    *,
    threshold: Threshold = None,
    **settings: Unpack[Arguments],
) -> Result[AbsolutePose]:
    """Estimate the pose of a camera from 3D points and their images, with outliers.

    Poses are computed from three points (P3P) and refined by Levenberg-Marquardt on the reprojection errors. If the
    focal length of the camera is unknown, it is estimated, too, from four points (P4Pf). Points behind the camera are
    never inliers.

    Parameters
    ----------
    points3D : (N, 3) array_like
        3D points, in any unit.
    points2D : (N, 2) array_like
        Image points: in pixels if ``K`` is given, else in normalised units (``K^-1`` applied). Points with lens
        distortion need a ``Camera``.
    K : (3, 3) array_like or Camera, optional
        Camera matrix, or camera with lens distortion; a warning as in :func:`bansac.estimate_essential` says if it
        seems to be that of other points. A camera without a focal length (:meth:`bansac.Camera.unknown_focal`) must
        have no distortion.
    threshold : float or "auto", optional
        Largest reprojection error of an inlier: in pixels if ``K`` is given, else in normalised units. By default it is
        estimated, as in :func:`bansac.estimate_homography`, starting from 4 pixels or 4e-3. A threshold in pixels is
        divided by the mean of the two focal lengths; of a camera with distortion, by the median of the local ones, and
        the pose is then refined with the error in the distorted image, which also gives residuals and inliers. With
        ``preset="paper"`` it is in normalised units.
    **settings
        ``scores`` and all further arguments as in :func:`bansac.estimate_homography`, with the same errors; the local
        optimisation is ``"lm"`` or none.

    Returns
    -------
    Result
        ``model`` is a :class:`bansac.AbsolutePose` with the rotation ``R`` and the translation ``t``:
        ``x ~ K (R X + t)``. The images of a planar target may have two poses that mirror each other. If both explain
        the points within two standard deviations, ``configuration`` is "ambiguous", and ``rival`` is the other one. If
        the focal length was estimated, the model has the camera matrix ``K``, and ``configuration`` is
        "undetermined_focal" if the points do not determine the focal length.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> K = np.array([[800.0, 0, 320], [0, 800, 240], [0, 0, 1]])
    >>> X = np.random.default_rng(0).uniform([-2, -2, 4], [2, 2, 8], (100, 3))
    >>> x = X @ K.T
    >>> (R, t), inliers = bansac.estimate_absolute_pose(X - [0, 0, 6], x[:, :2] / x[:, 2:], K)
    >>> np.round(t, 6) + 0.0
    array([0., 0., 6.])
    """
    data = as_matches(points2D, points3D, ("points2D", "points3D"), (2, 3))
    if isinstance(K, Camera) and not K.has_focal:
        from bansac.estimate.unknown_focal import estimate_unknown_focal_pose

        return estimate_unknown_focal_pose(data, K, threshold, settings, _DEFAULT_PIXELS)
    unit, default, conclude, preset = 1.0, None, None, settings.get("preset")
    image, camera = None, None
    if K is not None:
        if isinstance(K, Camera) and K.is_distorted:
            image, camera = data[:2].T.copy(), K
        rays = unproject("K", K, data[:2])
        if not find_preset(preset).as_paper:
            unit, default = (rays.fx + rays.fy) / 2.0, _DEFAULT_PIXELS
    if not find_preset(preset).as_paper:
        refine = functools.partial(_refine_in_image, image, camera)
        conclude = functools.partial(choose_pose, refine, camera is not None)
    form = form_of(ABSOLUTE_POSE, "absolute_pose")
    request = make_request(
        ABSOLUTE_POSE,
        data,
        threshold,
        settings,
        form=form,
        unit=unit,
        default_threshold=default,
        needs_all=camera is not None,
    )
    return solve(request, conclude)


def _refine_in_image(
    image: Floats | None,
    camera: Camera | None,
    solution: Solution,
    model: Floats,
    reach: float = 1.0,
    members: Bools | None = None,
) -> Solution:
    """Refine a pose with its errors in the image, with the members first, then within ``reach`` thresholds.

    ``image`` holds the pixels (N, 2) of a camera with distortion. Without a camera the points are those of the data.
    """
    image = solution.request.data[:2].T if image is None else image
    R, t = as_pose(model)
    points = solution.request.data[2:]
    depth = (R[2] @ points + t[2])[solution.inliers]
    scale = float(np.median(depth)) if depth.size else 1.0
    threshold = reach * solution.threshold / (solution.request.unit if camera is None else 1.0)
    for chosen, limit in ((members, np.inf), (slice(None), threshold)):
        if chosen is not None:
            errors = functools.partial(
                reprojection_errors, camera=camera, points=points[:, chosen], pixels=image[chosen]
            )
            R, t, residuals = refine_in_image(R, t, limit, errors, scale)
    model = model_of(np.column_stack([R, t]))
    if camera is not None:
        return solution.moved(model, residuals, codimension=2, public=AbsolutePose(R, t))
    return solution.moved(model)


def reprojection_errors(R: Floats, t: Floats, camera: Camera | None, points: Floats, pixels: Floats) -> Floats:
    """Return errors (N, 2) of points (3 x N) in pixels, or normalised without a camera; inf behind the camera."""
    seen = R @ points + t[:, None]
    behind = ~(seen[2] > 0.0)
    seen[:, behind] = 1.0
    rays = (seen[:2] / seen[2]).T
    error = (rays if camera is None else camera.project(rays)) - pixels
    error[behind] = np.inf
    return error
