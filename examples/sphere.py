"""Find a sphere in a cloud of points: a problem of one's own, at the speed of the built-in ones."""

from __future__ import annotations

import math

import numpy as np

import bansac
from bansac.compiled.jit import kernel
from bansac.maths.linalg import smallest_eigenvector


def solve(data, sample, models, scratch):
    """Sphere (x, y, z, r) through four points; points of a plane give none."""
    x, y, z = data[0], data[1], data[2]
    i, j, k, o = sample[0], sample[1], sample[2], sample[3]
    ux, uy, uz = x[i] - x[o], y[i] - y[o], z[i] - z[o]
    vx, vy, vz = x[j] - x[o], y[j] - y[o], z[j] - z[o]
    wx, wy, wz = x[k] - x[o], y[k] - y[o], z[k] - z[o]
    uu, vv, ww = ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz, wx * wx + wy * wy + wz * wz
    # With the last point as origin, the centre c solves 2 u.c = |u|^2, 2 v.c = |v|^2, 2 w.c = |w|^2: Cramer's rule.
    ax, ay, az = vy * wz - vz * wy, vz * wx - vx * wz, vx * wy - vy * wx
    bx, by, bz = wy * uz - wz * uy, wz * ux - wx * uz, wx * uy - wy * ux
    cx, cy, cz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    volume = ux * ax + uy * ay + uz * az
    if not abs(volume) > 1e-6 * (uu + vv + ww) ** 1.5:
        return 0
    px, py, pz = uu * ax + vv * bx + ww * cx, uu * ay + vv * by + ww * cy, uu * az + vv * bz + ww * cz
    models[0, 0] = x[o] + 0.5 * px / volume
    models[0, 1] = y[o] + 0.5 * py / volume
    models[0, 2] = z[o] + 0.5 * pz / volume
    models[0, 3] = 0.5 * math.sqrt(px * px + py * py + pz * pz) / abs(volume)
    return 1


def residuals(data, model, start, stop, out):
    """Squared distances of the points ``start`` to ``stop``."""
    x, y, z = data[0, start:stop], data[1, start:stop], data[2, start:stop]
    for i in range(stop - start):
        dx, dy, dz = x[i] - model[0], y[i] - model[1], z[i] - model[2]
        distance = math.sqrt(dx * dx + dy * dy + dz * dz) - model[3]
        out[i] = distance * distance


@kernel
def add_point(normal, x, y, z, weight):
    """Add the equation of one point, A (x^2 + y^2 + z^2) + B x + C y + D z + E = 0, to the 5 x 5 normal matrix."""
    row = (x * x + y * y + z * z, x, y, z, 1.0)
    for i in range(5):
        for j in range(5):
            normal[5 * i + j] += weight * row[i] * row[j]


def fit(data, weights, model, scratch):
    """Algebraic least squares: the eigenvector (A, B, C, D, E) of the smallest eigenvalue."""
    for i in range(25):
        scratch[i] = 0.0
    for i in range(weights.size):
        add_point(scratch, data[0, i], data[1, i], data[2, i], weights[i])
    # Reads the 25 numbers of the matrix and writes the eigenvector behind them; False for points that have several.
    if not smallest_eigenvector(scratch, 5) or not abs(scratch[25]) > 1e-6:
        return False
    a = scratch[25]
    x, y, z = -0.5 * scratch[26] / a, -0.5 * scratch[27] / a, -0.5 * scratch[28] / a
    square = x * x + y * y + z * z - scratch[29] / a
    if not square > 0.0:
        return False
    model[0], model[1], model[2], model[3] = x, y, z, math.sqrt(square)
    return True


def linearize(data, model, start, stop, residuals, jacobian):
    """Distances, positive outside of the sphere, and their derivatives by its centre and radius."""
    x, y, z = data[0, start:stop], data[1, start:stop], data[2, start:stop]
    distance, by_x, by_y, by_z, by_r = residuals[0], jacobian[0], jacobian[1], jacobian[2], jacobian[3]
    for i in range(stop - start):
        dx, dy, dz = x[i] - model[0], y[i] - model[1], z[i] - model[2]
        from_center = math.sqrt(dx * dx + dy * dy + dz * dz) + 1e-300  # no division by 0 at the center
        distance[i] = from_center - model[3]
        by_x[i], by_y[i], by_z[i] = -dx / from_center, -dy / from_center, -dz / from_center
        by_r[i] = -1.0


SPHERE = bansac.Problem(
    name="sphere",
    channels=3,
    sample_size=4,
    model_shape=(4,),
    solve=solve,
    residuals=residuals,
    fit=fit,
    linearize=linearize,
    scratch_size=55,
    traits=bansac.Traits(points=((0, 1, 2),)),
)


def make_cloud(seed: int = 0):
    """Return 300 points near the sphere of radius 1.2 about (0.3, -0.2, 0.5), and 700 anywhere."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-2.0, 2.0, (1000, 3))
    on_sphere = np.arange(1000) < 300
    direction = rng.normal(size=(300, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    points[on_sphere] = [0.3, -0.2, 0.5] + direction * rng.normal(1.2, 0.01, (300, 1))
    return points, on_sphere


def main() -> None:
    """Run and print."""
    points, on_sphere = make_cloud()
    result = bansac.ransac(SPHERE, points, threshold=0.03)
    x, y, z, r = result.model
    print(result.message)
    print(f"centre ({x:.3f}, {y:.3f}, {z:.3f}), radius {r:.3f}")
    print(f"{result.inliers.sum()} inliers, {result.inliers[on_sphere].sum()} of the 300 true ones")
    print(f"{result.iterations} iterations")
    assert result.probabilities is not None
    print(f"mean probability: {result.probabilities[on_sphere].mean():.3f} on the sphere, ", end="")
    print(f"{result.probabilities[~on_sphere].mean():.3f} elsewhere")


if __name__ == "__main__":
    main()
