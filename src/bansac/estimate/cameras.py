"""Points of cameras with lens distortion: unprojected to rays for the engine, with errors in the pixels of the image.

The engine measures errors in normalised coordinates. For a camera with distortion, the size of a pixel there depends on
the place. So the motion that the engine finds is refined with errors in the image, and residuals and inliers are
measured there. For two views this error is the tangent Sampson error (Terekhov and Larsson, ICCV 2023).
"""

import warnings
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bansac.estimate.damped_least_squares import Linearize, differentiate, minimize
from bansac.geometry import rotation_matrix
from bansac.geometry.camera import Camera
from bansac.maths.arrays import Floats
from bansac.maths.validate import as_camera, as_size

_Motion: TypeAlias = tuple[Floats, Floats]
CameraLike: TypeAlias = ArrayLike | Camera
"""A camera matrix (3 x 3), or a camera."""

Errors: TypeAlias = Callable[[Floats, Floats], Floats]
"""Function of a motion R, t that returns the errors (N, components) in pixels; inf or NaN for no inlier."""

# Normalised coordinates beyond this, the tangent of 70 degrees, are rare.
WIDEST = 2.75

# At least _MANY points that begin near the origin, and end before the principal point by more than this share of their
# extent, in x and in y, have the camera of a larger image. An overlap of two images is off the principal point in one
# direction only, or by less.
_OFF_CENTRE, _MANY = 0.5, 20
# Coordinates below this are hardly pixels.
_NORMALISED = 10.0

# The refinement in the image: largest number of steps, smallest relative decrease of the cost by a step, and the size
# of the steps of numerical derivatives.
_STEPS, _LEAST_GAIN, _DELTA = 5, 1e-3, 1e-6

# Share of the points that may lie outside of an image, and the share that shows that the size is wrong.
_FEW_OUTSIDE, _MOST_OUTSIDE = 0.05, 0.5


class Unprojected(NamedTuple):
    """What points have besides their rays: both focal lengths, and the derivatives (N or 1, 2, 2) of pixels by rays."""

    fx: float
    fy: float
    jacobian: Floats
    is_distorted: bool


def unproject(argument: str, camera: CameraLike, x: Floats, depth: int = 3) -> Unprojected:
    """Replace pixels (2 x N) by normalised coordinates, in place; warn if the camera seems to be that of other points.

    Of a camera with distortion, the focal lengths are the median of the local ones. A ValueError is raised if the
    camera is invalid or cannot undistort a point. ``depth`` is the level in the stack that a warning names.
    """
    if isinstance(camera, Camera):
        if not camera.has_focal:
            raise ValueError(f"{argument} must have a focal length, got {camera}")
        if camera.width is not None and camera.height is not None:
            check_size(f"size of {argument}", as_size(argument, (camera.height, camera.width)), x)
    K = camera.K if isinstance(camera, Camera) else as_camera(argument, camera)
    if x.size and (doubt := _doubt_camera(K, x)):
        warnings.warn(f"{argument} has {doubt}", stacklevel=depth)
    if isinstance(camera, Camera) and camera.is_distorted:
        rays = camera.unproject(x.T)
        failed = np.isnan(rays[:, 0])
        if failed.any():
            first = x[:, np.argmax(failed)].tolist()
            raise ValueError(
                f"{argument} cannot undistort {np.count_nonzero(failed)} of {len(rays)} points, the first at {first}; "
                "leave out the points for which its unproject gives NaN"
            )
        jacobian = camera.jacobian(rays)
        focal = float(np.median(np.sqrt(np.linalg.det(jacobian)))) if len(rays) else float(K[0, 0])
        x[:] = rays.T
        return Unprojected(focal, focal, jacobian, is_distorted=True)
    (fx, skew, cx), (_, fy, cy), _ = K.tolist()
    x[1] = (x[1] - cy) / fy
    x[0] = (x[0] - cx - skew * x[1]) / fx
    return Unprojected(fx, fy, K[None, :2, :2], is_distorted=False)


