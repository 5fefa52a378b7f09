"""The absolute pose of a camera with an unknown focal length from matches of image points and 3D points.

The data are image points relative to the principal point, in any unit of length, and their 3D points: channels x, y, X,
Y, Z. A model is a unit quaternion, a translation, and the focal length f in the unit of the image points. The residual
is the reprojection error; it is infinite for a point behind the camera. A model has seven parameters: six of the pose,
and the logarithm of f.
"""

import dataclasses

from bansac.compiled.jit import inner_kernel
from bansac.maths.arrays import Floats, Reals
from bansac.maths.linalg import normalise_vector
from bansac.maths.quaternion import entries, span_motions
from bansac.problems import absolute_pose
from bansac.problems.affine import AFFINE
from bansac.problems.problem import Problem
from bansac.problems.relative_focal import LONGEST, SHORTEST
from bansac.solvers import p4pf

_linearize = inner_kernel(absolute_pose.linearize)
_span = inner_kernel(span_motions)


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared reprojection errors; inf or NaN for a point that is not in front of the camera."""
    x, y = data[0, start:stop], data[1, start:stop]
    px, py, pz = data[2, start:stop], data[3, start:stop], data[4, start:stop]
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = entries(model)
    t1, t2, t3 = model[4], model[5], model[6]
    twice_focal = model[7] + model[7]
    for i in range(stop - start):
        u = r11 * px[i] + r12 * py[i] + r13 * pz[i] + t1
        v = r21 * px[i] + r22 * py[i] + r23 * pz[i] + t2
        depth = r31 * px[i] + r32 * py[i] + r33 * pz[i] + t3
        scale = twice_focal / (depth + abs(depth))  # inf for a point behind the camera
        dx = scale * u - x[i]
        dy = scale * v - y[i]
        out[i] = dx * dx + dy * dy


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute both components of the reprojection error and their derivatives by quaternion, translation and f.

    A point behind the camera has a large error and zero derivatives, as in ``absolute_pose.linearize``.
    """
    _linearize(data, model, start, stop, residuals, jacobian)
    f = model[7]
    for component in range(1, -1, -1):
        x, errors = data[component, start:stop], residuals[component]
        for k in range(6, -1, -1):
            source, target = jacobian[7 * component + k], jacobian[8 * component + k]
            for i in range(stop - start):
                target[i] = f * source[i]
        by_focal = jacobian[8 * component + 7]
        for i in range(stop - start):
            seen = errors[i] + x[i]
            by_focal[i] = seen if errors[i] != absolute_pose.BEHIND else 0.0
            errors[i] = f * seen - x[i]


def tangent(model: Floats, basis: Floats) -> None:
    """Write the tangent directions of the pose, then that of the logarithm of f.

    With f changes the depth of the origin, so that the image keeps its size.
    """
    _span(model, basis)
    basis[6, 6], basis[6, 7] = model[6], model[7]


def project(model: Floats, scratch: Floats) -> bool:
    """Scale the quaternion to unit length; False if the focal length is extreme."""
    return SHORTEST < model[7] < LONGEST and normalise_vector(model[:4])


def significance_form(data: Floats, model: Floats) -> tuple[Problem, Floats, Floats]:
    """Return the image points matched with the projections of their 3D points, and the identity map."""
    rays = data.copy()
    rays[:2] /= model[7]
    _, matches, identity = absolute_pose.significance_form(rays, model)
    return _REPROJECTION, model[7] * matches, identity


UNKNOWN_FOCAL_POSE = dataclasses.replace(
    absolute_pose.ABSOLUTE_POSE,
    name="absolute pose with an unknown focal length",
    sample_size=4,
    model_shape=(8,),
    solve=p4pf.solve,
    residuals=residuals,
    linearize=linearize,
    tangent=tangent,
    project=project,
    parameters=7,
    max_models=p4pf.MAX_MODELS,
    scratch_size=p4pf.SCRATCH,
    solver_cost=2000.0,
    significance_form=significance_form,
    default_threshold=5e-3,
    traits=dataclasses.replace(absolute_pose.ABSOLUTE_POSE.traits, unit="data"),
)

# The significance test treats the matches as those of a fixed affine map, with the sample size of this problem.
_REPROJECTION = dataclasses.replace(
    AFFINE, name=UNKNOWN_FOCAL_POSE.name, sample_size=4, max_models=UNKNOWN_FOCAL_POSE.max_models
)
