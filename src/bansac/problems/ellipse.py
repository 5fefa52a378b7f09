"""The ellipse A x^2 + B x y + C y^2 + D x + E y + F = 0, with Sampson's distance |f| / |grad f| as residual.

A model holds the six coefficients, with unit norm and f < 0 inside. The residual is the distance from the ellipse to
first order (Sampson, Fitting conic sections to "very scattered" data, 1982).
"""

import math

import numpy as np

from bansac.compiled.jit import inner_kernel
from bansac.maths.arrays import Floats, Ints, Reals
from bansac.maths.flat import flat_distances
from bansac.maths.linalg import copy, normalise_vector, smallest_eigenvector, span_complement
from bansac.maths.normalisation import normalise as normalise
from bansac.problems.problem import Problem
from bansac.problems.traits import Limit, Traits

# Least (4 A C - B^2) / (A^2 + B^2 + C^2) of an ellipse. Axis ratios up to 1 to 500 pass.
_ROUND = 1e-5
# The 6 x 6 normal matrix of the coefficients and the scratch for its eigenvector.
_SCRATCH = 2 * 36 + 6


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute the ellipse through five points; 0 if the conic is no ellipse or is not unique."""
    for i in range(36):
        scratch[i] = 0.0
    for i in range(5):
        _add(data[0, sample[i]], data[1, sample[i]], 1.0, scratch)
    return 1 if _find_ellipse(models[0], scratch) else 0


def fit(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Minimise the weighted sum of f^2 over coefficients of unit norm; False if the result is no ellipse."""
    for i in range(36):
        scratch[i] = 0.0
    for i in range(weights.size):
        if weights[i] > 0.0:
            _add(data[0, i], data[1, i], weights[i], scratch)
    return _find_ellipse(model, scratch)


@inner_kernel
def _add(x: float, y: float, weight: float, normal: Floats) -> None:
    """Add the equation of one point to the lower triangle of the normal matrix."""
    monomials = (x * x, x * y, y * y, x, y, 1.0)
    for i in range(6):
        for j in range(i + 1):
            normal[6 * i + j] += weight * monomials[i] * monomials[j]


@inner_kernel
def _find_ellipse(model: Floats, scratch: Floats) -> bool:
    """Write the coefficients from the normal matrix in the scratch; False without a change if they are no ellipse."""
    for i in range(6):
        for j in range(i):
            scratch[6 * j + i] = scratch[6 * i + j]
    if not smallest_eigenvector(scratch, 6) or not orient(scratch[36:42]):
        return False
    copy(scratch[36:42], model)
    return True


@inner_kernel
def orient(model: Floats) -> bool:
    """Choose the sign of the coefficients so that f is negative inside; False if they are no ellipse."""
    a, b, c = model[0], model[1], model[2]
    if not 4.0 * a * c - b * b > _ROUND * (a * a + b * b + c * c):
        return False
    if a < 0.0:
        for i in range(6):
            model[i] = -model[i]
    a, b, c, d, e, f = model[0], model[1], model[2], model[3], model[4], model[5]
    # The difference of both sides is f at the centre times B^2 - 4 A C.
    inside: bool = a * e * e + c * d * d - b * d * e > f * (4.0 * a * c - b * b)
    return inside


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared Sampson distances f^2 / |grad f|^2."""
    x, y = data[0, start:stop], data[1, start:stop]
    a, b, c, d, e, f = model[0], model[1], model[2], model[3], model[4], model[5]
    for i in range(stop - start):
        ax, by, cy = a * x[i], b * y[i], c * y[i]
        value = (ax + by + d) * x[i] + (cy + e) * y[i] + f
        gx, gy = ax + ax + by + d, b * x[i] + cy + cy + e
        out[i] = value * value / (gx * gx + gy * gy)


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute f / |grad f|, positive outside the ellipse, and its derivatives by the coefficients."""
    x, y = data[0, start:stop], data[1, start:stop]
    a, b, c, d, e, f = model[0], model[1], model[2], model[3], model[4], model[5]
    distance, by_a, by_b, by_c = residuals[0], jacobian[0], jacobian[1], jacobian[2]
    by_d, by_e, by_f = jacobian[3], jacobian[4], jacobian[5]
    for i in range(stop - start):
        value = (a * x[i] + b * y[i] + d) * x[i] + (c * y[i] + e) * y[i] + f
        gx, gy = 2.0 * a * x[i] + b * y[i] + d, b * x[i] + 2.0 * c * y[i] + e
        inverse = 1.0 / math.sqrt(gx * gx + gy * gy)
        r = value * inverse
        distance[i] = r
        ux, uy = r * gx * inverse, r * gy * inverse
        by_a[i] = inverse * x[i] * (x[i] - 2.0 * ux)
        by_b[i] = inverse * (x[i] * y[i] - ux * y[i] - uy * x[i])
        by_c[i] = inverse * y[i] * (y[i] - 2.0 * uy)
        by_d[i] = inverse * (x[i] - ux)
        by_e[i] = inverse * (y[i] - uy)
        by_f[i] = inverse


