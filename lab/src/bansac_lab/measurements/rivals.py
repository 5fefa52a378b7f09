"""Data with two structures: whether the true one is found, and whether a wrong one is claimed.

The classes of scenes are those of ``rival_scenes.py``: overlays (date stamp, HUD, dashboard), a wrong initial model,
moving objects, facades, planes, symmetric and planar targets, search windows, distant scenes, narrow views, wrong focal
lengths. With --data also real pairs, to count right models that are called ambiguous, and real pairs with static
matches. One thread.

A model is right up to a corner error of 5 px (H), a distance of 5 (plane), a pose error of 5 degrees (E, F, relative
pose), or a rotation error of 5 degrees and a distance of 5 % of the depth (absolute pose). A wrong model is claimed if
the run is a success and its configuration is not "ambiguous", "misfit" or "static". Other libraries claim every model.
Right models of these configurations count as "ambiguous" if the true structure has more support. If it has not, as in
facades and in some planes and targets, they count as "undecided". "Rival" counts wrong models whose second hypothesis
is right, "refused" right models without success.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bansac.batch.journal import Row, Unit
from bansac_lab.frames import to_frame
from bansac_lab.measurement import FIRST_SEED, WITH_DATA, Document, Option, Report, Setup, choose_sets, each, of_module
from bansac_lab.measurements.rival_scenes import CLASSES, LIMIT, OVERLAYS, overlaid_pair
from bansac_lab.pairs import open_set
from bansac_lab.peers.library import Method
from bansac_lab.peers.methods import PRESET_METHODS
from bansac_lab.scenes import PEERS, Scene, errors, left_out, load_kernels, run_scene, scene_of
from bansac_lab.sets import PairSet, find_sets
from bansac_lab.sets.tutorial import evenly_spaced
from bansac_lab.tables import Table, plain_table, sectioned
from bansac_lab.task import distances_to_truth

SEEDS, PAIRS = 50, 20

REAL = {
    f"{kind}-{name}": (folder, problem, ratio)
    for kind in ("real", "static")
    for name, folder, problem, ratio in (
        ("H", "H", "H", 0.95),
        ("F", "EF", "F", 0.85),
        ("pose", "EF", "relative pose", 0.85),
    )
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
    values=CLASSES,
)
