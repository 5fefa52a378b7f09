"""Depths of synthetic matches, as networks estimate them from single images: up to a scale, with errors."""

from dataclasses import replace
from typing import Any

import numpy as np

from bansac.maths.arrays import Floats
from bansac.synthetic.two_views import SceneMatches, epipolar_matches

# Waves of a smooth error, and their number in the image.
_WAVES, _PERIODS = 8, 2.0


def depth_matches(
    n: int = 500, inlier_ratio: float = 0.5, noise: float = 0.5, seed: int = 0, **errors: Any
) -> SceneMatches:
    """Return :func:`epipolar_matches` with depths in both images.

    Parameters
    ----------
    n, inlier_ratio, noise, seed : optional
        As in :func:`epipolar_matches`, with the same errors.
    **errors
        Errors of the depths, see :func:`with_depths`.

    Returns
    -------
    SceneMatches
        Matches with their ground truth.

    Examples
    --------
    >>> matches = depth_matches(100, depth_noise=0.0)
    >>> ratios = matches.depth1[matches.inliers] / matches.points[matches.inliers, 2]
    >>> bool(np.ptp(ratios) < 1e-9)
    True
    """
    return with_depths(epipolar_matches(n, inlier_ratio, noise, seed), seed=seed, **errors)


def with_depths(
    scene: SceneMatches, depth_noise: float = 0.05, *, shift: float = 0.0, smooth: bool = False, seed: int = 0
) -> SceneMatches:
    """Return a scene with depths of both images, each times a random scale.

    Parameters
    ----------
    scene : SceneMatches
        Scene with a motion and points.
    depth_noise : float, optional
        Standard deviation of the logarithm of depths.
    shift : float, optional
        Added to all depths, in baselines.
    smooth : bool, optional
        Whether the errors are smooth in the image, as those of networks, or independent.
    seed : int, optional
        Seed of the random numbers.

    Returns
    -------
    SceneMatches
        The same matches. Outliers have depths in the range of the scene.

    Raises
    ------
    ValueError
        If the scene has no points or motion.
    """
    rng = np.random.default_rng(seed + 1_000_000)
    if scene.points is None or scene.R is None or scene.t is None:
        raise ValueError("scene must have points and a motion")
    depths = []
    for points, x in ((scene.points, scene.x1), (scene.points @ scene.R.T + scene.t, scene.x2)):
        z = points[:, 2]
        z = np.where(np.isnan(z), rng.uniform(np.nanmin(z), np.nanmax(z), z.size), z)
        error = _smooth_error(x / np.ptp(x, axis=0), rng) if smooth else rng.normal(size=z.size)
        depths.append(np.exp(rng.normal()) * (z * np.exp(depth_noise * error) + shift))
    return replace(scene, depth1=depths[0], depth2=depths[1])


def _smooth_error(x: Floats, rng: np.random.Generator) -> Floats:
    """Return a sum of waves at places in the unit square, of variance 1."""
    waves = 2.0 * np.pi * _PERIODS * rng.normal(size=(2, _WAVES))
    return np.asarray(np.cos(x @ waves + rng.uniform(0.0, 2.0 * np.pi, _WAVES)).sum(axis=1) * np.sqrt(2.0 / _WAVES))
