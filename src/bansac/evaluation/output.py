"""What an experiment leaves in its folder: all single runs, tables, figures, and how they came about.

========================  ===========================================================================
``runs.csv``              every single run, a row each
``<table>.md``, ``.tex``  the tables, in the paper's layout
``<figure>.png, .svg``    the figures
``<records>.csv``         further numbers, where the experiment has some
``run.json``              settings, versions, seed, machine, date, fingerprint of the data, notes
``journal-*.jsonl``       finished units, by which a run goes on; one file for each choice of settings
========================  ===========================================================================
"""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bansac.datasets import PairSet
from bansac.datasets.labelled import LabelledSet
from bansac.evaluation.experiment import Report, Row
from bansac.evaluation.files import OutputFolder

__all__ = ["data_fingerprint", "write_report", "write_rows"]

# Of a file larger than three blocks the first, the middle and the last block are read: the archives have gigabytes.
_BLOCK = 1 << 20


def write_report(folder: OutputFolder, report: Report) -> None:
    """Write the tables, figures and further numbers of a report.

    Parameters
    ----------
    folder : OutputFolder
        Where to.
    report : Report
        What to write.

    Raises
    ------
    ImportError
        If there are figures and Matplotlib is not installed.
    OSError
        If a file cannot be written.
    """
    for name, table in report.tables.items():
        folder.write_text(f"{name}.md", table.to_markdown() + "\n")
        folder.write_text(f"{name}.tex", table.to_latex())
    for name, figure in report.figures.items():
        folder.write_figure(f"{name}.png", figure)
        folder.write_figure(f"{name}.svg", figure)
    for name, rows in report.records.items():
        write_rows(folder, f"{name}.csv", rows)


def write_rows(folder: OutputFolder, name: str, rows: Iterable[Row]) -> None:
    """Write rows as CSV; None leaves a field empty.

    Parameters
    ----------
    folder : OutputFolder
        Where to.
    name : str
        Name of the file.
    rows : iterable of Row
        The rows; it is gone through twice, the columns being those that any of them has.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    columns = list(dict.fromkeys(column for row in rows for column in row))

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    folder.write(name, write)


def data_fingerprint(folder: Path | None, sets: Sequence[PairSet | LabelledSet]) -> dict[str, Any]:
    """Return what tells the data of a run from other data, wherever they lie.

    Parameters
    ----------
    folder : Path or None
        The folder of all data; None without data.
    sets : sequence of PairSet and LabelledSet
        The sets that the run takes.

    Returns
    -------
    dict
        ``folder``, number of ``files``, their ``bytes`` and a ``sha256`` over the names of the sets and over names,
        sizes and content of the files that their pairs are read from; of files larger than 3 MiB, over the first, the
        middle and the last MiB. Empty without data.

    Raises
    ------
    OSError
        If a file cannot be read.
    """
    if folder is None:
        return {}
    digest = hashlib.sha256()
    files = total = 0
    for chosen in sets:
        for path in chosen.files():
            size = path.stat().st_size
            name = os.path.relpath(path, chosen.folder.resolve()).replace(os.sep, "/")
            digest.update(f"{chosen.name}/{name}:{size}\n".encode())
            for block in _blocks(path, size):
                digest.update(block)
            files += 1
            total += size
    return {"folder": str(folder.resolve()), "files": files, "bytes": total, "sha256": digest.hexdigest()}


def _blocks(path: Path, size: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        if size <= 3 * _BLOCK:
            yield file.read()
            return
        for start in (0, (size - _BLOCK) // 2, size - _BLOCK):
            file.seek(start)
            yield file.read(_BLOCK)
