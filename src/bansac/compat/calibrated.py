"""Adapters of OpenCV's functions for calibrated cameras, ``findEssentialMat``, ``recoverPose``, ``solvePnPRansac``."""

from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.compat.arguments import LMEDS, RANSAC, as_pair, is_flag, read_method
from bansac.compat.return_values import (
    Answer,
    answer,
    answer_of_all,
    column,
    is_returned,
    raises_opencv_error,
    warn_of_doubt,
    write_out,
    write_same_shape,
)
from bansac.estimate.absolute_pose import estimate_absolute_pose
from bansac.estimate.two_views import estimate_essential
from bansac.geometry import normalise_points, recover_pose, rotation_matrix
from bansac.geometry.camera import Camera
from bansac.maths.arrays import Bytes, Floats
from bansac.maths.quaternion import model_of
from bansac.maths.validate import as_camera, as_numbers
from bansac.solvers.essential_5pt import essential_5pt

# OpenCV's signatures: the names of their parameters, and the defaults of those after the last required one.
_CAMERAS, _SEARCH = ("cameraMatrix1", "distCoeffs1", "cameraMatrix2", "distCoeffs2"), ("method", "prob", "threshold")
_E_OF_ONE = ("points1", "points2", "cameraMatrix", *_SEARCH, "maxIters", "mask")
_E_OF_FOCAL = ("points1", "points2", "focal", "pp", *_SEARCH, "maxIters", "mask")
_E_OF_TWO = ("points1", "points2", *_CAMERAS, *_SEARCH, "mask")
_POSE_OF_ONE = ("E", "points1", "points2", "cameraMatrix", "R", "t", "mask")
_POSE_OF_FOCAL = ("E", "points1", "points2", "R", "t", "focal", "pp", "mask")
_POSE_OF_TWO = ("points1", "points2", *_CAMERAS, "E", "R", "t", *_SEARCH, "mask")
_DEFAULTS: dict[str, Any] = {"focal": 1.0, "pp": (0.0, 0.0), "method": RANSAC, "threshold": 1.0}
_DEFAULTS |= dict.fromkeys(("E", "R", "t", "mask")) | {"prob": 0.999, "maxIters": 4000}

# Values of OpenCV's SOLVEPNP_* flags, and of its USAC_* flags.
_SOLVEPNP, _USAC = range(9), range(32, 39)


@raises_opencv_error
def findEssentialMat(points1: ArrayLike, points2: ArrayLike, *args: Any, **kwargs: Any) -> Answer:
    """Estimate the essential matrix of two calibrated images, as ``cv2.findEssentialMat`` without ``UsacParams``.

    The signatures are
    ``(points1, points2, cameraMatrix, method=RANSAC, prob=.999, threshold=1.0, maxIters=4000, mask=None)``,
    ``(points1, points2, focal=1.0, pp=(0, 0), method, prob, threshold, maxIters, mask)`` and
    ``(points1, points2, cameraMatrix1, distCoeffs1, cameraMatrix2, distCoeffs2, method, prob, threshold, mask)``.

    Parameters
    ----------
    points1, points2 : (N, 2) or (N, 1, 2) array_like
        Matched points in pixels.
    *args, **kwargs
        See above. ``threshold`` is the largest Sampson distance of an inlier in pixels.

    Returns
    -------
    E : (3, 3) ndarray or None
        Essential matrix of unit Frobenius norm; (3 k, 3) for the k matrices of five points.
    mask : (N, 1) ndarray of uint8 or None
        1 for an inlier. All zeros if E is None. None for fewer than five points.

    Raises
    ------
    TypeError
        If the arguments match no signature.
    """
    shapes = [np.shape(value) for value in args]
    names: Sequence[str] = _E_OF_FOCAL
    if "cameraMatrix1" in kwargs or "cameraMatrix2" in kwargs or shapes[2:3] == [(3, 3)]:
        names = _E_OF_TWO
    elif "cameraMatrix" in kwargs or shapes[:1] == [(3, 3)]:
        names = _E_OF_ONE
    return _essential(_bind(names, (points1, points2, *args), kwargs))


