"""Misfit of a camera: whether other focal lengths or lens distortion explain the inliers of a pose better.

A pose follows a wrong focal length as well as it can. What it cannot follow is in the residuals, and one Gauss-Newton
step with the freed parameters finds it (the score test: Rao, 1948). The F test compares the sums of squares with and
without the freed parameters: the focal length and the first coefficient of distortion of an absolute pose, the two
focal lengths of a relative pose. The pose with a significant step is a misfit if the step explains a share of the
variance, or if it moves the pose.
"""

import numpy as np

from bansac.evidence.configuration import SEARCHED
from bansac.evidence.misfit import DEVIATIONS, SHARE, deviations
from bansac.maths.arrays import Bools, Floats
from bansac.maths.quaternion import matrix_of
from bansac.problems.problem import Problem

# Radians by which the freed parameters turn the pose, or move the camera as seen from the points.
_MOVED = 0.05

_SINGULAR = 1e-5


def find_focal_factors(problem: Problem, data: Floats, model: Floats, inliers: Bools, exact: float) -> list[float]:
    """Return the factors of the focal lengths that fit better than the given ones; empty if these fit.

    There is one of an absolute pose, about 1 if only the distortion is wrong, and two of a relative pose. ``data`` have
    normalised image points. Residuals below ``exact`` are due to rounding.
    """
    members = np.flatnonzero(inliers)
    if members.size <= problem.sample_size:
        return []
    points = np.take(data, members[:: 1 + members.size // SEARCHED], axis=1)
    is_absolute = len(problem.points[1]) == 3
    p, columns = _linearize_pose(points, model) if is_absolute else _linearize_essential(problem, points, model)
    count, q = columns.shape[1], len(columns) - 1
    products = columns @ columns.T
    scales = np.sqrt(np.diag(products))
    try:
        triangle = np.linalg.cholesky(products / np.outer(scales, scales)).T
    except np.linalg.LinAlgError:
        return []
    *explained, after = triangle[p:, -1] ** 2
    before, rest = sum(explained) + after, count - q
    is_regular = rest > 0 and np.diag(triangle)[:q].min() > _SINGULAR
    if not is_regular or before * products[q, q] <= count * exact * exact:
        return []
    if deviations(sum(explained) / (q - p) / (max(after, 1e-9 * before) / rest), q - p, rest) <= DEVIATIONS:
        return []
    steps = [scales[q] / scales[:k] * np.linalg.solve(triangle[:k, :k], triangle[:k, q]) for k in (p, q)]
    moved = np.linalg.norm(steps[1][:p] - steps[0])
    if 1.0 - after / rest / (before / (count - p)) <= SHARE and moved <= _MOVED:
        return []
    return [float(1.0 - step) for step in steps[1][p : p + 1 if is_absolute else q]]


def _linearize_pose(points: Floats, model: Floats) -> tuple[int, Floats]:
    """Return the number of parameters of the pose, and rows: derivatives by the pose, by the camera, and the errors.

    A step of the pose is a rotation about the camera and a translation in units of the depth.
    """
    matrix, columns = matrix_of(model), np.zeros((9, 2, points.shape[1]))
    u, v, depth = matrix[:, :3] @ points[2:] + matrix[:, 3:]
    u, v, near = u / depth, v / depth, 1.0 / depth
    near /= near.mean()
    uv = np.array([u, v])
    columns[0], columns[1], columns[2] = -v * uv, u * uv, [-v, u]
    columns[0, 1] -= 1.0
    columns[1, 0] += 1.0
    columns[3, 0] = columns[4, 1] = near
    columns[5], columns[6], columns[7], columns[8] = -near * uv, uv, (u * u + v * v) * uv, uv - points[:2]
    return 6, columns.reshape(9, -1)


def _linearize_essential(problem: Problem, points: Floats, model: Floats) -> tuple[int, Floats]:
    """Return the number of parameters of the motion, and rows: derivatives by it, by the focal lengths, and the errors.

    With focal lengths that are f1 and f2 times as large the matrix is diag(1, 1, f2) E diag(1, 1, f1). A step of the
    motion is about the angle by which it turns rotation or translation.
    """
    E = model / np.linalg.norm(model)
    errors, derivatives = problem.linearized(points, E)
    tangents = np.zeros((7, 9))
    tangents[:5] = problem.tangent_basis(E)
    tangents[5, 2::3], tangents[6, 6:] = E[2::3], E[6:]
    columns = [*(tangents @ derivatives).transpose(1, 0, 2), errors]
    return 5, np.reshape(columns, (8, -1))
