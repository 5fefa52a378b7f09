"""The cylinder (p, d, r): the points at the distance r from the line p + s d, of which p is nearest to the origin.

Data are points with normals, x, y, z, n_x, n_y, n_z. The normals have any sign and length, and only samples use them:
two points with normals determine a cylinder. The residual of a point x is its distance from the surface,
| |e| - r | with e = q - (q.d) d and q = x - p.
"""

import dataclasses
import math

import numpy as np

from bansac.maths.arrays import Bools, Floats, Ints, Reals
from bansac.maths.flat import flat_distances
from bansac.maths.linalg import TINY
from bansac.maths.normalisation import normalise as normalise_points
from bansac.problems import line_3d
from bansac.problems.line_3d import project, span_line
from bansac.problems.problem import Problem
from bansac.problems.traits import Limit, Traits

# Two normals are parallel if the sine of their angle is below this.
_PARALLEL = 1e-3


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute the cylinder through two points with normals m and n; parallel normals give none.

    The axis has the direction m x n. Seen along it, the lines of the normals meet at the axis.
    """
    x, y, z, a, b, c = data[0], data[1], data[2], data[3], data[4], data[5]
    i, j = sample[0], sample[1]
    dx, dy, dz = b[i] * c[j] - c[i] * b[j], c[i] * a[j] - a[i] * c[j], a[i] * b[j] - b[i] * a[j]
    square = dx * dx + dy * dy + dz * dz
    mm, nn = a[i] * a[i] + b[i] * b[i] + c[i] * c[i], a[j] * a[j] + b[j] * b[j] + c[j] * c[j]
    if not square > _PARALLEL * _PARALLEL * mm * nn:
        return 0
    wx, wy, wz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
    # w = s m - t n + u d: s = det(w, n, d) / |d|^2 and t = det(w, m, d) / |d|^2.
    s = wx * (b[j] * dz - c[j] * dy) + wy * (c[j] * dx - a[j] * dz) + wz * (a[j] * dy - b[j] * dx)
    t = wx * (b[i] * dz - c[i] * dy) + wy * (c[i] * dx - a[i] * dz) + wz * (a[i] * dy - b[i] * dx)
    s, t, model = s / square, t / square, models[0]
    model[0], model[1], model[2] = x[i] + s * a[i], y[i] + s * b[i], z[i] + s * c[i]
    model[3], model[4], model[5] = dx, dy, dz
    model[6] = 0.5 * (abs(s) * math.sqrt(mm) + abs(t) * math.sqrt(nn))
    return 1 if project(model, scratch) and model[6] > 0.0 else 0


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared distances."""
    x, y, z = data[0, start:stop], data[1, start:stop], data[2, start:stop]
    px, py, pz, dx, dy, dz, r = model[0], model[1], model[2], model[3], model[4], model[5], model[6]
    for i in range(stop - start):
        qx, qy, qz = x[i] - px, y[i] - py, z[i] - pz
        along = qx * dx + qy * dy + qz * dz
        ex, ey, ez = qx - along * dx, qy - along * dy, qz - along * dz
        distance = np.sqrt(ex * ex + ey * ey + ez * ez) - r
        out[i] = distance * distance


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute signed distances, positive outside the cylinder, and their derivatives at |d| = 1."""
    x, y, z, distance = data[0, start:stop], data[1, start:stop], data[2, start:stop], residuals[0]
    px, py, pz, dx, dy, dz, r = model[0], model[1], model[2], model[3], model[4], model[5], model[6]
    for i in range(stop - start):
        qx, qy, qz = x[i] - px, y[i] - py, z[i] - pz
        along = qx * dx + qy * dy + qz * dz
        ex, ey, ez = qx - along * dx, qy - along * dy, qz - along * dz
        from_axis = math.sqrt(ex * ex + ey * ey + ez * ez)
        distance[i] = from_axis - r
        ex, ey, ez = -ex / (from_axis + TINY), -ey / (from_axis + TINY), -ez / (from_axis + TINY)
        jacobian[0, i], jacobian[1, i], jacobian[2, i] = ex, ey, ez
        jacobian[3, i], jacobian[4, i], jacobian[5, i], jacobian[6, i] = along * ex, along * ey, along * ez, -1.0


def tangent(model: Floats, basis: Floats) -> None:
    """Write the directions that move or turn the axis, and that of the radius."""
    span_line(model, basis)
    for k in range(5):
        basis[k, 6], basis[4, k], basis[4, 5] = 0.0, 0.0, 0.0
    basis[4, 6] = 1.0


def normalise(data: Floats, transform: Floats) -> None:
    """Centre and scale the points; the normals remain."""
    normalise_points(data[:3], transform)


def denormalise(model: Floats, transform: Floats) -> None:
    """Undo ``normalise``: p -> p / scale + centroid."""
    line_3d.denormalise(model, transform)
    model[6] /= transform[0]


def _plane_distances(data: Floats, members: Bools) -> Floats:
    """Return the distances of the points from the plane of the members."""
    return flat_distances(data[:3], members)


def significance_form(data: Floats, model: Floats) -> tuple[Problem, Floats, Floats]:
    """Return the problem of five points for the significance test: the refinement fits five parameters."""
    return _OF_FIVE_POINTS, data, model


def scene(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return points with normals of a cylinder 1000 long with a radius of 100 to 400, and the cylinder."""
    points, line = line_3d.scene(n, rng)
    r, normals = rng.uniform(100.0, 400.0), np.cross(rng.normal(size=(n, 3)), line[3:])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return np.hstack([points + r * normals, normals]), np.append(line, r)


CYLINDER = Problem.of(
    globals(),
    name="cylinder",
    channels=6,
    sample_size=2,
    model_shape=(7,),
    parameters=5,
    canonical=line_3d.canonical,
    default_local_optimization="lm",
    traits=Traits(points=((0, 1, 2),), directions=((3, 4, 5),), limit=Limit("plane", _plane_distances)),
)

_OF_FIVE_POINTS = dataclasses.replace(CYLINDER, sample_size=5, significance_form=None)
