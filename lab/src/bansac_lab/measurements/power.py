"""Right models that are refused: lists, few data, large thresholds, other units, exact grids.

A class is a problem with a number of inliers and of data. The true model, the extent and the noise vary with the seed:
points of maps are in squares with sides of 500 to 2000 px, images have 640 x 480 to 1280 x 960 px, the noise is .15 to
.6 px. The threshold is three standard deviations of the noise if nothing else is said.

- "list": the wrong partners are other points of the same list, as in an assignment of tracks, stars or blobs.
- "few": the outliers are uniform. An absolute pose has seven points, 2 px noise and a threshold of 4 px.
- "large": the data of "few" at a threshold of ten standard deviations.
- "units": 60 to 200 matches with 40 to 70 % inliers in other units than the pixel, at the default threshold.
- "grids": 3 x 3 to 6 x 5 points of a grid with whole coordinates, which move by whole pixels, at a threshold of 1 px.

A model is right if the mean distance of the true inliers without noise to it is at most five standard deviations (of a
grid: 1 px). A run without a model is wrong. "refused" counts right models without success, "claimed" wrong ones with
it, "found" is the mean share of the true inliers in the mask.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from bansac.geometry import apply_transform
from bansac.matches import Matches
from bansac.synthetic import epipolar_matches
from bansac_lab.frames import to_frame
from bansac_lab.known_scenes import FUNCTIONS
from bansac_lab.measurement import FIRST_SEED, Document, Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.scenes import MAPS, Scene, make_scene, map_scene, mean_distance, scene_of
from bansac_lab.tables import Table, plain_table, sectioned

SEEDS = 60
THRESHOLD, LARGE, RIGHT = 3.0, 10.0, 5.0  # standard deviations
POSE_NOISE, POSE_THRESHOLD = 2.0, 4.0  # pixels

PROBLEMS: Mapping[str, str] = {
    **{"similarity": "similarity", "affine": "affine", "H": "homography"},
    **{"E": "essential", "F": "fundamental", "pose": "absolute_pose"},
}
"""Problems with the names of their estimators."""

UNITS: Mapping[str, tuple[float, float, float]] = {
    "pixels": (1.0, 1.0, 0.0),
    "unit square": (1e-3, 1e-3, 0.0),
    "square [-1, 1]": (2e-3, 2e-3, -1.0),
    "per cent": (0.1, 0.1, 0.0),
    "radians": (1e-3, 1e-3, -0.5),
    "degrees": (1e-4, 1e-4, 47.0),
    "kilometres": (1e-2, 1e-2, 0.0),
    "metres of a map": (0.5, 0.5, 5e5),
    "metres of a board": (2e-4, 2e-4, 0.0),
    "millimetres of a board": (0.2, 0.2, 0.0),
    "pixels to metres": (1.0, 2e-4, 0.0),
    "metres to pixels": (2e-4, 1.0, 0.0),
}
"""Units a pixel in the first and in the second points, and the coordinates of the pixel (0, 0)."""

_TWO_VIEWS = ((10, 14), (12, 20), (14, 30))
CLASSES: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "list": {"similarity": ((10, 40),), "affine": ((12, 60),), "H": ((12, 40), (20, 200))},
    "few": {
        "similarity": ((4, 6), (5, 8)),
        "affine": ((5, 7), (6, 9)),
        "H": ((6, 8), (6, 10), (7, 10), (7, 12)),
        "E": _TWO_VIEWS,
        "F": (*_TWO_VIEWS, (16, 40)),
        "pose": ((7, 7),),
    },
    "large": {"similarity": ((4, 6),), "affine": ((5, 7),)},
    "units": dict.fromkeys(MAPS, tuple(UNITS)),
    "grids": {"F": ("3 x 3 to 6 x 5",)},
}
"""Classes of every family and problem: numbers of inliers and of data, or units."""

TITLES: Mapping[str, str] = {
    "list": "wrong partners from the same list",
    "few": "uniform outliers",
    "large": "uniform outliers, threshold of ten standard deviations",
    "units": "other units, default threshold",
    "grids": "exact grid that moves by whole pixels",
}


class Case(NamedTuple):
    """A scene, the error of a model of it, the largest error of a right one, and settings of the call."""

    scene: Scene
    error: Callable[[Any], float]
    limit: float
    settings: Mapping[str, Any] = {}

    def is_right(self, model: Any) -> bool:
        """Return whether the error of a model is small."""
        return self.error(model) <= self.limit


def _case(scene: Scene, limit: float, threshold: float | None = None) -> Case:
    """Return the case of a scene whose truth has no noise."""
    settings = {} if threshold is None else {"threshold": threshold}
    return Case(scene, functools.partial(mean_distance, scene), limit, settings)


def make_case(family: str, problem: str, data: Any, seed: int) -> Case:
    """Return the data of a class."""
    if family == "units":
        return _in_units(problem, data, seed)
    if family == "grids":
        return _grid(seed)
    right, n = data
    if problem == "pose":
        noisy, exact = (make_scene("pose", n, right / n, noise, seed) for noise in (POSE_NOISE, 0.0))
        return _case(dataclasses.replace(noisy, truth=exact.truth), RIGHT * POSE_NOISE, POSE_THRESHOLD)
    rng = np.random.default_rng([seed, right, n])
    noise = 0.3 * 2 ** rng.uniform(-1, 1)
    if problem in MAPS:
        scene = map_scene(problem, right, n, noise, rng, of_list=family == "list")
    else:
        factor, of_scene = rng.uniform(1, 2), int(rng.integers(2**31))
        size = (round(480 * factor), round(640 * factor))
        first, second = (epipolar_matches(n, right / n, sigma, of_scene, size) for sigma in (noise, 0.0))
        scene = dataclasses.replace(scene_of(problem, first), truth=second)
    return _case(scene, RIGHT * noise, (LARGE if family == "large" else THRESHOLD) * noise)


def _in_units(problem: str, unit: str, seed: int) -> Case:
    """Return matches of a map in a unit; those of a seed are the same in all units."""
    rng = np.random.default_rng(seed)
    n, noise = int(rng.integers(60, 201)), 0.3 * 2 ** rng.uniform(-1, 1)
    scene = map_scene(problem, round(rng.uniform(0.4, 0.7) * n), n, noise, rng)
    *scales, origin = UNITS[unit]
    T1, T2 = (np.array([[scale, 0, origin], [0, scale, origin], [0, 0, 1]]) for scale in scales)
    x1, x2, exact = (apply_transform(T, x) for T, x in ((T1, scene.data[0]), (T2, scene.data[1]), (T2, scene.truth.x2)))
    truth = Matches(x1, exact, H=T2 @ scene.truth.H @ np.linalg.inv(T1), inliers=scene.inliers)
    return _case(Scene(problem, (x1, x2), scene.inliers, truth), RIGHT * noise * scales[1])


def _grid(seed: int) -> Case:
    """Return a grid that moves by up to 40 px along each axis."""
    rng = np.random.default_rng(seed)
    nodes = np.indices((int(rng.integers(3, 7)), int(rng.integers(3, 6)))).reshape(2, -1).T
    x1 = 50.0 + rng.integers(20, 100) * nodes.astype(np.float64)
    matches = Matches(x1, x1 + rng.integers(-40, 41, 2), inliers=np.ones(len(x1), bool))
    return _case(scene_of("F", matches), 1.0, 1.0)


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each scene."""
    families, problems = setup.get("classes", CLASSES), setup.get("problems", PROBLEMS)
    classes = ((of, name, data) for of in families for name in CLASSES[of] for data in CLASSES[of][name])
    chosen = [(of, name, data) for of, name, data in classes if name in problems]
    if not chosen:
        raise ValueError("--problems: the chosen classes have no such problem")
    return [unit for of, name, data in chosen for unit in each([of], [name], [data], range(setup.repeats))]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run the default on a scene."""
    family, problem, data, repeat = unit.payload
    seed, label = setup.seed + repeat, data if isinstance(data, str) else "{} of {}".format(*data)
    case = make_case(family, problem, data, seed)
    cell: Row = {"family": family, "problem": problem, "data": label, "seed": seed}
    result = FUNCTIONS[PROBLEMS[problem]](*case.scene.data, seed=seed, **case.settings)
    found = float(result.inliers[case.scene.inliers].mean())
    return [{**cell, "right": case.is_right(result.model), "success": result.success, "found": found}]


_COUNTS = ("runs", "right", "refused", "wrong", "claimed")


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Report the counts of every class; cells are a record."""
    frame = to_frame(rows)
    right, success = frame["right"].astype(bool), frame["success"].astype(bool)
    frame = frame.assign(runs=1, right=right, refused=right & ~success, wrong=~right, claimed=~right & success)
    figures = {**dict.fromkeys(_COUNTS, "sum"), "found": "mean"}
    cells = frame.groupby(["family", "problem", "data"], sort=False).agg(figures).reset_index().to_dict("records")
    sections: dict[str, dict[str, list[Any]]] = {}
    for cell in cells:
        family, problem, data, *values = cell.values()
        sections.setdefault(TITLES[family], {})[f"{problem}, {data}"] = values
    table = sectioned("Right models that are refused, wrong ones that are claimed", "data", figures, sections)
    return Report(tables={"power": table}, records={"cells": cells})


def page_table(document: Document) -> Table:
    """Return the refused and the claimed models of every class but those of units, a row for a family and problem."""
    cells = (cell for cell in document["cells"] if cell["family"] != "units")
    rows = []
    for (family, problem), found in itertools.groupby(cells, key=lambda cell: (cell["family"], cell["problem"])):
        of = list(found)
        refused = (f"{c['data'].replace(' of ', '/')}: {c['refused']}/{c['right']}" for c in of)
        rows.append([TITLES[family], problem, ", ".join(refused), str(sum(c["claimed"] for c in of))])
    return plain_table(["data", "problem", "inliers/data: refused/right", "claimed"], rows)


MEASUREMENT = of_module(
    __name__,
    title="Right models that are refused",
    options=(
        Option("repeats", int, SEEDS, "Scenes of every class.", least=1, flag="--seeds"),
        Option("classes", tuple[str, ...], None, f"Joined by commas, of: {', '.join(CLASSES)}.", tuple(CLASSES)),
        Option("problems", tuple[str, ...], None, "Only these problems, joined by commas.", tuple(PROBLEMS)),
        FIRST_SEED,
    ),
    tables={"power": page_table},
    reports={"power": ("power",)},
)
