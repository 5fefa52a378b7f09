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

from bansac.compiled.jit import allocating_kernel, inlined, inner_kernel, kernel, plain
from bansac.evidence.duplicate_points import squared_area, squared_length, threshold_of_flat
from bansac.evidence.false_alarms import log_binomial_tail, log_choose
from bansac.evidence.noise_scale import SMALLEST, WIDE, estimate_threshold
from bansac.maths.arrays import Bools, Floats, Words
from bansac.maths.linalg import copy, matrix_entries
from bansac.maths.rng import fixed_rng, next_index
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
_mark_plane = kernel(mark_plane)


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
    plane = np.empty(residuals.size)
    if not _on_plane(data, residuals, noise, problem.traits.codimension, plane):
        return "general"
    if problem.traits.unit == "normalised" and _is_rotation(data, plane, noise):
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
    threshold = threshold_of_noise(problem, residuals, threshold)
    plane = np.empty(residuals.size)
    _on_plane(data, residuals, threshold, 1, plane)
    return np.asarray(plane == 1.0)


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


@kernel
def _on_line(data: Floats, residuals: Floats, threshold: float, codimension: int) -> tuple[bool, bool]:
    """Return whether the inliers lie on a line in one of the images, except those that chance explains.

    The line is the one through most of the inliers. That of a homography is in image 2, where its residuals are. Also
    return whether the others determine the model: they are enough, and most of the matches off the line.
    """
    rng, tolerance, low, high = fixed_rng(), TOLERANCE * threshold, NEAR * threshold, FAR * threshold
    free, found = _FREE_OF_LINE // codimension, False
    members, size = np.empty(residuals.size, np.int64), 0
    for k in range(residuals.size):
        members[size] = k
        size += 1 if residuals[k] <= threshold else 0
    if size == 0:
        return True, False
    step = 1 + size // SEARCHED
    n = (size + step - 1) // step
    some = np.empty((2, n))
    for image in range(codimension - 1, 2):
        x, y = 2 * image, 2 * image + 1
        for k in range(n):
            some[0, k], some[1, k] = data[x, members[k * step]], data[y, members[k * step]]
        fewest, first, second = n, 0, 0
        for _ in range(_SAMPLES):
            i, j = next_index(rng, n), next_index(rng, n)
            limit = tolerance * tolerance * squared_length(some, 0, 1, i, j)  # 0 for equal points, which give no line
            off = 0
            for k in range(n):
                off += 0 if squared_area(some, 0, 1, i, j, k) < limit else 1
            if off < fewest:
                fewest, first, second = off, members[i * step], members[j * step]
        limit = tolerance * tolerance * squared_length(data, x, y, first, second)
        support, near, others = 0, 0, 0
        for k in range(residuals.size if fewest < n else 0):
            off_line, r = not squared_area(data, x, y, first, second, k) < limit, residuals[k]
            support += 1 if off_line and r <= threshold else 0
            near += 1 if off_line and low < r <= high else 0
            others += 1 if off_line else 0
        if support <= (1.0 - _FEWEST) * size and is_chance(support, near, others, free, codimension, 0.0):
            found = True
            if support < free or 2 * support <= others:
                return True, False
    return found, found


@kernel
def _on_plane(data: Floats, residuals: Floats, threshold: float, codimension: int, follows: Floats) -> bool:
    """Return whether the inliers follow the homography of most of them, except those that chance explains.

    Those near the homography are tested apart, too: among all matches off it, chance explains a few inliers of depth.
    ``follows`` is set to 1 for the matches that follow the homography and to 0 for the others. It is 0 everywhere if
    few inliers follow it.
    """
    follows[:] = 0.0
    searched, support = take_some(data, residuals <= threshold)
    models, scratch, near, others = np.empty((2, 9)), np.empty(homography_dlt.SCRATCH), 0, residuals.size
    on_plane = find_plane(searched, threshold, fixed_rng(), models)
    if on_plane < _FEWEST * searched.shape[1] or on_plane == 0:
        return is_chance(support, near, others, FREE_OF_PLANE, codimension, 0.0)
    refit_plane(data, squared_tolerance(threshold), models[1], models[0], follows, scratch)
    for reach in (FAR * threshold, np.inf):  # the matches that noise may have moved off the plane, then all
        support, near, others, by_noise = 0, 0, 0, 0.0
        for k in range(residuals.size):
            distance, r = plane_distance(data, models[1], k), residuals[k]
            if follows[k] == 0.0 and distance <= reach:
                support += 1 if r <= threshold else 0
                near += 1 if NEAR * threshold < r <= FAR * threshold else 0
                others += 1
                by_noise += rate_by_noise(threshold / distance)
        if not is_chance(support, near, others, FREE_OF_PLANE, codimension, by_noise / max(others, 1)):
            return False
    return True


