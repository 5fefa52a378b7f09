"""The similarity of the plane, x2 = s R x1 + t, stored as the 2 x 3 matrix (s R | t) = (a, -b, c; b, a, d).

It is an affine map with four parameters for rotation, scale and translation; reflections are excluded. With points as
complex numbers it is z2 = p z1 + q with p = a + b i, which is linear in the model. Data and residuals are the same as
for the affine map.
"""

import dataclasses
import math

from bansac.compiled.jit import inner_kernel
from bansac.maths.arrays import Floats, Ints
from bansac.maths.linalg import weighted_centroid
from bansac.problems.affine import AFFINE

# Points coincide if their distance is at most this fraction of the sum of their distances from the origin.
_COINCIDENT = 1e-12


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Map a segment to a segment, p = (z2 - z2') / (z1 - z1'); coincident points in either image give no model."""
    x, y, s, t = data[0], data[1], data[2], data[3]
    i, j = sample[0], sample[1]
    ux, uy, vx, vy = x[i] - x[j], y[i] - y[j], s[i] - s[j], t[i] - t[j]
    square = ux * ux + uy * uy
    if not math.sqrt(square) > _COINCIDENT * (math.hypot(x[i], y[i]) + math.hypot(x[j], y[j])):
        return 0
    if not math.hypot(vx, vy) > _COINCIDENT * (math.hypot(s[i], t[i]) + math.hypot(s[j], t[j])):
        return 0
    _write(models[0], (ux * vx + uy * vy) / square, (ux * vy - uy * vx) / square, x[i], y[i], s[i], t[i])
    return 1


def fit(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Minimise the weighted sum of squared transfer errors by complex linear regression about the centroids."""
    x, y, s, t = data[0], data[1], data[2], data[3]
    total, mx, my = weighted_centroid(x, y, weights)
    if not total > 0.0:
        return False
    _, ms, mt = weighted_centroid(s, t, weights)
    square, real, imaginary = 0.0, 0.0, 0.0
    for i in range(weights.size):
        w, dx, dy, ds, dt = weights[i], x[i] - mx, y[i] - my, s[i] - ms, t[i] - mt
        square += w * (dx * dx + dy * dy)
        real += w * (dx * ds + dy * dt)
        imaginary += w * (dx * dt - dy * ds)
    if not square > total * _COINCIDENT * _COINCIDENT * (mx * mx + my * my):
        return False
    _write(model, real / square, imaginary / square, mx, my, ms, mt)
    return True


@inner_kernel
def _write(model: Floats, a: float, b: float, x: float, y: float, s: float, t: float) -> None:
    """Write the similarity with p = a + b i that maps (x, y) to (s, t)."""
    model[0], model[1], model[2] = a, -b, s - a * x + b * y
    model[3], model[4], model[5] = b, a, t - b * x - a * y


def tangent(model: Floats, basis: Floats) -> None:
    """Write the 4 tangent directions: scaling, rotation and two translations."""
    basis[:] = 0.0
    half = math.sqrt(0.5)
    basis[0, 0], basis[0, 4] = half, half
    basis[1, 1], basis[1, 3] = -half, half
    basis[2, 2] = 1.0
    basis[3, 5] = 1.0


def project(model: Floats, scratch: Floats) -> bool:
    """Average the two pairs of dependent entries, to remove rounding errors; False if scale and rotation vanish."""
    a, b = 0.5 * (model[0] + model[4]), 0.5 * (model[3] - model[1])
    model[0] = model[4] = a
    model[1] = -b
    model[3] = b
    return math.hypot(a, b) > 0.0


SIMILARITY = dataclasses.replace(
    AFFINE, name="similarity", sample_size=2, solve=solve, fit=fit, tangent=tangent, project=project, parameters=4
)
