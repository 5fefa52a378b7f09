"""Find a plane in a cloud of points: a problem of one's own, at the speed of the built-in ones."""

from __future__ import annotations

import math

import numpy as np

import bansac
from bansac.numeric.linalg import smallest_eigenvector


def solve(data, sample, models, scratch):
    """Plane a x + b y + c z + d = 0 through three points; collinear points give none."""
    x, y, z = data[0], data[1], data[2]
    i, j, k = sample[0], sample[1], sample[2]
    ux, uy, uz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
    vx, vy, vz = x[k] - x[i], y[k] - y[i], z[k] - z[i]
    a, b, c = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    length = math.sqrt(a * a + b * b + c * c)
    if not length > 1e-9 * (ux * ux + uy * uy + uz * uz + vx * vx + vy * vy + vz * vz):
        return 0
    models[0, 0] = a / length
    models[0, 1] = b / length
    models[0, 2] = c / length
    models[0, 3] = -(a * x[i] + b * y[i] + c * z[i]) / length
    return 1


def residuals(data, model, start, stop, out):
    """Squared distances of the points ``start`` to ``stop``."""
    x, y, z = data[0, start:stop], data[1, start:stop], data[2, start:stop]
    for i in range(stop - start):
        distance = model[0] * x[i] + model[1] * y[i] + model[2] * z[i] + model[3]
        out[i] = distance * distance


def fit(data, weights, model, scratch):
    """Least squares: the centroid, and the direction in which the points scatter least."""
    total = 0.0
    for i in range(weights.size):
        total += weights[i]
    if not total > 0.0:
        return False
    centroid, scatter = scratch[0:3], scratch[3:]
    for j in range(3):
        centroid[j] = 0.0
        for i in range(weights.size):
            centroid[j] += weights[i] * data[j, i] / total
    for j in range(3):
        for k in range(3):
            scatter[3 * j + k] = 0.0
            for i in range(weights.size):
                scatter[3 * j + k] += weights[i] * (data[j, i] - centroid[j]) * (data[k, i] - centroid[k])
    smallest_eigenvector(scatter, 3)  # reads 9 numbers and writes the eigenvector behind them
    model[3] = 0.0
    for j in range(3):
        model[j] = scatter[9 + j]
        model[3] -= model[j] * centroid[j]
    return True


PLANE = bansac.Problem(
    name="plane",
    channels=3,
    sample_size=3,
    model_shape=(4,),
    solve=solve,
    residuals=residuals,
    fit=fit,
    scratch_size=24,
)


def make_cloud(seed: int = 0):
    """Return 300 points near the plane z = 0.2 x - 0.1 y + 1, and 700 anywhere."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-2.0, 2.0, (1000, 3))
    on_plane = np.arange(1000) < 300
    x, y = points[on_plane, 0], points[on_plane, 1]
    points[on_plane, 2] = 0.2 * x - 0.1 * y + 1.0 + rng.normal(0.0, 0.01, 300)
    return points, on_plane


def main() -> None:
    """Run and print."""
    points, on_plane = make_cloud()
    result = bansac.ransac(PLANE, points, threshold=0.03)
    a, b, c, d = result.model
    print(result.message)
    print(f"z = {-a / c:.3f} x {-b / c:+.3f} y {-d / c:+.3f}")
    print(f"{result.inliers.sum()} inliers, {result.inliers[on_plane].sum()} of the 300 true ones")
    print(f"{result.iterations} iterations")
    print(f"mean probability: {result.probabilities[on_plane].mean():.3f} on the plane, ", end="")
    print(f"{result.probabilities[~on_plane].mean():.3f} elsewhere")


if __name__ == "__main__":
    main()