def _doubt_camera(K: Floats, x: Floats) -> str:
    """Return what speaks against the camera of points (2 x N): its principal point or its focal length; else ""."""
    (fx, _, cx), (_, fy, cy), _ = K.tolist()
    (x0, y0), (x1, y1), many = x.min(axis=1).tolist(), x.max(axis=1).tolist(), x.shape[1] >= _MANY
    ends = (x0, x1, cx), (y0, y1, cy)
    if many and all(c - high > _OFF_CENTRE * (high - low) and abs(low) <= high - low for low, high, c in ends):
        what = f"the principal point ({cx:.6g}, {cy:.6g})"
        normalised = np.abs(x).max() < _NORMALISED
        question = "are they normalised already, or in [-1, 1] of a dense matcher?"
        hint = question if normalised else "is the camera that of another image size?"
    elif (  # the median takes some 20 us
        max(x1 - cx, y1 - cy, cx - x0, cy - y0) > WIDEST * min(fx, fy)
        and np.median(np.abs((x - K[:2, 2:]) / K[[0, 1], [0, 1], None])) > WIDEST
    ):
        what, hint = f"the focal length {fx:.6g}", "is it in millimetres, or the camera normalised?"
    elif many and cx == cy == 0.0 and min(x0, y0) >= 0.0 and min(x1, y1) > _NORMALISED:
        what, hint = "the principal point (0, 0)", "is it not near the centre of the image?"
    else:
        return ""
    return f"{what}, but the points have x from {x0:.6g} to {x1:.6g} and y from {y0:.6g} to {y1:.6g}: {hint}"


def check_size(name: str, size: tuple[int, int], x: Floats) -> None:
    """Raise a ValueError if height and width seem swapped, or if most points (2 x N) lie outside of the image."""
    height, width = size
    n = x.shape[1]
    outside, otherwise = _count_outside(x, width, height), _count_outside(x, height, width)
    if outside <= _FEW_OUTSIDE * n:
        return
    swapped = otherwise <= _FEW_OUTSIDE * n
    if swapped or outside > _MOST_OUTSIDE * n:
        hint = "height and width seem swapped" if swapped else f"{outside} of {n} points lie outside"
        raise ValueError(
            f"{name} is (height, width) = ({height}, {width}), but the coordinates reach y = {x[1].max():.6g} and "
            f"x = {x[0].max():.6g}: {hint}"
        )


def _count_outside(x: Floats, width: float, height: float) -> int:
    inside = (x[0] >= -1) & (x[0] <= width) & (x[1] >= -1) & (x[1] <= height)
    return int(np.count_nonzero(~inside))


def tangent_sampson(E: Floats, rays: Floats, jacobian1: Floats, jacobian2: Floats) -> Floats:
    """Return signed Sampson distances (N, 1) in pixels of an essential matrix for rays (4 x N).

    The derivatives of x2^T E x1 by the pixels are those by the rays times the inverse of the jacobians (N or 1, 2, 2),
    the derivatives of pixels by rays.
    """
    (x1, y1, x2, y2), e = rays, E.ravel()
    a2, b2, c2 = (e[k] * x1 + e[k + 1] * y1 + e[k + 2] for k in (0, 3, 6))
    a1, b1 = (e[k] * x2 + e[k + 3] * y2 + e[k + 6] for k in (0, 1))
    square = 0.0
    with np.errstate(all="ignore"):
        for a, b, jacobian in ((a1, b1, jacobian1), (a2, b2, jacobian2)):
            (j11, j21), (j12, j22) = jacobian.T
            square = square + ((a * j22 - b * j21) ** 2 + (b * j11 - a * j12) ** 2) / (j11 * j22 - j12 * j21) ** 2
        return np.asarray((x2 * a2 + y2 * b2 + c2) / np.sqrt(square))[:, None]


def refine_in_image(
    R: Floats, t: Floats, threshold: float, errors: Errors, scale: float
) -> tuple[Floats, Floats, Floats]:
    """Refine a motion with the errors of its inliers in the image; return it with its residuals.

    ``scale`` is the length in the unit of t that changes the errors as much as a rotation by one radian.
    """

    def move(motion: _Motion, step: Floats) -> _Motion:
        R, t = motion
        return rotation_matrix(step[:3]) @ R, t + scale * step[3:]

    def evaluate(motion: _Motion) -> tuple[float, Linearize]:
        now = errors(*motion)
        residuals = lengths_of_errors(now)
        inliers, truncated = residuals <= threshold, np.minimum(residuals, threshold)

        def linearize() -> tuple[Floats, Floats]:
            changes = differentiate(lambda step: errors(*move(motion, step))[inliers].ravel(), _DELTA * np.eye(6))
            jacobian = changes / _DELTA
            if not np.isfinite(jacobian).all():
                return np.zeros((6, 6)), np.zeros(6)
            return jacobian.T @ jacobian, jacobian.T @ now[inliers].ravel()

        return float(truncated @ truncated), linearize

    (R, t), _ = minimize((R, t), evaluate, move, damping=0.0, steps=_STEPS, least_gain=_LEAST_GAIN)
    return R, t, lengths_of_errors(errors(R, t))


def lengths_of_errors(errors: Floats) -> Floats:
    """Return the lengths of errors (N, components); inf for NaN."""
    square = np.sum(errors * errors, axis=1)
    return np.sqrt(np.where(square >= 0, square, np.inf))
