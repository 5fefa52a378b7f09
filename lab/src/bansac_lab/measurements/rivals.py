"""Data with two structures: whether the true one is found, and whether a wrong one is claimed.

One thread. With --data also real pairs, to count right models that are called ambiguous.

The images have 640 x 480 pixels. The numbers of points vary by factors of up to 2 with the seed, the noise by up to
sqrt(2) around 1 px (H, target), 1.5 px (initial model) or .5 px. Planes and facades have .5 px. The rest are outliers.

An overlay is a date stamp, fields of text (HUD) or a dashboard: static matches with a noise of .1 px.

The moving object is rigid, has 25 % of the matches and is in an eighth of the image. The background has 35 %.

All matches of the facade, a repeated pattern, are shifted by one period: 35 to 40 %. The true ones, 20 to 30 %, are off
its plane. The true structure is the smaller one, so that only "ambiguous" is honest.

Of outliers that hardly move, 30 to 50 % of the matches are true, and the others are displaced by at most 8 to 20 px.

Of planes with few inliers off them, 80 % of the matches are inliers, and 5 to 15 % of these are off the plane. The
noise is .3 px.

The target is a plane seen at 20 degrees, 60 to 400 px large at uniform distances, with 60 % inliers. Two poses explain
it, one of them mirrored. The true pose is the better one after a refinement with the true inliers. A target is
undecided if the other one's sum of squared errors is larger by less than 4 variances of the noise.

Far inliers are at 1,000 to 10,000 baselines, the others at 2 to 6, with a noise of .25 px and 5 to 20 % outliers. A
majority of the inliers determines the rotation only.

The narrow view has a focal length of 8 to 16 image widths, a scene with a depth of 10 % at 20 to 40 baselines, no
rotation, and .25 px noise. A model with reversed depths explains it nearly as well.

30 to 40 % of the matches of a symmetric target are those of its half-turn, or of a shift by one period. The true ones
are .3 to .9 times as many, so that only "ambiguous" is honest.

Of homographies whose outliers hardly move (a search window), 10 to 30 % of the matches are true, and the others are
displaced by at most 4 to 8 px.

A wrong focal length is 20 to 40 % too large or too small in all images, with 20 to 50 % outliers.

Static matches of overlays, 10 to 60 % of the matches, are added to real pairs.

Of parallel planes, the true one has 45 % of the points, and another one, 6 to 15 standard deviations apart, 30 %. Their
noise is 4, the points are in a cube with sides of 1000.

A model is right up to a corner error of 5 px (H), a distance of 5 (plane), a pose error of 5 degrees (E, F, relative
pose), or a rotation error of 5 degrees and a distance of 5 % of the depth (absolute pose). A wrong model is claimed if
the run is a success and its configuration is not "ambiguous", "misfit" or "static". Other libraries claim every model.
Right models of these configurations count as "ambiguous" if the true structure has more support. If it has not, as in
facades and in some planes and targets, they count as "undecided". "Rival" counts wrong models whose second hypothesis
is right, "refused" right models without success.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bansac.batch.journal import Row, Unit
from bansac.estimate.absolute_pose import reprojection_errors
from bansac.estimate.cameras import refine_in_image
from bansac.geometry import apply_transform, rotation_matrix
from bansac.geometry.camera import Camera
from bansac.matches.demo import load_demo
from bansac.maths.arrays import Bools
from bansac.synthetic import SceneMatches, epipolar_matches, homography_matches, planar_scene_matches
from bansac.synthetic.two_views import image_extent, viewing_rays
from bansac_lab.frames import to_frame
from bansac_lab.measurement import FIRST_SEED, WITH_DATA, Document, Option, Report, Setup, choose_sets, each, of_module
from bansac_lab.measurements.planes import PATTERNS, RATIOS, SHARES, make_plane_scene, repeated_plane_matches
from bansac_lab.measurements.rival_scenes import (
    SIZE,
    far_scene,
    narrow_view,
    overlaid_pair,
    parallel_planes,
    search_window,
    symmetric_target,
    vary,
    wrong_focal,
    wrong_focal_of_pose,
)
from bansac_lab.metrics import rotation_error
from bansac_lab.pairs import open_set
from bansac_lab.peers.library import Array, Method
from bansac_lab.peers.methods import PRESET_METHODS
from bansac_lab.scenes import PEERS, Scene, errors, left_out, load_kernels, run_scene, scene_of
from bansac_lab.sets import PairSet, find_sets
from bansac_lab.sets.tutorial import evenly_spaced
from bansac_lab.tables import Table, plain_table, sectioned
from bansac_lab.task import distances_to_truth

SEEDS, PAIRS = 50, 20
LIMIT, STATIC_NOISE = 5.0, 0.1  # pixels or degrees; pixels

OVERLAYS: Mapping[str, tuple[tuple[float, ...], ...]] = {
    "stamp": ((0.72, 0.92, 0.97, 0.96),),
    "HUD": ((0.03, 0.03, 0.25, 0.08), (0.75, 0.03, 0.97, 0.08), (0.03, 0.91, 0.2, 0.97), (0.8, 0.86, 0.97, 0.97)),
    "dashboard": ((0.0, 0.83, 1.0, 1.0),),
}
"""Left, upper, right and lower edges of the fields of every overlay, as shares of the image size."""


def add_overlay(matches: Any, share: float, rng: np.random.Generator, kind: str = "") -> tuple[Any, Bools]:
    """Replace outliers by the static matches of an overlay of any or the given kind; return matches and their mask."""
    mask = ~matches.inliers & (np.cumsum(~matches.inliers) <= round(share * len(matches)))
    fields = rng.choice(OVERLAYS[kind or str(rng.choice(list(OVERLAYS)))], np.count_nonzero(mask))
    x1, x2 = matches.x1.copy(), matches.x2.copy()
    x1[mask] = rng.uniform(fields[:, :2], fields[:, 2:]) * matches.size1[::-1]
    x2[mask] = x1[mask] + rng.normal(0, STATIC_NOISE, x1[mask].shape)
    return dataclasses.replace(matches, x1=x1, x2=x2), mask


def _plane(
    seed: int, true: float, static: float, *, n: int = 1000, noise: float = 1.0, kind: str = "", scored: bool = False
) -> Scene:
    """Return a plane with an overlay; if ``scored``, the overlay has the best scores."""
    rng, n, noise = vary(seed, 1, n, noise)
    matches, on_overlay = add_overlay(homography_matches(n, true, noise, seed), static, rng, kind)
    levels = np.where(on_overlay, 2, matches.inliers)
    scores = rng.uniform(np.choose(levels, [0.0, 0.4, 0.8]), np.choose(levels, [0.6, 0.8, 1.0]))
    return scene_of("H", matches, scores if scored else None)


def _overlaid_pose(seed: int) -> Scene:
    """Return a relative pose with 40 to 60 % inliers and a HUD or a dashboard of 20 %."""
    rng, n, noise = vary(seed, 2, 1000, 0.5)
    matches = epipolar_matches(n, rng.uniform(0.4, 0.6), noise, seed)
    return scene_of("relative pose", add_overlay(matches, 0.2, rng, str(rng.choice(["HUD", "dashboard"])))[0])


def _logo(seed: int) -> Scene:
    """Return the demo pair with a logo of 300 matches with the best scores."""
    rng = np.random.default_rng([seed, 3])
    demo = load_demo()
    matches, on_logo = add_overlay(demo, 300 / len(demo), rng)
    return scene_of("H", matches, np.where(on_logo, rng.uniform(0.9, 1.0, len(demo)), demo.scores))  # type: ignore[arg-type]


def _moving_object(problem: str, seed: int) -> Scene:
    """Return a general scene with a moving object."""
    rng, n, noise = vary(seed, 4, 800, 0.5)
    matches: Any = epipolar_matches(n, 0.35, noise, seed)
    moving = rng.permutation(np.flatnonzero(~matches.inliers))[: round(0.25 * n)]
    x = (rng.uniform(0.05, 0.6, 2) + rng.uniform(0, 0.35, (len(moving), 2))) * image_extent(SIZE)
    points = viewing_rays(matches.K1, x) * (rng.uniform(4, 8) + rng.uniform(-0.7, 0.7, (len(moving), 1)))
    centre, axis, step = points.mean(axis=0), *(v / np.linalg.norm(v) for v in rng.normal(size=(2, 3)))
    turned = (points - centre) @ rotation_matrix(axis * np.radians(rng.uniform(3, 10))).T
    points = turned + centre + step * rng.uniform(0.3, 0.6)
    matches.x1[moving] = x + rng.normal(0, noise, x.shape)
    x = apply_transform(matches.K2, points @ matches.R.T + matches.t)
    matches.x2[moving] = x + rng.normal(0, noise, x.shape)
    return scene_of(problem, matches)


def _facade(problem: str, seed: int) -> Scene:
    """Return a facade whose matches are shifted by one period, and true matches off it."""
    rng, n, _ = vary(seed, 5, 800, 0.5)
    return scene_of(problem, repeated_plane_matches("step", n, rng.uniform(0.2, 0.3), 0.0, seed), undecided=True)


def _dominant_plane(seed: int) -> Scene:
    """Return a scene of ``bansac bench planes``."""
    rng = np.random.default_rng([seed, 6])
    pattern, ratio, share = str(rng.choice(list(PATTERNS))), *map(float, map(rng.choice, (RATIOS, SHARES)))
    scene = make_plane_scene(pattern, ratio, share, seed)
    shifted = (1 - ratio) / (2 if pattern == "row" else 4)  # matches along one line agree on an epipole
    return dataclasses.replace(scene, undecided=bool(shifted >= (1 - share) * ratio))


def _hardly_moved(problem: str, seed: int) -> Scene:
    """Return a scene with 30 to 50 % inliers, whose outliers are displaced by at most 8 to 20 px along each axis."""
    rng, n, noise = vary(seed, 9, 500, 0.5)
    matches: Any = epipolar_matches(n, rng.uniform(0.3, 0.5), noise, seed)
    window = rng.uniform(8, 20)
    still = matches.x1[~matches.inliers]
    matches.x2[~matches.inliers] = still + rng.uniform(-window, window, still.shape)
    return scene_of(problem, matches)


def _off_plane(problem: str, seed: int) -> Scene:
    """Return a scene with 80 % inliers; 5 to 15 % of these are off a plane."""
    rng, n, noise = vary(seed, 8, 600, 0.3)
    return scene_of(problem, planar_scene_matches(n, 0.8, rng.uniform(0.85, 0.95), noise, seed))


def _target(seed: int) -> Scene:
    """Return an absolute pose of a planar target, a square with sides of 1."""
    rng, n, noise = vary(seed, 7, 30, 1.0)
    focal, extent = 1600.0, image_extent(SIZE)
    K = np.array([[focal, 0, extent[0] / 2], [0, focal, extent[1] / 2], [0, 0, 1]])
    depth = focal * rng.uniform(1 / 400, 1 / 60)
    x, y = rng.uniform(-0.5, 0.5, 2) * np.maximum(extent / focal - 1.4 / depth, 0)  # of the centre, at depth 1
    about_axis, about_centre = np.radians(rng.uniform(0, 360, 2))
    to_ray = rotation_matrix(np.array([-y, x, 0]) / np.hypot(x, y) * np.arctan(np.hypot(x, y)))
    turns = ([0, 0, about_axis], [np.radians(20), 0, 0], [0, 0, about_centre])
    turn = functools.reduce(np.matmul, (rotation_matrix(np.array(vector)) for vector in turns))
    R, t = to_ray @ turn, depth * np.array([x, y, 1])
    points = np.column_stack([rng.uniform(-0.5, 0.5, (n, 2)), np.zeros(n)])
    pixels = apply_transform(K, points @ R.T + t) + rng.normal(0, noise, (n, 2))
    inliers = rng.permutation(n) < round(0.6 * n)
    pixels[~inliers] = rng.uniform(0, 1, (np.count_nonzero(~inliers), 2)) * extent
    mirror = np.diag([1.0, 1.0, -1.0])
    refine = functools.partial(_refine, K, points[inliers], pixels[inliers], t=t)
    minima = [refine(R), refine(to_ray @ mirror @ turn @ mirror)]
    (cost, R, t), (other, mirrored, _) = sorted(minima, key=lambda minimum: minimum[0])
    truth = SceneMatches(pixels, pixels, K1=K, K2=K, R=R, t=t, inliers=inliers)
    undecided = other - cost < 4.0 * noise**2 and rotation_error(mirrored, R) > LIMIT
    return Scene("pose", (points, pixels, K), inliers, truth, undecided=undecided)


def _refine(K: Array, points: Array, pixels: Array, R: Array, t: Array) -> tuple[float, Array, Array]:
    """Return the least sum of squared reprojection errors near a pose, and the pose there."""
    errors = functools.partial(reprojection_errors, camera=Camera.from_matrix(K), points=points.T, pixels=pixels)
    for _ in range(5):
        R, t, residuals = refine_in_image(R, t, np.inf, errors, float(t[2]))
    return float(residuals @ residuals), R, t


CLASSES: Mapping[str, tuple[str, Callable[[int], Scene]]] = {
    "H": ("H, stamp (50 % true, 20 % overlay)", functools.partial(_plane, true=0.5, static=0.2, kind="stamp")),
    "H-small": ("H, small truth (25 % true, 13 % overlay)", functools.partial(_plane, true=0.25, static=0.13)),
    "H-scores": ("H, overlay with the best scores", functools.partial(_plane, true=0.5, static=0.2, scored=True)),
    "H-overlay": ("H, dominant overlay (10 % true, 40 % overlay)", functools.partial(_plane, true=0.1, static=0.4)),
    "start": ("H, initial model = identity", functools.partial(_plane, true=0.4, static=0.03, n=600, noise=1.5)),
    "logo": ("H, demo pair with a logo, with scores", _logo),
    "pose-overlay": ("relative pose, HUD or dashboard", _overlaid_pose),
    "planes": ("relative pose, dominant planes", _dominant_plane),
    "object-E": ("E, moving object", functools.partial(_moving_object, "E")),
    "object-F": ("F, moving object", functools.partial(_moving_object, "F")),
    "facade-E": ("E, facade shifted by a period", functools.partial(_facade, "E")),
    "facade-F": ("F, facade shifted by a period", functools.partial(_facade, "F")),
    "window-pose": ("relative pose, outliers that hardly move", functools.partial(_hardly_moved, "relative pose")),
    "window-F": ("F, outliers that hardly move", functools.partial(_hardly_moved, "F")),
    "off-plane-E": ("E, few inliers off a plane", functools.partial(_off_plane, "E")),
    "off-plane-F": ("F, few inliers off a plane", functools.partial(_off_plane, "F")),
    "target": ("absolute pose, planar target", _target),
    "far-80": ("relative pose, 80 % of the inliers far away", functools.partial(far_scene, 0.8)),
    "far-90": ("relative pose, 90 % of the inliers far away", functools.partial(far_scene, 0.9)),
    "far-95": ("relative pose, 95 % of the inliers far away", functools.partial(far_scene, 0.95)),
    "narrow": ("relative pose, narrow view, no rotation", narrow_view),
    "half-turn": ("H, symmetric target", functools.partial(symmetric_target, True)),
    "period": ("H, target shifted by a period", functools.partial(symmetric_target, False)),
    "window-H": ("H, outliers that hardly move", search_window),
    "focal": ("relative pose, wrong focal length", wrong_focal),
    "pose-focal": ("absolute pose, wrong focal length", wrong_focal_of_pose),
    "parallel": ("plane, another one parallel to it", parallel_planes),
}
"""Title of every class, and the maker of its scenes."""

REAL: Mapping[str, tuple[str, str, float]] = {
    "real-H": ("H", "H", 0.95),
    "real-F": ("EF", "F", 0.85),
    "real-pose": ("EF", "relative pose", 0.85),
    "static-H": ("H", "H", 0.95),
    "static-F": ("EF", "F", 0.85),
    "static-pose": ("EF", "relative pose", 0.85),
}
"""Classes of real pairs, without and with static matches: kind of the sets, problem, and limit of the SNN ratio."""

UNSURE = "ambiguous", "misfit", "static"
"""Configurations of models that are not claimed."""

NAMES = (*CLASSES, *REAL)
OURS = PRESET_METHODS[0]
METHODS = (OURS, *PEERS[:2])  # without SupeRANSAC


def _methods(name: str) -> list[Method]:
    """Return the methods of a class; real pairs and planes are for the verdicts of the default alone."""
    ours = [OURS.changed(OURS.name, initial_model=np.eye(3)), OURS.changed("no start")] if name == "start" else [OURS]
    return [*ours, *([] if name in REAL or name == "parallel" else METHODS[1:])]


def sets(setup: Setup) -> list[PairSet]:
    """Return the sets of real pairs that the setup selects."""
    return [] if setup.data is None else choose_sets(find_sets(setup.data), setup.sets, setup.exclude)


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each scene, and for each real pair and problem."""
    chosen = setup.get("classes", NAMES)
    made = each((name for name in CLASSES if name in chosen), range(setup.repeats))
    for name, pair_set in itertools.product(REAL, sets(setup)):
        if name in chosen and pair_set.kind == REAL[name][0]:
            keys = evenly_spaced(pair_set.keys, setup.pairs)
            made += [Unit(f"{name}/{pair_set.name}/{key}", (name, key, str(pair_set.folder))) for key in keys]
    if not made:
        raise ValueError("--classes: real pairs need --data with sets of their kind")
    return made


