"""Affine maps and similarities of the plane."""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from bansac.estimate.generic import estimate
from bansac.estimate.presets import CallSettings, Threshold
from bansac.estimate.two_views import as_matches
from bansac.result import Result

__all__ = ["estimate_affine", "estimate_similarity"]


def estimate_affine(
    x1: ArrayLike, x2: ArrayLike, *, threshold: Threshold | None = None, **settings: Unpack[CallSettings]
) -> Result:
    """Estimate the affine map between two sets of 2D points from matches with outliers.

    Parameters
    ----------
    x1, x2 : (N, 2) array_like
        Matched points in the first and the second image, in pixels; (N, 1, 2) works too.
    threshold : float or "auto", optional
        Largest transfer error ``|x2 - A x1 - b|`` of an inlier, in pixels. By default it is estimated, as in
        :func:`bansac.estimate_homography`, starting from 2.
    **settings
        ``scores``, ``priors``, ``weights``, ``initial_model``, ``preset``, ``options`` and single options, as in
        :func:`bansac.estimate_homography`; ``max_iterations`` is 50,000 by default.

    Returns
    -------
    Result
        ``model`` is the matrix (A | b) (2 x 3) with ``x2 = A x1 + b``.

    Raises
    ------
    ValueError, TypeError
        As in :func:`bansac.estimate_homography`.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> x1 = np.random.default_rng(0).uniform(0, 500, (100, 2))
    >>> M, inliers = bansac.estimate_affine(x1, x1 * [1.0, 2.0] + [10.0, 20.0])
    >>> np.round(M, 6) + 0.0
    array([[ 1.,  0., 10.],
           [ 0.,  2., 20.]])
    """
    from bansac.problems.affine import AFFINE

    return estimate(AFFINE, as_matches(x1, x2), threshold, settings)


def estimate_similarity(
    x1: ArrayLike, x2: ArrayLike, *, threshold: Threshold | None = None, **settings: Unpack[CallSettings]
) -> Result:
    """Estimate the similarity between two sets of 2D points from matches with outliers.

    Parameters
    ----------
    x1, x2 : (N, 2) array_like
        Matched points in the first and the second image, in pixels; (N, 1, 2) works too.
    threshold : float or "auto", optional
        Largest transfer error ``|x2 - s R x1 - t|`` of an inlier, in pixels. By default it is estimated, as in
        :func:`bansac.estimate_homography`, starting from 2.
    **settings
        ``scores``, ``priors``, ``weights``, ``initial_model``, ``preset``, ``options`` and single options, as in
        :func:`bansac.estimate_homography`; ``max_iterations`` is 50,000 by default.

    Returns
    -------
    Result
        ``model`` is the matrix (s R | t) (2 x 3) with ``x2 = s R x1 + t``, the scale s > 0 and the rotation R.

    Raises
    ------
    ValueError, TypeError
        As in :func:`bansac.estimate_homography`.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> x1 = np.random.default_rng(0).uniform(0, 500, (100, 2))
    >>> M, inliers = bansac.estimate_similarity(x1, 2 * x1[:, ::-1] * [-1, 1] + [10.0, 20.0])
    >>> np.round(M, 6) + 0.0
    array([[ 0., -2., 10.],
           [ 2.,  0., 20.]])
    """
    from bansac.problems.similarity import SIMILARITY

    return estimate(SIMILARITY, as_matches(x1, x2), threshold, settings)
