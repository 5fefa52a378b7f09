"""The estimators of OpenCV by bansac: ``import bansac.compat.cv2 as cv2``.

The functions have the signatures, return types and shapes of OpenCV 4 and 5. OpenCV need not be installed; where it is,
every other name of it is found here too, so that a program can be switched by its import line.

What ``method`` means (the constants have OpenCV's values):

- ``0``: least squares on all points for homographies; for E as ``RANSAC``
- ``FM_7POINT``: the minimal solver, for seven points: up to three matrices, one below the other
- ``FM_8POINT``: least squares on all points
- ``RANSAC``: the default options
- ``LMEDS``: the default options with the problem's default threshold, in place of the median; the threshold of the call
  is ignored, as OpenCV ignores it
- ``RHO``: the default options; the order of the points means nothing
- ``USAC_DEFAULT``: the default options
- ``USAC_PARALLEL``: the default options; one problem takes one thread
- ``USAC_FM_8PTS``: the default options; samples are of seven points
- ``USAC_FAST``: ``preset="fast"``
- ``USAC_ACCURATE``: ``preset="accurate"``
- ``USAC_PROSAC``: ``sampler="prosac"``: the points have to be sorted, the best first
- ``USAC_MAGSAC``: ``scoring="magsac++"``

A ``cv2.UsacParams`` in place of the method gives threshold, confidence, number of iterations, seed,
``SAMPLING_PROSAC`` and the score; its other fields have no effect. ``maxIters``, ``confidence`` and ``prob`` of None,
the default, are those of our options.

Where the answers differ from OpenCV's:

- None is returned for a model that has no more support than chance gives, with a mask of zeros. With as many points as
  a minimal sample has, there is nothing to judge, and the model is returned.
- The threshold of a fundamental matrix bounds the Sampson distance, that of OpenCV's ``FM_RANSAC`` the distances from
  both epipolar lines.
- The mask is always that of the matrix that is returned.
- Bad arguments raise a ValueError that names them; it is a ``cv2.error`` too where OpenCV is installed.
"""

from __future__ import annotations

import importlib
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.compat.arguments import LMEDS, RANSAC, RHO, as_pair, is_flag, read_method
from bansac.compat.calibrated import findEssentialMat, recoverPose
from bansac.compat.return_values import (
    Answer,
    answer,
    answer_of_all,
    answer_of_minimal,
    error_type,
    raises_opencv_error,
)
from bansac.estimate.transforms import estimate_affine, estimate_similarity
from bansac.estimate.two_views import estimate_fundamental, estimate_homography

__all__ = [
    "FM_7POINT",
    "FM_8POINT",
    "FM_LMEDS",
    "FM_RANSAC",
    "LMEDS",
    "RANSAC",
    "RHO",
    "USAC_ACCURATE",
    "USAC_DEFAULT",
    "USAC_FAST",
    "USAC_FM_8PTS",
    "USAC_MAGSAC",
    "USAC_PARALLEL",
    "USAC_PROSAC",
    "estimateAffine2D",
    "estimateAffinePartial2D",
    "findEssentialMat",
    "findFundamentalMat",
    "findHomography",
    "recoverPose",
]

FM_7POINT, FM_8POINT, FM_LMEDS, FM_RANSAC = 1, 2, LMEDS, RANSAC
USAC_DEFAULT, USAC_PARALLEL, USAC_FM_8PTS, USAC_FAST, USAC_ACCURATE, USAC_PROSAC, USAC_MAGSAC = range(32, 39)

_Matrix: TypeAlias = NDArray[np.float64]

# An entry F[2, 2] below this share of the norm is not divided by.
_TINY = 1e-12


