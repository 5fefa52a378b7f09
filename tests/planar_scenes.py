"""Scenes with a dominant plane, seen by two cameras, in normalised coordinates."""

import numpy as np

from tests.reference import degensac as reference
from tests.reference.epipolar import cross_matrix, random_rotation

PLANE, ANYWHERE, OUTLIER = 0, 1, 2
PIXEL = 1 / 800


class Scene:
    """Matches of which some are on a plane, others anywhere in space, others wrong; in normalised coordinates."""

    def __init__(self, rng, kinds, noise=0.0, R=None, t=None):
        self.kinds = np.array(kinds)
        n = len(kinds)
        self.R = random_rotation(rng, 0.3) if R is None else R
        t = rng.normal(size=3) * [1, 1, 0.4] if t is None else t
        self.t = t / np.linalg.norm(t)
        tilt = np.array([*rng.uniform(-0.5, 0.5, 2), 1.0])
        x1 = np.vstack([rng.uniform(-0.4, 0.4, (2, n)), np.ones(n)])
        distance = 7.0
        depth = np.where(self.kinds == PLANE, distance / (tilt @ x1), rng.uniform(4, 12, n))
        X2 = self.R @ (depth * x1) + self.t[:, None]
        self.H = self.R + np.outer(self.t, tilt) / distance
        self.F = cross_matrix(self.t) @ self.R
        self.data = np.ascontiguousarray(np.vstack([x1[:2], X2[:2] / X2[2]]))
        self.data += rng.normal(0, noise, self.data.shape)
        wrong = self.kinds == OUTLIER
        self.data[2:, wrong] = rng.uniform(-0.4, 0.4, (2, wrong.sum())) + self.data[2:].mean(axis=1)[:, None]

    def pick(self, rng, kind, count):
        return rng.choice(np.flatnonzero(self.kinds == kind), count, replace=False)

    def epipole_error(self, F):
        """Angle in degrees between the epipole of F and the direction of the motion."""
        e = reference.second_epipole(np.reshape(F, (3, 3)))
        return np.degrees(np.arccos(min(1.0, abs(e @ self.t))))


def dominant_plane(rng, n, on_plane, inliers, noise=0.0):
    """Make a scene in which the share ``on_plane`` of the inliers is on one plane."""
    plane, anywhere = round(n * inliers * on_plane), round(n * inliers * (1 - on_plane))
    kinds = [PLANE] * plane + [ANYWHERE] * anywhere + [OUTLIER] * (n - plane - anywhere)
    return Scene(rng, rng.permutation(kinds), noise)
