"""Tables in the paper's layout, and their rendering as Markdown, LaTeX (with booktabs) and JSON.

In Markdown and LaTeX the best value is bold and the second best underlined. Labels are plain text. Their characters
beyond ASCII are Unicode, which :func:`escape_latex` converts to LaTeX. The Styler of pandas is not used because it
lacks three features: section lines across the table, a direction ("higher" or "lower" is better) for each row, and
equal ranks for values that are equal after rounding.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bansac.lab.reports import lines as markdown_lines

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
    """Table with a caption."""

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

        Equal rounded values have the same rank. There is no second best of two values or after a tie, and no best of
        equal ones.
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
        return [range(stop - span, stop) for span, stop in zip(spans, itertools.accumulate(spans), strict=True)]

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
    """
    rows: list[TableRow | Section] = []
    for section, lines in sections.items():
        rows += [Section(section)] if section else []
        labelled = lines.items() if isinstance(lines, Mapping) else lines
        rows += [TableRow((label,), tuple(values), ranked, arrow=ranked is None) for label, values in labelled]
    return Table(title, (stub,), tuple(columns), tuple(rows), tuple(groups), better)


def format_number(value: float) -> str:
    """Format a number with three significant digits, as in the paper's tables; integer digits are never dropped."""
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
    """Append an up or down arrow to a label if there is a better direction."""
    return f"{label} {_ARROWS[better]}" if better is not None else label


_MISSING = "-"
_EMPHASIS = "\\*<"
_MARKS = {"best": "**{}**", "second": "<ins>{}</ins>", None: "{}"}
_LATEX_MARKS = {"best": "\\textbf{{{}}}", "second": "\\underline{{{}}}", None: "{}"}


def to_markdown(table: Table) -> str:
    """Return the caption and the table in Markdown, with aligned columns in the source.

    Markdown has one line of headings: that of the groups, if there are any; then those of the columns are the first
    row.
    """
    blank = [""] * len(table.stub)
    headings = [*map(_markdown, table.stub), *(_markdown(with_arrow(*pair)) for pair in _headings(table))]
    lines = [headings]
    if table.groups:
        over = [cell for title, span in table.groups for cell in (_markdown(title), *[""] * (span - 1))]
        lines = [blank + over, [f"**{heading}**" if heading else "" for heading in headings]]
    for row, marks in zip(table.rows, table.marks(), strict=True):
        if isinstance(row, Section):
            lines.append([f"*{_markdown(row.title)}*", *[""] * (len(headings) - 1)])
        else:
            cells = [_MARKS[mark].format(_format(value)) for value, mark in zip(row.values, marks, strict=True)]
            lines.append([*map(_markdown, _labels(row)), *cells])
    return f"{_markdown(table.title, characters=_EMPHASIS)}\n\n" + _pad(lines, stub=len(table.stub))


def to_document(table: Table) -> dict[str, Any]:
    """Return the table as plain values for JSON; floating-point numbers have six significant digits."""

    def plain(row: TableRow | Section) -> dict[str, Any]:
        if isinstance(row, Section):
            return {"section": row.title}
        return {"labels": list(row.labels), "values": [_plain(value) for value in row.values]}

    return {
        "title": table.title,
        "stub": list(table.stub),
        "groups": [list(group) for group in table.groups],
        "columns": list(table.columns),
        "rows": list(map(plain, table.rows)),
    }


def stored_table(document: Mapping[str, Any], name: str, section: str | None = None) -> str:
    """Return a table of a stored document in Markdown without marks, whole or one section.

    The rows of a whole table begin with their section, columns with their group.
    """
    table = document["tables"][name]
    rows = []
    for of, labels, values in read_rows(table):
        if section in (None, of):
            label = ", ".join(filter(None, [of if section is None else "", *labels]))
            rows.append([label, *(format_number(v) if isinstance(v, float) else str(v) for v in values)])
    columns = (f"{group}: {column}" if table["groups"] else column for group, column in read_columns(table))
    return markdown_lines([", ".join(table["stub"]), *columns], rows)


def read_rows(table: Mapping[str, Any]) -> Iterator[tuple[str, list[str], list[Any]]]:
    """Yield the section, the labels and the values of every row of a table of :func:`to_document`."""
    section = ""
    for row in table["rows"]:
        section = row.get("section", section)
        if "values" in row:
            yield section, row["labels"], row["values"]


