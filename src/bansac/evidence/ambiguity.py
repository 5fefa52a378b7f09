"""Detection of ambiguous scenes: whether matches off a dominant plane support another epipolar geometry.

A plane with homography H agrees with F = [e2]x H for any epipole e2; the matches off the plane determine e2. If a
pattern on the plane repeats, features that are matched one period apart agree on an epipole, too: they look like a
second plane. The epipole with more matches is not always the right one.

The planes have at least the share of the inliers that a rival needs. The test searches the outliers of the model off
a plane for an epipole (Chum, Werner and Matas, CVPR 2005). The scene is ambiguous if chance does not explain the
matches of this epipole, and the plane with them has nearly as many as the model. It is also ambiguous if nearly all
inliers lie on a plane or one step to either side of it. If a pattern repeats, its matches look like three such planes,
and the true matches off the plane may be too few for an epipole of their own.
"""

import numpy as np

from bansac.compiled.jit import allocating_kernel, inlined, inner_kernel, kernel
from bansac.evidence.configuration import (
    FAR,
    FREE_OF_PLANE,
    NEAR,
    TOLERANCE,
    find_plane,
    is_chance,
    plane_distance,
    rate_by_noise,
    take_some,
)
from bansac.evidence.rivals import RIVAL
from bansac.geometry.epipolar import sampson_residuals
from bansac.maths.arrays import Bools, Floats, Words
from bansac.maths.linalg import copy
from bansac.maths.rng import fixed_rng
from bansac.problems.degensac import search_epipole

# Share of the model's inliers that the plane with another epipole needs.
_SHARE = 0.95

# A pattern repeats if the third of three planes at equal steps has at least the share _THIRD of the inliers, and at
# most _REST times as many are on none of the three. Matches are on the third plane within _STEP_TOLERANCE thresholds,
# because the steps are equal on the plane, not in the image.
_THIRD, _REST, _STEP_TOLERANCE = 0.04, 0.25, 5.0

_residuals = inner_kernel(sampson_residuals)


@kernel
def mark_off_plane(data: Floats, residuals: Floats, threshold: float, is_off: Bools) -> None:
    """Mark the matches off the plane of most inliers; none if few inliers lie on one."""
    searched, _ = take_some(data, residuals <= threshold)
    models = np.empty((2, 9))
    on_plane = find_plane(searched, threshold, fixed_rng(), models)
    many = on_plane > RIVAL * searched.shape[1]
    for k in range(residuals.size):
        is_off[k] = many and plane_distance(data, models[1], k) > TOLERANCE * threshold


@kernel
def count_other_support(data: Floats, residuals: Floats, threshold: float) -> tuple[int, bool]:
    """Return the number of outliers that support another epipole for a plane of the inliers, 0 if few do.

    Also return whether the inliers lie on three planes as if a pattern repeats. ``residuals`` and ``threshold`` are
    those of an epipolar geometry, in the unit of the matches ``data`` (4 x N).
    """
    rng, left, distances = fixed_rng(), np.empty(residuals.size, np.bool_), np.empty(residuals.size)
    planes, inliers = np.empty((2, 9)), 0
    for k in range(residuals.size):
        left[k] = residuals[k] <= threshold
        inliers += 1 if left[k] else 0
    for plane in range(2):  # in a wrong model, matches shifted along the plane are the second one
        models = np.zeros((2, 9))
        searched, size = take_some(data, left)
        step = max(searched.shape[1], 1) / max(size, 1)
        many = int(find_plane(searched, threshold, rng, models) / step) >= RIVAL * inliers > 0.0
        if plane == 0 and not many:
            return 0, False
        copy(models[1], planes[plane])
        own = 0
        for k in range(residuals.size):
            distances[k] = plane_distance(data, models[1], k)
            off_plane = distances[k] > TOLERANCE * threshold
            left[k] &= off_plane
            own += 1 if off_plane and residuals[k] <= threshold else 0
        other = _search_outliers(data, residuals, distances, threshold, rng, models) if many else 0
        if other > 0 and inliers - own + other >= _SHARE * inliers:
            return other, False
    third, rest = _count_opposite(data, left, planes, _STEP_TOLERANCE * threshold)
    return 0, third >= _THIRD * inliers and rest <= _REST * third


@inner_kernel
def _count_opposite(data: Floats, left: Bools, planes: Floats, tolerance: float) -> tuple[int, int]:
    """Return the numbers of matches on and off the third plane, one step from the first one, opposite to the second.

    Those on it are nearer to it than to the first plane, and a step is as large as the tolerance.
    """
    on, rest = 0, 0
    for k in range(left.size):
        if left[k]:
            x1, y1 = _transfer(planes[0], data[0, k], data[1, k])
            x2, y2 = _transfer(planes[1], data[0, k], data[1, k])
            step = (x2 - x1) ** 2 + (y2 - y1) ** 2
            error = (data[2, k] - 2.0 * x1 + x2) ** 2 + (data[3, k] - 2.0 * y1 + y2) ** 2
            is_on = error <= min(tolerance * tolerance, 0.25 * step) and step >= tolerance * tolerance
            on += 1 if is_on else 0
            rest += 0 if is_on else 1
    return on, rest


@inlined
def _transfer(H: Floats, x: float, y: float) -> tuple[float, float]:
    depth = H[6] * x + H[7] * y + H[8]
    return (H[0] * x + H[1] * y + H[2]) / depth, (H[3] * x + H[4] * y + H[5]) / depth


@allocating_kernel
def _search_outliers(
    data: Floats, residuals: Floats, distances: Floats, threshold: float, rng: Words, models: Floats
) -> int:
    """Return the number of outliers off a plane that agree on an epipole; 0 if chance explains it.

    ``distances`` are those of all matches from the plane, whose homography is ``models[1]``.
    """
    members = np.empty(residuals.size, np.bool_)
    by_noise = 0.0
    for k in range(residuals.size):
        members[k] = distances[k] > TOLERANCE * threshold and residuals[k] > TOLERANCE * threshold
        by_noise += rate_by_noise(threshold / distances[k]) if members[k] else 0.0
    searched, size = take_some(data, members)
    n, F = searched.shape[1], models[0]
    F[:] = 0.0
    if not search_epipole(searched, np.zeros(n), np.empty(n), models[1], F, np.empty(9), threshold * threshold, rng):
        return 0
    squared, support, near = np.empty(residuals.size), 0, 0
    _residuals(data, F, 0, squared.size, squared)
    for k in range(residuals.size):
        if members[k]:
            r = np.sqrt(squared[k])
            support += 1 if r <= threshold else 0
            near += 1 if NEAR * threshold < r <= FAR * threshold else 0
    by_chance = is_chance(support, near, size, FREE_OF_PLANE, 1, by_noise / max(size, 1))
    return 0 if by_chance else support
