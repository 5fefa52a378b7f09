"""Settings of the verification, with the names and defaults of COLMAP's ``TwoViewGeometryOptions`` where they exist."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from bansac.engine.option_fields import Checked, boolean, integer, number, option

_setting = functools.partial(option, "verification")
_POSITIVE, _SHARE = number("> 0", lambda v: v > 0), number("in [0, 1]", lambda v: 0 <= v <= 1)


@dataclass(frozen=True, kw_only=True)
class VerificationOptions(Checked):
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
        When a pair is planar or panoramic: with ``"colmap"`` if H has more than ``max_H_inlier_ratio`` times the
        inliers of the epipolar geometry, with ``"bansac"`` if chance explains the inliers off the homography
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

    max_error: float = _setting(4.0, _POSITIVE, flag=True)
    min_num_inliers: int = _setting(15, integer(1, 2**31 - 1), flag=True)
    min_inlier_ratio: float = _setting(0.0, _SHARE)
    model_selection: str = _setting("colmap", choices=("colmap", "bansac"), flag=True)
    min_E_F_inlier_ratio: float = _setting(0.95, _SHARE)  # noqa: N815
    max_H_inlier_ratio: float = _setting(0.8, _SHARE)  # noqa: N815
    detect_watermark: bool = _setting(True, boolean)
    filter_stationary_matches: bool = _setting(False, boolean)
    stationary_matches_max_error: float = _setting(4.0, _POSITIVE)
    multiple_models: bool = _setting(False, boolean)
    seed: int = _setting(0, integer(0, 2**64 - 1))