def _bind(names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a signature by name, with the defaults; a TypeError if they do not fit it."""
    required = max(i for i, name in enumerate(names) if name not in _DEFAULTS)
    defaults = [Parameter.empty if i <= required else _DEFAULTS[name] for i, name in enumerate(names)]
    kind = Parameter.POSITIONAL_OR_KEYWORD
    parameters = (Parameter(name, kind, default=default) for name, default in zip(names, defaults, strict=True))
    bound = Signature(list(parameters)).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


def _essential(arguments: Mapping[str, Any]) -> Answer:
    x1, x2 = as_pair("points1", arguments["points1"], "points2", arguments["points2"])
    camera1, camera2 = _cameras(arguments)
    mask = arguments["mask"]
    if len(x1) < 5:
        warn_of_doubt(f"no model: an essential matrix needs 5 points, got {len(x1)}")
        return None, None  # type: ignore[return-value]
    method = arguments["method"]
    if len(x1) == 5 and any(is_flag(method, classic) for classic in (0, LMEDS, RANSAC)):
        models = essential_5pt(_rays(camera1, x1), _rays(camera2, x2))
        return answer_of_all([E / np.sqrt(2.0) for E in models], 5, mask)
    numbers = arguments["threshold"], arguments.get("maxIters", _DEFAULTS["maxIters"]), arguments["prob"]
    settings = read_method(len(x1), RANSAC if is_flag(method, 0) else method, *numbers)
    E, inliers = answer(estimate_essential(x1, x2, camera1, camera2, **settings), 5, mask)
    return (None if E is None else E / np.sqrt(2.0)), inliers


@raises_opencv_error
def recoverPose(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """Compute the motion between two calibrated cameras, as ``cv2.recoverPose``.

    The signatures are ``(E, points1, points2, cameraMatrix, R=None, t=None, mask=None)`` and
    ``(E, points1, points2, R=None, t=None, focal=1.0, pp=(0, 0), mask=None)``, which return ``(number, R, t, mask)``,
    and ``(points1, points2, cameraMatrix1, distCoeffs1, cameraMatrix2, distCoeffs2, E=None, R=None, t=None,
    method=RANSAC, prob=.999, threshold=1.0, mask=None)``, which returns ``(number, E, R, t, mask)``. The signature with
    ``distanceThresh``, which triangulates points, is not supported. Points count at any distance.

    Parameters
    ----------
    *args, **kwargs
        See above. The mask contains the inliers of E; it is set to those in front of both cameras.

    Returns
    -------
    number : int
        Number of points in front of both cameras.
    E : (3, 3) ndarray
        Essential matrix; only with the third signature.
    R, t : (3, 3) and (3, 1) ndarray
        Motion ``X2 = R X1 + t`` with ``|t| = 1``.
    mask : (N, 1) ndarray of uint8
        1 for a point in front of both cameras, or 255 as in OpenCV if no mask was passed.

    Raises
    ------
    ValueError
        If the third signature finds no essential matrix.
    TypeError
        If the arguments match no signature.
    """
    shapes = [np.shape(value) for value in args]
    if "cameraMatrix1" in kwargs or "cameraMatrix2" in kwargs or shapes[2:3] == [(3, 3)]:
        arguments = _bind(_POSE_OF_TWO, args, kwargs)
        E, mask = _essential(arguments)
        if E is None or E.shape != (3, 3):
            raise ValueError("points1 and points2 determine no essential matrix")
        number, *motion = _pose(E, mask, arguments)
        return number, write_same_shape(E, arguments["E"]), *motion
    names = _POSE_OF_ONE if "cameraMatrix" in kwargs or shapes[3:4] == [(3, 3)] else _POSE_OF_FOCAL
    arguments = _bind(names, args, kwargs)
    return _pose(arguments["E"], arguments["mask"], arguments)


def _pose(E: ArrayLike, mask: Any, arguments: Mapping[str, Any]) -> tuple[int, Floats, Floats, Bytes]:
    """Return the motion of E with the most points in front of both cameras, their number and their mask."""
    x1, x2 = as_pair("points1", arguments["points1"], "points2", arguments["points2"])
    camera1, camera2 = _cameras(arguments)
    used = np.ones(len(x1), np.bool_) if mask is None else np.asarray(mask).ravel() != 0
    if used.shape != (len(x1),):
        raise ValueError(f"mask must have {len(x1)} elements, got {used.size}")
    R, t, in_front = recover_pose(E, _rays(camera1, x1), _rays(camera2, x2), used)
    visible = write_out(column(in_front) * np.uint8(255 if mask is None else 1), mask)
    R, t = write_same_shape(R, arguments["R"]), write_same_shape(t[:, None], arguments["t"])
    return int(in_front.sum()), R, t, visible


@raises_opencv_error
def solvePnPRansac(
    objectPoints: ArrayLike,
    imagePoints: ArrayLike,
    cameraMatrix: ArrayLike,
    distCoeffs: ArrayLike | None,
    rvec: Any = None,
    tvec: Any = None,
    useExtrinsicGuess: bool = False,
    iterationsCount: int | None = 400,
    reprojectionError: float = 8.0,
    confidence: float | None = 0.99,
    inliers: Any = None,
    flags: Any = 0,
) -> tuple[bool, Floats, Floats, NDArray[np.int32]]:
    """Estimate the pose of a camera from 3D points and their images, as ``cv2.solvePnPRansac``.

    Parameters
    ----------
    objectPoints, imagePoints : (N, 3) and (N, 2), (N, 1, 3) and (N, 1, 2), or (1, N, 3) and (1, N, 2) array_like
        At least four 3D points, and their images in pixels.
    cameraMatrix : (3, 3) array_like
        Camera matrix.
    distCoeffs : array_like or None
        (k1, k2, p1, p2[, k3[, k4, k5, k6]]), or 12 or 14 coefficients with zeros after k6. None or empty: no
        distortion.
    rvec, tvec, useExtrinsicGuess
        With ``useExtrinsicGuess``, the initial pose (3, 1) and (3, 1), and output arrays; else ignored.
    iterationsCount, confidence, flags
        See :mod:`bansac.compat.cv2`.
    reprojectionError : float, optional
        Largest reprojection error of an inlier in pixels.
    inliers : optional
        Ignored.

    Returns
    -------
    retval : bool
        Whether a pose was found.
    rvec, tvec : (3, 1) ndarray or None
        Rotation vector and translation of ``x ~ K (R X + t)``. Without a pose, the initial one; if there is none,
        zeros, or None with ``USAC_*``.
    inliers : (M, 1) ndarray of int32 or None
        Indices of the inliers. None without a pose.
    """
    X, x = as_pair("objectPoints", objectPoints, "imagePoints", imagePoints, channels=(3, 2), least=4)
    camera = _with_distortion(("cameraMatrix", "distCoeffs"), cameraMatrix, distCoeffs)
    if not isinstance(flags, int | np.integer) or int(flags) not in (*_SOLVEPNP, *_USAC):
        raise ValueError(f"flags must be 0 to 8 (SOLVEPNP_*) or 32 to 38 (USAC_*), got {flags!r}")
    method = int(flags) if flags in _USAC else RANSAC
    settings = read_method(len(x), method, reprojectionError, iterationsCount, confidence)
    guess: tuple[Floats, Floats] | None = None
    if useExtrinsicGuess and rvec is not None and tvec is not None:
        guess = as_numbers("rvec", np.ravel(rvec), (3,)), as_numbers("tvec", np.ravel(tvec), (3,))
        settings["initial_model"] = (rotation_matrix(guess[0]), guess[1])
    result = estimate_absolute_pose(X, x, camera, **settings)
    success = is_returned(result, 4)
    pose = (_rotation_vector(result.model.R), result.model.t) if success else guess
    if pose is None and is_flag(method, RANSAC):
        pose = np.zeros(3), np.zeros(3)
    outputs = (None, None) if guess is None else (rvec, tvec)
    vectors: tuple[Any, Any] = (None, None)
    if pose is not None:
        first, second = (write_same_shape(v[:, None].copy(), out) for v, out in zip(pose, outputs, strict=True))
        vectors = first, second
    indices: Any = np.flatnonzero(result.inliers).astype(np.int32)[:, None] if success else None
    return success, *vectors, indices


def _rotation_vector(R: Floats) -> Floats:
    """Return the rotation vector of a rotation, with an angle in [0, pi]."""
    w, *axis = model_of(np.column_stack([R, np.zeros(3)]))[:4]
    sine = float(np.linalg.norm(axis))
    return np.array(axis) * (np.copysign(2.0 * np.arctan2(sine, abs(w)) / sine, w) if sine > 0.0 else 0.0)


def _cameras(arguments: Mapping[str, Any]) -> tuple[Floats | Camera, Floats | Camera]:
    if "cameraMatrix1" in arguments:
        pairs = ((f"cameraMatrix{i}", f"distCoeffs{i}") for i in (1, 2))
        camera1, camera2 = (_with_distortion(names, *(arguments[name] for name in names)) for names in pairs)
        return camera1, camera2
    matrix: Any = arguments.get("cameraMatrix")
    if "cameraMatrix" not in arguments:
        focal, point = arguments["focal"], np.asarray(arguments["pp"], dtype=np.float64).ravel()
        if np.ndim(focal) > 0:
            raise ValueError(f"cameraMatrix must be 3 x 3, or focal a number; got an array of shape {np.shape(focal)}")
        if point.size != 2:
            raise ValueError(f"pp must have two coordinates, got {arguments['pp']!r}")
        matrix = np.array([[focal, 0.0, point[0]], [0.0, focal, point[1]], [0.0, 0.0, 1.0]])
    K = as_camera("cameraMatrix", matrix)
    return K, K


def _with_distortion(names: tuple[str, str], matrix: ArrayLike, coefficients: ArrayLike | None) -> Floats | Camera:
    """Return a camera with distortion, without skew as in ``cv2.undistortPoints``, or the matrix if it has none."""
    K = as_camera(names[0], matrix)
    try:
        camera = Camera.from_matrix(K * [[1, 0, 1], [0, 1, 1], [0, 0, 1]], coefficients)
    except ValueError as error:
        raise ValueError(f"{names[1]}: {error}") from None
    return camera if camera.is_distorted else K


def _rays(camera: Floats | Camera, x: Floats) -> Floats:
    return camera.unproject(x) if isinstance(camera, Camera) else normalise_points(camera, x)