def read_columns(table: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the group and the heading of every column of a table of :func:`to_document`."""
    groups = [title for title, span in table["groups"] for _ in range(span)] or [""] * len(table["columns"])
    return list(zip(groups, table["columns"], strict=True))


def _plain(cell: Cell) -> Any:
    if isinstance(cell, Measured):
        return {"value": _plain(cell.value), "error": _plain(cell.error)}
    return float(f"{cell:.6g}") if isinstance(cell, float) else cell


def to_latex(table: Table) -> str:
    r"""Return the table as a LaTeX ``table``, or as ``table*`` if it has more than eight columns.

    The document needs ``\usepackage{amssymb, booktabs, graphicx}``.
    """
    width = len(table.stub) + len(table.columns)
    environment = "table*" if width > 8 else "table"
    lines = [
        f"\\begin{{{environment}}}[t]",
        "  \\centering",
        f"  \\caption{{{escape_latex(table.title)}}}",
        "  \\resizebox{\\linewidth}{!}{%",
        f"  \\begin{{tabular}}{{@{{}}{'l' * len(table.stub)}{'c' * len(table.columns)}@{{}}}}",
        "    \\toprule",
    ]
    if table.groups:
        lines += _latex_groups(table)
    headings = [*map(escape_latex, table.stub), *(escape_latex(with_arrow(*pair)) for pair in _headings(table))]
    lines += [f"    {_latex_line(headings)}", "    \\midrule"]
    for number, (row, marks) in enumerate(zip(table.rows, table.marks(), strict=True)):
        if isinstance(row, Section):
            lines += ["    \\midrule"] * (number > 0)
            title = f"\\multicolumn{{{width}}}{{c}}{{\\textit{{{escape_latex(row.title)}}}}}"
            lines.append(f"    {_latex_line([title])}")
        else:
            values = zip(row.values, marks, strict=True)
            cells = [_LATEX_MARKS[mark].format(escape_latex(_format(value))) for value, mark in values]
            lines.append(f"    {_latex_line([*map(escape_latex, _labels(row)), *cells])}")
    lines += ["    \\bottomrule", "  \\end{tabular}}", f"\\end{{{environment}}}", ""]
    return "\n".join(lines)


def _latex_groups(table: Table) -> list[str]:
    cells = [f"\\multicolumn{{{span}}}{{c}}{{{escape_latex(title)}}}" for title, span in table.groups]
    first = len(table.stub) + 1
    rules = [f"\\cmidrule(lr){{{first + group.start}-{first + group.stop - 1}}}" for group in table.column_groups()]
    return [f"    {_latex_line([*[''] * len(table.stub), *cells])}", f"    {' '.join(rules)}"]


def _headings(table: Table) -> list[tuple[str, Better | None]]:
    return list(zip(table.columns, table.better or [None] * len(table.columns), strict=True))


def _labels(row: TableRow) -> list[str]:
    """Return a row's labels, with an arrow at the last one if the row has a better direction."""
    return [*row.labels[:-1], with_arrow(row.labels[-1], row.better if row.arrow else None)]


def _format(cell: Cell) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Measured):
        if math.isnan(cell.value):
            return _MISSING
        value = format_number(float(cell.value))
        return f"{value} ± {cell.error:.{len(value.partition('.')[2])}f}"
    return format_number(cell) if cell is not None and not math.isnan(cell) else _MISSING


def _markdown(text: str, characters: str = _EMPHASIS + "|") -> str:
    return text.translate({ord(character): f"\\{character}" for character in characters})


def _pad(lines: list[list[str]], stub: int) -> str:
    """Return a Markdown table with labels aligned to the left and values to the right."""
    widths = [max(3, *(len(line[j]) for line in lines)) for j in range(len(lines[0]))]
    rule = [":" + "-" * (w - 1) if j < stub else "-" * (w - 1) + ":" for j, w in enumerate(widths)]

    def join(line: list[str]) -> str:
        cells = [c.ljust(w) if j < stub else c.rjust(w) for j, (c, w) in enumerate(zip(line, widths, strict=True))]
        return f"| {' | '.join(cells)} |"

    return "\n".join(join(line) for line in [lines[0], rule, *lines[1:]])


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "\N{EN DASH}": "--",
    "°": r"$^\circ$",
    "±": r"$\pm$",
    "∞": r"$\infty$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "✓": r"$\checkmark$",
    **{letter: f"${name}$" for letter, name in zip("γερτ", (r"\gamma", r"\epsilon", r"\rho", r"\tau"), strict=True)},
    **{digit: f"$_{number}$" for number, digit in enumerate("₀₁₂₃₄₅₆₇₈₉")},
}


def escape_latex(text: str) -> str:
    """Convert plain text to LaTeX: escape special characters and replace the Unicode characters of labels."""
    return "".join(_LATEX.get(character, character) for character in text)


def _latex_line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