@raises_opencv_error
def findHomography(
    srcPoints: ArrayLike,
    dstPoints: ArrayLike,
    method: Any = 0,
    ransacReprojThreshold: float = 3.0,
    mask: Any = None,
    maxIters: int | None = None,
    confidence: float | None = None,
) -> Answer:
    """Find the homography between two sets of points, as ``cv2.findHomography``.

    Parameters
    ----------
    srcPoints, dstPoints : (N, 2) or (N, 1, 2) array_like
        At least four matched points.
    method : int or cv2.UsacParams
        See :mod:`bansac.compat.cv2`.
    ransacReprojThreshold : float
        Largest transfer error of an inlier.
    mask : (N, 1) ndarray of uint8, optional
        Gets the mask.
    maxIters, confidence : int and float, optional
        Our own defaults if they are not given.

    Returns
    -------
    H : (3, 3) ndarray or None
        With ``H[2, 2] = 1``.
    mask : (N, 1) ndarray of uint8
        1 for an inlier; all zeros without H.

    Raises
    ------
    ValueError
        If there are fewer than four points, or an argument is not allowed.

    Examples
    --------
    >>> import numpy as np
    >>> import bansac.compat.cv2 as cv2
    >>> x = np.random.default_rng(0).uniform(0, 500, (50, 2))
    >>> H, mask = cv2.findHomography(x, x + 5, cv2.RANSAC, 3.0)
    >>> np.round(H, 6) + 0.0, mask.shape
    (array([[1., 0., 5.],
           [0., 1., 5.],
           [0., 0., 1.]]), (50, 1))
    """
    x1, x2 = as_pair("srcPoints", srcPoints, "dstPoints", dstPoints)
    _check_number("srcPoints", len(x1), 4)
    if is_flag(method, 0):
        from bansac.solvers.homography_dlt import homography_dlt

        return answer_of_all(homography_dlt(x1, x2), len(x1), mask)
    call = read_method(method, ransacReprojThreshold, maxIters, confidence)
    return answer(call.run(estimate_homography, x1, x2), 4, mask)


@raises_opencv_error
def findFundamentalMat(
    points1: ArrayLike,
    points2: ArrayLike,
    method: Any = FM_RANSAC,
    ransacReprojThreshold: float = 3.0,
    confidence: float | None = None,
    maxIters: Any = None,
    mask: Any = None,
) -> Answer:
    """Find the fundamental matrix of two images, as ``cv2.findFundamentalMat``.

    Parameters
    ----------
    points1, points2 : (N, 2) or (N, 1, 2) array_like
        Matched points.
    method : int or cv2.UsacParams
        See :mod:`bansac.compat.cv2`.
    ransacReprojThreshold : float
        Largest Sampson distance of an inlier.
    confidence, maxIters : float and int, optional
        Our own defaults if they are not given. An array in place of ``maxIters`` is the mask, as in OpenCV's shorter
        signature.
    mask : (N, 1) ndarray of uint8, optional
        Gets the mask.

    Returns
    -------
    F : (3, 3) ndarray or None
        With ``F[2, 2] = 1``, of unit norm where that vanishes; (9, 3) for the up to three matrices of seven points.
    mask : (N, 1) ndarray of uint8 or None
        1 for an inlier; all zeros without F; None for fewer than seven points.

    Raises
    ------
    ValueError
        If an argument is not allowed.
    """
    x1, x2 = as_pair("points1", points1, "points2", points2)
    if isinstance(maxIters, np.ndarray):
        maxIters, mask = None, maxIters
    if len(x1) < 7:
        return None, None
    if len(x1) == 7 and any(is_flag(method, classic) for classic in (FM_7POINT, FM_8POINT, FM_LMEDS, FM_RANSAC)):
        from bansac.solvers.fundamental_7pt import fundamental_7pt

        return answer_of_minimal([_divide(F) for F in fundamental_7pt(x1, x2)], 7, mask)
    if is_flag(method, FM_7POINT) or is_flag(method, FM_8POINT):
        from bansac.solvers.fundamental_8pt import fundamental_8pt

        F = fundamental_8pt(x1, x2)
        return answer_of_all(None if F is None else _divide(F), len(x1), mask)
    call = read_method(method, ransacReprojThreshold, maxIters, confidence)
    found, inliers = answer(call.run(estimate_fundamental, x1, x2), 7, mask)
    return (None if found is None else _divide(found)), inliers


