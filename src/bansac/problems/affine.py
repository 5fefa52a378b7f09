"""The affine map of the plane, x2 = A x1 + b, stored as the 2 x 3 matrix (A | b).

The data are matches, channels x1, y1, x2, y2. The residual is the transfer error, the distance in the second image
between x2 and A x1 + b (Hartley and Zisserman, Multiple View Geometry, 2nd ed., sections 2.4.3 and 4.2). It is linear
in the model, so the weighted fit is the maximum-likelihood estimate.
"""

from bansac.compiled.jit import inner_kernel
from bansac.maths.arrays import Floats, Ints, Reals
from bansac.maths.linalg import weighted_centroid
from bansac.maths.normalisation import normalise as normalise
from bansac.problems.problem import Problem
from bansac.problems.traits import Traits

# Three points with sides u and v are collinear if |u x v| <= _COLLINEAR (|u|^2 + |v|^2).
_COLLINEAR = 1e-6
# Points are collinear if the determinant of their scatter is at most this fraction of its squared trace.
_FLAT = 1e-12


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Map a triangle to a triangle; collinear points in either image give no model.

    Relative to the third match, A maps u to p and v to q.
    """
    x, y, s, t = data[0], data[1], data[2], data[3]
    i, j, k = sample[0], sample[1], sample[2]
    ux, uy, vx, vy = x[i] - x[k], y[i] - y[k], x[j] - x[k], y[j] - y[k]
    px, py, qx, qy = s[i] - s[k], t[i] - t[k], s[j] - s[k], t[j] - t[k]
    area, image = ux * vy - uy * vx, px * qy - py * qx
    if not abs(area) > _COLLINEAR * (ux * ux + uy * uy + vx * vx + vy * vy):
        return 0
    if not abs(image) > _COLLINEAR * (px * px + py * py + qx * qx + qy * qy):
        return 0
    model = models[0]
    model[0], model[1] = (px * vy - qx * uy) / area, (qx * ux - px * vx) / area
    model[3], model[4] = (py * vy - qy * uy) / area, (qy * ux - py * vx) / area
    _translate(model, x[k], y[k], s[k], t[k])
    return 1


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared transfer errors."""
    x1, y1, x2, y2 = data[0, start:stop], data[1, start:stop], data[2, start:stop], data[3, start:stop]
    a, b, c = model[0], model[1], model[2]
    d, e, f = model[3], model[4], model[5]
    for i in range(stop - start):
        dx = a * x1[i] + b * y1[i] + c - x2[i]
        dy = d * x1[i] + e * y1[i] + f - y2[i]
        out[i] = dx * dx + dy * dy


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute both coordinates of A x1 + b - x2 and their derivatives by the entries of the matrix."""
    x1, y1, x2, y2 = data[0, start:stop], data[1, start:stop], data[2, start:stop], data[3, start:stop]
    a, b, c = model[0], model[1], model[2]
    d, e, f = model[3], model[4], model[5]
    n = stop - start
    for row in range(12):
        jacobian[row, :n] = 0.0
    dx, dy = residuals[0], residuals[1]
    by_a, by_b, by_c = jacobian[0], jacobian[1], jacobian[2]
    by_d, by_e, by_f = jacobian[9], jacobian[10], jacobian[11]
    for i in range(n):
        dx[i] = a * x1[i] + b * y1[i] + c - x2[i]
        dy[i] = d * x1[i] + e * y1[i] + f - y2[i]
        by_a[i], by_b[i], by_c[i] = x1[i], y1[i], 1.0
        by_d[i], by_e[i], by_f[i] = x1[i], y1[i], 1.0


def fit(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Minimise the weighted sum of squared transfer errors by linear regression about the centroids."""
    x, y, s, t = data[0], data[1], data[2], data[3]
    total, mx, my = weighted_centroid(x, y, weights)
    if not total > 0.0:
        return False
    _, ms, mt = weighted_centroid(s, t, weights)
    xx, xy, yy, sx, sy, tx, ty = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(weights.size):
        w, dx, dy, ds, dt = weights[i], x[i] - mx, y[i] - my, s[i] - ms, t[i] - mt
        xx += w * dx * dx
        xy += w * dx * dy
        yy += w * dy * dy
        sx += w * ds * dx
        sy += w * ds * dy
        tx += w * dt * dx
        ty += w * dt * dy
    determinant = xx * yy - xy * xy
    if not determinant > _FLAT * (xx + yy) * (xx + yy):
        return False
    model[0], model[1] = (sx * yy - sy * xy) / determinant, (sy * xx - sx * xy) / determinant
    model[3], model[4] = (tx * yy - ty * xy) / determinant, (ty * xx - tx * xy) / determinant
    _translate(model, mx, my, ms, mt)
    return True


@inner_kernel
def _translate(model: Floats, x: float, y: float, s: float, t: float) -> None:
    """Choose b so that the map sends (x, y) to (s, t)."""
    model[2] = s - model[0] * x - model[1] * y
    model[5] = t - model[3] * x - model[4] * y


def denormalise(model: Floats, transform: Floats) -> None:
    """Undo ``normalise``, which scales both images by the same factor: only b changes."""
    scale, x1, y1, x2, y2 = transform.tolist()[:5]
    a, b, c, d, e, f = model.tolist()
    model[2] = c / scale + x2 - a * x1 - b * y1
    model[5] = f / scale + y2 - d * x1 - e * y1


AFFINE = Problem.of(
    globals(),
    name="affine map",
    channels=4,
    sample_size=3,
    model_shape=(2, 3),
    residual_size=2,
    precision="float32",
    default_threshold=2.0,
    default_max_iterations=20_000,
    default_weighting="scores",
    traits=Traits(points=((0, 1), (2, 3)), codimension=2, unit="pixels"),
)
