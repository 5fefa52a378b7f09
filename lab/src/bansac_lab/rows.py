"""The rows of a run: a journal of units whose times are measured again, all rows of its units, and their CSV file."""

import csv
import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bansac.batch.journal import Journal, Row, Unit
from bansac.batch.output_files import OutputFolder


class TimedJournal(Journal):
    """A journal that keeps the seconds of a unit only if the unit had the machine to itself.

    If any unit of the run ran beside others, only the units of the timing pass keep their seconds. Means are then over
    the same repeats everywhere.
    """

    @functools.cached_property
    def _all_alone(self) -> bool:
        return not self._select("1", "alone = 0 LIMIT 1")

    def lacks_times(self, unit: Unit) -> bool:
        """Return whether a finished unit still has to be run again for its timing."""
        if not unit.timed:
            return False
        unfinished = self._select("columns", "key = ? AND alone = 0 AND seconds IS NULL", unit.key)
        with self._damage():
            return any("seconds" in json.loads(columns) for (columns,) in unfinished)

    def add(self, unit: Unit, rows: Sequence[Row], *, alone: bool = True) -> None:
        """Save a finished unit; ``alone`` means that nothing ran beside it, so that its seconds are valid."""
        super().add(unit, rows if alone else _without_seconds(rows), alone=alone)
        self._all_alone &= alone

    def add_times(self, unit: Unit, rows: Sequence[Row]) -> None:
        """Save the seconds of a finished unit that was run again with nothing beside it."""
        seconds = json.dumps([row.get("seconds") for row in rows])
        with self._errors(), self._database:
            self._database.execute(
                "UPDATE units SET seconds = ? WHERE fingerprint = ? AND key = ?", (seconds, self._fingerprint, unit.key)
            )

    def rows(self, unit: Unit) -> list[Row]:
        """Return the rows of a unit with their seconds, if these count."""
        rows = super().rows(unit)
        for (seconds,) in self._select("seconds", "key = ? AND seconds IS NOT NULL", unit.key):
            with self._damage():
                return [row | {"seconds": value} for row, value in zip(rows, json.loads(seconds), strict=True)]
        return rows if self._all_alone or unit.timed else _without_seconds(rows)


def _without_seconds(rows: Sequence[Row]) -> list[Row]:
    return [row | {"seconds": None} if "seconds" in row else row for row in rows]


class Rows:
    """All rows of a run in the order of its units, read from the journal at each iteration."""

    def __init__(self, journal: TimedJournal, units: Sequence[Unit]) -> None:
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
