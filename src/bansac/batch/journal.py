"""Journal of finished units in an SQLite database, which survives a killed run.

Each unit is one transaction. A run is identified by the fingerprint of its settings, data, source code and versions.
The same run continues where it was interrupted. A run with other settings does not change its rows.
"""

import contextlib
import functools
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from bansac.matches.storage import as_os_error

Row = dict[str, Any]
"""One estimation, by column: configuration, set, pair, repeat, errors, iterations, seconds, all plain values."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class Stream(Generic[Value]):
    """Values that ``make`` yields anew for each iteration, so that they are never in memory at once."""

    count: int
    make: Callable[[], Iterator[Value]]

    def __len__(self) -> int:
        """Return the number of values."""
        return self.count

    def __iter__(self) -> Iterator[Value]:
        """Iterate over the values."""
        return self.make()


@dataclass(frozen=True)
class Unit:
    """Unit of work."""

    key: str  # unique name, the same in every run with the same setup
    payload: tuple[Any, ...] = ()  # arguments of ``run_unit`` besides the setup: plain values that can be pickled

    def __str__(self) -> str:
        """Return the name of the unit in error messages."""
        return f"unit {self.key}"


_TABLE = """CREATE TABLE IF NOT EXISTS units (
    fingerprint TEXT NOT NULL,
    key TEXT NOT NULL,
    columns TEXT NOT NULL,  -- JSON list of names
    cells TEXT NOT NULL,    -- JSON list of rows, each a list
    PRIMARY KEY (fingerprint, key)
)"""


class Journal(contextlib.AbstractContextManager["Journal"]):
    """Finished units of the run with a fingerprint.

    The file may contain other runs as well. Without a path, the journal is in memory. An OSError is raised if the file
    is not writable, is damaged, or is being written by another process.
    """

    def __init__(self, path: Path | None, fingerprint: str) -> None:
        self._path = path
        self._fingerprint = fingerprint
        damage = f"--out: the journal {str(path)!r} is damaged"
        self._damage = functools.partial(as_os_error, damage, ValueError, TypeError, RecursionError)
        with self._errors():
            self._database = sqlite3.connect(":memory:" if path is None else path, timeout=0)
        try:
            with self._errors():
                tables = self._database.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
                if others := [name for (name,) in tables if name != "units"]:
                    raise OSError(f"--out: {str(path)!r} exists and is not a journal: it has the table {others[0]!r}")
                # The process holds the lock until it ends. A power failure can lose only the last units.
                for setting in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL"):
                    self._database.execute(f"PRAGMA {setting}")
                self._database.execute("BEGIN EXCLUSIVE")
                self._database.execute(_TABLE)
                self._database.commit()
        except BaseException:
            self._database.close()
            raise

    def __exit__(self, *exception: object) -> None:
        """Close the file."""
        self._database.close()

    def __len__(self) -> int:
        """Return the number of finished units."""
        ((count,),) = self._select("count(*)")
        return int(count)

    def __contains__(self, unit: Unit) -> bool:
        """Return whether a unit is finished."""
        return bool(self._select("1", "key = ?", unit.key))

    def add(self, unit: Unit, rows: Sequence[Row]) -> None:
        """Save a finished unit."""
        columns = list(dict.fromkeys(column for row in rows for column in row))
        cells = [[row.get(column) for column in columns] for row in rows]
        with self._errors(), self._database:
            self._database.execute(
                "INSERT OR REPLACE INTO units VALUES (?, ?, ?, ?)",
                (self._fingerprint, unit.key, json.dumps(columns), json.dumps(cells)),
            )

    def rows(self, unit: Unit) -> list[Row]:
        """Return the rows of a unit; empty if it is not finished."""
        for columns, cells in self._select("columns, cells", "key = ?", unit.key):
            with self._damage():
                names = json.loads(columns)
                return [dict(zip(names, values, strict=True)) for values in json.loads(cells)]
        return []

    def _select(self, what: str, condition: str = "1", *values: str) -> list[tuple[Any, ...]]:
        query = f"SELECT {what} FROM units WHERE fingerprint = ? AND {condition}"
        with self._errors():
            return self._database.execute(query, (self._fingerprint, *values)).fetchall()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Convert SQLite's errors to OSErrors that name the file."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                raise OSError(f"--out: another run is writing {str(self._path)!r}") from None
            raise OSError(f"--out: the journal {str(self._path)!r} cannot be used: {error}") from None
