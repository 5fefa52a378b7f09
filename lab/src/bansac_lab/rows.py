"""The rows of a run: those of all its units, and their CSV file."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bansac.batch.journal import Journal, Row, Unit
from bansac.batch.output_files import OutputFolder


def without_seconds(rows: Sequence[Row]) -> list[Row]:
    """Return rows without their times."""
    return [row | {"seconds": None} if "seconds" in row else row for row in rows]


class Rows:
    """All rows of a run in the order of its units, read from the journal at each iteration."""

    def __init__(self, journal: Journal, units: Sequence[Unit]) -> None:
        self._journal = journal
        self._units = units

    def __iter__(self) -> Iterator[Row]:
        """Read the rows, unit by unit."""
        for unit in self._units:
            yield from self._journal.rows(unit)


def write_rows(folder: OutputFolder, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as CSV into a folder; None becomes an empty field.

    The rows are iterated twice and never held in memory at once, because a full run has millions.
    """
    columns = list(dict.fromkeys(column for row in rows for column in row))

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    folder.write(name, write)
