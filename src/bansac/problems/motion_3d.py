"""3D rigid motions and similarities: x2 = s R x1 + t, with s = 1 for a rigid motion.

The data are matches of 3D points, channels x1, y1, z1, x2, y2, z2. A model is a quaternion and a translation
(``bansac.maths.quaternion``); the quaternion of a rigid motion has unit length. The residual is the distance between
x2 and s R x1 + t. Minimal samples are also fitted by least squares, because three matches give more equations than a
motion has parameters.
"""

import dataclasses

import numpy as np

from bansac.maths.arrays import Floats, Ints, Reals
from bansac.maths.quaternion import entries, matrix_of, project_unit, span_motions
from bansac.problems.affine_3d import AFFINE_3D, write_errors
from bansac.problems.problem import Problem
from bansac.solvers import umeyama
from bansac.solvers.umeyama import fit_motion, solve_motion


def solve_rigid(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Fit a rigid motion to three matches."""
    return 1 if solve_motion(data, sample, False, models[0], scratch) else 0


def fit_rigid(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Fit a rigid motion to weighted matches."""
    return fit_motion(data, weights, False, model, scratch)


def solve_similarity(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Fit a similarity to three matches."""
    return 1 if solve_motion(data, sample, True, models[0], scratch) else 0


def fit_similarity(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Fit a similarity to weighted matches."""
    return fit_motion(data, weights, True, model, scratch)


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared distances between x2 and the transformed x1."""
    write_errors(data, entries(model), (model[4], model[5], model[6]), start, stop, out)


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute the coordinate differences and their derivatives by the quaternion and the translation."""
    x1, y1, z1 = data[0, start:stop], data[1, start:stop], data[2, start:stop]
    x2, y2, z2 = data[3, start:stop], data[4, start:stop], data[5, start:stop]
    qw, qx, qy, qz = model[0], model[1], model[2], model[3]
    t1, t2, t3 = model[4], model[5], model[6]
    n = stop - start
    for row in range(21):
        jacobian[row, :n] = 1.0 if row in (4, 12, 20) else 0.0
    dx, dy, dz = residuals[0], residuals[1], residuals[2]
    x_w, x_x, x_y, x_z = jacobian[0], jacobian[1], jacobian[2], jacobian[3]
    y_w, y_x, y_y, y_z = jacobian[7], jacobian[8], jacobian[9], jacobian[10]
    z_w, z_x, z_y, z_z = jacobian[14], jacobian[15], jacobian[16], jacobian[17]
    for i in range(n):
        a = qw * x1[i] - qz * y1[i] + qy * z1[i]
        b = qx * x1[i] + qy * y1[i] + qz * z1[i]
        c = qw * z1[i] + qx * y1[i] - qy * x1[i]
        d = qw * y1[i] + qz * x1[i] - qx * z1[i]
        dx[i] = qw * a + qx * b + qy * c - qz * d + t1 - x2[i]
        dy[i] = qw * d - qx * c + qy * b + qz * a + t2 - y2[i]
        dz[i] = qw * c + qx * d - qy * a + qz * b + t3 - z2[i]
        a, b, c, d = a + a, b + b, c + c, d + d
        x_w[i], x_x[i], x_y[i], x_z[i] = a, b, c, -d
        y_w[i], y_x[i], y_y[i], y_z[i] = d, -c, b, a
        z_w[i], z_x[i], z_y[i], z_z[i] = c, d, -a, b


def denormalise(model: Floats, transform: Floats) -> None:
    """Undo ``normalise``, which scales both point sets by the same factor: only t changes."""
    first, second = transform[1:4], transform[4:7]
    model[4:] = model[4:] / transform[0] + second - matrix_of(model)[:, :3] @ first


def significance_form(data: Floats, model: Floats) -> tuple[Problem, Floats, Floats]:
    """Return the transformed x1 matched with x2, and the identity motion, since x1 may have another unit than x2."""
    matrix, moved = matrix_of(model), data.copy()
    moved[:3] = matrix[:, :3] @ data[:3] + matrix[:, 3:]
    return _MOVED, moved, _UNMOVED


RIGID_3D = dataclasses.replace(
    AFFINE_3D,
    name="rigid motion",
    sample_size=3,
    model_shape=(7,),
    solve=solve_rigid,
    residuals=residuals,
    fit=fit_rigid,
    linearize=linearize,
    tangent=span_motions,
    project=project_unit,
    parameters=6,
    scratch_size=umeyama.SCRATCH,
    solver_cost=500.0,
    denormalise=denormalise,
    significance_form=None,
    traits=dataclasses.replace(AFFINE_3D.traits, flat="line"),
)

SIMILARITY_3D = dataclasses.replace(
    RIGID_3D,
    name="similarity of space",
    solve=solve_similarity,
    fit=fit_similarity,
    tangent=None,
    project=None,
    parameters=None,
    significance_form=significance_form,
)

# Problem and model of the significance test of a similarity.
_MOVED = dataclasses.replace(RIGID_3D, name=SIMILARITY_3D.name)
_UNMOVED = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
