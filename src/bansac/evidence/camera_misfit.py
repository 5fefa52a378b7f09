"""Misfit of a camera: whether other focal lengths or lens distortion explain the inliers of a pose better.

A pose follows a wrong focal length as well as it can. What it cannot follow is in the residuals, and one Gauss-Newton
step with the freed parameters finds it (the score test: Rao, 1948). The F test compares the sums of squares with and
without the freed parameters: the focal length and the first coefficient of distortion of an absolute pose, the two
focal lengths of a relative pose. The pose with a significant step is a misfit if the step explains a share of the
variance, or if it moves the pose.

Matches with a mirrored image have an epipolar geometry, too, but no motion has all of them in front of both cameras.
"""

import math

import numpy as np

from bansac.compiled.jit import kernel
from bansac.evidence.configuration import SEARCHED, TOLERANCE, threshold_of_noise
from bansac.evidence.misfit import DEVIATIONS, SHARE, deviations
from bansac.evidence.significance import MeasuredModel
from bansac.maths.arrays import Bools, Floats
from bansac.maths.quaternion import entries
from bansac.problems.problem import Problem

# Radians by which the freed parameters turn the pose, or move the camera as seen from the points.
_MOVED = 0.05


def find_focal_factors(problem: Problem, data: Floats, model: Floats, near: Bools, exact: float) -> list[float]:
    """Return the factors of the focal lengths that fit the points near a pose better; empty if the given ones fit.

    There is one of an absolute pose, about 1 if only the distortion is wrong, and two of a relative pose. ``data`` have
    normalised image points. Residuals below ``exact`` are due to rounding.
    """
    members = np.flatnonzero(near)
    if members.size <= problem.sample_size:
        return []
    points = np.take(data, members[:: 1 + members.size // SEARCHED], axis=1)
    is_absolute = not problem.traits.of_images
    if is_absolute:
        p, products, count = 6, np.zeros((9, 9)), 2 * points.shape[1]
        _multiply_pose(points, model, np.empty((2, 9)), products)
    else:
        p, products, count = 5, *_multiply_essential(problem, points, model)
    q = len(products) - 1
    try:
        triangle = np.linalg.cholesky(products).T
    except np.linalg.LinAlgError:
        return []
    squares, rest = triangle.diagonal() ** 2, count - q
    after, explained = squares[q], float(triangle[p:q, q] @ triangle[p:q, q])
    before = explained + after
    is_regular = rest > 0 and (squares[:q] > np.sqrt(np.finfo(float).eps) * products.diagonal()[:q]).all()
    if not is_regular or before <= count * exact * exact:
        return []
    if deviations(explained / (q - p) / (max(after, 1e-9 * before) / rest), q - p, rest) <= DEVIATIONS:
        return []
    steps = [np.linalg.solve(triangle[:k, :k], triangle[:k, q]) for k in (p, q)]
    moved = np.linalg.norm(steps[1][:p] - steps[0])
    if 1.0 - after / rest / (before / (count - p)) <= SHARE and moved <= _MOVED:
        return []
    return [float(1.0 - step) for step in steps[1][p : p + 1 if is_absolute else q]]


def count_behind(problem: Problem, data: Floats, measured: MeasuredModel) -> int:
    """Return the number of inliers behind a camera in the best motion of a relative pose if they are many, else 0.

    They are many if they are significantly more than a share, which wrong matches may have. Those that do not move,
    such as an overlay, do not count, nor do those that noise may have moved there from infinity.
    """
    if problem.score_in_front is None:
        return 0
    limit = (TOLERANCE * threshold_of_noise(problem, measured.residuals, measured.threshold)) ** 2
    members = measured.inliers & (np.square(data[2:4] - data[:2]).sum(axis=0) > limit)
    n, in_front = int(np.count_nonzero(members)), problem.compiled("score_in_front")
    behind = n - int(in_front(data, measured.model, members.astype(np.float64), limit))
    return behind if behind > SHARE * n + DEVIATIONS * math.sqrt(SHARE * (1.0 - SHARE) * n) else 0


@kernel
def _multiply_pose(points: Floats, model: Floats, rows: Floats, products: Floats) -> None:
    """Write the products of derivatives of reprojection errors, and of the errors, for points in front of the camera.

    The derivatives are those by a rotation about the camera, a translation in units of the depth, the focal length and
    the distortion. ``rows`` has space for those of one point.
    """
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = entries(model)
    t1, t2, t3 = model[4], model[5], model[6]
    x_row, y_row, n, scale = rows[0], rows[1], points.shape[1], 0.0
    for k in range(n):
        scale += 1.0 / (r31 * points[2, k] + r32 * points[3, k] + r33 * points[4, k] + t3) / n
    for k in range(n):
        px, py, pz = points[2, k], points[3, k], points[4, k]
        inverse = 1.0 / (r31 * px + r32 * py + r33 * pz + t3)
        u, v = inverse * (r11 * px + r12 * py + r13 * pz + t1), inverse * (r21 * px + r22 * py + r23 * pz + t2)
        near, squared = inverse / scale, u * u + v * v
        x_row[0], x_row[1], x_row[2], x_row[3], x_row[4], x_row[5] = -u * v, 1.0 + u * u, -v, near, 0.0, -near * u
        y_row[0], y_row[1], y_row[2], y_row[3], y_row[4], y_row[5] = -1.0 - v * v, u * v, u, 0.0, near, -near * v
        x_row[6], x_row[7], x_row[8] = u, u * squared, u - points[0, k]
        y_row[6], y_row[7], y_row[8] = v, v * squared, v - points[1, k]
        for i in range(9):
            for j in range(9):
                products[i, j] += x_row[i] * x_row[j] + y_row[i] * y_row[j]


def _multiply_essential(problem: Problem, points: Floats, model: Floats) -> tuple[Floats, int]:
    """Return the products of derivatives by motion and focal lengths, and of errors, and the number of errors.

    With focal lengths that are f1 and f2 times as large the matrix is diag(1, 1, f2) E diag(1, 1, f1). A step of the
    motion is about the angle by which it turns rotation or translation.
    """
    E = model / np.linalg.norm(model)
    errors, derivatives = problem.linearized(points, E)
    tangents = np.zeros((8, 10))
    tangents[:5, :9] = problem.tangent_basis(E)
    tangents[5, 2:9:3], tangents[6, 6:9], tangents[7, 9] = E[2::3], E[6:], 1.0
    rows = (tangents @ np.concatenate([derivatives, errors[:, None]], axis=1)).transpose(1, 0, 2).reshape(8, -1)
    return rows @ rows.T, rows.shape[1]