def _make(setup: Setup, name: str, source: Any, folder: str = "") -> Scene:
    if name in CLASSES:
        return CLASSES[name][1](setup.seed + source)
    _, problem, max_ratio = REAL[name]
    pair = open_set(folder).pair(source).filtered(max_ratio)
    pair = dataclasses.replace(pair, inliers=distances_to_truth(pair, problem) <= 1.0)
    if name.startswith("static"):
        rng = np.random.default_rng([setup.seed, len(pair.x1)])
        overlay = np.array(OVERLAYS[str(rng.choice(list(OVERLAYS)))])
        return scene_of(problem, overlaid_pair(pair, overlay, rng))
    return scene_of(problem, pair, pair.scores)


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run all methods of a class on a scene."""
    name, source, *_ = unit.payload
    scene = _make(setup, *unit.payload)
    real = "real pairs, static matches" if name.startswith("static") else "real pairs"
    title = CLASSES[name][0] if name in CLASSES else f"{real}, {REAL[name][1]}"
    seed = setup.seed + (source if name in CLASSES else 0)
    cell: Row = {"class": title, "scene": unit.key, "undecided": scene.undecided}
    return [cell | row for row in run_scene(scene, _methods(name), unit.key, seed, _judge)]


def _judge(scene: Scene, model: Any) -> Row:
    error = max(errors(scene, model).values())
    return {"error": error, "right": bool(error <= LIMIT)}


def warm_up(setup: Setup, units: Sequence[Unit]) -> None:
    """Load or compile the kernels by runs on the first scene of each class, with right and with wrong matches."""
    for payload in {unit.payload[0]: unit.payload for unit in reversed(units)}.values():
        load_kernels([_make(setup, *payload)], _methods(payload[0]))


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Report the counts and the times of every class and method; cells are a record."""
    frame = to_frame(rows)
    right, success, undecided = (frame[name].astype(bool) for name in ("right", "success", "undecided"))
    ambiguous = success & frame["configuration"].isin(UNSURE)
    rival = frame["rival_right"].eq(True) if "rival_right" in frame else False
    frame = frame.assign(runs=1, wrong=~right, right=right, rival=~right & rival, refused=right & ~success)
    frame["claimed"] = ~right & success & ~ambiguous
    frame["ambiguous"], frame["undecided"] = right & ambiguous & ~undecided, right & ambiguous & undecided
    groups = frame.groupby(["class", "method"], sort=False)
    cells = groups[list(_COUNTS)].sum()
    cells[["mean [ms]", "median [ms]"]] = 1e3 * groups["seconds"].agg(["mean", "median"])
    records = cells.reset_index().to_dict("records")
    sections: dict[str, dict[str, list[float]]] = {}
    for title, method, *values in (cell.values() for cell in records):
        sections.setdefault(title, {})[method] = values
    title = "Data with two structures: wrong models, those claimed, right ones called ambiguous or refused, true rivals"
    tables = {"rivals": sectioned(title, "method", cells.columns, sections)}
    return Report(tables=tables, records={"cells": records}, notes=left_out(METHODS))


