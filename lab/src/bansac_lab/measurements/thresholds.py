"""Accuracy and time over the threshold, including ``threshold="auto"``, compared with MAGSAC++ and PoseLib.

Pairs, matches, seeds, budgets and errors are those of ``bansac bench DIR``. This package gets the scores and, for F,
the image sizes. Thresholds are in pixels; for E they are divided by the mean focal length of the pair. The accuracy is
AUC@10 (E, F) or mAA@10 (H). Accuracy and time are averaged over the calls of a set, then over the sets.
"""

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from bansac import Options
from bansac_lab.measurement import Document, Report, Row, Setup, Unit
from bansac_lab.measurements.folders import label
from bansac_lab.pairs import BENCH_GROUPS, PairRuns, open_set
from bansac_lab.peers.library import Method
from bansac_lab.peers.methods import METHODS
from bansac_lab.reports import share
from bansac_lab.summary import AUC_10, CORNERS_10, TIME, Summary
from bansac_lab.tables import Table, grid

PIXELS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)

GROUPS = dict(zip(("E", "F", "H", "exact_warp"), BENCH_GROUPS.values(), strict=True))
COMMON = {"E": 1.0, "F": 0.5, "H": 2.0, "exact_warp": 2.0}
"""Threshold of each group in pixels from which "auto" starts."""

CURVES = {
    "default": METHODS["default"],
    "magsac++": METHODS["default"].changed("magsac++", scoring="magsac++"),
    "opencv-magsac": METHODS["opencv-magsac"],
    "poselib-prosac": METHODS["poselib-prosac"],
}
AUTO = "default@auto"


def methods(group: str, unit: Unit) -> list[Method]:
    """Return the methods of every curve's points on a pair: CURVE@PIXELS and CURVE@auto."""
    pixel = 1.0  # in the unit of the task
    if group == "E":
        pair: Any = open_set(unit.payload[1]).pair(unit.payload[2])
        pixel = 4.0 / float(np.trace(pair.K1[:2, :2]) + np.trace(pair.K2[:2, :2]))
    points = itertools.product(PIXELS, CURVES.items())
    fixed = [method.changed(f"{name}@{pixels:g}", threshold=pixels * pixel) for pixels, (name, method) in points]
    start = {"options": Options(threshold=COMMON[group] * pixel), "threshold": "auto"}
    return [*fixed, CURVES["default"].configured(AUTO, start)]


_RUNS = PairRuns(methods, GROUPS, "models")


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return accuracy and time by group, method and threshold."""
    return Report(records={"groups": {name: _figures(name, runs) for name, runs in _RUNS.by_group(rows).items()}})


def _figures(group: str, rows: list[Row]) -> dict[str, Any]:
    kind, summary = GROUPS[group].protocol.kind, Summary(rows)
    metrics = {"accuracy": CORNERS_10 if kind == "H" else AUC_10, "ms_mean": TIME}
    curves: dict[str, dict[str, dict[str, float]]] = {name: {} for name in CURVES}
    for name in dict.fromkeys(row["configuration"] for row in rows):
        curve, _, threshold = name.partition("@")
        curves[curve][threshold] = {key: summary.mean(metric, kind, name) for key, metric in metrics.items()}
    return {"units": sum(row["configuration"] == AUTO for row in rows), "methods": curves}


_TITLES = {"E": "E", "F": "F", "exact_warp": "H, warped photographs", "H": "H, small sets"}
_LABELS = {name: label(name) for name in CURVES} | {"magsac++": 'default, `scoring="magsac++"`'}


def best_thresholds(document: Document) -> Table:
    """Return the accuracy and the time of each method at the threshold that is best for it."""
    columns: dict[str, dict[str, str]] = {}
    for group, found in ((group, document["groups"][group]) for group in _TITLES if group in document["groups"]):
        for method in _LABELS:
            points = {key: point for key, point in found["methods"][method].items() if key != "auto"}
            best, point = max(points.items(), key=lambda item: item[1]["accuracy"])
            text = f"{share(point['accuracy'])} at {best} px, {point['ms_mean']:.1f} ms"
            columns.setdefault(_TITLES[group], {})[method] = text
    return grid("method", columns, str, _LABELS)


MEASUREMENT = _RUNS.measurement(
    name="thresholds",
    title="Accuracy and time over the threshold",
    help=__doc__,
    report=report,
    tables={"best-thresholds": best_thresholds},
    packages=("cv2", "poselib"),
)
