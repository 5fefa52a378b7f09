"""Families of awkward two-view scenes with ground truth and the expected answer of a robust estimator.

The scenes have structures that mislead estimators: search windows, duplicates, clusters, repeated patterns, far points,
planes, rotations, extreme units. Tests and benchmarks share them. With ``inlier_ratio=0`` a family has no model.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bansac.geometry import apply_transform
from bansac.maths.arrays import Bools, Floats
from bansac.problems.estimators import Kind
from bansac.synthetic.mask import draw_inliers
from bansac.synthetic.two_views import SceneMatches, camera_pair, draw_plane, image_extent, observe, viewing_rays

_SIZE = (480, 640)
_THRESHOLDS: Mapping[str, float] = {"H": 2.0, "F": 0.5, "E": 0.5}  # pixels; the defaults of the estimators

# Success is expected from this inlier ratio, number of inliers and (as a share of the threshold) noise on.
_EASY_RATIO, _EASY_INLIERS, _EASY_NOISE = 0.25, 60, 0.6


@dataclass(frozen=True, eq=False)
class AwkwardScene:
    """A scene of a family, with ground truth and the expected answer of a robust estimator."""

    family: str
    kind: Kind
    matches: Any  # :class:`SceneMatches`, whose ``inliers`` are the true mask of the model
    model: Floats | None  # None if the scene has none, or if the matches do not determine it
    success: bool | None  # None if both answers are right
    configuration: str | None  # "general", "planar" or "pure_rotation"; None if any is right
    threshold: float  # suggested, in the unit of the coordinates

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Arguments of the estimator of the model: the points, and for E the camera matrices."""
        cameras = (self.matches.K1, self.matches.K2) if self.kind == "E" else ()
        return (self.matches.x1, self.matches.x2, *cameras)


class _Request(NamedTuple):
    """The arguments of :func:`awkward_scene` after the name of the family."""

    kind: Kind
    n: int
    inlier_ratio: float
    noise: float
    seed: int

    @property
    def rng(self) -> np.random.Generator:
        """A generator for changes to the base scene; its numbers differ from those of the base scene."""
        return np.random.default_rng([self.seed, 1])


def awkward_scene(
    family: str, kind: Kind = "F", n: int = 500, inlier_ratio: float = 0.5, noise: float = 0.2, seed: int = 0
) -> AwkwardScene:
    """Return a scene of a family, a key of ``FAMILIES``; the other arguments are those of :func:`epipolar_matches`.

    The families of windows, such as "window 10", have no inliers.
    """
    for name, value, known in (("family", family, FAMILIES), ("kind", kind, _THRESHOLDS)):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}; got {value!r}")
    return replace(FAMILIES[family](_Request(kind, n, inlier_ratio, noise, seed)), family=family)


# --- Scenes of two cameras ---


def _burst(x1: Floats, rng: np.random.Generator) -> Floats:
    """Move half of the points into one area, a twentieth of the image in each direction."""
    extent, half = image_extent(_SIZE), len(x1) // 2
    x1[:half] = (0.05 * x1 + rng.uniform(0, 0.95, 2) * extent)[:half]
    return x1


def _clusters(x1: Floats, rng: np.random.Generator) -> Floats:
    """Move the points into six clusters with a standard deviation of 25 pixels."""
    centres = rng.uniform(0.1, 0.9, (6, 2)) * image_extent(_SIZE)
    return np.asarray(centres[rng.integers(0, 6, len(x1))] + rng.normal(0, 25, x1.shape))


