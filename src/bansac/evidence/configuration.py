"""Detection of degenerate configurations: whether matches determine the model of their two views.

The matches of a plane, or of a camera that rotates about its centre, follow a homography H. Their fundamental matrix is
[e2]x H with any epipole e2. Any two further matches determine e2, right or wrong. Points on a line determine even less
(Hartley and Zisserman, Multiple View Geometry, 2nd ed., section 11.9).

The test counts the inliers of the model that do not follow the homography, or are not on the line. The configuration is
degenerate if chance explains this number among all matches off the structure. COLMAP instead compares the numbers of
inliers of the homography and the epipolar geometry (Schoenberger and Frahm, CVPR 2016). The test here also tells scenes
with a dominant plane from planes.
"""

import math

import numpy as np

from bansac.compiled.jit import inner_kernel, kernel, plain
from bansac.evidence.duplicate_points import find_line, threshold_of_flat
from bansac.evidence.false_alarms import log_binomial_tail, log_choose
from bansac.evidence.noise_scale import SMALLEST, WIDE, estimate_threshold
from bansac.maths.arrays import Bools, Floats, Words
from bansac.maths.linalg import copy, matrix_entries
from bansac.maths.rng import next_index, seed_rng
from bansac.problems.degensac import mark_plane, plane_terms, refit_plane
from bansac.problems.problem import Problem
from bansac.solvers import homography_4pt, homography_dlt

UNVERIFIED = "unverified"
"""Configuration of inliers that determine a model: too few are off a line to exclude chance."""

DETERMINED = "general", "ambiguous", "misfit"
"""Configurations of inliers that determine an epipolar geometry, right or wrong."""

# A match follows a line or plane up to this many thresholds, as in DEGENSAC, because it has noise in two directions.
# Matches with larger residuals are outliers.
TOLERANCE = 3.0

# Number of random samples of inliers. They miss a plane with .4 of the inliers in one of 28 runs.
_SAMPLES = 48

# Number of matches off a line, and off a plane, that fit the model in any case: they determine its free parameters.
# Half as many off a line determine a homography, because a match has two residuals.
_FREE_OF_LINE, FREE_OF_PLANE = 4, 2

# Log of the largest probability of a significant support off the structure: one of a thousand scenes.
_SIGNIFICANT = math.log(1e-3)

# The rate of chance inliers is estimated from the residuals between these multiples of the threshold.
NEAR, FAR = 2.0, 10.0

# Share of the matches of a homography that must follow a rotation.
_ROTATION_SHARE = 0.9

# Smallest share of the inliers that follow a structure.
_FEWEST = 0.7

# Largest number of inliers in the search.
SEARCHED = 250

_solve_homography = inner_kernel(homography_4pt.solve)
_refit_plane = kernel(refit_plane)


def find_configuration(
    problem: Problem, data: Floats, residuals: Floats, threshold: float, *, by_chance: bool = False
) -> str | None:
    """Return the configuration of the matches (4 x N) that support a model: "general", "planar" and so on, or None.

    Planes are not degenerate for a problem of codimension 2 (H). Rotations can be told from planes only in normalised
    units (E). ``residuals`` and ``threshold`` are in the unit of ``data``. If chance explains the support of the model,
    ``by_chance``, only lines are detected: the configuration is "collinear", ``UNVERIFIED`` or None.
    """
    noise = threshold_of_noise(problem, residuals, threshold)
    flat = threshold_of_flat(problem, data[2:, residuals <= threshold], residuals, max(noise, threshold))
    is_on_line, is_determined = _on_line(data, residuals, flat, problem.traits.codimension)
    if is_on_line:
        return UNVERIFIED if is_determined else "collinear"
    if by_chance:
        return None
    if problem.traits.codimension == 2:
        return "planar"
    is_on_plane, follows = _on_plane(data, residuals, noise, problem.traits.codimension)
    if not is_on_plane:
        return "general"
    if problem.traits.unit == "normalised" and _is_rotation(data, follows, noise):
        return "pure_rotation"
    return "planar"


