"""The essential matrix of cameras whose vertical direction is known, for example from an accelerometer.

Each match also has the unit verticals in both cameras, rows 4 to 9 of the data, which are the same for all matches.
Minimal samples of three matches keep the vertical. Fits and refinements of larger sets are those of the essential
matrix and ignore it, so that its errors do not reach the final model. The significance test is that of the essential
matrix, too, because the refinement can move the model through five matches. If it fails, the nearest maximum of the
support among the models that keep the vertical is tested, with samples of three matches.
"""

import dataclasses
import functools
import math

import numpy as np

from bansac.geometry import cross_matrix, decompose_essential, orthogonal_axes
from bansac.maths.arrays import Floats
from bansac.problems.problem import Problem
from bansac.solvers import essential_upright_3pt

# Largest number of Gauss-Newton steps, and the smallest step in radians.
_STEPS, _SMALLEST = 10, 1e-9


@functools.cache
def upright(essential: Problem) -> Problem:
    """Return the problem with known verticals for ``ESSENTIAL`` or ``ESSENTIAL_SYMMETRIC``."""
    of_three = dataclasses.replace(essential, sample_size=3, max_models=essential_upright_3pt.MAX_MODELS)

    def significance_form(data: Floats, model: Floats) -> tuple[Problem, Floats, Floats]:
        """Return the matches without the verticals for the significance test."""
        return essential, np.ascontiguousarray(data[:4]), model

    def stricter(data: Floats, model: Floats, threshold: float) -> tuple[Problem, Floats]:
        """Return the model near a given one that keeps the verticals."""
        return of_three, keep_verticals(essential, data, model, threshold)

    return dataclasses.replace(
        of_three,
        channels=10,
        solve=essential_upright_3pt.solve,
        scratch_size=max(essential.scratch_size, essential_upright_3pt.SCRATCH),
        significance_form=significance_form,
        traits=dataclasses.replace(essential.traits, points=((0, 1), (4, 5, 6, 7, 8, 9), (2, 3)), stricter=stricter),
    )


def keep_verticals(essential: Problem, data: Floats, model: Floats, threshold: float) -> Floats:
    """Return the essential matrix (9) that keeps the verticals and has the inliers of ``model``.

    It is E = F2^T [t]x R F1, where F1 and F2 turn the verticals to the second axis, and R turns about it. ``data``
    (10 x N) are matches with the unit verticals of both cameras.
    """
    matches = np.ascontiguousarray(data[:4])
    frame1, frame2 = (_upright_frame(data[rows, 0]) for rows in (slice(4, 7), slice(7, 10)))
    *rotations, t = decompose_essential(model.reshape(3, 3))
    R = max((frame2 @ R @ frame1.T for R in rotations), key=lambda R: float(R[1, 1]))
    angle, t = math.atan2(R[0, 2] - R[2, 0], R[0, 0] + R[2, 2]), frame2 @ t
    near = np.ascontiguousarray(matches[:, essential.distances(matches, model) <= threshold])
    for _ in range(_STEPS if near.shape[1] >= 3 else 0):
        estimate, directions = _parametrise(angle, t, frame1, frame2)
        step = _step(essential, near, estimate, directions, threshold)
        angle, t = angle + step[0], t + step[1:] @ orthogonal_axes(t)
        t /= np.linalg.norm(t)
        if np.abs(step).max() < _SMALLEST:
            break
    return _parametrise(angle, t, frame1, frame2)[0]


def _upright_frame(vertical: Floats) -> Floats:
    """Return a rotation whose second row is the vertical."""
    across = np.linalg.svd(vertical[None])[2][1]
    return np.array([across, vertical, np.cross(across, vertical)])


def _parametrise(angle: float, t: Floats, frame1: Floats, frame2: Floats) -> tuple[Floats, Floats]:
    """Return the matrix (9) of an angle and a translation, and its derivatives (3 x 9) by the angle and along t."""
    c, s = math.cos(angle), math.sin(angle)
    turn, turned = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]), np.array([[-s, 0, c], [0, 0, 0], [-c, 0, -s]])
    parts = [(t, turn), (t, turned), *((along, turn) for along in orthogonal_axes(t))]
    estimate = np.array([(frame2.T @ cross_matrix(first) @ second @ frame1).ravel() for first, second in parts])
    return estimate[0], estimate[1:]


def _step(essential: Problem, data: Floats, model: Floats, directions: Floats, threshold: float) -> Floats:
    """Return a Gauss-Newton step along the directions (3 x 9) with the weights of the Cauchy loss."""
    residuals, derivatives = essential.linearized(data, model)
    roots = 1.0 / np.sqrt(1.0 + (residuals * residuals).sum(axis=0) / threshold**2)
    J = np.einsum("pk,ckn->cnp", directions, derivatives) * roots[:, None]
    step = np.linalg.lstsq(J.reshape(residuals.size, 3), -(residuals * roots).ravel(), rcond=None)[0]
    return np.asarray(step / max(1.0, 2.0 * float(np.abs(step).max())))  # at most half a radian
