"""The absolute pose of a calibrated camera from matches of image points and 3D points: x ~ R X + t.

The data are image points in normalised units (K^-1 applied) and their 3D points, channels x, y, X, Y, Z. A model is a
unit quaternion and a translation (``bansac.maths.quaternion``). The residual is the reprojection error; it is
infinite for a point behind the camera (Hartley and Zisserman, Multiple View Geometry, 2nd ed., sections 7.1 to 7.3).
"""

import dataclasses

import numpy as np

from bansac.maths.arrays import Floats, Reals
from bansac.maths.quaternion import entries, matrix_of, model_of, project_unit, span_motions
from bansac.problems.affine import AFFINE
from bansac.problems.problem import Problem
from bansac.problems.traits import Traits
from bansac.solvers import p3p

# Distance from the image point that stands for a projection behind the camera.
BEHIND = 1e6
# Points whose smallest deviation is at most this share of the second one are nearly coplanar.
_FLAT = 0.1


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared reprojection errors; inf or NaN for a point that is not in front of the camera."""
    x, y = data[0, start:stop], data[1, start:stop]
    px, py, pz = data[2, start:stop], data[3, start:stop], data[4, start:stop]
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = entries(model)
    t1, t2, t3 = model[4], model[5], model[6]
    for i in range(stop - start):
        u = r11 * px[i] + r12 * py[i] + r13 * pz[i] + t1
        v = r21 * px[i] + r22 * py[i] + r23 * pz[i] + t2
        depth = r31 * px[i] + r32 * py[i] + r33 * pz[i] + t3
        twice = depth + abs(depth)  # 0 for a point behind the camera
        dx = (u + u) / twice - x[i]
        dy = (v + v) / twice - y[i]
        out[i] = dx * dx + dy * dy


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute both components of the reprojection error and their derivatives by quaternion and translation.

    A point behind the camera has a large error and zero derivatives, because it is no inlier of any model nearby.
    """
    x, y = data[0, start:stop], data[1, start:stop]
    px, py, pz = data[2, start:stop], data[3, start:stop], data[4, start:stop]
    qw, qx, qy, qz = model[0], model[1], model[2], model[3]
    t1, t2, t3 = model[4], model[5], model[6]
    rx, ry = residuals[0], residuals[1]
    u_w, u_x, u_y, u_z = jacobian[0], jacobian[1], jacobian[2], jacobian[3]
    u_1, u_2, u_3 = jacobian[4], jacobian[5], jacobian[6]
    v_w, v_x, v_y, v_z = jacobian[7], jacobian[8], jacobian[9], jacobian[10]
    v_1, v_2, v_3 = jacobian[11], jacobian[12], jacobian[13]
    for i in range(stop - start):
        a = qw * px[i] - qz * py[i] + qy * pz[i]
        b = qx * px[i] + qy * py[i] + qz * pz[i]
        c = qw * pz[i] + qx * py[i] - qy * px[i]
        d = qw * py[i] + qz * px[i] - qx * pz[i]
        depth = qw * c + qx * d - qy * a + qz * b + t3
        inverse = 1.0 / depth if depth > 0.0 else 0.0
        u = (qw * a + qx * b + qy * c - qz * d + t1) * inverse
        v = (qw * d - qx * c + qy * b + qz * a + t2) * inverse
        rx[i] = u - x[i] if depth > 0.0 else BEHIND
        ry[i] = v - y[i]
        twice = 2.0 * inverse
        u_w[i], u_x[i] = twice * (a - u * c), twice * (b - u * d)
        u_y[i], u_z[i] = twice * (c + u * a), -twice * (d + u * b)
        v_w[i], v_x[i] = twice * (d - v * c), -twice * (c + v * d)
        v_y[i], v_z[i] = twice * (b + v * a), twice * (a - v * b)
        u_1[i], u_2[i], u_3[i] = inverse, 0.0, -u * inverse
        v_1[i], v_2[i], v_3[i] = 0.0, inverse, -v * inverse


