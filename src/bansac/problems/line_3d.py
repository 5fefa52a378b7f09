"""The line p + s d in space: p is its point nearest to the origin, and d its direction of unit length.

The residual of a point is its distance from the line.
"""

import math

import numpy as np

from bansac.compiled.jit import inner_kernel
from bansac.maths.arrays import Floats, Ints, Reals
from bansac.maths.linalg import SCATTER_SCRATCH, normalise_vector, smallest_eigenvector, span_complement, write_scatter
from bansac.maths.normalisation import fix_sign
from bansac.maths.normalisation import normalise as normalise
from bansac.problems.problem import Problem
from bansac.problems.traits import Traits


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute the line through two points; equal points give no line."""
    i, j, model = sample[0], sample[1], models[0]
    for c in range(3):
        model[c], model[3 + c] = data[c, i], data[c, j] - data[c, i]
    return 1 if project(model, scratch) else 0


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared orthogonal distances."""
    x, y, z = data[0, start:stop], data[1, start:stop], data[2, start:stop]
    px, py, pz, dx, dy, dz = model[0], model[1], model[2], model[3], model[4], model[5]
    for i in range(stop - start):
        qx, qy, qz = x[i] - px, y[i] - py, z[i] - pz
        along = qx * dx + qy * dy + qz * dz
        ex, ey, ez = qx - along * dx, qy - along * dy, qz - along * dz
        out[i] = ex * ex + ey * ey + ez * ez


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute the vectors from the line, e = q - (q.d) d with q = x - p, and their derivatives at |d| = 1."""
    for i in range(stop - start):
        along = 0.0
        for c in range(3):
            along += (data[c, start + i] - model[c]) * model[3 + c]
        for k in range(3):
            residuals[k, i] = data[k, start + i] - model[k] - along * model[3 + k]
            for j in range(3):
                one = 1.0 if j == k else 0.0
                jacobian[6 * k + j, i] = model[3 + k] * model[3 + j] - one
                jacobian[6 * k + 3 + j, i] = -(data[j, start + i] - model[j]) * model[3 + k] - along * one


@inner_kernel
def span_line(model: Floats, basis: Floats) -> None:
    """Write the directions that move or turn a line; p stays the point nearest to the origin."""
    span_complement(model[3:6], basis)
    for k in range(2):
        shift = 0.0
        for c in range(3):
            shift -= model[c] * basis[k, c]
            basis[k, 3 + c] = 0.0
        for c in range(3):
            basis[2 + k, c], basis[2 + k, 3 + c] = shift * model[3 + c], basis[k, c]


@inner_kernel
def project(model: Floats, scratch: Floats) -> bool:
    """Scale the direction to unit length, and move p along the line to the point nearest to the origin."""
    if not normalise_vector(model[3:6]):
        return False
    along = model[0] * model[3] + model[1] * model[4] + model[2] * model[5]
    for c in range(3):
        model[c] -= along * model[3 + c]
    is_finite: bool = abs(along) < np.inf
    return is_finite


def fit(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Minimise the weighted sum of squared distances: the line through the centroid along the largest scatter.

    Its direction is the smallest eigenvector of the trace of the scatter matrix minus this matrix.
    """
    centroid, matrix = scratch[:3], scratch[3:]
    if not write_scatter(data, weights, centroid, matrix):
        return False
    trace = matrix[0] + matrix[4] + matrix[8]
    for k in range(9):
        matrix[k] = (trace if k % 4 == 0 else 0.0) - matrix[k]
    if not smallest_eigenvector(matrix, 3):
        return False
    for c in range(3):
        model[c], model[3 + c] = centroid[c], matrix[9 + c]
    return project(model, scratch)


def denormalise(model: Floats, transform: Floats) -> None:
    """Undo ``normalise``: p -> p / scale + centroid."""
    model[:3] = model[:3] / transform[0] + transform[1:4]
    canonical(model)


def canonical(model: Floats) -> None:
    """Choose the point nearest to the origin, and make the first large entry of the direction positive."""
    fix_sign(model[3:6])
    model[3:6] /= math.hypot(*model[3:6])
    model[:3] -= (model[:3] @ model[3:6]) * model[3:6]


def scene(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return points of a segment of length 1000, and its line."""
    direction = rng.normal(size=3)
    model = np.append(rng.uniform(0.0, 1000.0, 3), direction / np.linalg.norm(direction))
    canonical(model)
    return model[:3] + rng.uniform(0.0, 1000.0, (n, 1)) * model[3:], model


LINE_3D = Problem.of(
    globals(),
    name="line of space",
    channels=3,
    sample_size=2,
    model_shape=(6,),
    tangent=span_line,
    parameters=4,
    residual_size=3,
    scratch_size=SCATTER_SCRATCH,
    traits=Traits(points=((0, 1, 2),), codimension=2),
)
