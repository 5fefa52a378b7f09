"""Evaluate fundamental matrices on hand-marked ground truth: check points (kusvod2), labelled matches (AdelaideRMF).

All methods get the same matches: those of kusvod2 with an SNN ratio below .85, and all matches of AdelaideRMF, which
have no ratios. All methods have the same threshold, .5 pixel in one run and 1 pixel in another. This package's presets
have their own limits and get the image sizes. The other libraries have a confidence of .999 and at most 10,000
iterations, except the methods named "own", which have their default limits.

The error of a pair is the median Sampson distance of its check points in pixels; the median over the repeats is
reported. For AdelaideRMF the measure is the share of labelled inliers within a fixed distance of the model, equal for
all methods; the mean over the repeats is reported.
"""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from bansac.matches import Matches
from bansac_lab.frames import to_frame
from bansac_lab.measurement import NEEDED_DATA, Document, Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.peers.library import Array, Method
from bansac_lab.peers.methods import METHODS, PAPER_METHODS
from bansac_lab.reports import number, share
from bansac_lab.scenes import left_out
from bansac_lab.sets.labelled import CheckPointSet, LabelledSet
from bansac_lab.tables import Table, grid, plain_table
from bansac_lab.task import DEFAULTS, make_task, squared_distances

OURS = ("default", "accurate", "default-unscored", "default-unsized")
PAPER = tuple(method.name for method in PAPER_METHODS)
PEERS = (
    *("opencv-accurate", "opencv-magsac", "poselib", "poselib-prosac"),
    *("poselib-own", "poselib-prosac-own", "pycolmap", "pydegensac"),
)
THRESHOLDS = (0.5, 1.0)

DISTANCES = (1.0, 0.5, 2.0)
"""Pixels within which a labelled inlier is found."""


def _sets(setup: Setup) -> dict[str, Any]:
    return {
        "check_points": CheckPointSet(setup.data / "kusvod2_strechamvs"),
        "labelled_inliers": LabelledSet(setup.data / "adelaidermf"),
    }


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each threshold and pair."""
    parts = _sets(setup).items()
    return [unit for threshold in THRESHOLDS for part, of in parts for unit in each([threshold], [part], of.keys)]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run all methods on a pair."""
    threshold, part, key = unit.payload
    marked = _sets(setup)[part]
    pair = marked.pair(key)
    if part == "check_points":
        pair, judged = pair.filtered(DEFAULTS["F"].max_ratio), Matches(*marked.check_points(key))
    else:
        judged = pair.select(pair.inliers)
        pair = dataclasses.replace(pair, scores=np.zeros(len(pair)))  # the task has scores, and no method gets them
    rows: list[Row] = []
    for method in _methods(part, threshold):
        models = [method.estimate(make_task(pair, DEFAULTS["F"], seed)).model for seed in range(setup.repeats)]
        distances = np.array([_distances(F, judged) for F in models])
        inliers = [np.sum(_distances(F, pair) <= threshold) for F in models]
        figures = {
            "error": float(np.median(np.median(distances, axis=1))),
            "inliers": float(np.median(inliers)),
            **{f"{pixels:g}": float(np.mean(distances <= pixels)) for pixels in DISTANCES},
        }
        rows.append({"threshold": f"{threshold:g}", "part": part, "method": method.name, "pair": key, **figures})
    return rows


def _methods(part: str, threshold: float) -> list[Method]:
    """Return the installed methods; of those that are others with scores only the ones without."""
    methods = [METHODS[name].changed(name, threshold=threshold) for name in (*OURS, *PAPER, *PEERS)]
    methods = [method for method in methods if method.installed]
    scored = ("default-unscored", "p-napsac", "prosac", "p-bansac")
    without = (method for method in methods if not method.sort and method.name not in scored)
    return methods if part == "check_points" else [dataclasses.replace(method, scored=False) for method in without]


def _distances(F: Array | None, matches: Matches) -> Array:
    """Return the distances of matches to a matrix, inf without one."""
    if F is None:
        return np.full(len(matches), math.inf)
    return np.sqrt(np.nan_to_num(squared_distances(F, matches, "F"), nan=math.inf, posinf=math.inf))


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the figures at both thresholds."""
    thresholds: dict[str, Any] = {}
    distances = [f"{pixels:g}" for pixels in DISTANCES]
    for (threshold, part), runs in to_frame(rows).groupby(["threshold", "part"], sort=False):
        found = runs.groupby("method", sort=False)[distances].mean().to_dict("index")
        figures = thresholds.setdefault(threshold, {})[part] = {"found_within": found}
        if part == "check_points":
            errors, inliers = (runs.pivot(index="pair", columns="method", values=of) for of in ("error", "inliers"))
            best = errors[[name for name in PEERS if name in found]].min(axis=1)
            of_pairs = {"median_error": errors[[*found]], "inliers": inliers[[*found]], "best_peer": best}
            figures |= {name: of.to_dict() for name, of in of_pairs.items()}
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
    """Return the shares of check points and of labelled inliers within the first distance, at every threshold."""
    pixels, parts = f"{DISTANCES[0]:g}", ("check_points", "labelled_inliers")
    columns = {
        f"{part.replace('_', ' ')}, threshold {threshold} px": {
            name: found[pixels] for name, found in figures[part]["found_within"].items()
        }
        for part in parts
        for threshold, figures in document["thresholds"].items()
    }
    return grid(f"within {pixels} px", columns, share)


MEASUREMENT = of_module(
    __name__,
    title="Fundamental matrices on hand-marked ground truth",
    options=(
        dataclasses.replace(NEEDED_DATA, help="Folder with the sets kusvod2_strechamvs and adelaidermf."),
        Option("repeats", int, 5, "Runs of every pair.", least=1),
    ),
    tables={"check-points": check_points, "found-within": found_within},
    sets=lambda setup: list(_sets(setup).values()),
    packages=tuple(METHODS[name].package for name in PEERS),
    complete=True,
)
