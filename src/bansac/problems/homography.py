"""The homography between two views of a plane: x2 ~ H x1.

The data are matches, channels x1, y1, x2, y2. The residual is the forward transfer error, the distance in the second
image between x2 and H x1 (Hartley and Zisserman, Multiple View Geometry, 2nd ed., section 4.2).
"""

from __future__ import annotations

from bansac.numeric.arrays import Reals
from bansac.problems.problem import Problem
from bansac.solvers import homography_4pt, homography_dlt
from bansac.solvers.normalization import canonical_homography, denormalize_homography, normalize

__all__ = ["HOMOGRAPHY"]


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared forward transfer errors; inf or NaN for a point that H takes to infinity."""
    x1, y1, x2, y2 = data[0, start:stop], data[1, start:stop], data[2, start:stop], data[3, start:stop]
    h11, h12, h13 = model[0], model[1], model[2]
    h21, h22, h23 = model[3], model[4], model[5]
    h31, h32, h33 = model[6], model[7], model[8]
    for i in range(stop - start):
        w = h31 * x1[i] + h32 * y1[i] + h33
        dx = (h11 * x1[i] + h12 * y1[i] + h13) / w - x2[i]
        dy = (h21 * x1[i] + h22 * y1[i] + h23) / w - y2[i]
        out[i] = dx * dx + dy * dy


HOMOGRAPHY = Problem(
    name="homography",
    channels=4,
    sample_size=4,
    model_shape=(3, 3),
    solve=homography_4pt.solve,
    residuals=residuals,
    fit=homography_dlt.fit,
    scratch_size=homography_dlt.SCRATCH,
    precision="float32",
    normalize=normalize,
    denormalize=denormalize_homography,
    canonical=canonical_homography,
    default_threshold=1.0,
    default_max_iterations=1000,
    unit="pixels",
    points=((0, 1), (2, 3)),
)