def configuration_message(problem: Problem, configuration: str | None) -> str:
    """Return the part of a message that says which model the configuration leaves undetermined, or ""."""
    undetermined = f"which does not determine the {problem.name}"
    if configuration == "planar" and problem.traits.unit == "normalised":
        return "; the inliers lie on a plane, with which two motions agree"
    if configuration == "planar" and problem.traits.codimension == 1:
        return f"; the inliers follow a homography (a plane, or a camera that turns about its centre), {undetermined}"
    return {
        "collinear": f"; the inliers lie on a line, {undetermined}",
        UNVERIFIED: f"; too few inliers lie off a line to verify the {problem.name}",
        "pure_rotation": "; the camera turns about its centre, which does not determine a translation",
    }.get(configuration or "", "")


def matches_of_plane(problem: Problem, data: Floats, residuals: Floats, threshold: float) -> Bools:
    """Mark the matches (4 x N) of the plane of most inliers of an epipolar geometry; none if few lie on one."""
    return _on_plane(data, residuals, threshold_of_noise(problem, residuals, threshold), 1)[1]


def threshold_of_noise(problem: Problem, residuals: Floats, threshold: float) -> float:
    """Return the threshold that follows the noise of the residuals, smaller or larger than the given one.

    A large threshold hides depth, and noise beyond a small one looks like depth.
    """
    return estimate_threshold(residuals, problem, (SMALLEST * threshold, WIDE * threshold))


def fit_rotation(rays: Floats) -> Floats:
    """Return the least-squares rotation from the first to the second image, for rays (4 x N; Kabsch, 1976)."""
    ones = np.ones(rays.shape[1])
    first, second = np.vstack([rays[:2], ones]), np.vstack([rays[2:], ones])
    correlation = (second / np.linalg.norm(second, axis=0)) @ (first / np.linalg.norm(first, axis=0)).T
    U, _, Vt = np.linalg.svd(correlation)
    U[:, 2] *= np.linalg.det(U @ Vt)  # 1 or -1
    return np.asarray(U @ Vt)


