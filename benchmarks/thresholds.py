"""Measure accuracy and time over the threshold, including ``threshold="auto"``, compared with MAGSAC++ and PoseLib.

    python benchmarks/thresholds.py --data FOLDER [--models E,F,H,exact_warp] [--pairs 43] [--repeats N] [--json FILE]

``FOLDER`` contains sets in the format of the "RANSAC in 2020" tutorial (EF and H). Pairs, matches, seeds, budgets and
errors are those of ``bansac bench``. This package gets the scores and, for F, the image sizes. Thresholds are in
pixels; for E they are divided by the mean focal length of the pair. All methods run on every pair in shuffled order on
one thread, and only the calls are timed. The accuracy is AUC@10 (E, F) or mAA@10 (H). Accuracy and time are averaged
over the calls of a set, then over the sets.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np

from bansac import Options
from bansac.lab.measurement import Row, Setup
from bansac.lab.measurements.folders import Bench
from bansac.lab.pairs import Configuration, open_set, run_pair
from bansac.lab.peers.method import Method
from bansac.lab.peers.methods import METHODS
from bansac.lab.provenance import circumstances
from bansac.lab.summary import AUC_10, CORNERS_10, TIME, Summary
from bansac.lab.task import DEFAULTS, Protocol

PIXELS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)

SCENES = ("fountain-P11", "Herz-Jesus-P8", "Herz-Jesus-P25", "entry-P10", "kitti_seq1")
SMALL = ("VGG", "homogr", "EVD", "EVD_asift", "homogr_asift", "VGG_asift")

# Name -> folder below the data, sets, protocol, default threshold in pixels.
GROUPS: dict[str, tuple[str, tuple[str, ...], Protocol, float]] = {
    "E": ("EF", SCENES, DEFAULTS["E"], 1.0),
    "F": ("EF", SCENES, DEFAULTS["F"], 0.5),
    "H": ("H", SMALL, DEFAULTS["H"], 2.0),
    "exact_warp": ("H", ("exact_warp",), dataclasses.replace(DEFAULTS["H"], max_ratio=0.95), 2.0),
}

CURVES = {
    "default": METHODS["default"],
    "magsac++": METHODS["default"].changed("magsac++", scoring="magsac++"),
    "opencv-magsac": METHODS["opencv-magsac"],
    "poselib-prosac": METHODS["poselib-prosac"],
}
AUTO = "default@auto"


def methods(pixel: float, default: float) -> list[Method]:
    """Return the methods of every curve's points, CURVE@PIXELS; a pixel is ``pixel`` in the unit of the task."""
    fixed = [
        method.changed(f"{name}@{pixels:g}", threshold=pixels * pixel)
        for pixels in PIXELS
        for name, method in CURVES.items()
    ]
    start = Options(threshold=default * pixel)
    return [*fixed, CURVES["default"].changed(AUTO, options=start, threshold="auto")]


def run(bench: Bench, setup: Setup, default: float) -> tuple[list[Row], list[float]]:
    """Run every method on every pair; return the rows, and the thresholds in pixels that ``"auto"`` has found."""
    units = bench.units(setup)
    rows: list[Row] = []
    found: list[float] = []
    for unit in (units[0], *units):  # the first pair once more before: compiled code is loaded
        kind, folder, key, _ = unit.payload
        pixel = 1.0
        if kind == "E":
            pair = open_set(folder).pair(key)
            pixel = 4.0 / float(np.trace(pair.K1[:2, :2]) + np.trace(pair.K2[:2, :2]))
        configurations = [Configuration(method.name, method) for method in methods(pixel, default)]
        rows += run_pair(configurations, bench.protocol, unit)
        found += [row["threshold"] / pixel for row in rows[-len(configurations) :] if row["configuration"] == AUTO]
    return rows[len(configurations) :], found[1:]


def measure(data: Path, group: str, pairs: int, repeats: int | None) -> dict[str, Any]:
    """Return the figures of a group of sets."""
    folder, sets, protocol, default = GROUPS[group]
    protocol = dataclasses.replace(protocol, pairs=pairs, repeats=repeats or protocol.repeats)
    rows, found = run(Bench((), protocol), Setup(data=data / folder, sets=sets), default)
    summary = Summary(rows)
    metrics = {"accuracy": CORNERS_10 if protocol.kind == "H" else AUC_10, "ms_mean": TIME}
    curves: dict[str, dict[str, dict[str, float]]] = {name: {} for name in CURVES}
    for method in methods(1.0, default):
        curve, _, threshold = method.name.partition("@")
        figures = {key: summary.mean(metric, protocol.kind, method.name) for key, metric in metrics.items()}
        curves[curve][threshold] = figures
    quantiles = dict(zip(("5%", "50%", "95%"), np.quantile(found, [0.05, 0.5, 0.95]).tolist(), strict=True))
    return {"units": len(found), "default_pixels": default, "auto_pixels": quantiles, "methods": curves}


def main() -> None:
    """Measure all groups and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", default=",".join(GROUPS), help="groups of sets, joined by commas")
    parser.add_argument("--pairs", type=int, default=43, help="pairs of a set, at most")
    parser.add_argument("--repeats", type=int, help="by default 2 for E and F, 5 for H")
    parser.add_argument("--json", type=Path, help="groups that are not measured stay as they are in this file")
    arguments = parser.parse_args()
    groups: dict[str, Any] = {}
    if arguments.json and arguments.json.exists():
        groups = json.loads(arguments.json.read_text())["groups"]
    for name in arguments.models.split(","):
        groups[name] = measure(arguments.data, name, arguments.pairs, arguments.repeats)
        print(name, json.dumps(groups[name], indent=1), flush=True)
        if arguments.json:
            kept = {name: groups[name] for name in GROUPS if name in groups}
            document = {**circumstances(("cv2", "poselib")), "groups": kept}
            arguments.json.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
