"""Tables in the paper's layout, and their rendering as Markdown and JSON.

In Markdown the best value is bold and the second best underlined. The Styler of pandas is not used because it lacks
three features: section lines across the table, a direction ("higher" or "lower" is better) for each row, and equal
ranks for values that are equal after rounding.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Better = Literal["higher", "lower"]
Mark = Literal["best", "second"]

_ARROWS = {"higher": "↑", "lower": "↓"}


@dataclass(frozen=True)
class Measured:
    """Value with its standard error, or half of its 95 % interval; the rank depends on the value only."""

    value: float
    error: float

    @property
    def ahead(self) -> bool:
        """Whether a difference is positive beyond its error."""
        return self.value > self.error

    @property
    def behind(self) -> bool:
        """Whether a difference is negative beyond its error."""
        return self.value < -self.error


Cell = float | int | str | Measured | None
"""Number, text, or None for a missing value."""


@dataclass(frozen=True)
class TableRow:
    """Row of a table: labels in the stub columns, and one value for each other column."""

    labels: tuple[str, ...]
    values: tuple[Cell, ...]
    better: Better | None = None  # if given, best and second best are marked within each group of columns
    section: str = ""  # title of the line across the table that is above the first row with it
    arrow: bool = False  # append an arrow for ``better`` to the last label

    @property
    def label(self) -> str:
        """The labels, joined by spaces."""
        return " ".join(filter(None, self.labels))


@dataclass(frozen=True)
class Table:
    """Table with a caption."""

    title: str
    stub: tuple[str, ...]  # headings of the label columns
    columns: tuple[str, ...]  # headings of the value columns
    rows: tuple[TableRow, ...]
    groups: tuple[tuple[str, int], ...] = ()  # headings over value columns, and the number that each spans
    better: tuple[Better | None, ...] = ()  # of each value column, to mark best and second best within a section
    note: str = ""  # paragraph below

    def marks(self) -> list[list[Mark | None]]:
        """Return "best", "second" or None for every value, row by row.

        Equal rounded values have the same rank. There is no second best of two values or after a tie, and no best of
        equal ones.
        """
        marks: list[list[Mark | None]] = [[None] * len(self.columns) for _ in self.rows]
        for places, better in self._contests():
            for (i, j), mark in zip(places, _rank([self.rows[i].values[j] for i, j in places], better), strict=True):
                marks[i][j] = mark
        return marks

    def _contests(self) -> Iterator[tuple[list[tuple[int, int]], Better]]:
        """Yield the groups of cells (row, column) to compare, each with its better direction."""
        for i, row in enumerate(self.rows):
            if row.better is not None:
                yield from (([(i, j) for j in columns], row.better) for columns in self.column_groups())
        for _, of_section in itertools.groupby(range(len(self.rows)), key=lambda i: self.rows[i].section):
            rows = list(of_section)
            yield from (([(i, j) for i in rows], better) for j, better in enumerate(self.better) if better is not None)

    def column_groups(self) -> list[range]:
        """Return the indices of the columns of each group; without groups, of all columns."""
        spans = [span for _, span in self.groups] or [len(self.columns)]
        return [range(stop - span, stop) for span, stop in zip(spans, itertools.accumulate(spans), strict=True)]

    def headings(self) -> list[tuple[str, str]]:
        """Return the group and the heading of every column."""
        groups = [title for title, span in self.groups for _ in range(span)] or [""] * len(self.columns)
        return list(zip(groups, self.columns, strict=True))

    def within(self, section: str) -> list[TableRow]:
        """Return the rows of the section of this name or, if there is none, of those that begin so."""
        exact = [row for row in self.rows if row.section == section]
        return exact or [row for row in self.rows if row.section.startswith(section)]

    def columns_of(self, group: str) -> list[str]:
        """Return the different headings of the columns in the groups that begin so."""
        return list(dict.fromkeys(name for of, name in self.headings() if of.startswith(group)))

    def value(self, row: str | int, column: str | int, *, section: str = "", group: str = "") -> Any:
        """Return the one value of a row and a column, given by label or place; section and group may only begin so."""
        rows = [found.values for i, found in enumerate(self.within(section)) if row in (found.label, i)]
        places = [j for j, (of, name) in enumerate(self.headings()) if column in (name, j) and of.startswith(group)]
        if len(rows) != 1 or len(places) != 1:
            raise KeyError(f"{len(rows)} rows {section!r}, {row!r} and {len(places)} columns {group!r}, {column!r}")
        return rows[0][places[0]]


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
    """
    rows: list[TableRow] = []
    for section, lines in sections.items():
        labelled = lines.items() if isinstance(lines, Mapping) else lines
        rows += [TableRow((label,), tuple(values), ranked, section) for label, values in labelled]
    return Table(title, (stub,), tuple(columns), tuple(rows), tuple(groups), better)


def plain_table(header: Iterable[str], rows: Iterable[Iterable[Cell]], note: str = "") -> Table:
    """Return a table without caption, whose labels and texts are Markdown; the first column has the labels."""
    (corner, *columns), cells = header, [tuple(row) for row in rows]
    lines = tuple(TableRow((str(label),), tuple(values)) for label, *values in cells)
    return Table("", (corner,), tuple(columns), lines, note=note)


def grid(
    corner: str,
    columns: Mapping[str, Mapping[str, Any]],
    text: Callable[[Any], str],
    labels: Mapping[str, str] | None = None,
) -> Table:
    """Return a plain table of cells by column and by the name of their row; the rows may have labels."""
    names = dict.fromkeys(name for cells in columns.values() for name in cells)
    rows = ([text(cells[name]) if name in cells else _MISSING for cells in columns.values()] for name in names)
    titles = (name if labels is None else labels[name] for name in names)
    return plain_table([corner, *columns], ([title, *row] for title, row in zip(titles, rows, strict=True)))


