"""Adapters of OpenCV's functions for points of space and for translations."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bansac.compat.arguments import LMEDS, RANSAC, Call, as_pair, is_flag, is_number, read_method
from bansac.compat.return_values import answer, raises_opencv_error, warn_of_doubt, write_same_shape
from bansac.estimate.generic import ransac
from bansac.estimate.result import Result
from bansac.estimate.transforms import estimate_affine_3d
from bansac.maths.arrays import Bytes, Floats
from bansac.problems.problem import Problem
from bansac.problems.translation import TRANSLATION_2D, TRANSLATION_3D
from bansac.solvers.umeyama import umeyama

# OpenCV returns no model of fewer matches of space. Its searches have these numbers.
_LEAST = 4
_MAX_ITERATIONS, _CONFIDENCE = 1000, 0.99


@raises_opencv_error
def estimateAffine3D(
    src: ArrayLike,
    dst: ArrayLike,
    out: Any = None,
    inliers: Any = None,
    ransacThreshold: float = 3.0,
    confidence: float | None = None,
    *,
    force_rotation: bool | None = None,
) -> tuple[Any, ...]:
    """Estimate the affine map or the similarity between two sets of 3D points, as ``cv2.estimateAffine3D``.

    The second signature, ``(src, dst, *, force_rotation)``, fits a similarity to all points, without outliers
    (Umeyama); points on a line determine none. As in OpenCV, ``True`` as the third positional argument is ``out``, not
    ``force_rotation``.

    Parameters
    ----------
    src, dst : (N, 3), (N, 1, 3) or (1, N, 3) array_like
        At least three matched points.
    out : (3, 4) ndarray, optional
        Output array for the map.
    inliers : (N, 1) ndarray of uint8, optional
        Output array for the mask.
    ransacThreshold : float, optional
        Largest distance of an inlier from its image. 0 or less is 3.
    confidence : float, optional
        By default, and outside of (0, 1), it is .99.
    force_rotation : bool, optional
        Whether the similarity must not be a reflection.

    Returns
    -------
    retval : bool
        Whether a map was found.
    out : (3, 4) ndarray or None
        Affine map.
    inliers : (N, 1) ndarray of uint8 or None
        1 for an inlier. All zeros without a map, or None for fewer than four points.
    T, scale : (3, 4) ndarray and float
        With the second signature: (R | t) and s with ``dst = s R src + t``.
    """
    x1, x2 = as_pair("src", src, "dst", dst, channels=(3, 3), least=3)
    if force_rotation is not None:
        if not (out is inliers is confidence is None and ransacThreshold == 3.0):
            raise ValueError("force_rotation is for calls with src and dst only: it uses all points")
        if not isinstance(force_rotation, bool | int | np.bool_):
            raise ValueError(f"force_rotation must be True or False, got {force_rotation!r}")
        return _similarity(x1, x2, bool(force_rotation))
    return _of_space(_read(ransacThreshold, confidence).run(estimate_affine_3d, x1, x2), (3, 4), out, inliers)


@raises_opencv_error
def estimateTranslation3D(
    src: ArrayLike,
    dst: ArrayLike,
    out: Any = None,
    inliers: Any = None,
    ransacThreshold: float = 3.0,
    confidence: float | None = None,
) -> tuple[bool, Floats | None, Bytes | None]:
    """Estimate the translation between two sets of 3D points, as ``cv2.estimateTranslation3D``.

    Parameters
    ----------
    src, dst, inliers, ransacThreshold, confidence
        As in :func:`estimateAffine3D`.
    out : (1, 3) ndarray, optional
        Output array for the translation.

    Returns
    -------
    retval : bool
        Whether a translation was found.
    out : (1, 3) ndarray or None
        Translation ``dst - src``.
    inliers : (N, 1) ndarray of uint8 or None
        As in :func:`estimateAffine3D`.
    """
    x1, x2 = as_pair("src", src, "dst", dst, channels=(3, 3), least=1)
    return _of_space(_translation(TRANSLATION_3D, _read(ransacThreshold, confidence), x1, x2), (1, 3), out, inliers)


@raises_opencv_error
def estimateTranslation2D(
    from_: ArrayLike,
    to: ArrayLike,
    inliers: Any = None,
    method: Any = RANSAC,
    ransacReprojThreshold: float = 3.0,
    maxIters: int | None = 2000,
    confidence: float | None = 0.99,
    refineIters: int = 0,
) -> tuple[tuple[float, float], Bytes | None]:
    """Estimate the translation between two sets of 2D points, as ``cv2.estimateTranslation2D``.

    Parameters
    ----------
    from_, to, inliers, ransacReprojThreshold, maxIters, confidence
        As in :func:`bansac.compat.cv2.estimateAffine2D`; points may have the shape (1, N, 2), too.
    method : {RANSAC, LMEDS}
        See :mod:`bansac.compat.cv2`.
    refineIters : int
        Ignored: the mean of the inliers needs no refinement.

    Returns
    -------
    t : tuple of two floats
        Translation ``to - from_``; NaN if none is found.
    inliers : (N, 1) ndarray of uint8
        1 for an inlier. All zeros without a translation.
    """
    x1, x2 = as_pair("from_", from_, "to", to, least=1)
    if not (is_flag(method, RANSAC) or is_flag(method, LMEDS)):
        raise ValueError(f"method must be RANSAC ({RANSAC}) or LMEDS ({LMEDS}), got {method!r}")
    call = read_method(method, ransacReprojThreshold, maxIters, confidence)
    t, mask = answer(_translation(TRANSLATION_2D, call, x1, x2), 1, inliers)
    return ((np.nan, np.nan) if t is None else (float(t[0]), float(t[1]))), mask


def _read(threshold: float, confidence: float | None) -> Call:
    """Translate a threshold and a confidence; those out of their range are the defaults, as in OpenCV."""
    if confidence is None or (is_number(confidence) and (confidence <= 0.0 or confidence >= 1.0)):
        confidence = _CONFIDENCE
    return read_method(RANSAC, threshold, _MAX_ITERATIONS, confidence, 3.0)


def _translation(problem: Problem, call: Call, x1: Floats, x2: Floats) -> Result:
    return call.run(lambda first, second, **options: ransac(problem, np.hstack([first, second]), **options), x1, x2)


def _of_space(
    result: Result, shape: tuple[int, int], out: Any, inliers: Any
) -> tuple[bool, Floats | None, Bytes | None]:
    if len(result.inliers) < _LEAST:
        warn_of_doubt(f"no model: OpenCV needs {_LEAST} points, got {len(result.inliers)}")
        return False, None, None
    model, mask = answer(result, _LEAST, inliers)
    return model is not None, None if model is None else write_same_shape(model.reshape(shape), out), mask


def _similarity(x1: Floats, x2: Floats, force_rotation: bool) -> tuple[Floats, float]:
    """Return (R | t) and the scale of the similarity of all points; R may be a reflection unless ``force_rotation``.

    The similarity with the larger scale, with or without a reflection, has the smaller errors.
    """
    fits = []
    for mirror in (np.eye(3), np.diag([1.0, 1.0, -1.0]))[: 1 if force_rotation else 2]:
        motion = umeyama(x1 @ mirror, x2)
        if motion is None:
            raise ValueError("src and dst must not lie on a line")
        scale = float(np.linalg.norm(motion[0, :3]))
        fits.append((scale, np.column_stack([motion[:, :3] @ mirror / scale, motion[:, 3]])))
    scale, motion = max(fits, key=lambda fit: fit[0])
    return motion, scale