def project(model: Floats, scratch: Floats) -> bool:
    """Scale the coefficients to unit norm; False if they are no ellipse."""
    return normalise_vector(model) and orient(model)


def denormalise(model: Floats, transform: Floats) -> None:
    """Insert p -> scale (p - centroid) into the equation."""
    scale, x, y = transform.tolist()[:3]
    a, b, c, d, e, f = model.tolist()
    a, b, c, d, e = a * scale * scale, b * scale * scale, c * scale * scale, d * scale, e * scale
    constant = (a * x + b * y - d) * x + (c * y - e) * y + f
    model[:] = a, b, c, d - 2.0 * a * x - b * y, e - b * x - 2.0 * c * y, constant


def canonical(model: Floats) -> None:
    """Scale the coefficients to unit norm, with f negative inside."""
    model /= np.copysign(math.hypot(*model), model[0])


def centre_and_axes(model: Floats) -> Floats:
    """Return (x, y, a, b, angle): centre, semi-axes a >= b, and angle of the longer one to the x axis in [0, pi)."""
    a, b, c, d, e, f = model.tolist()
    matrix = np.array([[a, 0.5 * b], [0.5 * b, c]])
    centre = np.linalg.solve(matrix, [-0.5 * d, -0.5 * e])
    value = f + 0.5 * (d * centre[0] + e * centre[1])
    eigenvalues, vectors = np.linalg.eigh(matrix)
    longer, shorter = np.sqrt(-value / eigenvalues)
    angle = math.atan2(vectors[1, 0], vectors[0, 0]) % math.pi
    return np.array([*centre, longer, shorter, angle])


def conic_of(ellipse: Floats) -> Floats:
    """Return the coefficients of (x, y, a, b, angle): 0 if an axis is not positive."""
    x, y, a, b, angle = ellipse.tolist()
    if not (a > 0.0 and b > 0.0):
        return np.zeros(6)
    across = np.array([[math.cos(angle) / a, math.sin(angle) / a], [-math.sin(angle) / b, math.cos(angle) / b]])
    (p, q), (_, r) = across.T @ across
    dx, dy = p * x + q * y, q * x + r * y
    model = np.array([p, 2.0 * q, r, -2.0 * dx, -2.0 * dy, x * dx + y * dy - 1.0])
    return np.asarray(model / np.linalg.norm(model))


ELLIPSE = Problem.of(
    globals(),
    name="ellipse",
    channels=2,
    sample_size=5,
    model_shape=(6,),
    tangent=span_complement,  # orthogonal to the coefficients because their scale is free
    parameters=5,
    scratch_size=_SCRATCH,
    traits=Traits(points=((0, 1),), limit=Limit("line", flat_distances, fewer=3, sides=2)),
)
