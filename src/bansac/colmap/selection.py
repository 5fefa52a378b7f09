"""Select which of E, F and H describes a pair of images, or whether it is a watermark: COLMAP's configurations.

The selection compares numbers of inliers (Schoenberger and Frahm, Structure-from-Motion Revisited, CVPR 2016,
section 4.1). E and F have similar numbers if the focal lengths are correct. H has most of the inliers if the scene is a
plane or the camera rotates about its centre. In the second case, a rotation has most of the inliers of H. A
watermark, such as a date or a name, has most of the inliers in the border of both images and follows one translation.
"""

from dataclasses import dataclass

import numpy as np

from bansac.colmap.options import VerificationOptions
from bansac.estimate.result import Result
from bansac.evidence.configuration import fit_rotation
from bansac.maths.arrays import Bools, Floats

_Size = tuple[int, int]

# Of a watermark: the smallest share of the inliers, the width of the border by the diagonal of the image, and the
# largest distance in pixels from the translation.
_MARK_SHARE, _BORDER, _MARK_ERROR = 0.7, 0.1, 4.0


@dataclass(frozen=True, eq=False)
class Support:
    """Model of a pair, if it was estimated and is significant, its inliers (N), its configuration and its result."""

    model: Floats | None
    inliers: Bools
    on_plane: bool = False
    result: Result | None = None

    @property
    def count(self) -> int:
        """Number of inliers."""
        return int(np.count_nonzero(self.inliers))


NO_SUPPORT = Support(None, np.zeros(0, np.bool_))


def select(E: Support, F: Support, H: Support, options: VerificationOptions) -> tuple[str, Support, bool]:
    """Return the configuration of a pair, the support with the pair's inliers, and whether the focal lengths are right.

    The focal lengths are right if E has about as many inliers as F. The support is the largest of the models that
    describe the pair; models that were not estimated have :data:`NO_SUPPORT`.
    """
    E, F, H = (support if support.count >= options.min_num_inliers else NO_SUPPORT for support in (E, F, H))
    calibrated = E.count > options.min_E_F_inlier_ratio * F.count
    if not calibrated:
        E = NO_SUPPORT
    best = max(E, F, key=lambda support: support.count)
    if best.count > 0:
        if options.model_selection == "bansac":
            degenerate = H.count > 0 and (E if calibrated else F).on_plane
        else:
            degenerate = H.count > options.max_H_inlier_ratio * best.count
        if not degenerate:
            return ("calibrated" if calibrated else "uncalibrated"), best, calibrated
    best = max(best, H, key=lambda support: support.count)
    return ("planar_or_panoramic" if best.count > 0 else "degenerate"), best, calibrated


def find_rotation(rays1: Floats, rays2: Floats, max_error: float) -> tuple[Floats, int]:
    """Return the rotation fitted to all rays, then to those within ``max_error`` (Kabsch, 1976), and their number."""
    first = np.column_stack([rays1, np.ones(len(rays1))])
    follows = np.ones(len(rays1), np.bool_)
    R = np.eye(3)
    for _ in range(2):
        R = fit_rotation(np.vstack([rays1[follows].T, rays2[follows].T]))
        turned = first @ R.T
        with np.errstate(divide="ignore", invalid="ignore"):
            distances = np.hypot(*(turned[:, :2] / turned[:, 2:] - rays2).T)
        follows = (turned[:, 2] > 0.0) & (distances <= max_error)
        if not follows.any():
            break
    return R, int(np.count_nonzero(follows))


def is_watermark(x1: Floats, x2: Floats, size1: _Size, size2: _Size, options: VerificationOptions) -> bool:
    """Return whether the inliers of a pair, in pixels, are a watermark; False if watermarks are not to be detected."""
    border = _in_border(x1, size1) & _in_border(x2, size2)
    needed = _MARK_SHARE * len(x1)
    if not options.detect_watermark or len(x1) == 0 or np.count_nonzero(border) < needed:
        return False
    shifts = x2 - x1
    for shift in shifts[border][:: 1 + len(shifts) // 100]:  # of at most 100 matches, evenly spaced
        distances = np.hypot(*(shifts - shift).T)
        if np.count_nonzero(distances <= _MARK_ERROR) >= needed:
            return True
    return False


def _in_border(x: Floats, size: _Size) -> Bools:
    height, width = size
    depth = _BORDER * np.hypot(height, width)
    inside = (x > depth) & (x < np.array([width, height]) - depth)
    return np.asarray(~inside.all(axis=1))
