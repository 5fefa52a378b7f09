"""Cheirality: which matches of two calibrated cameras lie in front of both cameras.

An essential matrix has four possible motions, (R1, t), (R1, -t), (R2, t) and (R2, -t) (Hartley and Zisserman,
section 9.6). Let E = [t]x R be scaled so that |t| = 1, with the cofactors C = t t^T R. The rotations are C - [t]x E and
C + [t]x E (Horn, "Recovering baseline and orientation from essential matrix", 1990).
"""

import math

import numpy as np
from numpy.typing import NDArray

from bansac.compiled.jit import fast_kernel, inlined, inner_kernel
from bansac.geometry.epipolar import second_epipole
from bansac.maths.arrays import Floats


@inlined
def side(a0: float, a1: float, a2: float, x2: float, y2: float, t0: float, t1: float, t2: float) -> int:
    """Return 1 for a match in front of both cameras, -1 for a match behind both, else 0.

    A match behind both cameras for t is in front of both for -t. ``a`` is R (x1, y1, 1). The depths d1 and d2 solve
    d2 (x2, y2, 1) = d1 a + t in the least-squares sense.
    """
    aa, bb = a0 * a0 + a1 * a1 + a2 * a2, x2 * x2 + y2 * y2 + 1.0
    ab = a0 * x2 + a1 * y2 + a2
    at, bt = a0 * t0 + a1 * t1 + a2 * t2, x2 * t0 + y2 * t1 + t2
    d1, d2 = ab * bt - bb * at, aa * bt - ab * at
    return (1 if d1 > 0.0 and d2 > 0.0 else 0) - (1 if d1 < 0.0 and d2 < 0.0 else 0)


def score_in_front(data: Floats, model: Floats, scores: Floats, squared_threshold: float) -> float:
    """Return the summed scores of the matches in front of both cameras, maximised over the four motions of E.

    The epipolar constraint does not depend on the side of a camera on which a point lies. A wrong model therefore
    scores from points behind the cameras as much as from points in front of them; the correct model does not. Noise
    decides on the side of a far point. So a match counts in any case if the rotation alone explains it within the
    threshold.
    """
    return score_rays_in_front(data, model, scores, squared_threshold, 1.0, 1.0)


@inner_kernel
def score_rays_in_front(
    data: Floats, model: Floats, scores: Floats, squared_threshold: float, f1: float, f2: float
) -> float:
    """Do the same for a fundamental matrix and two focal lengths; the principal points are at the origin."""
    t0, t1, t2 = second_epipole(model)
    t2 *= f2
    length = math.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
    e1, e2, e3 = model[0], model[1], model[2] / f1
    e4, e5, e6 = model[3], model[4], model[5] / f1
    e7, e8, e9 = model[6] / f2, model[7] / f2, model[8] / (f1 * f2)
    square = e1 * e1 + e2 * e2 + e3 * e3 + e4 * e4 + e5 * e5 + e6 * e6 + e7 * e7 + e8 * e8 + e9 * e9
    if not (length > 0.0 and square > 0.0):
        return 0.0
    t0, t1, t2 = t0 / length, t1 / length, t2 / length
    scale = math.sqrt(2.0 / square)
    e1, e2, e3, e4, e5 = scale * e1, scale * e2, scale * e3, scale * e4, scale * e5
    e6, e7, e8, e9 = scale * e6, scale * e7, scale * e8, scale * e9
    c1, c2, c3 = e5 * e9 - e6 * e8, e6 * e7 - e4 * e9, e4 * e8 - e5 * e7
    c4, c5, c6 = e8 * e3 - e9 * e2, e9 * e1 - e7 * e3, e7 * e2 - e8 * e1
    c7, c8, c9 = e2 * e6 - e3 * e5, e3 * e4 - e1 * e6, e1 * e5 - e2 * e4
    first, first_behind, second, second_behind, limit = 0.0, 0.0, 0.0, 0.0, squared_threshold / (f2 * f2)
    for n in range(scores.size):
        if not scores[n] > 0.0:
            continue
        x1, y1, x2, y2 = data[0, n] / f1, data[1, n] / f1, data[2, n] / f2, data[3, n] / f2
        u, v, w = e1 * x1 + e2 * y1 + e3, e4 * x1 + e5 * y1 + e6, e7 * x1 + e8 * y1 + e9
        a, b, c = c1 * x1 + c2 * y1 + c3, c4 * x1 + c5 * y1 + c6, c7 * x1 + c8 * y1 + c9
        p, q, r = t1 * w - t2 * v, t2 * u - t0 * w, t0 * v - t1 * u
        where, far = side(a - p, b - q, c - r, x2, y2, t0, t1, t2), _is_far(a - p, b - q, c - r, x2, y2, limit)
        first += scores[n] if where == 1 or far else 0.0
        first_behind += scores[n] if where == -1 or far else 0.0
        where, far = side(a + p, b + q, c + r, x2, y2, t0, t1, t2), _is_far(a + p, b + q, c + r, x2, y2, limit)
        second += scores[n] if where == 1 or far else 0.0
        second_behind += scores[n] if where == -1 or far else 0.0
    return max(first, first_behind, second, second_behind)


@inlined
def _is_far(a0: float, a1: float, a2: float, x2: float, y2: float, squared_threshold: float) -> bool:
    """Return whether x2 is within the threshold of the point at infinity with the direction ``a``, R (x1, y1, 1)."""
    return a2 > 0.0 and (a0 - x2 * a2) ** 2 + (a1 - y2 * a2) ** 2 <= squared_threshold * a2 * a2


def sides(R: Floats, t: Floats, data: Floats) -> NDArray[np.int8]:
    """Return 1 for matches (4, N) in front of both cameras, -1 for those behind both, which are in front for -t."""
    out = np.empty(data.shape[1], np.int8)
    _write_sides(R, t, data, out)
    return out


@fast_kernel
def _write_sides(R: Floats, t: Floats, data: Floats, out: NDArray[np.int8]) -> None:
    x1, y1, x2, y2 = data[0], data[1], data[2], data[3]
    for i in range(out.size):
        a0 = R[0, 0] * x1[i] + R[0, 1] * y1[i] + R[0, 2]
        a1 = R[1, 0] * x1[i] + R[1, 1] * y1[i] + R[1, 2]
        a2 = R[2, 0] * x1[i] + R[2, 1] * y1[i] + R[2, 2]
        out[i] = side(a0, a1, a2, x2[i], y2[i], t[0], t[1], t[2])
