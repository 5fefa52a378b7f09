"""Adapters of OpenCV's estimators: ``import bansac.compat.cv2 as cv2``.

The functions have the signatures, return types and shapes of OpenCV 4 and 5. OpenCV need not be installed. If it is,
this module also provides all its other names, so that changing the import line is enough to switch a program.

Values of ``method`` (the constants have OpenCV's values):

- ``0``: least squares on all points for homographies; for E the same as ``RANSAC``
- ``FM_7POINT``: the minimal solver for seven points; returns up to three stacked matrices
- ``FM_8POINT``: least squares on all points
- ``RANSAC``: the default options
- ``LMEDS``: the default options with an estimated threshold, instead of the median; the threshold of the call is
  ignored, as in OpenCV
- ``RHO``: the default options; the order of the points is ignored
- ``USAC_DEFAULT``: the default options
- ``USAC_PARALLEL``: the default options; one problem uses one thread
- ``USAC_FM_8PTS``: the default options; samples have seven points
- ``USAC_FAST``: ``preset="fast"``
- ``USAC_ACCURATE``: ``preset="accurate"``
- ``USAC_PROSAC``: ``sampler="prosac"``; points must be sorted, the best first
- ``USAC_MAGSAC``: ``scoring="magsac++"``

``solvePnPRansac`` has ``flags`` instead of a method: all ``SOLVEPNP_*`` are the default options, with samples of three
points (P3P); the ``USAC_*`` are those above.

``cv2.UsacParams`` is not supported: the estimators of :mod:`bansac` have these options. Nor is ``cv2.UMat``: pass its
array, ``points.get()``.

``confidence`` and ``prob`` have OpenCV's defaults. The default of ``maxIters`` is OpenCV's for affine maps,
similarities and translations. For other models ``maxIters`` and ``iterationsCount`` are four times OpenCV's, because an
iteration takes a fraction of OpenCV's time. None is the default of the estimator, which searches longer.

Differences from OpenCV's return values:

- A model that is not significant, whose support chance explains, is returned as in OpenCV if it has the inliers of a
  minimal sample, with a :class:`bansac.compat.DoubtWarning` that says why. None comes with such a warning, too. In the
  context of :func:`bansac.compat.strict`, both are None without a warning.
- If the number of points is that of a minimal sample, significance cannot be tested and the model is returned.
- The threshold of a fundamental matrix is for the Sampson distance. OpenCV's ``FM_RANSAC`` uses the distances to both
  epipolar lines.
- The mask is always that of the returned matrix.
- Invalid arguments, such as too few points or NaN, raise a ValueError that names them. If OpenCV is installed, it is
  also a ``cv2.error``.
"""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bansac.compat.arguments import LMEDS as LMEDS
from bansac.compat.arguments import RANSAC as RANSAC
from bansac.compat.arguments import RHO as RHO
from bansac.compat.arguments import as_pair, is_flag, read_method
from bansac.compat.calibrated import findEssentialMat as findEssentialMat
from bansac.compat.calibrated import recoverPose as recoverPose
from bansac.compat.calibrated import solvePnPRansac as solvePnPRansac
from bansac.compat.return_values import Answer, answer, answer_of_all, error_type, raises_opencv_error, warn_of_doubt
from bansac.estimate.result import Result
from bansac.estimate.transforms import estimate_affine, estimate_similarity
from bansac.estimate.two_views import estimate_fundamental, estimate_homography
from bansac.maths.arrays import Floats
from bansac.maths.validate import as_integer
from bansac.solvers.fundamental_7pt import fundamental_7pt
from bansac.solvers.fundamental_8pt import fundamental_8pt
from bansac.solvers.homography_dlt import homography_dlt

FM_7POINT, FM_8POINT, FM_LMEDS, FM_RANSAC = 1, 2, LMEDS, RANSAC
USAC_DEFAULT, USAC_PARALLEL, USAC_FM_8PTS, USAC_FAST, USAC_ACCURATE, USAC_PROSAC, USAC_MAGSAC = range(32, 39)
SOLVEPNP_ITERATIVE, SOLVEPNP_EPNP, SOLVEPNP_P3P = range(3)  # the others differ between OpenCV 4 and 5

