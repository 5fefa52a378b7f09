"""The line, plane or hyperplane of total least squares."""

import math

import numpy as np

from bansac.maths.arrays import Bools, Floats


def flat_distances(data: Floats, members: Bools) -> Floats:
    """Return the distances of points (2 x N or 3 x N) from the line or plane of total least squares of the members."""
    return np.abs(flat_coordinates(data, members))


def flat_coordinates(data: Floats, members: Bools) -> Floats:
    """Return the signed distances, negative on one side."""
    offsets = data - data[:, members].mean(axis=1, keepdims=True)
    of = np.compress(members, offsets, axis=1)
    of /= np.ptp(of, axis=1).max()
    scatter = of @ of.T
    if len(data) > 2:
        normal = np.linalg.eigh(scatter)[1][:, 0] if np.isfinite(scatter).all() else np.eye(len(data))[0]
        return np.asarray(normal @ offsets)
    (xx, xy), (_, yy) = scatter
    angle = 0.5 * math.atan2(2.0 * xy, xx - yy)
    return np.asarray(math.cos(angle) * offsets[1] - math.sin(angle) * offsets[0])
