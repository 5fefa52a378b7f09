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

_UNMOVED = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])


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
    rows = (_derive_pose if is_absolute else _derive_essential)(problem, points, model)
    products = np.tensordot(rows, rows, ((0, 2), (0, 2)))
    q, count = len(products) - 1, rows.shape[0] * rows.shape[2]
    p = q - 2
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


def _derive_pose(problem: Problem, points: Floats, model: Floats) -> Floats:
    """Return the derivatives of reprojection errors and the errors, in rows, for points in front of the camera.

    The derivatives are those by a rotation about the camera, a translation in units of the depth, the focal length and
    the distortion.
    """
    matrix, seen = matrix_of(model), points.copy()
    seen[2:] = matrix[:, :3] @ points[2:] + matrix[:, 3:]
    errors, derivatives = problem.linearized(seen, _UNMOVED)
    tangents = problem.tangent_basis(_UNMOVED)
    tangents[:3] *= 0.5  # the quaternion of a small rotation has half of its angle
    tangents[3:] /= np.mean(1.0 / seen[4])
    rays = errors + seen[:2]
    further = np.stack([rays, rays * np.sum(rays * rays, axis=0), errors], axis=1)
    return np.concatenate([tangents @ derivatives, further], axis=1)


def _derive_essential(problem: Problem, points: Floats, model: Floats) -> Floats:
    """Return the derivatives of errors by motion and focal lengths and the errors, in rows.

    With focal lengths that are f1 and f2 times as large the matrix is diag(1, 1, f2) E diag(1, 1, f1). A step of the
    motion is about the angle by which it turns rotation or translation.
    """
    E = model / np.linalg.norm(model)
    errors, derivatives = problem.linearized(points, E)
    tangents = np.zeros((8, 10))
    tangents[:5, :9] = problem.tangent_basis(E)
    tangents[5, 2:9:3], tangents[6, 6:9], tangents[7, 9] = E[2::3], E[6:], 1.0
    return np.asarray(tangents @ np.concatenate([derivatives, errors[:, None]], axis=1))