def _base(
    request: _Request,
    *,
    planes: tuple[float, ...] | None = None,
    focal_ratio: float = 1.0,
    baseline: float = 1.0,
    t: tuple[float, float, float] | None = None,
    place: Callable[[Floats, np.random.Generator], Floats] | None = None,
    true_matches: bool = False,
) -> AwkwardScene:
    """Return a scene of two cameras; ``planes`` are the shares of the inliers on each plane, by default one for H only.

    ``true_matches`` gives the outliers their true points. One plane does not determine F.
    """
    kind, n, ratio, noise, seed = request
    rng, inliers = draw_inliers(n, ratio, noise, seed)
    extent = image_extent(_SIZE)
    cameras = camera_pair(_SIZE, extent, rng, focal_ratio=focal_ratio, t=None if t is None else np.array(t))
    K, R, translation = cameras[:3]
    x1 = rng.uniform(0, 1, (n, 2)) * extent
    x1 = x1 if place is None else rng.permutation(place(x1, rng))
    rays = viewing_rays(K, x1)
    shares = np.cumsum(((1.0,) if kind == "H" else ()) if planes is None else planes)
    which = np.searchsorted(shares, rng.permutation((np.arange(n) + 0.5) / max(n, 1)))
    depth = rng.uniform(4, 12, n)
    homographies = []
    for index in range(len(shares)):
        normal, distance = draw_plane(rng, 30)
        depth = np.where(which == index, distance / (rays @ normal), depth)
        homographies.append(K @ (R + baseline * np.outer(translation, normal) / distance) @ np.linalg.inv(K))
    points = rays * depth[:, None] / baseline
    x2 = apply_transform(K, points @ R.T + translation)
    scene = observe(x1, points, cameras, inliers, noise, _SIZE, rng)
    if true_matches:
        scene.x2[~inliers] = x2[~inliers]
    if kind == "H":
        H = homographies[0]
        scene = replace(scene, H=H / H[2, 2], inliers=inliers & (which == 0))
    of_plane = len(shares) > 0 and shares[0] >= 1
    answer = _answer(request, scene, "planar" if kind == "H" or of_plane else "general")
    return replace(answer, model=None) if of_plane and kind == "F" else answer


def _answer(request: _Request, matches: Any, configuration: str | None = None) -> AwkwardScene:
    """Return the scene with the expected answer: success if it is easy, and no success without inliers."""
    kind, threshold = request.kind, _THRESHOLDS[request.kind]
    true = int(matches.inliers.sum())
    easy = true >= max(_EASY_INLIERS, _EASY_RATIO * len(matches)) and request.noise <= _EASY_NOISE * threshold
    success = False if not true else True if easy else None
    model = {"H": matches.H, "F": matches.F, "E": matches.E}[kind] if true else None
    return AwkwardScene("", kind, matches, model, success, configuration if easy else None, threshold)


def _rotation(request: _Request) -> AwkwardScene:
    """Return a scene seen by a camera that rotates about its centre: H exists, F and E are undetermined."""
    # A baseline of 1e-9 changes no point by more than 1e-7 pixels.
    scene = _base(request, baseline=1e-9)
    if request.kind == "H":
        return scene
    configuration = None if scene.configuration is None else {"F": "planar", "E": "pure_rotation"}[request.kind]
    return replace(scene, model=None, configuration=configuration, success=None if scene.success else scene.success)


# --- Changes to a scene: of the wrong matches, of all matches, of the unit ---


def _with_outliers(
    request: _Request, change: Callable[[SceneMatches, Bools, np.random.Generator], Any]
) -> AwkwardScene:
    """Return a base scene after ``change`` of its outliers, whose points are those that a right match would have."""
    scene = _base(request, true_matches=True)
    inliers = scene.matches.inliers
    change(scene.matches, ~inliers, request.rng)
    return scene if inliers.any() else replace(scene, success=None)


def _near(matches: SceneMatches, wrong: Bools, rng: np.random.Generator, *, width: float) -> None:
    """Move the second points of outliers by up to ``width`` pixels in x and y."""
    matches.x2[wrong] += rng.uniform(-width, width, (wrong.sum(), 2))


