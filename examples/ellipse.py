"""Find an ellipse among scattered points, as a conic with Sampson's distance."""

from __future__ import annotations

import numpy as np

import bansac
from bansac.numeric.jit import kernel
from bansac.numeric.linalg import smallest_eigenvector


@kernel
def fit_conic(normal, model):
    """Solve A x^2 + B x y + C y^2 + D x + E y + F = 0 from its normal matrix; False if it is no ellipse."""
    smallest_eigenvector(normal, 6)
    for i in range(6):
        model[i] = normal[36 + i]
    return 4.0 * model[0] * model[2] - model[1] * model[1] > 1e-6


@kernel
def add_point(normal, x, y, weight):
    """Add the equation of one point to the normal matrix."""
    row = (x * x, x * y, y * y, x, y, 1.0)
    for i in range(6):
        for j in range(6):
            normal[6 * i + j] += weight * row[i] * row[j]


def solve(data, sample, models, scratch):
    """Conic through five points."""
    for i in range(36):
        scratch[i] = 0.0
    for i in range(5):
        add_point(scratch, data[0, sample[i]], data[1, sample[i]], 1.0)
    return 1 if fit_conic(scratch, models[0]) else 0


def residuals(data, model, start, stop, out):
    """Squared Sampson distances f^2 / |grad f|^2."""
    x, y = data[0, start:stop], data[1, start:stop]
    a, b, c, d, e, f = model[0], model[1], model[2], model[3], model[4], model[5]
    for i in range(stop - start):
        value = (a * x[i] + b * y[i] + d) * x[i] + (c * y[i] + e) * y[i] + f
        gx, gy = 2 * a * x[i] + b * y[i] + d, b * x[i] + 2 * c * y[i] + e
        out[i] = value * value / (gx * gx + gy * gy)


def fit(data, weights, model, scratch):
    """Algebraic least squares."""
    for i in range(36):
        scratch[i] = 0.0
    for i in range(weights.size):
        add_point(scratch, data[0, i], data[1, i], weights[i])
    conic = scratch[78:84]
    if not fit_conic(scratch, conic):
        return False
    model[:] = conic
    return True


ELLIPSE = bansac.Problem(
    name="ellipse",
    channels=2,
    sample_size=5,
    model_shape=(6,),
    solve=solve,
    residuals=residuals,
    fit=fit,
    scratch_size=84,
)


def make_points(seed: int = 0):
    """Return 200 points near an ellipse with semi-axes 0.9 and 0.5, turned by 30 degrees, and 200 anywhere."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, 2.0 * np.pi, 200)
    u, v = 0.9 * np.cos(angle), 0.5 * np.sin(angle)
    cos, sin = np.cos(np.pi / 6), np.sin(np.pi / 6)
    ellipse = np.column_stack([cos * u - sin * v + 0.1, sin * u + cos * v - 0.2]) + rng.normal(0.0, 0.005, (200, 2))
    return np.concatenate([ellipse, rng.uniform(-1.0, 1.0, (200, 2))]), np.arange(400) < 200


def centre_and_axes(conic):
    """Return the centre and the semi-axes, the longer one first, of the ellipse with these coefficients."""
    a, b, c, d, e, f = conic
    matrix = np.array([[a, b / 2], [b / 2, c]])
    centre = np.linalg.solve(-2 * matrix, [d, e])
    value = f + 0.5 * (d * centre[0] + e * centre[1])
    return centre, np.sort(np.sqrt(-value / np.linalg.eigvalsh(matrix)))[::-1]


def main() -> None:
    """Run and print."""
    points, on_ellipse = make_points()
    result = bansac.ransac(ELLIPSE, points, threshold=0.015)
    centre, axes = centre_and_axes(result.model)
    print(result.message)
    print(f"centre ({centre[0]:.3f}, {centre[1]:.3f}), semi-axes {axes[0]:.3f} and {axes[1]:.3f}")
    print(f"{result.inliers.sum()} inliers, {result.inliers[on_ellipse].sum()} of the 200 true ones")


if __name__ == "__main__":
    main()
