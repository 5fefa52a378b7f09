"""The residual of matches with depths, literally: covariances, and points one after the other."""

import numpy as np

from tests.reference import space


def distances(model, data):
    """Return the distances of matches with depths (6 x N) from a motion, a scale and a weight."""
    R, t = space.rotate(model[:4], np.eye(3)).T, model[4:7]
    return np.array([np.sqrt(_square(R, t, model[7], model[8], match)) for match in data.T])


def _square(R, t, scale, weight, match):
    x1, x2, d1, d2 = np.append(match[:2], 1.0), np.append(match[2:4], 1.0), match[4], match[5]
    squares = []
    if d1 > 0.0:
        squares.append(_one_way(d1 * (R @ x1), t, x2, weight))
    if d2 > 0.0:
        squares.append(_one_way(d2 / scale * (R.T @ x2), -R.T @ t, x1, weight))
    return np.mean(squares) if squares else np.inf


def _one_way(point, t, x, weight):
    """Return the squared error of a point (with the depth as its length) that is moved by t and seen at x."""

    def seen(log_factor):
        moved = np.exp(log_factor) * point + t
        return moved[:2] / moved[2] if moved[2] > 0.0 else np.full(2, np.inf)

    error, step = seen(0.0) - x[:2], 1e-5
    if not np.isfinite(error).all():
        return np.inf
    g = (seen(step) - seen(-step)) / (2.0 * step)
    return error @ np.linalg.solve(np.eye(2) + weight * np.outer(g, g), error)
