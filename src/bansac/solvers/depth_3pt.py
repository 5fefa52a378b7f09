"""Relative pose of three matches with depths in one image (Ding et al., RePoseD, arXiv 2501.07742, 2025).

The depths turn the points of one image into points in space, up to a common scale. The other image sees them, so that
three points determine its pose (``p3p``).
"""

import math

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel
from bansac.maths.arrays import Floats, Ints
from bansac.maths.quaternion import entries
from bansac.solvers import p3p

MAX_MODELS = p3p.MAX_MODELS

# Offsets in the scratch: that of P3P, its data and poses.
_DATA = p3p.SCRATCH
_POSES = _DATA + 15
SCRATCH = _POSES + 7 * MAX_MODELS

_ALL = np.arange(3)

_solve_p3p = inner_kernel(p3p.solve)


@inner_kernel
def solve_poses(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Write up to four poses of three matches with depths in one image: quaternion, translation and scale.

    ``data`` has the channels x1, y1, x2, y2 (normalised image coordinates) and the depths in both images; a depth of 0
    is unknown. If both images have depths, the sample decides which one is used. The translation is in the unit of the
    first depths. The scale is that of the second depths over the first, 1 if it is unknown.
    """
    forward = _has_depths(data, sample, 4)
    if not forward and not _has_depths(data, sample, 5):
        return 0
    if forward and (sample[0] + sample[1] + sample[2]) % 2 == 1:
        forward = not _has_depths(data, sample, 5)
    near, seen, own, other = (0, 2, 4, 5) if forward else (2, 0, 5, 4)
    known = scratch[_DATA:_POSES].reshape(5, 3)
    poses = scratch[_POSES:SCRATCH].reshape(MAX_MODELS, 7)
    for k in range(3):
        i = sample[k]
        depth = data[own, i]
        known[0, k], known[1, k] = data[seen, i], data[seen + 1, i]
        known[2, k], known[3, k], known[4, k] = depth * data[near, i], depth * data[near + 1, i], depth
    found = _solve_p3p(known, _ALL, poses, scratch)
    for k in range(found):
        ratio = _mean_ratio(data[other], sample, known, poses[k])
        _write_motion(poses[k], ratio, forward, models[k])
    return found


@inlined
def _has_depths(data: Floats, sample: Ints, channel: int) -> bool:
    """Return whether the depths of a sample in one image are known."""
    depths = data[channel]
    return bool(depths[sample[0]] > 0.0 and depths[sample[1]] > 0.0 and depths[sample[2]] > 0.0)


@inner_kernel
def _mean_ratio(depths: Floats, sample: Ints, known: Floats, pose: Floats) -> float:
    """Return the geometric mean of the known depths of a sample over those of a pose; 1 without known depths."""
    _, _, _, _, _, _, r31, r32, r33 = entries(pose)
    total, count = 0.0, 0
    for k in range(3):
        depth = depths[sample[k]]
        if depth > 0.0:
            seen = r31 * known[2, k] + r32 * known[3, k] + r33 * known[4, k] + pose[6]
            total += math.log(depth / seen)
            count += 1
    return math.exp(total / count) if count > 0 else 1.0


@inner_kernel
def _write_motion(pose: Floats, ratio: float, forward: bool, model: Floats) -> None:
    """Write the motion from camera 1 to camera 2 and the scale, from the pose of a camera in the frame of the other.

    ``ratio`` is that of the depths in the frame of the pose over those of the pose.
    """
    t1, t2, t3 = pose[4], pose[5], pose[6]
    if forward:
        for k in range(7):
            model[k] = pose[k]
        model[7] = ratio
        return
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = entries(pose)
    model[0], model[1], model[2], model[3] = pose[0], -pose[1], -pose[2], -pose[3]
    model[4] = -ratio * (r11 * t1 + r21 * t2 + r31 * t3)
    model[5] = -ratio * (r12 * t1 + r22 * t2 + r32 * t3)
    model[6] = -ratio * (r13 * t1 + r23 * t2 + r33 * t3)
    model[7] = 1.0 / ratio
