"""What an experiment leaves in its folder: all single runs, tables, figures, and how they came about.

========================  ===========================================================================
``runs.csv``              every single run, a row each
``<table>.md``, ``.tex``  the tables, in the paper's layout
``<figure>.png, .svg``    the figures
``<records>.csv``         further numbers, if the experiment has some
``run.json``              settings, versions, seed, machine, date, fingerprint of the data, notes
``journal.sqlite``        finished units, from which an interrupted run goes on
========================  ===========================================================================
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from bansac.evaluation.experiment import Report, Row
from bansac.evaluation.files import OutputFolder
from bansac.evaluation.render import to_latex, to_markdown


def write_report(folder: OutputFolder, report: Report) -> None:
    """Write the tables, figures and further numbers of a report; figures need Matplotlib."""
    for name, table in report.tables.items():
        folder.write_text(f"{name}.md", to_markdown(table) + "\n")
        folder.write_text(f"{name}.tex", to_latex(table))
    for name, figure in report.figures.items():
        folder.write_figure(f"{name}.png", figure)
        folder.write_figure(f"{name}.svg", figure)
    for name, rows in report.records.items():
        write_rows(folder, f"{name}.csv", rows)


def write_rows(folder: OutputFolder, name: str, rows: Iterable[Row]) -> None:
    """Write rows as CSV; None leaves a field empty.

    They are gone through twice, the columns being those that any of them has, and never held all at once: a full run
    has millions. This is why it is not pandas' ``to_csv``.
    """
    columns = list(dict.fromkeys(column for row in rows for column in row))

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    folder.write(name, write)
