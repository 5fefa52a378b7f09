"""Measure accuracy and time over the threshold, including ``threshold="auto"``, compared with MAGSAC++ and PoseLib.

    python benchmarks/thresholds.py --data FOLDER [--models E,F,H,exact_warp] [--pairs 43] [--repeats N] [--json FILE]

``FOLDER`` contains sets in the format of the "RANSAC in 2020" tutorial (EF and H). Pairs, matches, seeds, budgets and
errors are those of ``bansac bench``. This package gets the scores and, for F, the image sizes. Thresholds are in
pixels; for E they are divided by the mean focal length of the pair. All methods run on every pair in shuffled order on
one thread, and only the calls are timed. The accuracy is AUC@10 (E, F) or mAA@10 (H), averaged over the sets.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bansac import Options
from bansac.lab.evaluation.bench import Bench
from bansac.lab.evaluation.experiment import Setup
from bansac.lab.evaluation.method import Method
from bansac.lab.evaluation.methods import METHODS
from bansac.lab.evaluation.pairs import open_set
from bansac.lab.evaluation.provenance import installed_versions, machine
from bansac.lab.evaluation.task import DEFAULTS, Protocol, Task, judge, make_task
from bansac.lab.metrics import auc, mean_average_accuracy
from bansac.matches import Matches

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

OURS = {
    "default": METHODS["default"],
    "magsac++": METHODS["default"].changed("magsac++", scoring="magsac++"),
}
PEERS = ("opencv-magsac", "poselib-prosac")

# Name of a method, threshold ("0.25" or "auto") -> seconds of the runs, and errors by the set.
Runs = dict[tuple[str, str], tuple[list[float], dict[str, list[float]]]]


def methods(unit: float, default: float) -> Iterator[tuple[str, str, Method]]:
    """Yield name, threshold and method of every curve's points; a pixel is ``unit`` in the unit of the task."""
    for pixels in PIXELS:
        for name, method in OURS.items():
            yield name, f"{pixels:g}", method.changed(name, threshold=pixels * unit)
        for name in PEERS:
            yield name, f"{pixels:g}", METHODS[name].changed(name, threshold=pixels * unit)
    start = Options(threshold=default * unit)
    yield "default", "auto", OURS["default"].changed("default", options=start, threshold="auto")


def run(kind: str, pair: Matches, task: Task, default: float, key: str, name: str, runs: Runs) -> list[float]:
    """Run every method on a pair; return the thresholds, in pixels, that ``"auto"`` has found."""
    unit = 1.0
    if kind == "E":
        assert pair.K1 is not None
        assert pair.K2 is not None
        unit = 4.0 / float(np.trace(pair.K1[:2, :2]) + np.trace(pair.K2[:2, :2]))
    points = list(methods(unit, default))
    found = []
    for curve, threshold, method in random.Random(key).sample(points, len(points)):
        method.prepare()
        arranged = method.arrange(task)
        started = time.perf_counter()
        answer = method.run(arranged)
        seconds, errors = runs[curve, threshold]
        seconds.append(time.perf_counter() - started)
        judged = judge(method.model(answer), task, pair)
        error = judged["corner_error"] if kind == "H" else max(judged["rotation_error"], judged["translation_error"])
        errors.setdefault(name, []).append(error)
        if threshold == "auto":
            found.append(float(answer.threshold) / unit)
    return found


def measure(data: Path, group: str, pairs: int, repeats: int | None) -> dict[str, Any]:
    """Return the figures of a group of sets."""
    folder, sets, protocol, default = GROUPS[group]
    protocol = dataclasses.replace(protocol, pairs=pairs, repeats=repeats or protocol.repeats)
    units = Bench((METHODS["default"],), protocol).units(Setup(data=data / folder, sets=sets))
    runs: Runs = defaultdict(lambda: ([], {}))
    found: list[float] = []
    for first in (True, False):  # the first pair once more before: compiled code is loaded
        for unit in units[:1] if first else units:
            _, path, key, repeat = unit.payload
            pair_set = open_set(path)
            pair = pair_set.pair(key).filtered(protocol.max_ratio)
            task = make_task(pair, protocol, seed=repeat)
            found += run(protocol.kind, pair, task, default, unit.key, pair_set.name, runs)
        if first:
            runs.clear()
            found.clear()
    figures: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    for (curve, threshold), (seconds, errors) in sorted(runs.items()):
        figures[curve][threshold] = {
            "accuracy": float(np.mean([accuracy(protocol.kind, np.array(of_set)) for of_set in errors.values()])),
            "ms_mean": 1e3 * float(np.mean(seconds)),
            "ms_median": 1e3 * float(np.median(seconds)),
        }
    quantiles = dict(zip(("5%", "50%", "95%"), np.quantile(found, [0.05, 0.5, 0.95]).tolist(), strict=True))
    return {"units": len(units), "default_pixels": default, "auto_pixels": quantiles, "methods": dict(figures)}


def accuracy(kind: str, errors: Any) -> float:
    """Return mAA@10 of corner errors, AUC@10 of the larger of the two errors of a pose."""
    return float(mean_average_accuracy(errors, 10) if kind == "H" else auc(errors, 10))


def main() -> None:
    """Measure all groups and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", default=",".join(GROUPS), help="groups of sets, joined by commas")
    parser.add_argument("--pairs", type=int, default=43, help="pairs of a set, at most")
    parser.add_argument("--repeats", type=int, help="by default 2 for E and F, 5 for H")
    parser.add_argument("--json", type=Path, help="groups that are not measured stay as they are in this file")
    arguments = parser.parse_args()
    document: dict[str, Any] = {"groups": {}}
    if arguments.json and arguments.json.exists():
        document = json.loads(arguments.json.read_text())
    for name in arguments.models.split(","):
        group = measure(arguments.data, name, arguments.pairs, arguments.repeats)
        document["groups"][name] = group
        print(name, f"{group['units']} runs, auto finds", group["auto_pixels"], flush=True)
        for curve, points in group["methods"].items():
            print(
                f"  {curve}:", ", ".join(f"{t} {p['accuracy']:.3f} ({p['ms_mean']:.1f} ms)" for t, p in points.items())
            )
        if arguments.json:
            document["date"] = datetime.date.today().isoformat()
            document["versions"] = installed_versions(("numba", "cv2", "poselib"))
            document["machine"] = machine()
            document["groups"] = {name: document["groups"][name] for name in GROUPS if name in document["groups"]}
            arguments.json.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
