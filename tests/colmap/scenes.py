"""Pairs of images as the verification gets them."""

from __future__ import annotations

from typing import Any

import numpy as np

from bansac.colmap import PairMatches
from bansac.geometry import normalize_points
from bansac.synthetic import SceneMatches


def as_pair(scene: SceneMatches, *, focal_error: float | None = 1.0, **changes: Any) -> PairMatches:
    """Return a scene as a pair; its cameras have prior focal lengths, wrong by a factor, or none."""
    n = len(scene.x1)
    indices = np.column_stack([np.arange(n), np.arange(n)[::-1]]).astype(np.uint32)
    pair: dict[str, Any] = {"x1": scene.x1, "x2": scene.x2, "size1": scene.size, "size2": scene.size}
    if focal_error is not None:
        K = scene.K.copy()
        K[0, 0] *= focal_error
        K[1, 1] *= focal_error
        rays = {"rays1": normalize_points(K, scene.x1), "rays2": normalize_points(K, scene.x2)}
        pair |= rays | {"pixel": 1 / K[0, 0]}
    return PairMatches(1, 2, 7, indices, **pair | changes)
