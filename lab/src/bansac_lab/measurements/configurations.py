"""Measure the detection of two-view configurations, and the accuracy of the relative pose of planar scenes.

Synthetic scenes are general, planar, collinear or seen by a rotating camera, with several numbers of matches, inlier
ratios and noise levels. F has its default threshold, the relative pose a threshold of 1 pixel. With ``--data``, real
pairs are added. The EF sets have depth and should be classified as general. The H sets show planes or have rotating
cameras, and F should not be classified as general.

For planar scenes, the measurement also has the share of translations with an error above 10 degrees. It compares this
package, PoseLib and OpenCV at a threshold of 1 pixel. The other libraries have at most 1000 iterations.

With ``--noisy``, it only has relative poses at the default threshold. The noise is up to 2 pixels. There are up to
100,000 matches, and planes with some points off them; these are general if the points are significant.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

import bansac
from bansac.geometry import recover_pose
from bansac.matches import Matches
from bansac.synthetic import SceneMatches, epipolar_matches, planar_scene_matches, rotation_matches
from bansac.synthetic.mask import draw_inliers
from bansac.synthetic.two_views import camera_pair, image_extent, observe, viewing_rays
from bansac_lab.measurement import DATA, Document, Option, Report, Row, Setup, Unit, each, nested, of_module
from bansac_lab.metrics import pose_error, translation_error
from bansac_lab.peers.library import Task
from bansac_lab.peers.methods import METHODS
from bansac_lab.reports import share
from bansac_lab.scenes import left_out
from bansac_lab.sets import PairSet, find_sets
from bansac_lab.tables import Table, plain_table
from bansac_lab.task import DEFAULTS, judge, make_task, usable_pairs


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


def _planar(n: int, inlier_ratio: float, noise: float, seed: int, *, plane_share: float = 1.0) -> SceneMatches:
    return planar_scene_matches(n, inlier_ratio, plane_share, noise, seed)


SCENES: dict[str, Callable[[int, float, float, int], SceneMatches]] = {
    "general": epipolar_matches,
    "planar": _planar,
    "pure rotation": rotation_matches,
    "collinear": points_on_a_line,
    "planar, 5% off": partial(_planar, plane_share=0.95),
    "planar, 20% off": partial(_planar, plane_share=0.8),
}

# Matches, inlier ratio, noise in pixels.
_USUAL = ((500, 0.5, 0.25), (500, 0.5, 0.5), (200, 0.3, 0.5), (100, 0.8, 0.3), (2000, 0.3, 0.5), (500, 0.5, 1.0))
SETTINGS = {f"{n} matches, {ratio:.0%} inliers, {noise} px": (n, ratio, noise) for n, ratio, noise in _USUAL}
DENSE = {
    f"{n} matches, {noise} px": (n, 0.7, noise)
    for n in (100, 1000, 10_000, 100_000)
    for noise in (0.1, 0.3, 0.5, 1.0, 2.0)
}

_MOTION = {"general": "general", "planar": "planar", "pure rotation": "pure_rotation"}
RIGHT = {
    "F": {"general": "general", "planar": "planar", "pure rotation": "planar", "collinear": "collinear"},
    "pose": {**_MOTION, "collinear": "collinear"},
    "noisy pose": {**_MOTION, "planar, 5% off": "general", "planar, 20% off": "general"},
}
"""Correct configurations; F cannot distinguish a rotation from a plane."""

GENERAL_SETS = ("fountain-P11", "Herz-Jesus-P8", "Herz-Jesus-P25", "entry-P10", "kitti_seq1")
PLANAR_SETS = {"VGG": 0.6, "homogr": 0.6, "homogr_asift": 0.6, "VGG_asift": 0.6, "exact_warp": 0.95}
WRONG_POSE, WRONG_TRANSLATION = 5.0, 10.0  # degrees

PEERS = tuple(METHODS[name] for name in ("poselib", "opencv", "opencv-default", "opencv-accurate", "opencv-magsac"))


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each kind of scene with its settings, and for each set."""
    if setup.noisy:
        return each(["synthetic"], ["noisy pose"], RIGHT["noisy pose"], DENSE)
    units = each(["wrong_translations"], SETTINGS) + each(["synthetic"], ["F", "pose"], RIGHT["F"], SETTINGS)
    if setup.data is not None:
        units += each(["real"], GENERAL_SETS, ["F", "pose"]) + each(["real"], PLANAR_SETS, ["F"])
    return units


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Return the counts of a cell."""
    part, *cell = unit.payload
    return [_PARTS[part](setup, *cell)]


def _synthetic(setup: Setup, model: str, kind: str, settings: str) -> Row:
    """Return the share of scenes with the right configuration."""
    values = {**SETTINGS, **DENSE}[settings]
    found = [_estimate(model, SCENES[kind](*values, seed), seed).configuration for seed in range(setup.scenes)]
    right = found.count(RIGHT[model][kind]) / setup.scenes
    return {"scenes": f"{model}, {kind}", "figure": "right", settings: right}


def _estimate(model: str, pair: Matches, seed: int = 0) -> bansac.Result:
    """Estimate F, the relative pose at 1 pixel, or that of noisy scenes."""
    if model == "F":
        return bansac.estimate_fundamental(pair.x1, pair.x2, seed=seed)
    threshold = 1.0 if model == "pose" else None
    return bansac.estimate_relative_pose(pair.x1, pair.x2, pair.K1, pair.K2, threshold=threshold, seed=seed)


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


def _real(setup: Setup, name: str, model: str) -> Row:
    """Return the configurations of successful real pairs; in scenes with depth by whether the motion is right."""
    depth = name in GENERAL_SETS
    ratio = DEFAULTS["F"].max_ratio if depth else PLANAR_SETS[name]
    protocol = dataclasses.replace(DEFAULTS["F"], max_ratio=ratio, pairs=setup.pairs)
    columns = ("right model", "wrong model") if depth else ("planar",)
    counts: dict[str, Counter[str]] = {column: Counter() for column in columns}
    for pair in usable_pairs(PairSet(setup.data / ("EF" if depth else "H") / name), protocol):
        result = _estimate(model, pair)
        if result.success:
            column = columns[0] if not depth or _is_right(model, result, pair) else columns[-1]
            counts[column][result.configuration or "none"] += 1
    return {"pairs": f"{model}, {name}", **{column: dict(count) for column, count in counts.items()}}


def _is_right(model: str, result: bansac.Result, pair: Any) -> bool:
    if model == "F":
        return max(judge(result.model, Task("F", (pair.x1, pair.x2)), pair).values()) < WRONG_POSE
    R, t = result.model
    return pose_error(R, t, pair.R, pair.t) < WRONG_POSE


_PARTS: Mapping[str, Callable[..., Row]] = {"wrong_translations": _translations, "synthetic": _synthetic, "real": _real}


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the cells of every part."""
    parts = {"synthetic": ("scenes", "figure"), "wrong_translations": ("settings",), "real": ("pairs",)}
    records = {part: nested(rows, *columns) for part, columns in parts.items()}
    return Report(records={"scenes": setup.scenes, **records}, notes=left_out(PEERS))


