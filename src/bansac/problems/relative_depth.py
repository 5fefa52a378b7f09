"""The relative pose of two calibrated cameras from matches with depths, as networks estimate them from single images.

The data are matches in normalised image coordinates with the depths of both images and their weight: channels x1, y1,
x2, y2, d1, d2, k. A depth of 0 is unknown. The depths of an image have one unknown unit. A model is a unit quaternion,
a translation in the unit of the first depths, and the ratio of the second unit to the first.

A depth gives a point in space. Its image in the other view has an error e. An error of the depth moves this image along
the epipolar line: g is the derivative by the logarithm of the depth. If s is the noise of the points, and sqrt(k) s
that of log depths, e has the covariance s^2 (I + k g g^T). The squared residual is the mean of e^T (I + k g g^T)^-1 e
over both directions (symmetric reprojection; Ding et al., RePoseD, arXiv 2501.07742, 2025, use it without weights). It
is the smallest cost of any depth to first order in e. A fit needs more: the direction of g changes with the motion, and
errors of depths are large. So ``linearize`` corrects the depth first, and expands the error there.
"""

import dataclasses
import math
from typing import TypeAlias

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel
from bansac.geometry import essential_from_pose
from bansac.maths.arrays import Floats, Reals
from bansac.maths.linalg import normalise_vector
from bansac.maths.quaternion import entries, matrix_of, span_motions
from bansac.problems.essential import ESSENTIAL
from bansac.problems.problem import Problem
from bansac.solvers import depth_3pt

_Four: TypeAlias = tuple[float, float, float, float]
_View: TypeAlias = tuple[float, float, float, float, float, float, float, float]

# Length of a model.
_SIZE = 8

# Error of a point that is not in front of a camera.
_BEHIND = 1e6

_span = inner_kernel(span_motions)


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared residuals; inf or NaN for a point that is not in front of a camera, or that has no depth."""
    x1, y1, x2, y2 = data[0, start:stop], data[1, start:stop], data[2, start:stop], data[3, start:stop]
    d1, d2, weight = data[4, start:stop], data[5, start:stop], data[6, start:stop]
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = entries(model)
    t1, t2, t3, shrink = model[4], model[5], model[6], 1.0 / model[7]
    u1, u2, u3 = _turn_back(model, -t1, -t2, -t3)
    for i in range(stop - start):
        d = d1[i]
        x = d * (r11 * x1[i] + r12 * y1[i] + r13) + t1
        y = d * (r21 * x1[i] + r22 * y1[i] + r23) + t2
        z = d * (r31 * x1[i] + r32 * y1[i] + r33) + t3
        first = _squared_error(x, y, z, x2[i], y2[i], t1, t2, t3, weight[i])
        d = d2[i] * shrink
        x = d * (r11 * x2[i] + r21 * y2[i] + r31) + u1
        y = d * (r12 * x2[i] + r22 * y2[i] + r32) + u2
        z = d * (r13 * x2[i] + r23 * y2[i] + r33) + u3
        second = _squared_error(x, y, z, x1[i], y1[i], u1, u2, u3, weight[i])
        share = 0.5 if d1[i] > 0.0 and d2[i] > 0.0 else 1.0
        out[i] = share * ((first if d1[i] > 0.0 else 0.0) + (second if d2[i] > 0.0 else 0.0))
        out[i] = out[i] if d1[i] > 0.0 or d2[i] > 0.0 else np.inf


@inlined
def _turn_back(model: Reals, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return R^T (x, y, z)."""
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = entries(model)
    return r11 * x + r21 * y + r31 * z, r12 * x + r22 * y + r32 * z, r13 * x + r23 * y + r33 * z


