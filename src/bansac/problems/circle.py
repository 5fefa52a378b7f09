"""The circle (c_x, c_y, r); the residual of a point p is its distance | |p - c| - r |."""

import math

import numpy as np

from bansac.compiled.jit import inner_kernel
from bansac.maths.arrays import Floats, Ints, Reals
from bansac.maths.flat import flat_distances
from bansac.maths.linalg import TINY, weighted_centroid
from bansac.maths.normalisation import normalise as normalise
from bansac.problems.problem import Problem
from bansac.problems.traits import Limit, Traits

# Three points with sides u and v are collinear if |u x v| <= _COLLINEAR (|u|^2 + |v|^2).
_COLLINEAR = 1e-6
_NEWTON_STEPS = 20
_GEOMETRIC_STEPS = 10


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute the circumcircle of three points; collinear points give no circle.

    Relative to the third point, the centre c satisfies 2 u.c = |u|^2 and 2 v.c = |v|^2 for the other points u and v.
    """
    x3, y3 = data[0, sample[2]], data[1, sample[2]]
    ux, uy = data[0, sample[0]] - x3, data[1, sample[0]] - y3
    vx, vy = data[0, sample[1]] - x3, data[1, sample[1]] - y3
    uu, vv = ux * ux + uy * uy, vx * vx + vy * vy
    area = ux * vy - uy * vx
    if not abs(area) > _COLLINEAR * (uu + vv):
        return 0
    cx = 0.5 * (vy * uu - uy * vv) / area
    cy = 0.5 * (ux * vv - vx * uu) / area
    models[0, 0], models[0, 1], models[0, 2] = x3 + cx, y3 + cy, math.hypot(cx, cy)
    return 1


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared geometric distances."""
    x, y = data[0, start:stop], data[1, start:stop]
    cx, cy, r = model[0], model[1], model[2]
    for i in range(stop - start):
        dx, dy = x[i] - cx, y[i] - cy
        distance = np.sqrt(dx * dx + dy * dy) - r
        out[i] = distance * distance


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute signed distances, positive outside the circle, and their derivatives by centre and radius."""
    x, y = data[0, start:stop], data[1, start:stop]
    cx, cy, r = model[0], model[1], model[2]
    distance, by_cx, by_cy, by_r = residuals[0], jacobian[0], jacobian[1], jacobian[2]
    for i in range(stop - start):
        dx, dy = x[i] - cx, y[i] - cy
        from_centre = math.sqrt(dx * dx + dy * dy)
        distance[i] = from_centre - r
        by_cx[i] = -dx / (from_centre + TINY)
        by_cy[i] = -dy / (from_centre + TINY)
        by_r[i] = -1.0


def fit(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Minimise the weighted sum of squared distances: Taubin's algebraic fit, then Gauss-Newton.

    The best radius for a given centre is the mean distance, so only the centre is iterated. The iteration ends at the
    first step that does not lower the cost.
    """
    exists, cx, cy = _taubin_centre(data, weights)
    if not exists:
        return False
    cost, r, step_x, step_y = _geometric_step(data, weights, cx, cy)
    for _ in range(_GEOMETRIC_STEPS):
        new_cost, new_r, new_step_x, new_step_y = _geometric_step(data, weights, cx + step_x, cy + step_y)
        if not new_cost < cost:
            break
        cx, cy = cx + step_x, cy + step_y
        cost, r, step_x, step_y = new_cost, new_r, new_step_x, new_step_y
    model[0], model[1], model[2] = cx, cy, r
    return True


