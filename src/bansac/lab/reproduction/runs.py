"""What the runs in ``benchmarks/experiments`` have measured: one folder a run, with its tables and its ``run.json``."""

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bansac.lab.reports import FOLDER, date_and_commit, lines, load, root, used
from bansac.lab.tables import read_columns, read_rows

METHODS = ("RANSAC", "NAPSAC", "P-NAPSAC", "PROSAC", "BANSAC", "P-BANSAC")
OURS = METHODS[-2:]
BASELINES = METHODS[:-2]

# How the sections and groups of the tables that name a model begin.
MODELS = {"E": "Calibrated", "F": "Uncalibrated", "H": "Homography"}
RATES = ("Rotation mAA (5°)", "Rotation mAA (10°)", "Translation mAA (5°)", "Translation mAA (10°)")
TIME = "Avg. execution time [ms]"


@dataclass(frozen=True)
class Table:
    """A table of a run, with the names that lead to a value: section, label, group and column."""

    rows: tuple[tuple[str, str, tuple[Any, ...]], ...]  # section, labels joined by spaces, values
    columns: tuple[tuple[str, str], ...]  # group, column

    def labels(self, section: str = "") -> list[str]:
        """Return the labels of the rows of a section."""
        return [label for label, _ in self._rows(section)]

    def _rows(self, section: str) -> list[tuple[str, tuple[Any, ...]]]:
        """Return labels and values of the section of this name or, if there is none, of those that begin so."""
        exact = [(label, values) for of, label, values in self.rows if of == section]
        return exact or [(label, values) for of, label, values in self.rows if of.startswith(section)]

    def value(self, label: str, column: str, *, section: str = "", group: str = "") -> Any:
        """Return the one value of a label and a column; section and group may be given by their beginnings."""
        rows = [values for name, values in self._rows(section) if name == label]
        places = [j for j, (of, name) in enumerate(self.columns) if name == column and of.startswith(group)]
        if len(rows) != 1 or len(places) != 1:
            raise KeyError(f"{len(rows)} rows {section!r}, {label!r} and {len(places)} columns {group!r}, {column!r}")
        return rows[0][places[0]]

    def row(self, label: str | int, *, section: str = "") -> tuple[Any, ...]:
        """Return the values of a label, or of the row at a place of the section."""
        (values,) = (values for place, (name, values) in enumerate(self._rows(section)) if label in (name, place))
        return values


def folder() -> Path:
    """Return the folder of the runs."""
    return root() / FOLDER / "experiments"


def table(run: str, name: str | None = None) -> Table:
    """Return a table of a run, by default the one that is named after its experiment."""
    used.add(folder() / run / "run.json")
    document = load(folder() / run / f"{name or file_of(run)}.json")
    rows = ((of, " ".join(filter(None, labels)), tuple(values)) for of, labels, values in read_rows(document))
    return Table(tuple(rows), tuple(read_columns(document)))


def file_of(run: str) -> str:
    """Return the name of the table that is named after the experiment of a run."""
    return str(settings(run)["experiment"]).replace("-", "_")


def settings(run: str) -> dict[str, Any]:
    """Return the ``run.json`` of a run."""
    path = folder() / run / "run.json"
    used.add(path)
    return load(path)


def command(run: str) -> str:
    """Return the command of a run, from the settings that it has written down."""
    words = ["bansac", "experiments", "run", settings(run)["experiment"]]
    options = dict(settings(run)["settings"])
    for option, given in (options | options.pop("extra")).items():
        if given not in (None, [], 0):
            words += [f"--{option.replace('_', '-')}", ",".join(given) if isinstance(given, list) else str(given)]
    return " ".join(words)


def run_table() -> str:
    """Return the table of the runs: the options of the command, when, how long, and how long together."""
    rows, minutes = [], []
    for path in sorted(folder().glob("*/run.json")):
        run = path.parent.name
        minutes.append(settings(run)["seconds"] / 60)
        options = command(run).removeprefix("bansac experiments run ")
        link = f"[{run}](../benchmarks/experiments/{run}/run.json)"
        rows.append([link, f"`{options}`", date_and_commit(path)[0], f"{minutes[-1]:.1f}"])
    rows.append(["all", "", "", f"{sum(minutes):.1f}"])
    return lines(["run", "`bansac experiments run ...`", "date", "minutes"], rows)


@functools.cache
def paper() -> dict[str, Any]:
    """Return the figures of the paper."""
    return tomllib.loads(Path(__file__).with_name("paper.toml").read_text(encoding="utf-8"))


def main_value(model: str, metric: str, method: str, *, run: str = "main-table") -> float:
    """Return a figure of the main table; ``method`` is a name of the paper's, with "+LO" for local optimisation."""
    column, local, _ = method.partition("+LO")
    group = "With Local" if local else "Without Local"
    return float(table(run, "main_table").value(metric, column, section=MODELS[model], group=group))


@dataclass(frozen=True)
class Lead:
    """How far a method is ahead of others in a row of the main table, and half of its 95 % interval."""

    value: float
    error: float

    @property
    def holds(self) -> bool:
        """Whether the interval excludes that the method is behind."""
        return self.value > self.error

    @property
    def fails(self) -> bool:
        """Whether the interval excludes that the method is ahead."""
        return self.value < -self.error