def page_table(document: Document) -> Table:
    """Return the wrong models of all methods, those that are claimed, and right ones that are called ambiguous."""
    peers = [method.name for method in METHODS[1:]]
    wrong = {(cell["class"], cell["method"]): cell["wrong"] for cell in document["cells"]}
    rows = []
    for cell in (cell for cell in document["cells"] if cell["method"] == OURS.name):
        others = (wrong.get((cell["class"], peer), "") for peer in peers)
        ours = (f"{cell['wrong']}/{cell['runs']}", cell["claimed"], cell["ambiguous"])
        rows.append(map(str, [cell["class"], *ours, *others]))
    head = ["data", "wrong", "claimed", "right, called ambiguous", *(f"{peer}: wrong" for peer in peers)]
    return plain_table(head, rows)


_COUNTS = ("runs", "wrong", "claimed", "rival", "right", "ambiguous", "undecided", "refused")

MEASUREMENT = of_module(
    __name__,
    title="Data with two structures",
    options=(
        Option("repeats", int, SEEDS, "Scenes of every class.", least=1, flag="--seeds"),
        Option("classes", tuple[str, ...], None, f"Joined by commas, of: {', '.join(NAMES)}.", choices=NAMES),
        *(*WITH_DATA, Option("pairs", int, PAIRS, "Maximum number of real pairs of a set."), FIRST_SEED),
    ),
    tables={"rivals": page_table},
    packages=tuple(method.package for method in METHODS),
    values=(repeated_plane_matches, vary),
)
