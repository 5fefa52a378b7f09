"""The homography between two views of a plane: x2 ~ H x1.

The data are matches, channels x1, y1, x2, y2. The residual is the forward transfer error, the distance in the second
image between x2 and H x1 (Hartley and Zisserman, Multiple View Geometry, 2nd ed., section 4.2).
"""

import dataclasses

from bansac.maths.arrays import Floats, Reals
from bansac.maths.linalg import matrix_entries, scale_to_unit, span_complement
from bansac.maths.normalisation import canonical_homography, denormalise_homography
from bansac.problems.affine import AFFINE
from bansac.solvers import homography_4pt, homography_dlt


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared forward transfer errors; inf or NaN for a point that H maps to infinity."""
    x1, y1, x2, y2 = data[0, start:stop], data[1, start:stop], data[2, start:stop], data[3, start:stop]
    h11, h12, h13, h21, h22, h23, h31, h32, h33 = matrix_entries(model)
    for i in range(stop - start):
        w = h31 * x1[i] + h32 * y1[i] + h33
        dx = (h11 * x1[i] + h12 * y1[i] + h13) / w - x2[i]
        dy = (h21 * x1[i] + h22 * y1[i] + h23) / w - y2[i]
        out[i] = dx * dx + dy * dy


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute both coordinates of H x1 - x2 and their derivatives by the entries of H."""
    x1, y1, x2, y2 = data[0, start:stop], data[1, start:stop], data[2, start:stop], data[3, start:stop]
    h11, h12, h13, h21, h22, h23, h31, h32, h33 = matrix_entries(model)
    rx, ry = residuals[0], residuals[1]
    for row in range(3, 15):
        jacobian[row, : stop - start] = 0.0
    ax, ay, aw = jacobian[0], jacobian[1], jacobian[2]
    bx, by, bw = jacobian[12], jacobian[13], jacobian[14]
    cx, cy, cw = jacobian[6], jacobian[7], jacobian[8]
    dx, dy, dw = jacobian[15], jacobian[16], jacobian[17]
    for i in range(stop - start):
        w = 1.0 / (h31 * x1[i] + h32 * y1[i] + h33)
        x = (h11 * x1[i] + h12 * y1[i] + h13) * w
        y = (h21 * x1[i] + h22 * y1[i] + h23) * w
        rx[i], ry[i] = x - x2[i], y - y2[i]
        u, v = w * x1[i], w * y1[i]
        ax[i], ay[i], aw[i] = u, v, w
        bx[i], by[i], bw[i] = u, v, w
        cx[i], cy[i], cw[i] = -x * u, -x * v, -x * w
        dx[i], dy[i], dw[i] = -y * u, -y * v, -y * w


HOMOGRAPHY = dataclasses.replace(
    AFFINE,
    name="homography",
    sample_size=4,
    model_shape=(3, 3),
    solve=homography_4pt.solve,
    residuals=residuals,
    fit=homography_dlt.fit,
    linearize=linearize,
    tangent=span_complement,  # orthogonal to H because its scale is free
    project=scale_to_unit,
    parameters=8,
    scratch_size=homography_dlt.SCRATCH,
    denormalise=denormalise_homography,
    canonical=canonical_homography,
)