def configurations(document: Document) -> Table:
    """Return the table of the synthetic scenes whose configuration was recognised."""
    table = {name: found["right"] for name, found in document["synthetic"].items()}
    settings, *_ = table.values()
    return plain_table(
        ["scenes", *settings], ([name, *(share(of[key]) for key in settings)] for name, of in table.items())
    )


def real_configurations(document: Document) -> Table:
    """Return the table of the configurations of real pairs, a row for each set."""
    rows = []
    for name, of in document["real"].items():
        counts = (of.get(key, {}).items() for key in ("right model", "wrong model", "planar"))
        texts = (", ".join(f"{count} {found.replace('_', ' ')}" for found, count in column) for column in counts)
        rows.append([name, *(text or "none" for text in texts)])
    return plain_table(["pairs", "depth, right model", "depth, wrong model", "plane or turned camera"], rows)


def planar_motions(document: Document) -> Table:
    """Return the table of the translations of planar scenes that are more than 10 degrees wrong."""
    table = document["wrong_translations"]
    methods = list(dict.fromkeys(method for wrong in table.values() for method in wrong))
    rows = ([settings, *(share(wrong[method]) for method in methods)] for settings, wrong in table.items())
    return plain_table(["planar scenes", *methods], rows)


MEASUREMENT = of_module(
    __name__,
    title="Two-view configurations and the motion of planes",
    options=(
        dataclasses.replace(DATA, help="Folder with the sets EF and H."),
        Option("scenes", int, 100, "Synthetic scenes of each kind and settings.", least=1),
        Option("pairs", int, 43, "Maximum number of pairs of a set."),
        Option("noisy", bool, False, "Measure noisy and dense scenes only."),
    ),
    tables={
        "configurations": configurations,
        "real-configurations": real_configurations,
        "planar-motions": planar_motions,
    },
    sets=lambda setup: find_sets(setup.data),
    packages=tuple(peer.package for peer in PEERS),
)