@inlined
def _squared_error(
    x: float, y: float, z: float, seen_x: float, seen_y: float, t1: float, t2: float, t3: float, weight: float
) -> float:
    """Return e^T (I + k g g^T)^-1 e of a point (x, y, z), whose camera moved by t; inf or NaN behind the camera."""
    w = 2.0 / (z + abs(z))
    x, y = x * w, y * w
    ex, ey, gx, gy = x - seen_x, y - seen_y, w * (x * t3 - t1), w * (y * t3 - t2)
    along = gx * ex + gy * ey
    return ex * ex + ey * ey - weight * along * along / (1.0 + weight * (gx * gx + gy * gy))


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute the components of both errors and their derivatives by quaternion, translation and scale.

    The components are those of (I + k g g^T)^(-1/2) e, expanded at the corrected depth.
    """
    qw, qx, qy, qz = model[0], model[1], model[2], model[3]
    t1, t2, t3, shrink = model[4], model[5], model[6], 1.0 / model[7]
    u1, u2, u3 = _turn_back(model, -t1, -t2, -t3)
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = entries(model)
    jacobian[:, : stop - start] = 0.0
    residuals[:, : stop - start] = 0.0
    for i in range(stop - start):
        n = start + i
        x1, y1, x2, y2, d1, d2 = data[0, n], data[1, n], data[2, n], data[3, n], data[4, n], data[5, n]
        weight = data[6, n]
        factor = math.sqrt(0.5) if d1 > 0.0 and d2 > 0.0 else 1.0
        residuals[0, i] = 0.0 if d1 > 0.0 or d2 > 0.0 else _BEHIND
        if d1 > 0.0:
            a, b, c, d = _products(qw, qx, qy, qz, d1 * x1, d1 * y1, d1)
            x, y = qw * a + qx * b + qy * c - qz * d + t1, qw * d - qx * c + qy * b + qz * a + t2
            z = qw * c + qx * d - qy * a + qz * b + t3
            s = _correction(x, y, z, x2, y2, t1, t2, t3, weight)
            a, b, c, d = s * a, s * b, s * c, s * d
            x, y, z = t1 + s * (x - t1), t2 + s * (y - t2), t3 + s * (z - t3)
            view = _look_at(x, y, z, t1, t2, t3, factor, weight, math.log(s))
            if _write_error(residuals, 0, i, x2, y2, z, view):
                _write_column(jacobian, 0, 0, i, 2.0 * a, 2.0 * d, 2.0 * c, view)
                _write_column(jacobian, 0, 1, i, 2.0 * b, -2.0 * c, 2.0 * d, view)
                _write_column(jacobian, 0, 2, i, 2.0 * c, 2.0 * b, -2.0 * a, view)
                _write_column(jacobian, 0, 3, i, -2.0 * d, 2.0 * a, 2.0 * b, view)
                _write_column(jacobian, 0, 4, i, 1.0, 0.0, 0.0, view)
                _write_column(jacobian, 0, 5, i, 0.0, 1.0, 0.0, view)
                _write_column(jacobian, 0, 6, i, 0.0, 0.0, 1.0, view)
        if d2 > 0.0:
            far = d2 * shrink
            x, y, z = _turn_back(model, far * x2 - t1, far * y2 - t2, far - t3)
            s = _correction(x, y, z, x1, y1, u1, u2, u3, weight)
            far *= s
            a, b, c, d = _products(qw, -qx, -qy, -qz, far * x2 - t1, far * y2 - t2, far - t3)
            x, y = qw * a - qx * b - qy * c + qz * d, qw * d + qx * c - qy * b - qz * a
            z = qw * c - qx * d + qy * a - qz * b
            view = _look_at(x, y, z, u1, u2, u3, factor, weight, math.log(s))
            if _write_error(residuals, 2, i, x1, y1, z, view):
                _write_column(jacobian, 2, 0, i, 2.0 * a, 2.0 * d, 2.0 * c, view)
                _write_column(jacobian, 2, 1, i, -2.0 * b, 2.0 * c, -2.0 * d, view)
                _write_column(jacobian, 2, 2, i, -2.0 * c, -2.0 * b, 2.0 * a, view)
                _write_column(jacobian, 2, 3, i, 2.0 * d, -2.0 * a, -2.0 * b, view)
                _write_column(jacobian, 2, 4, i, -r11, -r12, -r13, view)
                _write_column(jacobian, 2, 5, i, -r21, -r22, -r23, view)
                _write_column(jacobian, 2, 6, i, -r31, -r32, -r33, view)
                x, y, z = _turn_back(model, -far * shrink * x2, -far * shrink * y2, -far * shrink)
                _write_column(jacobian, 2, 7, i, x, y, z, view)


@inlined
def _products(w: float, x: float, y: float, z: float, a: float, b: float, c: float) -> _Four:
    """Return the four products of a quaternion and a point (a, b, c), see ``bansac.maths.quaternion``."""
    return w * a - z * b + y * c, x * a + y * b + z * c, w * c + x * b - y * a, w * b + z * a - x * c


@inlined
def _correction(
    x: float, y: float, z: float, seen_x: float, seen_y: float, t1: float, t2: float, t3: float, weight: float
) -> float:
    """Return the factor of the depth of a point that its image and its depth give, at most e in both directions."""
    if not z > 0.0:
        return 1.0
    w = 1.0 / z
    u, v = x * w, y * w
    gx, gy = w * (u * t3 - t1), w * (v * t3 - t2)
    step = -weight * (gx * (u - seen_x) + gy * (v - seen_y)) / (1.0 + weight * (gx * gx + gy * gy))
    return math.exp(min(max(step, -1.0), 1.0))


@inlined
def _look_at(
    x: float, y: float, z: float, t1: float, t2: float, t3: float, factor: float, weight: float, moved: float
) -> _View:
    """Return 1 / z, the image (u, v) of a point, and the entries of ``factor`` (I + k g g^T)^(-1/2).

    The last two numbers are the part of the error that is due to ``moved``, the logarithm of the correction.
    """
    w = 1.0 / z
    u, v = x * w, y * w
    gx, gy = w * (u * t3 - t1), w * (v * t3 - t2)
    root = math.sqrt(1.0 + weight * (gx * gx + gy * gy))
    part = weight / (root * (root + 1.0))
    g11, g12, g22 = factor * (1.0 - part * gx * gx), -factor * part * gx * gy, factor * (1.0 - part * gy * gy)
    return w, u, v, g11, g12, g22, gx * moved, gy * moved


@inlined
def _write_error(residuals: Floats, row: int, i: int, x: float, y: float, z: float, view: _View) -> bool:
    """Write both components of the weighted error of an image point; a large one and False behind the camera."""
    _, u, v, g11, g12, g22, ox, oy = view
    ex, ey = u - x - ox, v - y - oy
    residuals[row, i] = g11 * ex + g12 * ey if z > 0.0 else _BEHIND
    residuals[row + 1, i] = g12 * ex + g22 * ey if z > 0.0 else 0.0
    return z > 0.0


@inlined
def _write_column(jacobian: Floats, row: int, j: int, i: int, x: float, y: float, z: float, view: _View) -> None:
    """Write the derivatives of a weighted error by parameter j, which moves the point by (x, y, z)."""
    w, u, v, g11, g12, g22, _, _ = view
    du, dv = w * (x - u * z), w * (y - v * z)
    jacobian[_SIZE * row + j, i] = g11 * du + g12 * dv
    jacobian[_SIZE * (row + 1) + j, i] = g12 * du + g22 * dv


def tangent(model: Floats, basis: Floats) -> None:
    """Write the tangent directions of the motion and of the logarithm of the scale."""
    _span(model, basis)
    basis[6, 7] = model[7]


def project(model: Floats, scratch: Floats) -> bool:
    """Scale the quaternion to unit length; False if the scale is not positive."""
    return model[7] > 0.0 and normalise_vector(model[:4])


def essential_of(model: Floats) -> Floats:
    """Return the flat essential matrix of a model."""
    matrix = matrix_of(model)
    t = matrix[:, 3] / np.linalg.norm(matrix[:, 3])
    return np.asarray(essential_from_pose(matrix[:, :3], t)).ravel()


RELATIVE_DEPTH = Problem.of(
    globals(),
    name="relative pose",
    channels=7,
    sample_size=3,
    model_shape=(_SIZE,),
    solve=depth_3pt.solve_poses,
    parameters=7,
    residual_size=4,
    max_models=depth_3pt.MAX_MODELS,
    scratch_size=depth_3pt.SCRATCH,
    solver_cost=500.0,
    precision="float32",
    default_threshold=5e-4,
    default_max_iterations=30_000,
    default_local_optimization="lm",
    traits=dataclasses.replace(ESSENTIAL.traits, points=((0, 1, 4), (2, 3, 5))),
)
