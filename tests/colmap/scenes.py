"""Pairs of images as the verification gets them."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.colmap import PairGeometry, PairMatches, VerificationOptions, verify_pairs
from bansac.geometry import normalise_points
from bansac.synthetic import SceneMatches, epipolar_matches


def as_pair(scene: SceneMatches, *, focal_error: float | None = 1.0, **changes: Any) -> PairMatches:
    """Return a scene as a pair; its cameras have prior focal lengths, wrong by a factor, or none."""
    n = len(scene.x1)
    indices = np.column_stack([np.arange(n), np.arange(n)[::-1]]).astype(np.uint32)
    pair: dict[str, Any] = {"x1": scene.x1, "x2": scene.x2, "size1": scene.size, "size2": scene.size}
    if focal_error is not None:
        K = scene.K.copy()
        K[0, 0] *= focal_error
        K[1, 1] *= focal_error
        rays = np.hstack([normalise_points(K, scene.x1), normalise_points(K, scene.x2)])
        pair |= {"rays": rays, "pixel": 1 / K[0, 0]}
    return PairMatches(1, 2, 7, indices, **pair | changes)


def verify(pair: PairMatches, options: VerificationOptions | None = None) -> PairGeometry:
    """Return the geometry of a pair."""
    [geometry] = verify_pairs([pair], options or VerificationOptions())
    assert isinstance(geometry, PairGeometry)
    return geometry


def two_motions(counts: tuple[int, int, int] = (150, 100, 60)) -> tuple[SceneMatches, NDArray[np.int_]]:
    """Return matches of two motions and outliers, as numbered by ``counts``, and the labels 0, 1 and -1."""
    first, second = (epipolar_matches(n, inlier_ratio=1.0, noise=0.5, seed=k) for k, n in enumerate(counts[:2]))
    height, width = first.size
    wrong = np.random.default_rng(0).uniform(0, [width, height], (2, counts[2], 2))
    x1, x2 = np.vstack([first.x1, second.x1, wrong[0]]), np.vstack([first.x2, second.x2, wrong[1]])
    return replace(first, x1=x1, x2=x2), np.repeat([0, 1, -1], counts)
