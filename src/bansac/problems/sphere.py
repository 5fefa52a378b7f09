"""The sphere (c_x, c_y, c_z, r); the residual of a point p is its distance | |p - c| - r |."""

import math

import numpy as np

from bansac.compiled.jit import inner_kernel
from bansac.maths.arrays import Floats, Ints, Reals
from bansac.maths.flat import flat_distances
from bansac.maths.linalg import TINY, smallest_eigenvector
from bansac.maths.normalisation import normalise as normalise
from bansac.problems.circle import denormalise as denormalise
from bansac.problems.problem import Problem
from bansac.problems.traits import Limit, Traits

# Four points with sides u, v and w are coplanar if |det(u, v, w)| <= _COPLANAR (|u|^2 + |v|^2 + |w|^2)^(3/2).
_COPLANAR = 1e-6
# Least coefficient of |p|^2 in an equation of unit norm: with a smaller one the sphere is a plane.
_FLAT = 1e-6
# The 5 x 5 normal matrix of the coefficients, and the scratch for its eigenvector.
_SCRATCH = 2 * 25 + 5


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute the sphere through four points; coplanar points give no sphere.

    Relative to the last point, the centre c satisfies 2 u.c = |u|^2 for the other points u: Cramer's rule.
    """
    x, y, z = data[0], data[1], data[2]
    i, j, k, o = sample[0], sample[1], sample[2], sample[3]
    ux, uy, uz = x[i] - x[o], y[i] - y[o], z[i] - z[o]
    vx, vy, vz = x[j] - x[o], y[j] - y[o], z[j] - z[o]
    wx, wy, wz = x[k] - x[o], y[k] - y[o], z[k] - z[o]
    uu, vv, ww = ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz, wx * wx + wy * wy + wz * wz
    ax, ay, az = vy * wz - vz * wy, vz * wx - vx * wz, vx * wy - vy * wx
    bx, by, bz = wy * uz - wz * uy, wz * ux - wx * uz, wx * uy - wy * ux
    cx, cy, cz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    volume = ux * ax + uy * ay + uz * az
    if not abs(volume) > _COPLANAR * (uu + vv + ww) ** 1.5:
        return 0
    px, py, pz = uu * ax + vv * bx + ww * cx, uu * ay + vv * by + ww * cy, uu * az + vv * bz + ww * cz
    half, model = 0.5 / volume, models[0]
    model[0], model[1], model[2] = x[o] + half * px, y[o] + half * py, z[o] + half * pz
    model[3] = abs(half) * math.sqrt(px * px + py * py + pz * pz)
    return 1


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared distances."""
    x, y, z = data[0, start:stop], data[1, start:stop], data[2, start:stop]
    cx, cy, cz, r = model[0], model[1], model[2], model[3]
    for i in range(stop - start):
        dx, dy, dz = x[i] - cx, y[i] - cy, z[i] - cz
        distance = np.sqrt(dx * dx + dy * dy + dz * dz) - r
        out[i] = distance * distance


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute signed distances, positive outside the sphere, and their derivatives by centre and radius."""
    x, y, z = data[0, start:stop], data[1, start:stop], data[2, start:stop]
    cx, cy, cz, r = model[0], model[1], model[2], model[3]
    distance, by_x, by_y, by_z, by_r = residuals[0], jacobian[0], jacobian[1], jacobian[2], jacobian[3]
    for i in range(stop - start):
        dx, dy, dz = x[i] - cx, y[i] - cy, z[i] - cz
        from_centre = math.sqrt(dx * dx + dy * dy + dz * dz)
        distance[i] = from_centre - r
        inverse = 1.0 / (from_centre + TINY)
        by_x[i], by_y[i], by_z[i], by_r[i] = -dx * inverse, -dy * inverse, -dz * inverse, -1.0


def fit(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Minimise the weighted sum of (A |p|^2 + B x + C y + D z + E)^2 over coefficients of unit norm."""
    for k in range(25):
        scratch[k] = 0.0
    for i in range(weights.size):
        _add(data[0, i], data[1, i], data[2, i], weights[i], scratch)
    if not smallest_eigenvector(scratch, 5) or not abs(scratch[25]) > _FLAT:
        return False
    half = -0.5 / scratch[25]
    x, y, z = half * scratch[26], half * scratch[27], half * scratch[28]
    square = x * x + y * y + z * z + 2.0 * half * scratch[29]
    if not square > 0.0:
        return False
    model[0], model[1], model[2], model[3] = x, y, z, math.sqrt(square)
    return True


@inner_kernel
def _add(x: float, y: float, z: float, weight: float, normal: Floats) -> None:
    """Add the equation of one point to the normal matrix."""
    monomials = (x * x + y * y + z * z, x, y, z, 1.0)
    for i in range(5):
        for j in range(5):
            normal[5 * i + j] += weight * monomials[i] * monomials[j]


def scene(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return points of a whole sphere with a radius of 100 to 400, and the sphere."""
    normals = rng.normal(size=(n, 3))
    model = np.append(rng.uniform(0.0, 1000.0, 3), rng.uniform(100.0, 400.0))
    return model[:3] + model[3] * normals / np.linalg.norm(normals, axis=1, keepdims=True), model


SPHERE = Problem.of(
    globals(),
    name="sphere",
    channels=3,
    sample_size=4,
    model_shape=(4,),
    scratch_size=_SCRATCH,
    traits=Traits(points=((0, 1, 2),), limit=Limit("plane", flat_distances)),
)