@inner_kernel
def _taubin_centre(data: Floats, weights: Floats) -> tuple[bool, float, float]:
    """Return whether Taubin's circle fit (PAMI 1991) to the weighted points exists, and its centre.

    In coordinates about the centroid, with z = x^2 + y^2, the fit minimises mean(f^2) / mean(|grad f|^2) where
    f = A z + B x + C y + D. The minimum is the smallest root of a cubic whose coefficients are moments. Newton's method
    converges to it from 0 without overshooting (Chernov, Circular and linear regression, 2010, section 5.10).
    """
    x, y = data[0], data[1]
    total, mx, my = weighted_centroid(x, y, weights)
    if not total > 0.0:
        return False, np.nan, np.nan
    sxx, sxy, syy, sxz, syz, szz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(weights.size):
        dx, dy = x[i] - mx, y[i] - my
        z = dx * dx + dy * dy
        sxx += weights[i] * dx * dx
        sxy += weights[i] * dx * dy
        syy += weights[i] * dy * dy
        sxz += weights[i] * dx * z
        syz += weights[i] * dy * z
        szz += weights[i] * z * z
    sz = (sxx + syy) / total
    if not sz > 0.0:
        return False, np.nan, np.nan
    # Scale the moments to points of unit spread, so that the thresholds below do not depend on scale.
    sxx, sxy, syy = sxx / (total * sz), sxy / (total * sz), syy / (total * sz)
    unit = math.sqrt(sz)
    sxz, syz, szz = sxz / (total * sz * unit), syz / (total * sz * unit), szz / (total * sz * sz)
    scatter = sxx * syy - sxy * sxy
    if not scatter > _COLLINEAR * _COLLINEAR:
        return False, np.nan, np.nan
    variance = szz - 1.0
    a3 = 4.0
    a2 = -3.0 - szz
    a1 = variance + 4.0 * scatter - sxz * sxz - syz * syz
    a0 = sxz * (sxz * syy - syz * sxy) + syz * (syz * sxx - sxz * sxy) - variance * scatter
    root = 0.0
    value = a0
    for _ in range(_NEWTON_STEPS):
        slope = a1 + root * (2.0 * a2 + root * 3.0 * a3)
        new_root = root - value / slope
        new_value = a0 + new_root * (a1 + new_root * (a2 + new_root * a3))
        if not abs(new_value) < abs(value):
            break
        root, value = new_root, new_value
    determinant = root * root - root + scatter
    cx = 0.5 * (sxz * (syy - root) - syz * sxy) / determinant
    cy = 0.5 * (syz * (sxx - root) - sxz * sxy) / determinant
    if not abs(cx) + abs(cy) < 1.0 / _COLLINEAR:
        return False, np.nan, np.nan
    return True, mx + unit * cx, my + unit * cy


@inner_kernel
def _geometric_step(data: Floats, weights: Floats, cx: float, cy: float) -> tuple[float, float, float, float]:
    """Return the cost and the best radius for a centre, and the Gauss-Newton step (x, y) of the centre.

    The radius is eliminated. The residual of a point at distance d_i in direction u_i from the centre is
    d_i - mean(d); its Jacobian is -(u_i - mean(u)).
    """
    x, y = data[0], data[1]
    total, mean_d, mean_u, mean_v = 0.0, 0.0, 0.0, 0.0
    for i in range(weights.size):
        dx, dy = x[i] - cx, y[i] - cy
        d = math.sqrt(dx * dx + dy * dy + TINY)
        total += weights[i]
        mean_d += weights[i] * d
        mean_u += weights[i] * (dx / d)
        mean_v += weights[i] * (dy / d)
    mean_d, mean_u, mean_v = mean_d / total, mean_u / total, mean_v / total
    uu, uv, vv, ur, vr, rr = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(weights.size):
        dx, dy = x[i] - cx, y[i] - cy
        d = math.sqrt(dx * dx + dy * dy + TINY)
        u, v, r = dx / d - mean_u, dy / d - mean_v, d - mean_d
        uu += weights[i] * u * u
        uv += weights[i] * u * v
        vv += weights[i] * v * v
        ur += weights[i] * u * r
        vr += weights[i] * v * r
        rr += weights[i] * r * r
    determinant = uu * vv - uv * uv
    if not determinant > 0.0:
        return rr, mean_d, 0.0, 0.0
    return rr, mean_d, (vv * ur - uv * vr) / determinant, (uu * vr - uv * ur) / determinant


def denormalise(model: Floats, transform: Floats) -> None:
    """Undo ``normalise`` for a centre and a radius: p -> p / scale + centroid."""
    model /= transform[0]
    model[:-1] += transform[1 : model.size]


CIRCLE = Problem.of(
    globals(),
    name="circle",
    channels=2,
    sample_size=3,
    model_shape=(3,),
    traits=Traits(points=((0, 1),), limit=Limit("line", flat_distances)),
)