def _on_line(data: Floats, residuals: Floats, threshold: float, codimension: int) -> tuple[bool, bool]:
    """Return whether the inliers lie on a line in one of the images, except those that chance explains.

    The line is the one through most of the inliers. That of a homography is in image 2, where its residuals are. Also
    return whether the others determine the model: they are enough, and most of the matches off the line.
    """
    members, tolerance = np.flatnonzero(residuals <= threshold), TOLERANCE * threshold
    some, free, found = members[:: 1 + members.size // SEARCHED], _FREE_OF_LINE // codimension, False
    if members.size == 0:
        return True, False
    for x in (data[:2], data[2:])[codimension - 1 :]:
        _, i, j = find_line(np.take(x, some, axis=1), tolerance)
        first, along = x[:, some[i], None], x[:, some[j]] - x[:, some[i]]
        across = along[0] * (x - first)[1] - along[1] * (x - first)[0]
        off = residuals[(across * across >= tolerance * tolerance * (along @ along)) & (i != j)]
        support = np.count_nonzero(off <= threshold)
        few = support <= (1.0 - _FEWEST) * members.size
        if few and is_chance(off, threshold, free, codimension, 0.0):
            found = True
            if support < free or 2 * support <= off.size:
                return True, False
    return found, found


def _on_plane(data: Floats, residuals: Floats, threshold: float, codimension: int) -> tuple[bool, Bools]:
    """Return whether the inliers follow the homography of most of them, except those that chance explains.

    Those near the homography are tested apart, too: among all matches off it, chance explains a few inliers of depth.
    Also mark the matches that follow the homography, none if few inliers follow it.
    """
    searched, H, follows = take_some(data, residuals <= threshold), np.empty(9), np.zeros(residuals.size)
    on_plane = find_plane(searched, threshold, seed_rng(0), H)
    if on_plane < _FEWEST * searched.shape[1] or on_plane == 0:
        return is_chance(residuals, threshold, FREE_OF_PLANE, codimension, 0.0), follows > 0.0
    tolerance, scratch = (TOLERANCE * threshold) ** 2, np.empty(homography_dlt.SCRATCH)
    _refit_plane(data, tolerance, H, np.empty(9), follows, scratch)
    distances, is_on = plane_distances(data, H), follows > 0.0
    for reach in (FAR * threshold, np.inf):  # the matches that noise may have moved off the plane, then all
        off = ~is_on & (distances <= reach)
        if not is_chance(
            residuals[off], threshold, FREE_OF_PLANE, codimension, rate_by_noise(threshold, distances[off])
        ):
            return False, is_on
    return True, is_on


def is_chance(residuals: Floats, threshold: float, free: int, codimension: int, by_noise: float) -> bool:
    """Return whether chance explains the inliers among matches off a line or plane, from their residuals.

    By chance, a match is an inlier with the rate estimated from residuals of 2 to 10 thresholds, or with the rate
    ``by_noise`` if that is larger. Any ``free`` matches fit the model, so the bound of the probability is multiplied by
    the number of ways to choose them.
    """
    n, support = residuals.size, int(np.count_nonzero(residuals <= threshold))
    if support <= free:
        return True
    near = np.count_nonzero((residuals > NEAR * threshold) & (residuals <= FAR * threshold))
    rate = min(max((near + 1.0) / ((FAR**codimension - NEAR**codimension) * (n + 1.0)), by_noise), 1.0)
    return plain(log_choose)(n, free) + log_binomial_tail(support - free, n - free, rate) > _SIGNIFICANT


def _is_rotation(data: Floats, follows: Bools, threshold: float) -> bool:
    """Return whether the rays that follow a homography also follow a rotation."""
    rays = np.compress(follows, data, axis=1)
    on = plane_distances(rays, fit_rotation(rays).ravel()) < TOLERANCE * threshold
    return bool(np.count_nonzero(on) >= _ROTATION_SHARE * on.size)


def take_some(data: Floats, members: Bools) -> Floats:
    """Return the members, or some of them if they are many."""
    indices = np.flatnonzero(members)
    return np.take(data, indices[:: 1 + indices.size // SEARCHED], axis=1)


def rate_by_noise(threshold: float, distances: Floats) -> float:
    """Return the mean probability that noise moves matches off the plane but not off their epipolar lines.

    Noise has no direction. So its component across the epipolar lines is at most the threshold with the probability
    2 / pi asin(sine), where the sine is the threshold over the distance of the match from the homography.
    """
    sines = np.minimum(threshold / distances, 1.0)
    return float(2.0 / math.pi * np.arcsin(sines).sum() / max(sines.size, 1))


def plane_distances(data: Floats, H: Floats) -> Floats:
    """Return the Sampson distances of matches from a homography, see ``plane_terms``; inf behind a camera."""
    depth, error, scale = plain(plane_terms)(plain(matrix_entries)(H), *data)
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = np.sqrt(error / scale)
    return np.where((depth > 0.0) & (distances >= 0.0), distances, np.inf)


@kernel
def find_plane(searched: Floats, threshold: float, rng: Words, best: Floats) -> int:
    """Write the homography that most inliers follow to ``best``; return their number.

    It is the best one of random samples of four inliers, fitted to all that follow it.
    """
    n, most, tolerance = searched.shape[1], 0, TOLERANCE * TOLERANCE * threshold * threshold
    models, on = np.empty((1, 9)), np.empty(n)
    sample, scratch, H = np.empty(4, np.int64), np.empty(homography_dlt.SCRATCH), models[0]
    for _ in range(_SAMPLES if n > 0 else 0):
        for k in range(4):
            sample[k] = next_index(rng, n)
        if _solve_homography(searched, sample, models, scratch) == 0:
            continue
        i = sample[0]
        sign = 1.0 if H[6] * searched[0, i] + H[7] * searched[1, i] + H[8] > 0.0 else -1.0
        for k in range(9):
            H[k] *= sign
        count = mark_plane(searched, H, tolerance, on)
        if count > most:
            most = count
            copy(H, best)
    if most > 0:
        most = refit_plane(searched, tolerance, best, H, on, scratch)
    return most