def rows_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Return the plain values of rows as a plain table."""
    found = [{name: cell for name, cell in row.items() if not isinstance(cell, dict | list | tuple)} for row in rows]
    first, *columns = dict.fromkeys(itertools.chain.from_iterable(found))
    return plain_table([first, *columns], ([row.get(first, ""), *map(row.get, columns)] for row in found))


def format_number(value: float) -> str:
    """Format a number with three significant digits, as in the paper's tables; integer digits are never dropped."""
    if isinstance(value, int):
        return str(value)
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0.000"
    rounded = float(f"{value:.3g}")  # this may carry into the next power of ten: 0.9996 becomes 1.00, not 1.000
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


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
    """Append an up or down arrow to a label if there is a better direction."""
    return f"{label} {_ARROWS[better]}" if better is not None else label


_MISSING = "-"
_EMPHASIS = "\\*<"
_MARKS: Mapping[Mark | None, str] = {"best": "**{}**", "second": "<ins>{}</ins>", None: "{}"}


def to_markdown(table: Table) -> str:
    """Return the table in Markdown, with its caption; a plain table as it is.

    Markdown has one line of headings: that of the groups, if there are any; then those of the columns are the first
    row.
    """
    plain = not table.title
    escape = _escape_bar if plain else _markdown
    headings = list(map(escape, column_titles(table)))
    lines = [headings]
    if table.groups:
        over = [cell for title, span in table.groups for cell in (_markdown(title), *[""] * (span - 1))]
        lines = [[""] * len(table.stub) + over, [f"**{heading}**" if heading else "" for heading in headings]]
    for section, rows in sections(table, escape, _escape_bar if plain else str, _MARKS):
        lines += [[f"*{escape(section)}*", *[""] * (len(headings) - 1)]] if section else []
        lines += rows
    rule = ["---"] * len(headings) if plain else [":---"] * len(table.stub) + ["---:"] * len(table.columns)
    text = "\n".join(f"| {' | '.join(line)} |" for line in (lines[0], rule, *lines[1:]))
    if not plain:
        text = f"{_markdown(table.title, characters=_EMPHASIS)}\n\n{text}"
    return f"{text}\n\n{table.note}" if table.note else text


def to_document(table: Table) -> dict[str, Any]:
    """Return the table as plain values for JSON; floating-point numbers have six significant digits."""
    lines: list[dict[str, Any]] = []
    for section, rows in itertools.groupby(table.rows, key=lambda row: row.section):
        lines += [{"section": section}] if section else []
        lines += [{"labels": list(row.labels), "values": list(map(_plain, row.values))} for row in rows]
    return {
        "title": table.title,
        "stub": list(table.stub),
        "groups": [list(group) for group in table.groups],
        "columns": list(table.columns),
        "rows": lines,
    }


def from_document(document: Mapping[str, Any]) -> Table:
    """Return the table of :func:`to_document`, without directions."""
    rows, section = [], ""
    for line in document["rows"]:
        section = line.get("section", section)
        if "values" in line:
            cells = (Measured(**cell) if isinstance(cell, dict) else cell for cell in line["values"])
            rows.append(TableRow(tuple(line["labels"]), tuple(cells), section=section))
    stub, columns = (tuple(document[key]) for key in ("stub", "columns"))
    return Table(document["title"], stub, columns, tuple(rows), tuple(map(tuple, document["groups"])))


def stored_table(document: Mapping[str, Any], name: str) -> Table:
    """Return a table of a stored document as a plain one: rows begin with their section, columns with their group."""
    table = from_document(document["tables"][name])
    rows = ((", ".join(filter(None, [row.section, *row.labels])), *row.values) for row in table.rows)
    columns = (f"{group}: {column}" if group else column for group, column in table.headings())
    return plain_table([", ".join(table.stub), *columns], rows)


def _plain(cell: Cell) -> Any:
    if isinstance(cell, Measured):
        return {"value": _plain(cell.value), "error": _plain(cell.error)}
    return float(f"{cell:.6g}") if isinstance(cell, float) else cell


def column_titles(table: Table) -> list[str]:
    """Return the headings of all columns, with arrows for their better directions."""
    return [*table.stub, *map(with_arrow, table.columns, table.better or [None] * len(table.columns))]


def sections(
    table: Table, of_label: Callable[[str], str], of_value: Callable[[str], str], formats: Mapping[Mark | None, str]
) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the title of each section and its rows: escaped labels, and values in the format of their marks."""
    marked = zip(table.rows, table.marks(), strict=True)
    for section, rows in itertools.groupby(marked, key=lambda pair: pair[0].section):
        lines = []
        for row, marks in rows:
            labels = [*row.labels[:-1], with_arrow(row.labels[-1], row.better if row.arrow else None)]
            values = zip(row.values, marks, strict=True)
            cells = [formats[mark].format(of_value(_format(value))) for value, mark in values]
            lines.append([*map(of_label, labels), *cells])
        yield section, lines


def _format(cell: Cell) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Measured):
        if math.isnan(cell.value):
            return _MISSING
        value = format_number(float(cell.value))
        return f"{value} ± {cell.error:.{len(value.partition('.')[2])}f}"
    return format_number(cell) if cell is not None and not math.isnan(cell) else _MISSING


def _escape_bar(text: str) -> str:
    return text.replace("|", "\\|")


def _markdown(text: str, characters: str = _EMPHASIS + "|") -> str:
    return text.translate({ord(character): f"\\{character}" for character in characters})
