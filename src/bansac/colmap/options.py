"""Settings of the verification, with the names and defaults of COLMAP's ``TwoViewGeometryOptions`` where they exist."""

import math
from dataclasses import dataclass

from bansac.maths.validate import as_integer

MODEL_SELECTIONS = ("colmap", "bansac")


@dataclass(frozen=True, kw_only=True)
class VerificationOptions:
    """Settings of :func:`bansac.colmap.verify_database`.

    Parameters
    ----------
    max_error : float
        Largest residual of an inlier in pixels: the Sampson distance for E and F, the transfer error for H.
    min_num_inliers : int
        Pairs with fewer inliers are degenerate.
    min_inlier_ratio : float
        Pairs whose inliers are a smaller fraction of their matches are degenerate.
    model_selection : {"colmap", "bansac"}
        Criterion of planar and panoramic pairs. ``"colmap"``: H has more than ``max_H_inlier_ratio`` times the inliers
        of the epipolar geometry. ``"bansac"``: the number of inliers off the homography is explained by chance
        (``Result.configuration``). Scenes with a dominant plane then remain calibrated or uncalibrated.
    min_E_F_inlier_ratio : float
        A pair with prior focal lengths is calibrated if E has more than this fraction of the inliers of F. Wrong focal
        lengths lose inliers.
    max_H_inlier_ratio : float
        See ``model_selection``. A pair is panoramic if a rotation has more than this fraction of the inliers of a
        planar pair.
    detect_watermark : bool
        Whether to detect pairs whose inliers are a watermark in the border of the images, with COLMAP's other defaults.
    filter_stationary_matches : bool
        Whether to drop matches with nearly the same position in both images before the estimation, such as those on a
        vehicle that carries the camera.
    stationary_matches_max_error : float
        Largest distance in pixels of the positions of a stationary match.
    multiple_models : bool
        Whether to search for several rigid motions. If a pair has two or more, its configuration is ``"multiple"``.
        Otherwise it is verified as without this option. Motions that are watermarks are dropped.
    seed : int
        Seed of the random numbers. The seed of a pair is derived from it and from the id of the pair in the database.

    Raises
    ------
    ValueError
        If a setting is out of its range.

    Examples
    --------
    >>> from bansac.colmap import VerificationOptions
    >>> VerificationOptions(max_error=2.0).min_num_inliers
    15
    """

    max_error: float = 4.0
    min_num_inliers: int = 15
    min_inlier_ratio: float = 0.0
    model_selection: str = "colmap"
    min_E_F_inlier_ratio: float = 0.95  # noqa: N815
    max_H_inlier_ratio: float = 0.8  # noqa: N815
    detect_watermark: bool = True
    filter_stationary_matches: bool = False
    stationary_matches_max_error: float = 4.0
    multiple_models: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("max_error", "stationary_matches_max_error"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be a number > 0, got {getattr(self, name)!r}")
        for name in ("min_inlier_ratio", "min_E_F_inlier_ratio", "max_H_inlier_ratio"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} must be in [0, 1], got {getattr(self, name)!r}")
        for field, least in (("min_num_inliers", 1), ("seed", 0)):
            as_integer(field, getattr(self, field), least)
        if self.model_selection not in MODEL_SELECTIONS:
            raise ValueError(
                f"model_selection must be one of {', '.join(map(repr, MODEL_SELECTIONS))}; got {self.model_selection!r}"
            )
