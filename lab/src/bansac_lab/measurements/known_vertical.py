"""Measure relative poses with a known vertical direction on synthetic pairs.

Pairs have 500 matches with a noise of .5 px, images of 640 x 480 px, and few inliers. The vertical of the first camera
is wrong by the given angle. The threshold is 1.5 px. The pose error is the larger one of the angles of the rotation and
of the translation. Other libraries have no such estimator in Python.
"""

import functools
from typing import Any

import numpy as np

from bansac.geometry import rotation_matrix
from bansac.synthetic import epipolar_matches
from bansac_lab.comparison import compare
from bansac_lab.frames import to_frame
from bansac_lab.measurement import Document, Option, Report, Row, Setup, Unit, each, nested, of_module
from bansac_lab.metrics import auc, pose_error
from bansac_lab.peers.library import OURS, Array, Estimate, Task
from bansac_lab.tables import Table, plain_table

INLIERS = (0.3, 0.1, 0.05)
ERRORS = ("unknown", "0", "0.3", "1")
"""Errors of the vertical in degrees."""

DOWN = np.array([0.0, 1.0, 0.0])


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Return the AUC of the pose errors and the time of the runs."""
    inliers, degrees = unit.payload
    runs = to_frame(row for seed in range(setup.runs) for row in _run(inliers, degrees, seed))
    ms = 1e3 * float(runs["seconds"].median())
    figures = {"auc10": round(auc(runs["error"], 10.0), 4), "ms_median": round(ms, 1)}
    return [{"inliers": f"{inliers:g}", "degrees": degrees, **figures}]


def _run(inliers: float, degrees: str, seed: int) -> list[Row]:
    scene: Any = epipolar_matches(500, inliers, 0.5, seed)
    known = {"gravity1": _tilted(float(degrees)), "gravity2": scene.R @ DOWN} if degrees != "unknown" else {}
    task = Task("relative pose", (scene.x1, scene.x2), (scene.K,), threshold=1.5)

    def judge(_: str, found: Estimate) -> Row:
        R, t = found.model or (None, None)
        return {"error": pose_error(R, t, scene.R, scene.t)}

    return compare({"ours": functools.partial(OURS.estimate, task, known)}, judge, "")


def _tilted(degrees: float) -> Array:
    """Return the vertical turned by an angle about an axis orthogonal to it."""
    axis = np.cross(DOWN, np.random.default_rng(0).normal(size=3))
    return np.asarray(rotation_matrix(np.radians(degrees) * axis / np.linalg.norm(axis) + 1e-15) @ DOWN)


def table(document: Document) -> Table:
    """Return AUC@10 and the median time of poses with and without a known vertical, by the share of inliers."""
    rows = []
    for inliers, cells in document["poses"].items():
        texts = (f"{row['auc10']:.3f} / {row['ms_median']:.0f}" for row in cells.values())
        rows.append([f"{100 * float(inliers):.0f} %", *texts])
    columns = ("vertical unknown" if name == "unknown" else f"known to {name} degrees" for name in cells)
    return plain_table(["inliers", *columns], rows)


MEASUREMENT = of_module(
    __name__,
    title="Relative poses with a known vertical direction",
    units=lambda setup: each(INLIERS, ERRORS),
    report=lambda setup, rows: Report(records={"runs": setup.runs, "poses": nested(rows, "inliers", "degrees")}),
    options=(Option("runs", int, 50, "Pairs of every cell.", least=1),),
    tables={"known-vertical": table},
)