def normalise(data: Floats, transform: Floats) -> None:
    """Shift and scale the 3D points to median 0 and unit median absolute coordinate, in place.

    Medians make the result robust to far outliers. ``transform`` is (1, scale, centre); the image points do not change.
    """
    points = data[2:]
    centre = _median(points)
    points -= centre[:, None]
    spread = float(_median(np.abs(points).reshape(1, -1))[0])
    scale = 1.0 / spread if spread >= np.finfo(np.float64).tiny else 1.0
    points *= scale
    transform[0], transform[1] = 1.0, scale
    transform[2:5] = centre


def _median(rows: Floats) -> Floats:
    """Return the upper medians of rows; this is several times faster than ``np.median``."""
    middle = rows.shape[1] // 2
    return np.asarray(np.partition(rows, middle, axis=1)[:, middle])


def denormalise(model: Floats, transform: Floats) -> None:
    """Undo ``normalise``: R scale (X - c) + t and R X + t / scale - R c project to the same image point.

    A focal length after the pose does not change.
    """
    model[4:7] = model[4:7] / transform[1] - matrix_of(model)[:, :3] @ transform[2:5]


def normalise_model(model: Floats, transform: Floats) -> None:
    """Undo ``denormalise``."""
    scale = transform[1]
    denormalise(model, np.array([1.0, 1.0 / scale, *(-scale * transform[2:5])]))


def significance_form(data: Floats, model: Floats) -> tuple[Problem, Floats, Floats]:
    """Return the image points matched with the projections of their 3D points, and the identity map.

    3D points have another unit than the threshold. Their projections show which of them coincide for the camera.
    """
    matrix = matrix_of(model)
    seen = matrix[:, :3] @ data[2:] + matrix[:, 3:]
    matches = np.full((4, data.shape[1]), BEHIND)
    matches[:2] = data[:2]
    np.divide(seen[:2], seen[2], out=matches[2:], where=seen[2] > 0.0)
    return _REPROJECTION, np.clip(matches, -BEHIND, BEHIND), _UNMOVED


def mirror_plane(data: Floats, model: Floats) -> list[Floats]:
    """Return the pose with the plane of the points mirrored in depth about its centroid; none for no plane.

    The images of coplanar points have two minima near each other's mirror image (Schweighofer and Pinz, PAMI 2006).
    """
    if data.shape[1] <= 3:
        return []
    centre = data[2:].mean(axis=1)
    points = data[2:] - centre[:, None]
    (a, b, c), axes = np.linalg.eigh(points @ points.T)
    if not a * b * c * (a + b + c) <= (_FLAT * (a * b + a * c + b * c)) ** 2:  # about a <= _FLAT^2 b
        return []
    normal, motion = axes[:, 0], matrix_of(model)
    R = motion[:, :3].copy()
    seen = R @ centre + motion[:, 3]
    ray = seen / np.linalg.norm(seen)
    turned = (np.eye(3) - 2.0 * np.outer(ray, ray)) @ R @ (np.eye(3) - 2.0 * np.outer(normal, normal))
    if not np.isfinite(turned).all():  # lengths near the smallest float
        return []
    focal = model[7:]  # empty if it is known
    return [np.append(model_of(np.column_stack([turned, seen - turned @ centre])), focal)]


ABSOLUTE_POSE = Problem.of(
    globals(),
    name="absolute pose",
    channels=5,
    sample_size=3,
    model_shape=(7,),
    solve=p3p.solve,
    tangent=span_motions,
    project=project_unit,
    parameters=6,
    residual_size=2,
    max_models=p3p.MAX_MODELS,
    scratch_size=p3p.SCRATCH,
    solver_cost=500.0,
    precision="float32",
    default_threshold=4e-3,
    default_max_iterations=50_000,
    default_local_optimization="lm",
    default_weighting="scores",
    traits=Traits(points=((0, 1), (2, 3, 4)), codimension=2, unit="normalised", twins=mirror_plane),
)

# The significance test treats the matches as those of a fixed affine map, with the same sample size of 3.
_REPROJECTION = dataclasses.replace(AFFINE, name=ABSOLUTE_POSE.name, max_models=ABSOLUTE_POSE.max_models)
_UNMOVED = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0])