@inner_kernel
def is_chance(support: int, near: int, n: int, free: int, codimension: int, by_noise: float) -> bool:
    """Return whether chance explains the inliers among the ``n`` matches off a line or plane.

    ``support`` is the number of these inliers, ``near`` that of the matches with a residual from 2 to 10 thresholds. By
    chance, a match is an inlier with the rate estimated from residuals beyond the threshold, or with the rate
    ``by_noise`` if that is larger. Any ``free`` matches fit the model, so the bound of the probability is multiplied by
    the number of ways to choose them.
    """
    if support <= free:
        return True
    rate = min(max((near + 1.0) / ((FAR**codimension - NEAR**codimension) * (n + 1.0)), by_noise), 1.0)
    return log_choose(n, free) + log_binomial_tail(support - free, n - free, rate) > _SIGNIFICANT


def _is_rotation(data: Floats, plane: Floats, threshold: float) -> bool:
    """Return whether the rays that follow a homography also follow a rotation."""
    rays = np.compress(plane == 1.0, data, axis=1)
    count = rays.shape[1]
    H, squared = fit_rotation(rays).ravel(), plain(squared_tolerance)(threshold)
    on = _mark_plane(rays, H, squared, np.empty(count))
    return bool(on >= _ROTATION_SHARE * count)


@inlined
def squared_tolerance(threshold: float) -> float:
    """Return the squared distance within which a match follows a plane."""
    return TOLERANCE * TOLERANCE * threshold * threshold


@allocating_kernel
def take_some(data: Floats, members: Bools) -> tuple[Floats, int]:
    """Return the members, or some of them if they are many, and their number."""
    size = 0
    for k in range(members.size):
        size += 1 if members[k] else 0
    step = 1 + size // SEARCHED
    taken, seen = np.empty((4, (size + step - 1) // step)), 0
    for k in range(members.size):
        if members[k]:
            if seen % step == 0:
                for c in range(4):
                    taken[c, seen // step] = data[c, k]
            seen += 1
    return taken, size


@inlined
def rate_by_noise(sine: float) -> float:
    """Return the probability that noise moves a match off the plane but not off its epipolar lines.

    Noise has no direction. So its component across the epipolar lines is at most the threshold with the probability
    2 / pi asin(sine), where ``sine`` is the threshold over the distance of the match from the homography.
    """
    return 2.0 / math.pi * math.asin(min(sine, 1.0))


@inlined
def plane_distance(data: Floats, H: Floats, k: int) -> float:
    """Return the Sampson distance of match k from a homography, see ``plane_terms``; inf if it is behind a camera."""
    depth, error, scale = plane_terms(matrix_entries(H), data[0, k], data[1, k], data[2, k], data[3, k])
    squared = error / scale
    return math.sqrt(squared) if depth > 0.0 and squared >= 0.0 else np.inf


@allocating_kernel
def find_plane(searched: Floats, threshold: float, rng: Words, models: Floats) -> int:
    """Write the homography that most inliers follow to ``models[1]``; return their number.

    It is the best one of random samples of four inliers, fitted to all that follow it.
    """
    n, most, tolerance = searched.shape[1], 0, squared_tolerance(threshold)
    H, best, on = models[0], models[1], np.empty(n)
    sample, scratch = np.empty(4, np.int64), np.empty(homography_dlt.SCRATCH)
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
