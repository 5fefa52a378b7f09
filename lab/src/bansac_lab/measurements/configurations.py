"""Measure the detection of two-view configurations, and the accuracy of the relative pose of planar scenes.

Synthetic scenes are general, planar, collinear or seen by a rotating camera, with several numbers of matches, inlier
ratios and noise levels. F has its default threshold, the relative pose a threshold of 1 pixel.

For planar scenes, the measurement also has the share of translations with an error above 10 degrees. It compares this
package, PoseLib and OpenCV at a threshold of 1 pixel. The other libraries have at most 1000 iterations.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

import bansac
from bansac.geometry import recover_pose
from bansac.matches import Matches
from bansac.synthetic import SceneMatches, epipolar_matches, planar_scene_matches, rotation_matches
from bansac.synthetic.mask import draw_inliers
from bansac.synthetic.two_views import camera_pair, image_extent, observe, viewing_rays
from bansac_lab.measurement import Option, Report, Row, Setup, Unit, each, nested, of_module
from bansac_lab.metrics import translation_error
from bansac_lab.peers.methods import METHODS
from bansac_lab.scenes import left_out
from bansac_lab.task import DEFAULTS, make_task


def points_on_a_line(n: int, inlier_ratio: float, noise: float, seed: int) -> SceneMatches:
    """Return a scene whose points lie on a line of image 1, that is on a plane through camera 1."""
    rng, inliers = draw_inliers(n, inlier_ratio, noise, seed)
    size = (480, 640)
    extent = image_extent(size)
    cameras = camera_pair(size, extent, rng)
    x1 = rng.uniform(0, 1, (n, 2)) * extent
    x1[inliers, 1] = 50 + 0.5 * x1[inliers, 0]
    points = viewing_rays(cameras[0], x1) * rng.uniform(4, 12, n)[:, None]
    return observe(x1, points, cameras, inliers, noise, size, rng)


def _planar(n: int, inlier_ratio: float, noise: float, seed: int) -> SceneMatches:
    return planar_scene_matches(n, inlier_ratio, 1.0, noise, seed)


SCENES: dict[str, Callable[[int, float, float, int], SceneMatches]] = {
    "general": epipolar_matches,
    "planar": _planar,
    "pure rotation": rotation_matches,
    "collinear": points_on_a_line,
}

# Matches, inlier ratio, noise in pixels.
_USUAL = ((500, 0.5, 0.25), (500, 0.5, 0.5), (200, 0.3, 0.5), (100, 0.8, 0.3), (2000, 0.3, 0.5), (500, 0.5, 1.0))
SETTINGS = {f"{n} matches, {ratio:.0%} inliers, {noise} px": (n, ratio, noise) for n, ratio, noise in _USUAL}
RIGHT = {
    "F": {"general": "general", "planar": "planar", "pure rotation": "planar", "collinear": "collinear"},
    "pose": {"general": "general", "planar": "planar", "pure rotation": "pure_rotation", "collinear": "collinear"},
}
"""Correct configurations; F cannot distinguish a rotation from a plane."""

WRONG_TRANSLATION = 10.0  # degrees

PEERS = tuple(METHODS[name] for name in ("poselib", "opencv", "opencv-default", "opencv-accurate", "opencv-magsac"))


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each kind of scene with its settings."""
    return each(["wrong_translations"], SETTINGS) + each(["synthetic"], RIGHT, RIGHT["F"], SETTINGS)


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Return the counts of a cell."""
    part, *cell = unit.payload
    return [_PARTS[part](setup, *cell)]


def _synthetic(setup: Setup, model: str, kind: str, settings: str) -> Row:
    """Return the share of scenes with the right configuration."""
    pairs = (SCENES[kind](*SETTINGS[settings], seed) for seed in range(setup.scenes))
    found = [_estimate(model, pair, seed).configuration for seed, pair in enumerate(pairs)]
    right = found.count(RIGHT[model][kind]) / setup.scenes
    return {"scenes": f"{model}, {kind}", "figure": "right", settings: right}


def _estimate(model: str, pair: Matches, seed: int = 0) -> bansac.Result:
    """Estimate F, or the relative pose at 1 pixel."""
    if model == "F":
        return bansac.estimate_fundamental(pair.x1, pair.x2, seed=seed)
    return bansac.estimate_relative_pose(pair.x1, pair.x2, pair.K1, pair.K2, threshold=1.0, seed=seed)


def _translations(setup: Setup, settings: str) -> Row:
    """Return the share of wrong translations of planar scenes by method."""
    wrong: Counter[str] = Counter()
    for seed in range(setup.scenes):
        pair: Any = _planar(*SETTINGS[settings], seed)
        pair = dataclasses.replace(pair, scores=np.zeros(len(pair)))
        task = make_task(pair, dataclasses.replace(DEFAULTS["E"], threshold=1.0 / float(pair.K[0, 0])), seed)
        E = bansac.estimate_essential(pair.x1, pair.x2, pair.K, threshold=1.0, seed=seed).model
        matrices = {peer.name: peer.estimate(task).model for peer in PEERS if peer.installed}
        translations = {"bansac": getattr(_estimate("pose", pair, seed).model, "t", None)}
        for name, matrix in {"bansac, from E": E, **matrices}.items():
            translations[name] = None if matrix is None else recover_pose(matrix, task.x1, task.x2)[1]
        for name, t in translations.items():
            wrong[name] += translation_error(t, pair.t) > WRONG_TRANSLATION
    return {"settings": settings, **{name: count / setup.scenes for name, count in wrong.items()}}


_PARTS: Mapping[str, Callable[..., Row]] = {"wrong_translations": _translations, "synthetic": _synthetic}


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the cells of every part."""
    parts = {"synthetic": ("scenes", "figure"), "wrong_translations": ("settings",)}
    records = {part: nested(rows, *columns) for part, columns in parts.items()}
    return Report(records={"scenes": setup.scenes, **records}, notes=left_out(PEERS))


MEASUREMENT = of_module(
    __name__,
    title="Two-view configurations and the motion of planes",
    options=(Option("scenes", int, 100, "Scenes of each kind and settings.", least=1),),
    packages=tuple(peer.package for peer in PEERS),
)
