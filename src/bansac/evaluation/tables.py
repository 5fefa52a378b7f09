r"""Tables in the paper's layout: Markdown, and LaTeX with booktabs; the best value bold, the second best underlined.

Labels are plain text. What the paper's labels hold beyond ASCII (``°``, Greek letters, subscripts, arrows, check marks)
is written as the Unicode character and turned into LaTeX where LaTeX needs it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Better", "Cell", "Measured", "Section", "Table", "TableRow", "escape_latex", "format_number", "with_arrow"]

Better = Literal["higher", "lower"]

_ARROWS = {"higher": "↑", "lower": "↓"}
_BEST, _SECOND = "best", "second"
_MISSING = "-"
_EMPHASIS = "\\*<"


@dataclass(frozen=True)
class Measured:
    """A value with its standard error; it is ranked by the value.

    Parameters
    ----------
    value : float
        The value.
    error : float
        Its standard error.
    """

    value: float
    error: float


Cell = float | int | str | Measured | None
"""A number, a text, or None where there is no value."""


@dataclass(frozen=True)
class Section:
    """A line across the table that names the rows below it.

    Parameters
    ----------
    title : str
        The line.
    """

    title: str


@dataclass(frozen=True)
class TableRow:
    """One row.

    Parameters
    ----------
    labels : tuple of str
        What stands in the stub, one label for each of its columns.
    values : tuple of Cell
        One value for each column.
    better : {"higher", "lower"}, optional
        Which values of this row are better; best and second best are marked within each group of columns.
    digits : int
        Significant digits of its numbers; whole digits are never cut off.
    arrow : bool
        Whether its label ends in an arrow that tells ``better``.
    """

    labels: tuple[str, ...]
    values: tuple[Cell, ...]
    better: Better | None = None
    digits: int = 3
    arrow: bool = True


@dataclass(frozen=True)
class Table:
    """A table.

    Parameters
    ----------
    title : str
        Its caption.
    stub : tuple of str
        Headings of the columns with labels.
    columns : tuple of str
        Headings of the columns with values.
    rows : tuple of TableRow or Section
        The lines.
    groups : tuple of (str, int)
        Headings over the columns, and how many columns each spans, from the left; empty for none.
    better : tuple of {"higher", "lower"} or None
        For tables that compare their rows: which values of each column are better. Best and second best are marked
        between one section and the next.

    Raises
    ------
    ValueError
        If the lengths do not fit together.

    Examples
    --------
    >>> row = TableRow(("mAA (5°)",), (0.568, 0.61, 0.603), better="higher")
    >>> print(Table("Rotation", ("Metrics",), ("RANSAC", "BANSAC", "P-BANSAC"), (row,)).to_markdown())
    Rotation
    <BLANKLINE>
    | Metrics    | RANSAC |    BANSAC |         P-BANSAC |
    | :--------- | -----: | --------: | ---------------: |
    | mAA (5°) ↑ |  0.568 | **0.610** | <ins>0.603</ins> |
    """

    title: str
    stub: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[TableRow | Section, ...]
    groups: tuple[tuple[str, int], ...] = ()
    better: tuple[Better | None, ...] = ()

    def __post_init__(self) -> None:
        """Check that the lengths fit together."""
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

    def marks(self) -> list[list[str | None]]:
        """Return "best", "second" or None for every value, row by row; a section counts as a row without values.

        Values that look alike rank alike. Where several are best, or only two values are compared, there is no second;
        where all are best, nothing is marked.

        Returns
        -------
        list of list of str or None
            As long as ``rows``.
        """
        marks: list[list[str | None]] = [
            [None] * len(row.values) if isinstance(row, TableRow) else [] for row in self.rows
        ]
        for places, better in self._contests():
            cells = []
            for i, j in places:
                row = self.rows[i]
                assert isinstance(row, TableRow)
                cells.append((row.values[j], row.digits))
            for (i, j), mark in zip(places, _rank(cells, better), strict=True):
                marks[i][j] = mark
        return marks

    def _contests(self) -> list[tuple[list[tuple[int, int]], Better]]:
        """Return the cells (row, column) that are compared with each other, and which of them are better."""
        contests: list[tuple[list[tuple[int, int]], Better]] = []
        for i, row in enumerate(self.rows):
            if isinstance(row, TableRow) and row.better is not None:
                contests += [([(i, j) for j in columns], row.better) for columns in self._column_groups()]
        for j, better in enumerate(self.better):
            if better is not None:
                contests += [([(i, j) for i in rows], better) for rows in self._row_groups()]
        return contests

    def _column_groups(self) -> list[range]:
        spans = [span for _, span in self.groups] or [len(self.columns)]
        starts = [sum(spans[:k]) for k in range(len(spans))]
        return [range(start, start + span) for start, span in zip(starts, spans, strict=True)]

    def _row_groups(self) -> list[list[int]]:
        groups: list[list[int]] = [[]]
        for i, row in enumerate(self.rows):
            if isinstance(row, Section):
                groups.append([])
            else:
                groups[-1].append(i)
        return groups

    def to_markdown(self) -> str:
        """Return the table in Markdown, padded so that the source reads as a table too.

        Groups stand in the heading, the columns' own headings below them: Markdown has one line of headings.

        Returns
        -------
        str
            Caption and table.
        """
        blank = [""] * len(self.stub)
        headings = [*map(_markdown, self.stub), *(_markdown(with_arrow(*pair)) for pair in self._headings())]
        lines = [headings]
        if self.groups:
            over = [cell for title, span in self.groups for cell in (_markdown(title), *[""] * (span - 1))]
            lines = [blank + over, [f"**{heading}**" if heading else "" for heading in headings]]
        for row, marks in zip(self.rows, self.marks(), strict=True):
            if isinstance(row, Section):
                lines.append([f"*{_markdown(row.title)}*", *[""] * (len(headings) - 1)])
                continue
            labels = [_markdown(label) for label in self._labels(row)]
            values = zip(row.values, marks, strict=True)
            lines.append(labels + [_mark_markdown(_format(value, row.digits), mark) for value, mark in values])
        return f"{_markdown(self.title, characters=_EMPHASIS)}\n\n" + _pad(lines, stub=len(self.stub))

    def to_latex(self) -> str:
        r"""Return the table in LaTeX; it needs ``\usepackage{amssymb, booktabs, graphicx}``.

        Returns
        -------
        str
            A ``table`` or, with more than eight columns, ``table*`` environment.
        """
        width = len(self.stub) + len(self.columns)
        environment = "table*" if width > 8 else "table"
        lines = [
            f"\\begin{{{environment}}}[t]",
            "  \\centering",
            f"  \\caption{{{escape_latex(self.title)}}}",
            "  \\resizebox{\\linewidth}{!}{%",
            f"  \\begin{{tabular}}{{@{{}}{'l' * len(self.stub)}{'c' * len(self.columns)}@{{}}}}",
            "    \\toprule",
        ]
        if self.groups:
            lines += self._latex_groups()
        headings = [*map(escape_latex, self.stub), *(escape_latex(with_arrow(*pair)) for pair in self._headings())]
        lines += [f"    {_latex_line(headings)}", "    \\midrule"]
        for number, (row, marks) in enumerate(zip(self.rows, self.marks(), strict=True)):
            if isinstance(row, Section):
                lines += ["    \\midrule"] * (number > 0)
                title = f"\\multicolumn{{{width}}}{{c}}{{\\textit{{{escape_latex(row.title)}}}}}"
                lines.append(f"    {_latex_line([title])}")
                continue
            labels = [escape_latex(label) for label in self._labels(row)]
            values = zip(row.values, marks, strict=True)
            cells = [_mark_latex(escape_latex(_format(value, row.digits)), mark) for value, mark in values]
            lines.append(f"    {_latex_line(labels + cells)}")
        lines += ["    \\bottomrule", "  \\end{tabular}}", f"\\end{{{environment}}}", ""]
        return "\n".join(lines)

    def _latex_groups(self) -> list[str]:
        cells = [f"\\multicolumn{{{span}}}{{c}}{{{escape_latex(title)}}}" for title, span in self.groups]
        first = len(self.stub) + 1
        rules = [f"\\cmidrule(lr){{{first + group.start}-{first + group.stop - 1}}}" for group in self._column_groups()]
        return [f"    {_latex_line([*[''] * len(self.stub), *cells])}", f"    {' '.join(rules)}"]

    def _headings(self) -> list[tuple[str, Better | None]]:
        return list(zip(self.columns, self.better or [None] * len(self.columns), strict=True))

    def _labels(self, row: TableRow) -> list[str]:
        """Return a row's labels, the last one with its arrow."""
        return [*row.labels[:-1], with_arrow(row.labels[-1], row.better if row.arrow else None)]


