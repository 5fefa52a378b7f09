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

from bansac.compiled.jit import kernel
from bansac.evidence.configuration import (
    FREE_OF_PLANE,
    TOLERANCE,
    find_plane,
    is_chance,
    plane_distances,
    rate_by_noise,
    take_some,
)
from bansac.evidence.rivals import RIVAL
from bansac.geometry import apply_transform
from bansac.maths.arrays import Bools, Floats, Words
from bansac.maths.rng import seed_rng
from bansac.problems.degensac import search_epipole
from bansac.problems.fundamental import FUNDAMENTAL

# Share of the model's inliers that the plane with another epipole needs.
_SHARE = 0.95

# A pattern repeats if the third of three planes at equal steps has at least the share _THIRD of the inliers, and at
# most _REST times as many are on none of the three. Matches are on the third plane within _STEP_TOLERANCE thresholds,
# because the steps are equal on the plane, not in the image.
_THIRD, _REST, _STEP_TOLERANCE = 0.04, 0.25, 5.0

_search_epipole = kernel(search_epipole)


def mark_off_plane(data: Floats, residuals: Floats, threshold: float) -> Bools:
    """Mark the matches off the plane of most inliers; none if few inliers lie on one."""
    searched, H = take_some(data, residuals <= threshold), np.empty(9)
    if not find_plane(searched, threshold, seed_rng(0), H) > RIVAL * searched.shape[1]:
        return np.zeros(residuals.size, np.bool_)
    return plane_distances(data, H) > TOLERANCE * threshold


def count_other_support(data: Floats, residuals: Floats, threshold: float) -> tuple[int, bool]:
    """Return the number of outliers that support another epipole for a plane of the inliers, 0 if few do.

    Also return whether the inliers lie on three planes as if a pattern repeats. ``residuals`` and ``threshold`` are
    those of an epipolar geometry, in the unit of the matches ``data`` (4 x N).
    """
    rng, planes, is_inlier = seed_rng(0), np.zeros((2, 9)), residuals <= threshold
    left, inliers = is_inlier, int(np.count_nonzero(is_inlier))
    for plane, H in enumerate(planes):  # in a wrong model, matches shifted along the plane are the second one
        searched = take_some(data, left)
        share = np.count_nonzero(left) / max(searched.shape[1], 1)
        many = int(find_plane(searched, threshold, rng, H) * share) >= RIVAL * inliers > 0.0
        if plane == 0 and not many:
            return 0, False
        distances = plane_distances(data, H)
        off_plane = distances > TOLERANCE * threshold
        left = left & off_plane
        members = off_plane & (residuals > TOLERANCE * threshold)
        other = (
            _search_outliers(np.compress(members, data, axis=1), distances[members], threshold, rng, H) if many else 0
        )
        if other > 0 and np.count_nonzero(is_inlier & ~off_plane) + other >= _SHARE * inliers:
            return other, False
    third, rest = _count_opposite(np.compress(left, data, axis=1), planes, _STEP_TOLERANCE * threshold)
    return 0, third >= _THIRD * inliers and rest <= _REST * third


def _count_opposite(data: Floats, planes: Floats, tolerance: float) -> tuple[int, int]:
    """Return the numbers of matches on and off the third plane, one step from the first one, opposite to the second.

    Those on it are nearer to it than to the first plane, and a step is as large as the tolerance.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # there may be no second plane
        first, second = (apply_transform(H.reshape(3, 3), data[:2].T).T for H in planes)
    steps = np.sum((second - first) ** 2, axis=0)
    errors = np.sum((data[2:] - 2.0 * first + second) ** 2, axis=0)
    is_on = (errors <= np.minimum(tolerance * tolerance, 0.25 * steps)) & (steps >= tolerance * tolerance)
    on = int(np.count_nonzero(is_on))
    return on, is_on.size - on


def _search_outliers(data: Floats, distances: Floats, threshold: float, rng: Words, H: Floats) -> int:
    """Return the number of outliers off a plane with homography H that agree on an epipole; 0 if chance explains it.

    ``distances`` are those of the outliers from the plane.
    """
    searched, F = take_some(data, np.ones(distances.size, np.bool_)), np.zeros(9)
    n = searched.shape[1]
    if not _search_epipole(searched, np.zeros(n), np.empty(n), H, F, np.empty(9), threshold * threshold, rng):
        return 0
    residuals = FUNDAMENTAL.distances(data, F)
    if is_chance(residuals, threshold, FREE_OF_PLANE, 1, rate_by_noise(threshold, distances)):
        return 0
    return int(np.count_nonzero(residuals <= threshold))
