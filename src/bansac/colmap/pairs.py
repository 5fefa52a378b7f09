"""Geometric verification of pairs: matches in, geometries out.

:func:`verify_pairs` is a pure function and can be pickled. It reads no database and does not need pycolmap, so batches
of pairs can be verified in threads, processes or on other machines.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.colmap.options import VerificationOptions
from bansac.colmap.selection import NO_SUPPORT, Support, find_rotation, is_watermark, select
from bansac.estimate.multiple import estimate_multiple
from bansac.estimate.planar_motion import motions_of_plane
from bansac.estimate.presets import PRESETS, Options
from bansac.estimate.result import RelativePose, Result
from bansac.estimate.two_views import estimate_essential, estimate_fundamental, estimate_homography
from bansac.geometry import recover_pose
from bansac.maths.arrays import Bools, Floats
from bansac.maths.rng import derive_seed

# Attempts: the threshold as a fraction of max_error, and the options. max_error is wide, so chance gives any model many
# inliers within it. A model with few matches may be significant only within a quarter of it. The number of samples is
# small, because most pairs of a database have no model.
_DEFAULT = Options(max_iterations=4800)
_ATTEMPTS = ((1.0, PRESETS["fast"].options), (1.0, _DEFAULT), (0.25, _DEFAULT))


@dataclass(frozen=True, eq=False)
class PairMatches:
    """Matches of two images.

    Parameters
    ----------
    image_id1, image_id2 : int
        Ids of the images in the database.
    pair_id : int
        Id of the pair in the database.
    matches : (N, 2) ndarray of uint32
        Indices of the keypoints of each match.
    x1, x2 : (N, 2) ndarray
        Matched keypoints in pixels, in the convention of the database. In COLMAP, the centre of the first pixel is
        (.5, .5). F and H are in the same convention.
    size1, size2 : (int, int)
        Height and width of the images.
    rays : (N, 4) ndarray or None
        Undistorted keypoints in normalised units, x1, y1, x2, y2, NaN where the undistortion failed. None if a camera
        has no prior focal length.
    pixel : float
        Size of a pixel in normalised units, the mean of both cameras.
    """

    image_id1: int
    image_id2: int
    pair_id: int
    matches: NDArray[np.uint32]
    x1: Floats
    x2: Floats
    size1: tuple[int, int]
    size2: tuple[int, int]
    rays: Floats | None = None
    pixel: float = 1.0


@dataclass(frozen=True, eq=False)
class PairGeometry:
    """Geometry of two images.

    Parameters
    ----------
    image_id1, image_id2 : int
        Ids of the images in the database.
    configuration : str
        "degenerate", "calibrated", "uncalibrated", "planar", "panoramic", "planar_or_panoramic", "watermark"
        or "multiple": pycolmap's names in lower case.
    inlier_matches : (M, 2) ndarray of uint32
        Matches that follow the geometry; none if it is degenerate. Those of several motions follow one another, the
        motion with most matches first.
    E, F, H : (3, 3) ndarray or None
        Models that are significant, that is, have more support than the null model explains. All None if the pair is
        degenerate or has several motions. F and H are in pixels.
    pose : RelativePose or None
        Motion from the first camera to the second for calibrated, planar and panoramic pairs. t has unit length, or is
        0 for panoramic pairs.
    ambiguous : bool
        Whether the search has found a second model, so that this geometry may be the wrong one (see ``Result.rival``).
        Pairs whose first restart succeeds are not searched for another one; ``multiple_models`` does that.
    model_confidence : float or None
        Probability that the model with the inlier matches is right (``Result.model_confidence``).
    """

    image_id1: int
    image_id2: int
    configuration: str
    inlier_matches: NDArray[np.uint32]
    E: Floats | None = None
    F: Floats | None = None
    H: Floats | None = None
    pose: RelativePose | None = None
    ambiguous: bool = False
    model_confidence: float | None = None


@dataclass(frozen=True)
class PairFailure:
    """Reason why a pair has no geometry."""

    image_id1: int
    image_id2: int
    reason: str


def verify_pairs(
    pairs: Sequence[PairMatches | PairFailure], options: VerificationOptions
) -> list[PairGeometry | PairFailure]:
    """Compute the geometries of a batch of pairs.

    Parameters
    ----------
    pairs : sequence of PairMatches
        The pairs; a ``PairFailure`` among them stays.
    options : VerificationOptions
        The settings.

    Returns
    -------
    list of PairGeometry or PairFailure
        Results in the order of the pairs. Each geometry depends only on its pair and the options.

    Examples
    --------
    >>> import numpy as np
    >>> from bansac.synthetic import epipolar_matches
    >>> scene = epipolar_matches(200, inlier_ratio=0.6, noise=0.5, seed=1)
    >>> indices = np.column_stack([np.arange(200), np.arange(200)]).astype(np.uint32)
    >>> pair = PairMatches(1, 2, 1, indices, scene.x1, scene.x2, scene.size, scene.size)
    >>> [geometry] = verify_pairs([pair], VerificationOptions())
    >>> geometry.configuration, geometry.inlier_matches.shape[1], geometry.F.shape
    ('uncalibrated', 2, (3, 3))
    """
    return [_attempt(pair, options) for pair in pairs]


def _attempt(pair: PairMatches | PairFailure, options: VerificationOptions) -> PairGeometry | PairFailure:
    try:
        return pair if isinstance(pair, PairFailure) else verify_pair(pair, options)
    except Exception as error:  # one pair must not end a run over thousands
        return PairFailure(pair.image_id1, pair.image_id2, str(error) or type(error).__name__)


def verify_pair(pair: PairMatches, options: VerificationOptions) -> PairGeometry:
    """Compute the geometry of a pair."""
    nothing = PairGeometry(pair.image_id1, pair.image_id2, "degenerate", np.empty((0, 2), np.uint32))
    if options.filter_stationary_matches:
        pair = _subset(pair, np.hypot(*(pair.x2 - pair.x1).T) > options.stationary_matches_max_error)
    if options.multiple_models:
        motions, pair = _split(pair, options)
        if len(motions) > 1:
            return replace(nothing, configuration="multiple", inlier_matches=np.vstack(motions))
    if len(pair.matches) < options.min_num_inliers:
        return nothing
    E, F, H = _find_models(pair, options)
    configuration, support, calibrated = select(E, F, H, options)
    if configuration == "degenerate" or support.count < options.min_inlier_ratio * len(pair.matches):
        return nothing
    pose, found = None, _subset(pair, support.inliers)
    if calibrated:
        configuration, pose = _motion(pair, configuration, E, H, options)
    if is_watermark(found.x1, found.x2, pair.size1, pair.size2, options):
        configuration, pose = "watermark", None
    ids = pair.image_id1, pair.image_id2
    models: dict[str, Any] = {"E": E.model, "F": F.model, "H": H.model}
    if support.result is not None:
        models["ambiguous"] = support.result.configuration == "ambiguous"
        models["model_confidence"] = support.result.model_confidence
    return PairGeometry(*ids, configuration, found.matches, pose=pose, **models)


def _subset(pair: PairMatches, mask: Bools) -> PairMatches:
    values = {name: getattr(pair, name) for name in ("matches", "x1", "x2", "rays")}
    return replace(pair, **{name: value[mask] for name, value in values.items() if value is not None})


def _split(pair: PairMatches, options: VerificationOptions) -> tuple[list[NDArray[np.uint32]], PairMatches]:
    """Return the matches of each motion, and the pair without the watermarks that are ignored."""
    motions, kept = [], np.ones(len(pair.matches), np.bool_)
    estimation = _DEFAULT.replace(threshold=options.max_error, seed=derive_seed(options.seed, pair.pair_id))
    for motion in _find_motions(pair.x1, pair.x2, options, estimation):
        sides = pair.x1[motion], pair.x2[motion], pair.size1, pair.size2
        if is_watermark(*sides, options):
            kept &= ~motion
        else:
            motions.append(pair.matches[motion])
    return motions, _subset(pair, kept)


def _find_motions(x1: Floats, x2: Floats, options: VerificationOptions, estimation: Options) -> list[Bools]:
    """Return the mask of the matches of each rigid motion, the motion with most matches first.

    As in COLMAP, a match belongs only to the motion with the smallest residual. Motions with few of the matches that
    earlier ones leave are dropped.
    """
    results = estimate_multiple("F", np.hstack([x1, x2]), options=estimation).results
    if not results:
        return []
    residuals = np.array([result.residuals for result in results])
    nearest = np.where(residuals.min(axis=0) <= options.max_error, residuals.argmin(axis=0), len(results))
    masks = [nearest == k for k in range(len(results))]
    motions, left = [], len(x1)
    for mask in sorted(masks, key=np.count_nonzero, reverse=True):
        count = int(np.count_nonzero(mask))
        if count >= max(options.min_num_inliers, options.min_inlier_ratio * left):
            motions.append(mask)
            left -= count
    return motions


def _find_models(pair: PairMatches, options: VerificationOptions) -> list[Support]:
    """Return the supports of E, F and H of the first attempt in which E or F is significant, else of the last one."""
    supports, seed = [NO_SUPPORT] * 3, derive_seed(options.seed, pair.pair_id)
    for share, attempt in _ATTEMPTS:
        supports = _estimate(pair, share * options.max_error, options.max_error, seed, attempt)
        if any(support.model is not None for support in supports[:2]):
            break
    return supports


def _estimate(pair: PairMatches, threshold: float, max_error: float, seed: int, options: Options) -> list[Support]:
    """Estimate E, F and H at a threshold, and return their supports within ``max_error``."""
    x1, x2, sizes = pair.x1, pair.x2, (pair.size1, pair.size2)
    F = estimate_fundamental(
        x1, x2, threshold=threshold, seed=seed, options=options, image_size1=sizes[0], image_size2=sizes[1]
    )
    H = estimate_homography(x1, x2, threshold=threshold, seed=seed, options=options)
    supports = [NO_SUPPORT, _support(F, max_error), _support(H, max_error)]
    if pair.rays is not None:
        known = np.asarray(np.isfinite(pair.rays).all(axis=1))
        rays, threshold = pair.rays[known], threshold * pair.pixel
        E = _support(
            estimate_essential(rays[:, :2], rays[:, 2:], threshold=threshold, seed=seed, options=options),
            max_error * pair.pixel,
        )
        inliers = np.zeros_like(known)
        inliers[known] = E.inliers
        supports[0] = replace(E, inliers=inliers)
    return supports


def _support(result: Result, max_error: float) -> Support:
    """Return the support of a model; it is empty if the model is not significant."""
    inliers = result.residuals <= max_error
    if not result.success:
        return Support(None, np.zeros_like(inliers))
    on_plane = result.configuration in ("planar", "pure_rotation", "static")
    return Support(result.model, inliers, on_plane, result)


def _motion(
    pair: PairMatches, configuration: str, E: Support, H: Support, options: VerificationOptions
) -> tuple[str, RelativePose | None]:
    """Return the configuration and the motion of a pair with correct prior focal lengths."""
    assert E.model is not None
    assert pair.rays is not None
    if configuration == "calibrated":
        R, t, _ = recover_pose(E.model, pair.rays[:, :2], pair.rays[:, 2:], E.inliers)
        return configuration, RelativePose(R, t)
    rays = pair.rays[H.inliers & np.isfinite(pair.rays).all(axis=1)]
    R, count = find_rotation(rays[:, :2], rays[:, 2:], options.max_error * pair.pixel)
    if count > options.max_H_inlier_ratio * H.count:
        return "panoramic", RelativePose(R, np.zeros(3))
    motions = motions_of_plane(np.ascontiguousarray(rays.T))
    return "planar", RelativePose(*motions[0]) if motions else None