def format_number(value: float, digits: int = 3) -> str:
    """Format a number with significant digits, as the paper's tables do; whole digits are never cut off.

    Parameters
    ----------
    value : float
        The number; integers stay as they are.
    digits : int, optional
        Significant digits.

    Returns
    -------
    str
        The number.

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
        return f"{0:.{digits}f}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    # Rounding may carry into the next power of ten: 0.9996 is 1.00, not 1.000.
    rounded = round(value, decimals)
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:.{decimals}f}"


def _format(cell: Cell, digits: int) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Measured):
        if math.isnan(cell.value):
            return _MISSING
        value = format_number(float(cell.value), digits)
        return f"{value} ± {cell.error:.{len(value.partition('.')[2])}f}"
    return format_number(cell, digits) if cell is not None and not math.isnan(cell) else _MISSING


def _rank(cells: Sequence[tuple[Cell, int]], better: Better) -> list[str | None]:
    """Return the marks of values that compete, as they look when they are rounded."""
    values = [_rounded(cell, digits) for cell, digits in cells]
    known = sorted({value for value in values if value is not None}, reverse=better == "higher")
    if len(known) < 2:
        return [None] * len(values)
    compared = sum(value is not None for value in values)
    second = known[1] if values.count(known[0]) == 1 and compared > 2 else None
    return [_BEST if v == known[0] else _SECOND if v is not None and v == second else None for v in values]


def _rounded(cell: Cell, digits: int) -> float | None:
    value = cell.value if isinstance(cell, Measured) else cell
    if value is None or isinstance(value, str) or math.isnan(value):
        return None
    return float(value) if math.isinf(value) else float(format_number(value, digits))


def with_arrow(label: str, better: Better | None) -> str:
    """Return a label with an arrow up or down where there is a direction.

    Parameters
    ----------
    label : str
        The label.
    better : {"higher", "lower"} or None
        Which values are better.

    Returns
    -------
    str
        The label.

    Examples
    --------
    >>> with_arrow("Time [ms]", "lower")
    'Time [ms] ↓'
    """
    return f"{label} {_ARROWS[better]}" if better is not None else label


def _markdown(text: str, characters: str = _EMPHASIS + "|") -> str:
    for character in characters:
        text = text.replace(character, f"\\{character}")
    return text


def _mark_markdown(text: str, mark: str | None) -> str:
    return f"**{text}**" if mark == _BEST else f"<ins>{text}</ins>" if mark == _SECOND else text


def _pad(lines: list[list[str]], stub: int) -> str:
    """Return the lines of a Markdown table: labels to the left, values to the right."""
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
    r"""Return plain text as LaTeX.

    Parameters
    ----------
    text : str
        Plain text.

    Returns
    -------
    str
        The same, with LaTeX's own characters escaped and the Unicode ones of labels written as LaTeX.

    Examples
    --------
    >>> print(escape_latex("sacre_coeur, 5 %"))
    sacre\_coeur, 5 \%
    """
    return "".join(_LATEX.get(character, character) for character in text)


def _latex_line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _mark_latex(text: str, mark: str | None) -> str:
    return f"\\textbf{{{text}}}" if mark == _BEST else f"\\underline{{{text}}}" if mark == _SECOND else text
