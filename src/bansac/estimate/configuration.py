"""Whether matches determine the model of their two views, or lie in a degenerate configuration.

The fundamental matrix of a plane, or of a camera that turns about its centre, is any [e2]x H of the homography H, whose
epipole e2 two further matches fix, be they right or wrong; points on a line fix still less (Hartley and Zisserman,
Multiple View Geometry, 2nd ed., section 11.9). So a configuration is degenerate if the inliers of the model that do not
follow the homography, or are not on the line, are no more than chance gives among all the matches that do not. COLMAP
tells configurations apart by the ratio of the numbers of inliers of homography and epipolar geometry (Schoenberger and
Frahm, CVPR 2016); the test here keeps scenes with a dominant plane apart from planes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bansac.engine.significance import log_binomial_tail
from bansac.numeric.arrays import Floats, Ints, Words
from bansac.numeric.jit import inner_kernel, kernel
from bansac.numeric.linalg import copy
from bansac.numeric.rng import next_index, seed_rng
from bansac.problems.degensac import mark_plane, refit_plane
from bansac.problems.problem import Problem
from bansac.solvers import homography_4pt, homography_dlt

__all__ = ["consequence", "find_configuration", "matches_of_plane"]

# A match follows a structure up to this many thresholds, as in DEGENSAC: it then has noise in two directions.
_TOLERANCE = 3.0

# Samples of inliers: of a plane that has four fifths of them, one of sixteen misses it once in 5000 scenes.
_SAMPLES = 16

# Matches off a line, and off a plane, that fit the model whatever they are: its parameters that the others leave free.
_FREE_OF_LINE, _FREE_OF_PLANE = 4, 2

# Chance gives as much support off the structure in one of a thousand scenes.
_SIGNIFICANT = math.log(1e-3)

# The rate of chance inliers is measured on residuals between these numbers of thresholds.
_NEAR, _FAR = 2.0, 10.0

# Share of the matches of a homography that have to follow a rotation.
_ROTATION_SHARE = 0.9

# Of a large support at most so many matches are looked at in the search.
_SEARCHED = 250

_START = seed_rng(0)  # the same answer every time

_solve_homography = inner_kernel(homography_4pt.solve)


def find_configuration(
    problem: Problem, data: NDArray[np.float64], residuals: NDArray[np.float64], threshold: float
) -> str:
    """Return the configuration of the matches that support a model of two views.

    Parameters
    ----------
    problem : Problem
        That of H, F or E. Planes are not degenerate for a problem of codimension 2, that is H; rotations can be told
        from planes in normalised units, that is for E.
    data : (4, N) ndarray
        The matches, x1, y1, x2, y2.
    residuals : (N,) ndarray
        Their distances from the model.
    threshold : float
        Largest residual of an inlier.

    Returns
    -------
    {"general", "planar", "pure_rotation", "collinear"}
        The configuration; that of a homography is "planar" or "collinear".
    """
    codimension = problem.codimension
    plane, counts = _examine(data, residuals, threshold, codimension == 1)
    if any(_is_chance(line, _FREE_OF_LINE, codimension) for line in counts[:2]):
        return "collinear"
    if codimension == 2:
        return "planar"
    if not _is_chance(counts[2], _FREE_OF_PLANE, codimension):
        return "general"
    if problem.unit == "normalised" and _is_rotation(data, plane, threshold):
        return "pure_rotation"
    return "planar"


def consequence(problem: Problem, configuration: str) -> str:
    """Return what a configuration means for a model, to be added to a message; nothing if it determines the model."""
    if configuration == "collinear":
        return f"; the inliers are collinear in an image, which does not determine the {problem.name}"
    if configuration == "pure_rotation":
        return "; the camera turns about its centre, which does not determine a translation"
    if configuration == "planar" and problem.unit == "normalised":
        return "; the inliers lie on a plane, with which two motions agree"
    if configuration == "planar" and problem.codimension == 1:
        return (
            "; the inliers follow a homography (a plane, or a camera that turns about its centre), which does not "
            f"determine the {problem.name}"
        )
    return ""


def matches_of_plane(data: NDArray[np.float64], residuals: NDArray[np.float64], threshold: float) -> NDArray[np.bool_]:
    """Return which matches follow the homography that most inliers of an epipolar geometry follow.

    Parameters
    ----------
    data, residuals, threshold
        As for :func:`find_configuration`.

    Returns
    -------
    (N,) ndarray of bool
        The matches of the plane.
    """
    return np.asarray(_examine(data, residuals, threshold, planes=True)[0] == 1.0)


def _fit_rotation(rays: Floats) -> Floats:
    """Return the rotation that takes the first rays to the second with the least squares (Kabsch, 1976)."""
    ones = np.ones(rays.shape[1])
    first, second = np.vstack([rays[:2], ones]), np.vstack([rays[2:], ones])
    correlation = (second / np.linalg.norm(second, axis=0)) @ (first / np.linalg.norm(first, axis=0)).T
    U, _, Vt = np.linalg.svd(correlation)
    U[:, 2] *= np.linalg.det(U @ Vt)  # 1 or -1
    return np.asarray(U @ Vt)


def _examine(data: Floats, residuals: Floats, threshold: float, planes: bool) -> tuple[Floats, list[list[int]]]:
    """Return 1 for the data that follow a homography, and what :func:`_count_others` finds for the lines and for it."""
    support = np.compress(residuals <= threshold, data, axis=1)
    searched = np.ascontiguousarray(support[:, :: 1 + support.shape[1] // _SEARCHED])
    follows, counts = np.zeros(residuals.size), np.zeros((3, 3), np.int64)
    models, sample = np.empty((2, 9)), np.empty(4, np.int64)
    room = np.empty(support.shape[1] + homography_dlt.SCRATCH)
    if support.shape[1] > 0:
        _find_structures(
            data, support, searched, residuals, threshold, planes, _START.copy(), models, sample, room, follows, counts
        )
    return follows, counts.tolist()


def _is_chance(counts: list[int], free: int, codimension: int) -> bool:
    """Say whether chance gives the support among the data off a structure.

    Such a datum fits the model with the rate that the residuals beyond the threshold have, and ``free`` data fit it
    whatever they are: the bound of the probability is multiplied by the number of their choices.
    """
    support, near, n = counts
    if support <= free:
        return True
    rate = min((near + 1.0) / ((_FAR**codimension - _NEAR**codimension) * (n + 1.0)), 1.0)
    choices = math.lgamma(n + 1.0) - math.lgamma(free + 1.0) - math.lgamma(n - free + 1.0)
    return choices + log_binomial_tail(support - free, n - free, rate) > _SIGNIFICANT


def _is_rotation(data: Floats, plane: Floats, threshold: float) -> bool:
    """Say whether the rays that follow a homography follow a rotation."""
    rays = np.compress(plane == 1.0, data, axis=1)
    count = rays.shape[1]
    return _count_following(rays, _fit_rotation(rays).ravel(), threshold, np.empty(count)) >= _ROTATION_SHARE * count


@kernel
def _count_following(data: Floats, H: Floats, threshold: float, follows: Floats) -> int:
    """Return how many data follow a homography."""
    tolerance = _TOLERANCE * _TOLERANCE * threshold * threshold
    return mark_plane(data[0], data[1], data[2], data[3], H, tolerance, follows)


@kernel
def _find_structures(
    data: Floats,
    support: Floats,
    searched: Floats,
    residuals: Floats,
    threshold: float,
    planes: bool,
    rng: Words,
    models: Floats,
    sample: Ints,
    room: Floats,
    follows: Floats,
    counts: Ints,
) -> None:
    """Find the line in each image, and the homography, that most inliers of a model follow.

    ``searched`` are some of the inliers. ``counts`` gets a row for each structure; ``follows`` 1 for the data that
    follow the last of them, 0 for the others.
    """
    tolerance = _TOLERANCE * _TOLERANCE * threshold * threshold
    for image in range(2):
        x, y = 2 * image, 2 * image + 1
        _mark_line(searched[x], searched[y], data[x], data[y], tolerance, rng, follows)
        _count_others(follows, residuals, threshold, counts[image])
    if planes:
        _mark_best_plane(data, support, searched, tolerance, rng, models, sample, room, follows)
        _count_others(follows, residuals, threshold, counts[2])


@inner_kernel
def _mark_line(
    searched_x: Floats, searched_y: Floats, x: Floats, y: Floats, tolerance: float, rng: Words, follows: Floats
) -> None:
    """Mark the points that are on the line through two of the searched ones that has most of them."""
    n, most, la, lb, lc = searched_x.size, 0, 0.0, 0.0, 0.0
    for _ in range(_SAMPLES):
        i, j = next_index(rng, n), next_index(rng, n)
        a, b = searched_y[i] - searched_y[j], searched_x[j] - searched_x[i]
        length = math.sqrt(a * a + b * b)
        a, b = a / length, b / length  # NaN for coincident points, which no point is near
        c = -a * searched_x[i] - b * searched_y[i]
        on = 0
        for k in range(n):
            distance = a * searched_x[k] + b * searched_y[k] + c
            on += 1 if distance * distance < tolerance else 0
        if on > most:
            most, la, lb, lc = on, a, b, c
    for k in range(x.size):
        distance = la * x[k] + lb * y[k] + lc
        follows[k] = 1.0 if distance * distance < tolerance else 0.0


@inner_kernel
def _mark_best_plane(
    data: Floats,
    support: Floats,
    searched: Floats,
    tolerance: float,
    rng: Words,
    models: Floats,
    sample: Ints,
    room: Floats,
    follows: Floats,
) -> None:
    """Mark the data that follow the homography of the most matches of the support; none if there is no homography."""
    n, m, most = searched.shape[1], support.shape[1], 0
    H, best, weights, rest = models[0], models[1], room[:m], room[m:]
    x1, y1, x2, y2 = searched[0], searched[1], searched[2], searched[3]
    for _ in range(_SAMPLES):
        for k in range(4):
            sample[k] = next_index(rng, n)
        if _solve_homography(searched, sample, models, rest) == 0:
            continue
        i = sample[0]
        sign = 1.0 if H[6] * x1[i] + H[7] * y1[i] + H[8] > 0.0 else -1.0
        for k in range(9):
            H[k] *= sign
        on = mark_plane(x1, y1, x2, y2, H, tolerance, weights[:n])
        if on > most:
            most = on
            copy(H, best)
    for k in range(follows.size):
        follows[k] = 0.0
    if most > 0:
        refit_plane(support, tolerance, best, H, weights, rest)
        mark_plane(data[0], data[1], data[2], data[3], best, tolerance, follows)


@inner_kernel
def _count_others(follows: Floats, residuals: Floats, threshold: float, counts: Ints) -> None:
    """Count the data that do not follow a structure: those of the support, those next to it, all."""
    support, near, others = 0, 0, 0
    low, high = _NEAR * threshold, _FAR * threshold
    for k in range(residuals.size):
        other, r = follows[k] == 0.0, residuals[k]
        support += 1 if other & (r <= threshold) else 0
        near += 1 if other & (r > low) & (r <= high) else 0
        others += 1 if other else 0
    counts[0], counts[1], counts[2] = support, near, others
