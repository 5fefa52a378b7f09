"""3D points and their images by one camera."""

import numpy as np

from bansac.geometry import rotation_matrix

SIZE = 1280, 960


def seen_points(K, n=300, inlier_ratio=0.6, noise=0.5, seed=0, tilt=None):
    """Return 3D points, their images, R, t and the mask; a plane with this tilt in radians, or a cloud."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, SIZE, (n, 2))
    rays = np.insert((x - K[:2, 2]) / np.diag(K)[:2], 2, 1, axis=1)
    depth = rng.uniform(4, 12, (n, 1)) if tilt is None else 8 / (1 + np.tan(tilt) * rays[:, :1])
    R, t = rotation_matrix(rng.normal(size=3)), rng.normal(size=3) * 5
    inliers = rng.permutation(np.arange(n) < inlier_ratio * n)
    x = np.where(inliers[:, None], x + rng.normal(0, noise, (n, 2)), rng.uniform(0, SIZE, (n, 2)))
    return (rays * depth - t) @ R, x, R, t, inliers
