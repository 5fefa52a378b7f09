"""Rotation, translation and scale between two sets of 3D points by weighted least squares.

The method is by Umeyama (Least-squares estimation of transformation parameters between two point patterns, PAMI 1991).
With a fixed scale the problem is that of Kabsch (1976). The rotation is computed as a quaternion
(``bansac.maths.quaternion``).

A model is a quaternion q and a translation t with x2 = q x1 q* + t. The scale is |q|^2.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from bansac.compiled.jit import inner_kernel, kernel
from bansac.maths.arrays import Floats, Ints
from bansac.maths.linalg import weighted_means
from bansac.maths.quaternion import ALIGN_SCRATCH, align_rotation, entries, matrix_of
from bansac.maths.validate import as_points

# Offsets in the scratch: two centroids, the correlation matrix, the scatter of x1, work space of ``align_rotation``.
_CORRELATION = 6
_SCATTER = _CORRELATION + 9
_ALIGN = _SCATTER + 1
SCRATCH = _ALIGN + ALIGN_SCRATCH


@inner_kernel
def solve_motion(data: Floats, sample: Ints, with_scale: bool, model: Floats, scratch: Floats) -> bool:
    """Fit q and t to three matches of 3D points; False if the points are collinear."""
    i, j, k = sample[0], sample[1], sample[2]
    for c in range(6):
        scratch[c] = (data[c, i] + data[c, j] + data[c, k]) / 3.0
    for c in range(_CORRELATION, _ALIGN):
        scratch[c] = 0.0
    for n in range(3):
        _add(data, sample[n], 1.0, scratch)
    return _align(with_scale, model, scratch)


@inner_kernel
def fit_motion(data: Floats, weights: Floats, with_scale: bool, model: Floats, scratch: Floats) -> bool:
    """Fit q and t to weighted matches of 3D points (6 x N); False if the points are collinear."""
    if not weighted_means(data, weights, scratch[:_CORRELATION]):
        return False
    for c in range(_CORRELATION, _ALIGN):
        scratch[c] = 0.0
    for i in range(weights.size):
        if weights[i] > 0.0:
            _add(data, i, weights[i], scratch)
    return _align(with_scale, model, scratch)


@inner_kernel
def _add(data: Floats, i: int, weight: float, scratch: Floats) -> None:
    """Add a match to the correlation and the scatter about the centroids."""
    for b in range(3):
        from_centre = weight * (data[b, i] - scratch[b])
        scratch[_SCATTER] += from_centre * (data[b, i] - scratch[b])
        for a in range(3):
            scratch[_CORRELATION + 3 * a + b] += from_centre * (data[3 + a, i] - scratch[3 + a])


@inner_kernel
def _align(with_scale: bool, model: Floats, scratch: Floats) -> bool:
    """Compute the motion from the correlation C, the scatter of x1 and the centroids in the scratch.

    The rotation R maximises trace(R C^T). The scale is trace(R C^T) divided by the scatter of x1, which minimises the
    squared errors in x2 (Umeyama). The translation maps one centroid to the other.
    """
    correlation = scratch[_CORRELATION:_SCATTER]
    if not align_rotation(correlation, model, scratch[_ALIGN:]):
        return False
    m = entries(model)
    if with_scale:
        trace = 0.0
        for k in range(9):
            trace += m[k] * correlation[k]
        root = math.sqrt(trace / scratch[_SCATTER])  # positive, because the correlation has rank >= 2
        for k in range(4):
            model[k] *= root
        m = entries(model)
    x, y, z = scratch[0], scratch[1], scratch[2]
    model[4] = scratch[3] - (m[0] * x + m[1] * y + m[2] * z)
    model[5] = scratch[4] - (m[3] * x + m[4] * y + m[5] * z)
    model[6] = scratch[5] - (m[6] * x + m[7] * y + m[8] * z)
    return True


def umeyama(x1: ArrayLike, x2: ArrayLike) -> Floats | None:
    """Fit the similarity (s R | t), 3 x 4, to points (N, 3); None if they are collinear."""
    first, second = as_points("x1", x1, 3), as_points("x2", x2, 3)
    if len(first) != len(second) or len(first) < 3:
        raise ValueError(f"x1 and x2 must have equal lengths of at least 3, got {len(first)} and {len(second)}")
    data, model = np.ascontiguousarray(np.hstack([first, second]).T), np.empty(7)
    return matrix_of(model) if _fit(data, np.ones(len(first)), True, model, np.empty(SCRATCH)) else None


_fit = kernel(fit_motion)