def _exchanged(matches: SceneMatches, wrong: Bools, rng: np.random.Generator) -> None:
    """Exchange the second points of outliers that are neighbours along x in image 1."""
    order = np.flatnonzero(wrong)[np.argsort(matches.x1[wrong, 0])]
    even = order[: len(order) // 2 * 2]
    matches.x2[even] = matches.x2[even.reshape(-1, 2)[:, ::-1].ravel()]


def _repeated(matches: SceneMatches, wrong: Bools, rng: np.random.Generator) -> None:
    """Move the second points of outliers by up to three periods of a pattern, 50 pixels in x and y."""
    steps = rng.integers(-3, 4, (wrong.sum(), 2))
    steps[(steps == 0).all(axis=1)] = 1
    matches.x2[wrong] += 50.0 * steps


def _false_burst(request: _Request) -> AwkwardScene:
    """Return a scene with half of its outliers from one small area of image 1 to one of image 2."""
    scene, rng = _base(request), request.rng
    wrong = np.flatnonzero(~scene.matches.inliers)[::2]
    for x in (scene.matches.x1, scene.matches.x2):
        x[wrong] = rng.uniform(100, 400, 2) + rng.uniform(0, 24, (len(wrong), 2))
    return scene


def _far(request: _Request, *, value: float, exact: bool) -> AwkwardScene:
    """Return a scene with 2 % of the matches (of the outliers, if any) at ``value``: exactly, or in all directions."""
    scene, rng = _base(request), request.rng
    matches = scene.matches
    moved = np.argsort(matches.inliers, kind="stable")[: -(-request.n // 50)]
    matches.inliers[moved] = False
    if exact:
        matches.x2[moved] = value
    else:
        for x in (matches.x1, matches.x2):
            x[moved] = value * rng.uniform(-1, 1, (len(moved), 2))
    return replace(_answer(request, matches, scene.configuration), model=scene.model)


def _window(request: _Request, *, width: float, degrees: float = 0.0) -> AwkwardScene:
    """Return matches b = a + uniform(-width, width), turned about the centre of the image, without any structure."""
    scene = _base(request._replace(inlier_ratio=0.0))
    moves, centre = request.rng.uniform(-width, width, (request.n, 2)), image_extent(_SIZE) / 2
    cosine, sine = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    x2 = (scene.matches.x1 - centre) @ [[cosine, sine], [-sine, cosine]] + centre + moves
    return replace(scene, matches=replace(scene.matches, x2=x2))


def _duplicates(request: _Request, *, times: int) -> AwkwardScene:
    """Return a scene in which every match occurs ``times`` times."""
    few = -(-request.n // times)
    scene = _base(request._replace(n=few))
    copies = request.rng.permutation(np.tile(np.arange(few), times)[: request.n])
    return replace(scene, matches=scene.matches.select(copies))


def _quantised(request: _Request, *, step: float) -> AwkwardScene:
    """Return a scene whose coordinates are rounded to multiples of ``step``; the threshold is at least ``step``."""
    scene = _base(request)
    for x in (scene.matches.x1, scene.matches.x2):
        x[:] = step * np.round(x / step)
    return replace(scene, threshold=max(scene.threshold, step))


def _mapped(request: _Request, *, scale: float = 1.0, offset: float = 0.0) -> AwkwardScene:
    """Return a scene with the coordinates ``scale * x + offset``."""
    scene = _base(request)
    matches = scene.matches
    S = np.array([[scale, 0, offset], [0, scale, offset], [0, 0, 1]])
    inverse = np.linalg.inv(S)
    F, K = inverse.T @ matches.F @ inverse, S @ matches.K1
    H = None if matches.H is None else S @ matches.H @ inverse
    truth = {"K1": K, "K2": K, "F": F / np.linalg.norm(F), "H": None if H is None else H / H[2, 2]}
    x1, x2 = scale * matches.x1 + offset, scale * matches.x2 + offset
    moved = replace(matches, x1=x1, x2=x2, size1=None, size2=None, **truth)
    return replace(_answer(request, moved, scene.configuration), threshold=scale * scene.threshold)


FAMILIES: Mapping[str, Callable[[_Request], AwkwardScene]] = {
    "plain": _base,
    # structures in the wrong matches
    "window 10": partial(_window, width=10.0),
    "window 30": partial(_window, width=30.0),
    "turned window 10": partial(_window, width=10.0, degrees=20.0),
    "near 10": partial(_with_outliers, change=partial(_near, width=10.0)),
    "near 30": partial(_with_outliers, change=partial(_near, width=30.0)),
    "exchanged": partial(_with_outliers, change=_exchanged),
    "repeated": partial(_with_outliers, change=_repeated),
    "false burst": _false_burst,
    "far 65535": partial(_far, value=65535.0, exact=True),
    "far 1e6": partial(_far, value=1e6, exact=False),
    # structures in all matches
    "duplicates": partial(_duplicates, times=3),
    "grid 1": partial(_quantised, step=1.0),
    "grid 4": partial(_quantised, step=4.0),
    "true burst": partial(_base, place=_burst),
    "clusters": partial(_base, place=_clusters),
    # planes and motions
    "plane": partial(_base, planes=(1.0,)),
    "plane and 20 %": partial(_base, planes=(0.8,)),
    "two planes": partial(_base, planes=(0.6, 0.4)),
    "rotation": _rotation,
    "forward": partial(_base, t=(0.0, 0.0, -1.0)),
    "wide angle": partial(_base, focal_ratio=0.4),
    "short baseline": partial(_base, baseline=0.05),  # a parallax of at most 6 pixels
    # units
    "offset": partial(_mapped, offset=1e5),
    "millimetres": partial(_mapped, scale=1e3),
    "metres": partial(_mapped, scale=1e-3),
}
"""The families by name."""