@raises_opencv_error
def estimateAffine2D(
    from_: ArrayLike,
    to: ArrayLike,
    inliers: Any = None,
    method: Any = RANSAC,
    ransacReprojThreshold: float = 3.0,
    maxIters: int | None = None,
    confidence: float | None = None,
    refineIters: int = 10,
) -> Answer:
    """Find the affine map between two sets of points, as ``cv2.estimateAffine2D``.

    Parameters
    ----------
    from_, to : (N, 2) or (N, 1, 2) array_like
        Matched points.
    inliers : (N, 1) ndarray of uint8, optional
        Gets the mask.
    method : int or cv2.UsacParams
        See :mod:`bansac.compat.cv2`.
    ransacReprojThreshold : float
        Largest transfer error of an inlier.
    maxIters, confidence : int and float, optional
        Our own defaults if they are not given.
    refineIters : int
        0 leaves the last refinement out; other numbers have no effect.

    Returns
    -------
    M : (2, 3) ndarray or None
        The matrix.
    inliers : (N, 1) ndarray of uint8
        1 for an inlier; all zeros without M.

    Raises
    ------
    ValueError
        If there are fewer than two points, or an argument is not allowed.
    """
    return _affine(
        estimate_affine, 3, from_, to, inliers, method, ransacReprojThreshold, maxIters, confidence, refineIters
    )


@raises_opencv_error
def estimateAffinePartial2D(
    from_: ArrayLike,
    to: ArrayLike,
    inliers: Any = None,
    method: Any = RANSAC,
    ransacReprojThreshold: float = 3.0,
    maxIters: int | None = None,
    confidence: float | None = None,
    refineIters: int = 10,
) -> Answer:
    """Find the rotation, scale and translation between two sets of points, as ``cv2.estimateAffinePartial2D``.

    Parameters
    ----------
    from_, to, inliers, method, ransacReprojThreshold, maxIters, confidence, refineIters
        As in :func:`estimateAffine2D`.

    Returns
    -------
    M : (2, 3) ndarray or None
        The matrix.
    inliers : (N, 1) ndarray of uint8
        1 for an inlier; all zeros without M.

    Raises
    ------
    ValueError
        If there are fewer than two points, or an argument is not allowed.
    """
    return _affine(
        estimate_similarity, 2, from_, to, inliers, method, ransacReprojThreshold, maxIters, confidence, refineIters
    )


def _affine(
    estimate: Any, sample_size: int, from_: ArrayLike, to: ArrayLike, inliers: Any, method: Any,
    threshold: float, maxIters: int | None, confidence: float | None, refineIters: int,
) -> Answer:  # fmt: skip
    """Estimate a map of the plane."""
    x1, x2 = as_pair("from_", from_, "to", to)
    _check_number("from_", len(x1), 2)
    call = read_method(method, threshold, maxIters, confidence)
    if refineIters == 0:
        call.settings["refinement"] = None
    return answer(call.run(estimate, x1, x2), sample_size, inliers)


def _check_number(name: str, n: int, least: int) -> None:
    if n < least:
        raise ValueError(f"{name} must have at least {least} points, got {n}")


def _divide(F: _Matrix) -> _Matrix:
    """Scale F to F[2, 2] = 1 unless that vanishes."""
    return np.asarray(F / F[2, 2] if abs(F[2, 2]) > _TINY * np.linalg.norm(F) else F)


def __getattr__(name: str) -> Any:
    """Return the names of OpenCV that are not here, where it is installed."""
    if name == "error":
        return error_type().__mro__[1] if error_type() is not ValueError else ValueError
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        opencv = importlib.import_module("cv2")
    except ImportError as missing:
        raise AttributeError(
            f"bansac.compat.cv2 has no {name!r}, and OpenCV, which may have it, is not installed"
        ) from missing
    return getattr(opencv, name)
