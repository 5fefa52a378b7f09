"""What the runs in ``benchmarks/experiments`` have measured: one folder a run, with its tables and its ``run.json``."""

import functools
import tomllib
from pathlib import Path
from typing import Any

from bansac_lab.reports import FOLDER, load, root, used
from bansac_lab.tables import Table, from_document

METHODS = ("RANSAC", "NAPSAC", "P-NAPSAC", "PROSAC", "BANSAC", "P-BANSAC")
OURS = METHODS[-2:]
BASELINES = METHODS[:-2]

# How the sections and groups of the tables that name a model begin.
MODELS = {"E": "Calibrated", "F": "Uncalibrated", "H": "Homography"}
RATES = ("Rotation mAA (5°)", "Rotation mAA (10°)", "Translation mAA (5°)", "Translation mAA (10°)")
TIME = "Avg. execution time [ms]"


def folder() -> Path:
    """Return the folder of the runs."""
    return root() / FOLDER / "experiments"


def table(run: str, name: str | None = None) -> Table:
    """Return a table of a run, by default the one that is named after its experiment."""
    standard = file_of(run)  # this also marks the run as used
    return from_document(load(folder() / run / f"{name or standard}.json"))


def file_of(run: str) -> str:
    """Return the name of the table that is named after the experiment of a run."""
    return str(settings(run)["experiment"]).replace("-", "_")


def settings(run: str) -> dict[str, Any]:
    """Return the ``run.json`` of a run."""
    path = folder() / run / "run.json"
    used.add(path)
    return load(path)


@functools.cache
def stored(name: str) -> dict[str, Any]:
    """Return ``paper.toml``, the figures of the paper, or ``claims.toml``."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
