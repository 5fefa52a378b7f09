"""Fundamental matrices and the focal length of the second camera, from six matches; that of the first is known.

Bujnak, Kukelova and Pajdla, 3D reconstruction from image collections with a single known focal length, ICCV 2009. The
method is that of ``shared_focal_6pt``, with Q = diag(1, 1, w) on one side only: 2 F F^T Q F = tr(F F^T Q) F.
"""

from bansac.maths.arrays import Floats, Ints
from bansac.solvers.shared_focal_6pt import solve_focal


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute models from six matches: F of unit Frobenius norm, row by row, and f of the second camera.

    The coordinates are normalised in the first image. In the second one they are relative to the principal point, in a
    unit of the order of the focal length.
    """
    return solve_focal(data, sample, models, scratch, False)
