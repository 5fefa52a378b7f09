"""Tables in the paper's layout: their contents, and the ranks of the best and second best values.

:mod:`.render` writes them. The Styler of pandas is not used because it lacks three features: section lines across the
table, a direction ("higher" or "lower" is better) for each row, and equal ranks for values that are equal after
rounding.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Better = Literal["higher", "lower"]
Mark = Literal["best", "second"]

_ARROWS = {"higher": "↑", "lower": "↓"}


@dataclass(frozen=True)
class Measured:
    """Value with its standard error; the rank depends on the value only."""

    value: float
    error: float


Cell = float | int | str | Measured | None
"""Number, text, or None for a missing value."""


@dataclass(frozen=True)
class Section:
    """Line across the table with a title for the rows below it."""

    title: str


@dataclass(frozen=True)
class TableRow:
    """Row of a table: labels in the stub columns, and one value for each other column."""

    labels: tuple[str, ...]
    values: tuple[Cell, ...]
    better: Better | None = None  # if given, best and second best are marked within each group of columns
    arrow: bool = True  # append an arrow for ``better`` to the last label


@dataclass(frozen=True)
class Table:
    """Table with a caption.

    Examples
    --------
    >>> row = TableRow(("mAA (5°)",), (0.568, 0.61, 0.603), better="higher")
    >>> Table("Rotation", ("Metrics",), ("RANSAC", "BANSAC", "P-BANSAC"), (row,)).marks()
    [[None, 'best', 'second']]
    """

    title: str
    stub: tuple[str, ...]  # headings of the label columns
    columns: tuple[str, ...]  # headings of the value columns
    rows: tuple[TableRow | Section, ...]
    groups: tuple[tuple[str, int], ...] = ()  # headings over value columns, and the number that each spans
    better: tuple[Better | None, ...] = ()  # of each value column, to mark best and second best within a section

    def __post_init__(self) -> None:
        """Check that the lengths are consistent."""
        width = len(self.columns)
        for row in self.rows:
            if isinstance(row, TableRow) and (len(row.labels), len(row.values)) != (len(self.stub), width):
                raise ValueError(
                    f"rows must have {len(self.stub)} labels and {width} values, got {row.labels} and {row.values}"
                )
        if self.groups and sum(span for _, span in self.groups) != width:
            raise ValueError(f"groups must span {width} columns, got {self.groups}")
        if self.better and len(self.better) != width:
            raise ValueError(f"better must have {width} entries, got {self.better}")

    def marks(self) -> list[list[Mark | None]]:
        """Return "best", "second" or None for every value, row by row; a section is a row without values.

        Values that are equal after rounding have the same rank. If several values are best, or only two are compared,
        there is no second best. If all values are best, none is marked.
        """
        values = [row.values if isinstance(row, TableRow) else () for row in self.rows]
        marks: list[list[Mark | None]] = [[None] * len(of_row) for of_row in values]
        for places, better in self._contests():
            for (i, j), mark in zip(places, _rank([values[i][j] for i, j in places], better), strict=True):
                marks[i][j] = mark
        return marks

    def _contests(self) -> list[tuple[list[tuple[int, int]], Better]]:
        """Return the groups of cells (row, column) to compare, each with its better direction."""
        contests: list[tuple[list[tuple[int, int]], Better]] = []
        for i, row in enumerate(self.rows):
            if isinstance(row, TableRow) and row.better is not None:
                contests += [([(i, j) for j in columns], row.better) for columns in self.column_groups()]
        for j, better in enumerate(self.better):
            if better is not None:
                contests += [([(i, j) for i in rows], better) for rows in self._row_groups()]
        return contests

    def column_groups(self) -> list[range]:
        """Return the indices of the columns of each group; without groups, of all columns."""
        spans = [span for _, span in self.groups] or [len(self.columns)]
        starts = [sum(spans[:k]) for k in range(len(spans))]
        return [range(start, start + span) for start, span in zip(starts, spans, strict=True)]

    def _row_groups(self) -> list[list[int]]:
        runs = itertools.groupby(range(len(self.rows)), key=lambda i: isinstance(self.rows[i], Section))
        return [list(places) for is_section, places in runs if not is_section]


def sectioned(
    title: str,
    stub: str,
    columns: Iterable[str],
    sections: Mapping[str, Mapping[str, Iterable[Cell]] | Iterable[tuple[str, Iterable[Cell]]]],
    better: tuple[Better | None, ...] = (),
    *,
    groups: Iterable[tuple[str, int]] = (),
    ranked: Better | None = None,
) -> Table:
    """Return a table with the values of each label in each section; the section "" has no line.

    ``ranked`` marks the best values of every row.

    Examples
    --------
    >>> sectioned("Times", "method", ["ms"], {"H": {"a": [1.0], "b": [2.0]}}).rows[1].values
    (1.0,)
    """
    rows: list[TableRow | Section] = []
    for section, lines in sections.items():
        rows += [Section(section)] if section else []
        labelled = lines.items() if isinstance(lines, Mapping) else lines
        rows += [TableRow((label,), tuple(values), ranked, arrow=ranked is None) for label, values in labelled]
    return Table(title, (stub,), tuple(columns), tuple(rows), tuple(groups), better)


def format_number(value: float) -> str:
    """Format a number with three significant digits, as in the paper's tables; integer digits are never dropped.

    Examples
    --------
    >>> [format_number(value) for value in (0.0810, 0.5684, 9.8, 1234.5, 12)]
    ['0.0810', '0.568', '9.80', '1234', '12']
    """
    if isinstance(value, int):
        return str(value)
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0.000"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    # Rounding may carry into the next power of ten: 0.9996 becomes 1.00, not 1.000.
    rounded = round(value, decimals)
    return f"{rounded:.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


def _rank(cells: Sequence[Cell], better: Better) -> list[Mark | None]:
    """Return the marks of a group of values, ranked after rounding."""
    values = [_rounded(cell) for cell in cells]
    known = sorted({value for value in values if value is not None}, reverse=better == "higher")
    if len(known) < 2:
        return [None] * len(values)
    compared = sum(value is not None for value in values)
    second = known[1] if values.count(known[0]) == 1 and compared > 2 else None
    return ["best" if v == known[0] else "second" if v is not None and v == second else None for v in values]


def _rounded(cell: Cell) -> float | None:
    value = cell.value if isinstance(cell, Measured) else cell
    if value is None or isinstance(value, str) or math.isnan(value):
        return None
    return float(value) if math.isinf(value) else float(format_number(value))


def percent(share: float) -> int:
    """Return a share in per cent, rounded to an integer."""
    return round(100 * share)


def with_arrow(label: str, better: Better | None) -> str:
    """Append an up or down arrow to a label if there is a better direction.

    Examples
    --------
    >>> with_arrow("Time [ms]", "lower")
    'Time [ms] ↓'
    """
    return f"{label} {_ARROWS[better]}" if better is not None else label
