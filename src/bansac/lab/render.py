r"""Rendering of tables as Markdown, LaTeX (with booktabs) and JSON.

In Markdown and LaTeX the best value is bold and the second best underlined. Labels are plain text. Their characters
beyond ASCII (``°``, Greek letters, subscripts, arrows, check marks) are Unicode, which :func:`escape_latex` converts to
LaTeX.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bansac.lab.reports import lines as markdown_lines
from bansac.lab.tables import (
    Better,
    Cell,
    Measured,
    Section,
    Table,
    TableRow,
    format_number,
    with_arrow,
)

_MISSING = "-"
_EMPHASIS = "\\*<"
_MARKS = {"best": "**{}**", "second": "<ins>{}</ins>", None: "{}"}
_LATEX_MARKS = {"best": "\\textbf{{{}}}", "second": "\\underline{{{}}}", None: "{}"}


def to_markdown(table: Table) -> str:
    """Return the caption and the table in Markdown, with aligned columns in the source.

    Markdown has a single line of headings. If there are groups, it has their headings, and the first row of the table
    has the headings of the columns.

    Examples
    --------
    >>> row = TableRow(("mAA (5°)",), (0.568, 0.61, 0.603), better="higher")
    >>> print(to_markdown(Table("Rotation", ("Metrics",), ("RANSAC", "BANSAC", "P-BANSAC"), (row,))))
    Rotation
    <BLANKLINE>
    | Metrics    | RANSAC |    BANSAC |         P-BANSAC |
    | :--------- | -----: | --------: | ---------------: |
    | mAA (5°) ↑ |  0.568 | **0.610** | <ins>0.603</ins> |
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
            continue
        labels = [_markdown(label) for label in _labels(row)]
        values = zip(row.values, marks, strict=True)
        lines.append(labels + [_MARKS[mark].format(_format(value)) for value, mark in values])
    return f"{_markdown(table.title, characters=_EMPHASIS)}\n\n" + _pad(lines, stub=len(table.stub))


def to_document(table: Table) -> dict[str, Any]:
    """Return the table as plain values for JSON; floating-point numbers have six significant digits.

    Examples
    --------
    >>> row = TableRow(("mAA (5°)",), (2 / 3, Measured(0.5, 0.25)))
    >>> to_document(Table("Rotation", ("Metrics",), ("RANSAC", "BANSAC"), (Section("E"), row)))["rows"]
    [{'section': 'E'}, {'labels': ['mAA (5°)'], 'values': [0.666667, {'value': 0.5, 'error': 0.25}]}]
    """
    rows: list[dict[str, Any]] = []
    for row in table.rows:
        if isinstance(row, Section):
            rows.append({"section": row.title})
        else:
            rows.append({"labels": list(row.labels), "values": [_plain(value) for value in row.values]})
    return {
        "title": table.title,
        "stub": list(table.stub),
        "groups": [list(group) for group in table.groups],
        "columns": list(table.columns),
        "rows": rows,
    }


def stored_table(document: Mapping[str, Any], name: str, section: str | None = None) -> str:
    """Return a table of a stored document in Markdown without marks, whole or one section.

    The rows of a whole table begin with the title of their section, columns with that of their group.
    """
    table = document["tables"][name]
    of, rows = "", []
    for row in table["rows"]:
        of = row.get("section", of)
        if "values" in row and section in (None, of):
            label = ", ".join(filter(None, [of if section is None else "", *row["labels"]]))
            rows.append([label, *(format_number(v) if isinstance(v, float) else str(v) for v in row["values"])])
    groups = [f"{title}: " for title, span in table["groups"] for _ in range(span)] or [""] * len(table["columns"])
    columns = (group + column for group, column in zip(groups, table["columns"], strict=True))
    return markdown_lines([", ".join(table["stub"]), *columns], rows)


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
            continue
        labels = [escape_latex(label) for label in _labels(row)]
        values = zip(row.values, marks, strict=True)
        cells = [_LATEX_MARKS[mark].format(escape_latex(_format(value))) for value, mark in values]
        lines.append(f"    {_latex_line(labels + cells)}")
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
    for character in characters:
        text = text.replace(character, f"\\{character}")
    return text


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
    r"""Convert plain text to LaTeX: escape special characters and replace the Unicode characters of labels.

    Examples
    --------
    >>> print(escape_latex("sacre_coeur, 5 %"))
    sacre\_coeur, 5 \%
    """
    return "".join(_LATEX.get(character, character) for character in text)


def _latex_line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
