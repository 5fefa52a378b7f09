"""Evaluate fundamental matrices on the hand-marked check points of kusvod2.

All methods get the same matches, with an SNN ratio below .85, and the same threshold, .5 pixel in one run and 1 pixel
in another. This package's presets have their own limits and get the image sizes. The other libraries have a confidence
of .999 and at most 10,000 iterations, except the methods named "own", which have their default limits.

The error of a pair is the median Sampson distance of its check points in pixels; the median over the repeats is
reported, and the mean share of the check points within 1 pixel.
"""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from bansac.matches import Matches
from bansac_lab.frames import to_frame
from bansac_lab.measurement import NEEDED_DATA, Document, Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.peers.library import Array
from bansac_lab.peers.methods import METHODS, PAPER_METHODS
from bansac_lab.reports import number, share
from bansac_lab.scenes import left_out
from bansac_lab.sets.labelled import CheckPointSet
from bansac_lab.tables import Table, grid, plain_table
from bansac_lab.task import DEFAULTS, make_task, squared_distances

OURS = ("default", "accurate", "default-unscored", "default-unsized")
PEERS = (
    *("opencv-accurate", "opencv-magsac", "poselib", "poselib-prosac"),
    *("poselib-own", "poselib-prosac-own", "pycolmap", "pydegensac"),
)
NAMES = (*OURS, *(method.name for method in PAPER_METHODS), *PEERS)
THRESHOLDS = (0.5, 1.0)
NEAR = 1.0  # pixels


def _set(setup: Setup) -> CheckPointSet:
    return CheckPointSet(setup.data / "kusvod2_strechamvs")


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run all methods on a pair."""
    threshold, key = unit.payload
    pair, judged = _set(setup).pair(key).filtered(DEFAULTS["F"].max_ratio), Matches(*_set(setup).check_points(key))
    rows: list[Row] = []
    for name in (name for name in NAMES if METHODS[name].installed):
        method = METHODS[name].changed(name, threshold=threshold)
        models = [method.estimate(make_task(pair, DEFAULTS["F"], seed)).model for seed in range(setup.repeats)]
        distances = np.array([_distances(F, judged) for F in models])
        figures = {
            "error": float(np.median(np.median(distances, axis=1))),
            "inliers": float(np.median([np.sum(_distances(F, pair) <= threshold) for F in models])),
            "near": float(np.mean(distances <= NEAR)),
        }
        rows.append({"threshold": f"{threshold:g}", "method": name, "pair": key, **figures})
    return rows


def _distances(F: Array | None, matches: Matches) -> Array:
    """Return the distances of matches to a matrix, inf without one."""
    if F is None:
        return np.full(len(matches), math.inf)
    return np.sqrt(np.nan_to_num(squared_distances(F, matches, "F"), nan=math.inf, posinf=math.inf))


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the figures at both thresholds."""
    thresholds: dict[str, Any] = {}
    for threshold, runs in to_frame(rows).groupby("threshold", sort=False):
        near = runs.groupby("method", sort=False)["near"].mean()
        of_pairs = runs.pivot(index="pair", columns="method", values=["error", "inliers"])
        errors, inliers = (of_pairs[column][[*near.index]] for column in ("error", "inliers"))
        best = errors[[name for name in PEERS if name in errors]].min(axis=1)
        found = {name: {f"{NEAR:g}": value} for name, value in near.items()}
        figures = {"found_within": found} | {
            "median_error": errors.to_dict(),
            "inliers": inliers.to_dict(),
            "best_peer": best.to_dict(),
        }
        thresholds[str(threshold)] = {"check_points": figures}
    missing = left_out(METHODS[name] for name in PEERS)
    return Report(records={"repeats": setup.repeats, "thresholds": thresholds}, notes=missing)


def check_points(document: Document) -> Table:
    """Return errors and numbers of inliers of the default and of the best peer of each pair, at the first threshold."""
    figures, *_ = (of["check_points"] for of in document["thresholds"].values())
    rows, error = [], figures["median_error"]
    for key, best in figures["best_peer"].items():
        peer = next(name for name in error if name not in OURS and error[name][key] == best)
        cells = (f"{number(error[name][key])}, {figures['inliers'][name][key]:.0f}" for name in ("default", peer))
        rows.append([key.partition("-")[0].removesuffix("A"), *cells, peer])  # the place that the pair shows
    return plain_table(["error in pixels, matches within the first threshold", "default", "best peer", "which"], rows)


def found_within(document: Document) -> Table:
    """Return the shares of the check points within 1 pixel, at every threshold."""
    thresholds = {name: of["check_points"]["found_within"] for name, of in document["thresholds"].items()}
    columns = {
        f"threshold {threshold} px": {name: shares[f"{NEAR:g}"] for name, shares in found.items()}
        for threshold, found in thresholds.items()
    }
    return grid(f"within {NEAR:g} px", columns, share)


MEASUREMENT = of_module(
    __name__,
    title="Fundamental matrices on hand-marked ground truth",
    units=lambda setup: each(THRESHOLDS, _set(setup).keys),
    options=(
        dataclasses.replace(NEEDED_DATA, help="Folder with the set kusvod2_strechamvs."),
        Option("repeats", int, 5, "Runs of every pair.", least=1),
    ),
    tables={"check-points": check_points, "found-within": found_within},
    sets=lambda setup: [_set(setup)],
    packages=tuple(METHODS[name].package for name in PEERS),
    complete=True,
)
