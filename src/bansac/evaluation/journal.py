"""Finished units on disk, one JSON line each, written as they come: what survives a killed run.

The name of the file holds the fingerprint of what its rows depend on (settings, source of the package, data, versions),
so that a run goes on where the same one was interrupted, and one with other settings leaves that journal alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from bansac.evaluation.experiment import Row, Unit

__all__ = ["Journal", "Rows"]


class Journal:
    """The journal of a run; rows stay on disk, memory holds where they are.

    Parameters
    ----------
    folder : Path
        Where the file is or will be.
    fingerprint : str
        What the rows depend on, a hexadecimal digest.

    Raises
    ------
    OSError
        If the file cannot be written, or another run is writing it.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.path = folder / f"journal-{fingerprint[:12]}.jsonl"
        self._units: dict[str, int] = {}
        self._times: dict[str, int] = {}
        self._all_timed = True
        self._file: BinaryIO = self.path.open("a+b")
        try:
            _lock(self._file, self.path)
            self._take_over({"fingerprint": fingerprint})
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:
        """Return the journal."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._file.close()

    def __len__(self) -> int:
        """Return the number of finished units."""
        return len(self._units)

    def __contains__(self, unit: Unit) -> bool:
        """Tell whether a unit is finished."""
        return unit.key in self._units

    def lacks_times(self, unit: Unit) -> bool:
        """Tell whether a unit is finished but has still to be run again for its times."""
        if not unit.timed or unit.key in self._times or unit.key not in self._units:
            return False
        line = self._line(self._units[unit.key])
        return not line["timed"] and "seconds" in line["columns"]

    def add(self, unit: Unit, rows: Sequence[Row], *, timed: bool) -> None:
        """Write down a finished unit.

        Parameters
        ----------
        unit : Unit
            The unit.
        rows : sequence of Row
            Its rows.
        timed : bool
            Whether it ran alone on the machine, so that its seconds count.
        """
        columns = list(dict.fromkeys(column for row in rows for column in row))
        values = [
            [None if column == "seconds" and not timed else row.get(column) for column in columns] for row in rows
        ]
        self._append({"unit": unit.key, "timed": timed, "columns": columns, "values": values})

    def add_times(self, unit: Unit, rows: Sequence[Row]) -> None:
        """Write down the seconds of a finished unit that was run again alone on the machine."""
        self._append({"times": unit.key, "seconds": [row.get("seconds") for row in rows]})

    def rows(self, unit: Unit) -> list[Row]:
        """Return the rows of a unit, none if it is not finished.

        As soon as one unit of the journal ran beside others, only those that take part in the pass for the times keep
        their seconds: means are over the same repeats everywhere.

        Parameters
        ----------
        unit : Unit
            The unit.

        Returns
        -------
        list of Row
            Its rows.
        """
        if unit.key not in self._units:
            return []
        line = self._line(self._units[unit.key])
        rows = [dict(zip(line["columns"], values, strict=True)) for values in line["values"]]
        if unit.key in self._times:
            seconds = self._line(self._times[unit.key])["seconds"]
            rows = [row | {"seconds": value} for row, value in zip(rows, seconds, strict=True)]
        elif not self._all_timed and not unit.timed:
            rows = [row | {"seconds": None} if "seconds" in row else row for row in rows]
        return rows

    def _take_over(self, header: dict[str, Any]) -> None:
        """Read what an interrupted run has left, and cut off a line that it did not finish."""
        self._file.seek(0)
        end = 0
        for text in self._file:
            line = _parse(text)
            if line is None or (end == 0 and line != header):
                break
            self._note(line, end)
            end += len(text)
        self._file.truncate(end)
        if end == 0:
            self._append(header)

    def _append(self, line: dict[str, Any]) -> None:
        start = self._file.seek(0, 2)
        self._file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        self._note(line, start)

    def _note(self, line: dict[str, Any], start: int) -> None:
        if "unit" in line:
            self._units[line["unit"]] = start
            self._all_timed &= line["timed"]
        elif "times" in line:
            self._times[line["times"]] = start

    def _line(self, start: int) -> dict[str, Any]:
        self._file.seek(start)
        line: dict[str, Any] = json.loads(self._file.readline())
        return line


class Rows:
    """All rows of a run in the order of its units, read from the journal each time they are gone through.

    Parameters
    ----------
    journal : Journal
        Holds the rows.
    units : sequence of Unit
        The units.
    """

    def __init__(self, journal: Journal, units: Sequence[Unit]) -> None:
        self._journal = journal
        self._units = units

    def __iter__(self) -> Iterator[Row]:
        """Read the rows, one unit after the other."""
        for unit in self._units:
            yield from self._journal.rows(unit)


def _parse(text: bytes) -> dict[str, Any] | None:
    """Return a line, None for one that was cut off."""
    if not text.endswith(b"\n"):
        return None
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def _lock(file: BinaryIO, path: Path) -> None:
    """Keep a second run from writing the same journal; the lock goes with the process, however it ends."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise OSError(f"--out: another run is writing {str(path)!r}") from None
