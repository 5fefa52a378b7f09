"""Affine maps, similarities and rigid motions of the plane and of space."""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from bansac.estimate.generic import estimate
from bansac.estimate.presets import Arguments, Threshold
from bansac.estimate.result import Result
from bansac.maths.arrays import Floats
from bansac.maths.validate import as_matches


def estimate_affine(
    x1: ArrayLike, x2: ArrayLike, *, threshold: Threshold = None, **settings: Unpack[Arguments]
) -> Result[Floats]:
    """Estimate the affine map between two sets of 2D points from matches with outliers.

    Parameters
    ----------
    x1, x2, **settings
        As in :func:`bansac.estimate_homography` (``scores``, ``priors`` and all others), with the same errors.
    threshold : float or "auto", optional
        Largest transfer error ``|x2 - A x1 - b|`` of an inlier, in pixels. By default it is estimated, as in
        :func:`bansac.estimate_homography`, starting from 2, or in other units than pixels from .002 of the extent.

    Returns
    -------
    Result
        ``model`` is the matrix (A | b) (2 x 3) with ``x2 = A x1 + b``.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> x1 = np.random.default_rng(0).uniform(0, 500, (100, 2))
    >>> M, inliers = bansac.estimate_affine(x1, x1 * [1.0, 2.0] + [10.0, 20.0])
    >>> np.round(M, 6) + 0.0
    array([[ 1.,  0., 10.],
           [ 0.,  2., 20.]])
    """
    return estimate("affine", as_matches(x1, x2), threshold, settings)


def estimate_similarity(
    x1: ArrayLike, x2: ArrayLike, *, threshold: Threshold = None, **settings: Unpack[Arguments]
) -> Result[Floats]:
    """Estimate the similarity between two sets of 2D points from matches with outliers.

    The arguments are those of :func:`bansac.estimate_affine`; the transfer error is ``|x2 - s R x1 - t|``.

    Returns
    -------
    Result
        ``model`` is the matrix (s R | t) (2 x 3) with ``x2 = s R x1 + t``, the scale s > 0 and the rotation R.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> x1 = np.random.default_rng(0).uniform(0, 500, (100, 2))
    >>> M, inliers = bansac.estimate_similarity(x1, 2 * x1[:, ::-1] * [-1, 1] + [10.0, 20.0])
    >>> np.round(M, 6) + 0.0
    array([[ 0., -2., 10.],
           [ 2.,  0., 20.]])
    """
    return estimate("similarity", as_matches(x1, x2), threshold, settings)


def estimate_rigid_3d(
    x1: ArrayLike, x2: ArrayLike, *, threshold: Threshold = None, **settings: Unpack[Arguments]
) -> Result[Floats]:
    """Estimate the rigid motion between two sets of 3D points from matches with outliers.

    Parameters
    ----------
    x1, x2 : (N, 3) array_like
        Matched points of the first and the second set, in the same unit.
    threshold : float or "auto", optional
        Largest distance ``|x2 - R x1 - t|`` of an inlier. By default it is estimated, starting from a share of the
        extent of ``x2``.
    **settings
        ``scores`` and all further arguments as in :func:`bansac.estimate_homography`, with the same errors;
        ``max_iterations`` is 50,000 by default.

    Returns
    -------
    Result
        ``model`` is the matrix (R | t) (3 x 4) with ``x2 = R x1 + t`` and the rotation R.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> x1 = np.random.default_rng(0).uniform(0, 10, (100, 3))
    >>> M, inliers = bansac.estimate_rigid_3d(x1, x1[:, [1, 2, 0]] + [1, 2, 3], threshold=0.1)
    >>> np.round(M, 6) + 0.0
    array([[0., 1., 0., 1.],
           [0., 0., 1., 2.],
           [1., 0., 0., 3.]])
    """
    return estimate("rigid_3d", as_matches(x1, x2, channels=(3, 3)), threshold, settings)


def estimate_similarity_3d(
    x1: ArrayLike, x2: ArrayLike, *, threshold: Threshold = None, **settings: Unpack[Arguments]
) -> Result[Floats]:
    """Estimate the similarity between two sets of 3D points from matches with outliers.

    The arguments are those of :func:`bansac.estimate_rigid_3d`. The units of the sets may differ; the distance
    ``|x2 - s R x1 - t|`` of an inlier is in that of ``x2``.

    Returns
    -------
    Result
        ``model`` is the matrix (s R | t) (3 x 4) with ``x2 = s R x1 + t``, the scale s > 0 and the rotation R.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> x1 = np.random.default_rng(0).uniform(0, 10, (100, 3))
    >>> M, inliers = bansac.estimate_similarity_3d(x1, 2 * x1[:, [1, 2, 0]] + [1, 2, 3], threshold=0.1)
    >>> np.round(M, 6) + 0.0
    array([[0., 2., 0., 1.],
           [0., 0., 2., 2.],
           [2., 0., 0., 3.]])
    """
    return estimate("similarity_3d", as_matches(x1, x2, channels=(3, 3)), threshold, settings)


def estimate_affine_3d(
    x1: ArrayLike, x2: ArrayLike, *, threshold: Threshold = None, **settings: Unpack[Arguments]
) -> Result[Floats]:
    """Estimate the affine map between two sets of 3D points from matches with outliers.

    The arguments are those of :func:`bansac.estimate_similarity_3d`; the distance is ``|x2 - A x1 - b|``.

    Returns
    -------
    Result
        ``model`` is the matrix (A | b) (3 x 4) with ``x2 = A x1 + b``. Points on a plane do not determine it.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> x1 = np.random.default_rng(0).uniform(0, 10, (100, 3))
    >>> M, inliers = bansac.estimate_affine_3d(x1, x1 * [1, 2, 3] + [4, 5, 6], threshold=0.1)
    >>> np.round(M, 6) + 0.0
    array([[1., 0., 0., 4.],
           [0., 2., 0., 5.],
           [0., 0., 3., 6.]])
    """
    return estimate("affine_3d", as_matches(x1, x2, channels=(3, 3)), threshold, settings)
