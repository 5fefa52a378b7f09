"""The residual of matches with depths, literally: covariances, and points one after the other."""

import numpy as np

from tests.reference import space


def distances(model, data):
    """Return the distances of matches with depths (7 x N) from a motion and a scale."""
    R, t = space.rotate(model[:4], np.eye(3)).T, model[4:7]
    return np.array([np.sqrt(_square(R, t, model[7], match)) for match in data.T])


def _square(R, t, scale, match):
    x1, x2, (d1, d2, weight) = np.append(match[:2], 1.0), np.append(match[2:4], 1.0), match[4:]
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


def smallest_costs(model, data):
    """Return the smallest cost of each match over the depths: the squared error, and that of the depth over k."""
    R, t = space.rotate(model[:4], np.eye(3)).T, model[4:7]
    costs = []
    for match in data.T:
        x1, x2, (d1, d2, weight) = np.append(match[:2], 1.0), np.append(match[2:4], 1.0), match[4:]
        ways = [(d1 * (R @ x1), t, x2), (d2 / model[7] * (R.T @ x2), -R.T @ t, x1)]
        costs.append(np.mean([_smallest(*way, weight) for way, d in zip(ways, (d1, d2), strict=True) if d > 0.0]))
    return np.array(costs)


def _smallest(point, t, x, weight):
    """Return the smallest cost of one direction, on a fine grid of the logarithm of the depth."""
    steps = np.linspace(-1.0, 1.0, 20_001)
    moved = np.exp(steps)[:, None] * point + t
    errors = moved[:, :2] / moved[:, 2:] - x[:2]
    return np.min(np.where(moved[:, 2] > 0.0, np.sum(errors**2, axis=1) + steps**2 / weight, np.inf))