# F is not divided by F[2, 2] if it is below this fraction of the norm.
_TINY = 1e-12

# Threshold of H and F if the caller's is 0 or less.
_DEFAULT_THRESHOLD = 3.0

# Default of ``maxIters`` of fundamental matrices.
_OF_FUNDAMENTAL = 4000


@raises_opencv_error
def findHomography(
    srcPoints: ArrayLike,
    dstPoints: ArrayLike,
    method: Any = 0,
    ransacReprojThreshold: Any = 3.0,
    mask: Any = None,
    maxIters: int | None = 8000,
    confidence: float | None = 0.995,
) -> Answer:
    """Estimate the homography between two sets of points, as ``cv2.findHomography``.

    Parameters
    ----------
    srcPoints, dstPoints : (N, 2), (N, 1, 2) or (N, 3) array_like
        At least four matched points; (N, 3) are homogeneous.
    method, maxIters, confidence
        See :mod:`bansac.compat.cv2`.
    ransacReprojThreshold : float
        Largest transfer error of an inlier. 0 or less is 3 for RANSAC and RHO.
    mask : (N, 1) ndarray of uint8, optional
        Output array for the mask.

    Returns
    -------
    H : (3, 3) ndarray or None
        Homography with ``H[2, 2] = 1``.
    mask : (N, 1) ndarray of uint8
        1 for an inlier. All zeros if H is None.

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
    x1, x2 = as_pair("srcPoints", srcPoints, "dstPoints", dstPoints, homogeneous=True, least=4)
    if is_flag(method, 0):
        H = homography_dlt(x1, x2)
        return answer_of_all([] if H is None else [H], len(x1), mask)
    settings = read_method(len(x1), method, ransacReprojThreshold, maxIters, confidence, _DEFAULT_THRESHOLD)
    return answer(estimate_homography(x1, x2, **settings), 4, mask)


@raises_opencv_error
def findFundamentalMat(
    points1: ArrayLike,
    points2: ArrayLike,
    method: Any = FM_RANSAC,
    ransacReprojThreshold: Any = 3.0,
    confidence: float | None = 0.99,
    maxIters: Any = _OF_FUNDAMENTAL,
    mask: Any = None,
) -> Answer:
    """Estimate the fundamental matrix of two images, as ``cv2.findFundamentalMat``.

    Parameters
    ----------
    points1, points2, method, confidence, mask
        As in :func:`findHomography`.
    ransacReprojThreshold : float
        Largest Sampson distance of an inlier. 0 or less is 3 for FM_RANSAC.
    maxIters : int, optional
        See :mod:`bansac.compat.cv2`. An array passed as ``maxIters`` is the mask, as in OpenCV's shorter signature.

    Returns
    -------
    F : (3, 3) ndarray or None
        Fundamental matrix with ``F[2, 2] = 1``, or of unit Frobenius norm if ``F[2, 2]`` vanishes. (3 k, 3) for the
        k <= 3 stacked matrices of seven points.
    mask : (N, 1) ndarray of uint8 or None
        1 for an inlier. All zeros if F is None. None for fewer than seven points.
    """
    x1, x2 = as_pair("points1", points1, "points2", points2, homogeneous=True)
    if isinstance(maxIters, np.ndarray):
        maxIters, mask = _OF_FUNDAMENTAL, maxIters
    if len(x1) < 7:
        warn_of_doubt(f"no model: a fundamental matrix needs 7 points, got {len(x1)}")
        return None, None  # type: ignore[return-value]
    if len(x1) == 7 and any(is_flag(method, classic) for classic in (FM_7POINT, FM_8POINT, FM_LMEDS, FM_RANSAC)):
        return answer_of_all([_divide(F) for F in fundamental_7pt(x1, x2)], 7, mask)
    if is_flag(method, FM_7POINT) or is_flag(method, FM_8POINT):
        F = fundamental_8pt(x1, x2)
        return answer_of_all([] if F is None else [_divide(F)], len(x1), mask)
    settings = read_method(len(x1), method, ransacReprojThreshold, maxIters, confidence, _DEFAULT_THRESHOLD)
    F, inliers = answer(estimate_fundamental(x1, x2, **settings), 7, mask)
    return (None if F is None else _divide(F)), inliers


@raises_opencv_error
def estimateAffine2D(
    from_: ArrayLike,
    to: ArrayLike,
    inliers: Any = None,
    method: Any = RANSAC,
    ransacReprojThreshold: float = 3.0,
    maxIters: int | None = 2000,
    confidence: float | None = 0.99,
    refineIters: int = 10,
) -> Answer:
    """Estimate the affine transform between two sets of points, as ``cv2.estimateAffine2D``.

    Parameters
    ----------
    from_, to : (N, 2) or (N, 1, 2) array_like
        At least two matched points.
    inliers, method, ransacReprojThreshold, maxIters, confidence
        As in :func:`findHomography`, where ``inliers`` is the mask.
    refineIters : int
        If 0, the final refinement is skipped; other values have no effect.

    Returns
    -------
    M : (2, 3) ndarray or None
        Affine transform.
    inliers : (N, 1) ndarray of uint8
        1 for an inlier. All zeros if M is None.
    """
    flag = method, ransacReprojThreshold, maxIters, confidence
    return _estimate_map(estimate_affine, 3, from_, to, inliers, refineIters, *flag)


@raises_opencv_error
def estimateAffinePartial2D(
    from_: ArrayLike,
    to: ArrayLike,
    inliers: Any = None,
    method: Any = RANSAC,
    ransacReprojThreshold: float = 3.0,
    maxIters: int | None = 2000,
    confidence: float | None = 0.99,
    refineIters: int = 10,
) -> Answer:
    """Estimate a rotation, scale and translation between two sets of points, as ``cv2.estimateAffinePartial2D``.

    Parameters
    ----------
    from_, to, inliers, method, ransacReprojThreshold, maxIters, confidence, refineIters
        As in :func:`estimateAffine2D`.

    Returns
    -------
    M, inliers : (2, 3) ndarray or None, and (N, 1) ndarray of uint8
        Similarity transform, and the mask of :func:`estimateAffine2D`.
    """
    flag = method, ransacReprojThreshold, maxIters, confidence
    return _estimate_map(estimate_similarity, 2, from_, to, inliers, refineIters, *flag)


def _estimate_map(
    estimate: Callable[..., Result], size: int, from_: Any, to: Any, mask: Any, refinement: Any, *flag: Any
) -> Answer:
    """Estimate a map of the plane with minimal samples of ``size`` matches."""
    x1, x2 = as_pair("from_", from_, "to", to, least=2)
    settings = read_method(len(x1), *flag)
    if as_integer("refineIters", refinement, 0) == 0:
        settings["refinement"] = None
    return answer(estimate(x1, x2, **settings), size, mask)


def _divide(F: Floats) -> Floats:
    """Scale F to F[2, 2] = 1 unless F[2, 2] vanishes."""
    return np.asarray(F / F[2, 2] if abs(F[2, 2]) > _TINY * np.linalg.norm(F) else F)


def __getattr__(name: str) -> Any:
    """Return names that are not defined here from OpenCV, if it is installed."""
    if name == "error":
        return error_type().__mro__[1] if error_type() is not ValueError else ValueError
    if name.startswith("__") and name != "__version__":
        raise AttributeError(name)
    try:
        opencv = importlib.import_module("cv2")
    except ImportError as missing:
        text = f"bansac.compat.cv2 has no {name!r}, and OpenCV, which may have it, is not installed"
        raise AttributeError(text) from missing
    return getattr(opencv, name)
