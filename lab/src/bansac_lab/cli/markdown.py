"""Markdown of reports in a terminal."""

import itertools
import re

from rich.markup import escape

from bansac.cli import console

# Characters between two columns of a table.
_GAP = 3


def show_markdown(text: str) -> None:
    """Print Markdown: its tables as tables in a terminal, and as they are in a file."""
    if not console.report.is_terminal:
        console.report.print(text + "\n", markup=False)
        return
    for is_table, lines in itertools.groupby(text.splitlines(), lambda line: line.startswith("|")):
        if is_table:
            _show_markdown_table([[cell.strip() for cell in line.strip("|").split("|")] for line in lines])
        else:
            console.report.print("\n".join(lines), markup=False)


def _show_markdown_table(lines: list[list[str]]) -> None:
    """Print the cells of a Markdown table; columns that do not fit beside the others follow below, no word is cut."""
    headings, rule, *rows = ([re.sub(r"`|</?ins>|(?<!\*)\*(?!\*)", "", cell) for cell in line] for line in lines)
    if not headings[0] and rows and rows[0][0].startswith("**"):  # groups of columns, whose names are the first row
        title = ""
        for column, name in enumerate(rows.pop(0)):
            title = headings[column] or title
            headings[column] = "\n".join([*title.split(), name])
    columns = list(zip(headings, *(row for row in rows if any(row[1:])), strict=True))
    words = ([line for cell in column for line in cell.replace("**", "").split("\n")] for column in columns)
    widths = [_GAP + max(map(len, lines)) for lines in words]
    parts, width = [[0]], widths[0]
    for column in range(1, len(headings)):
        width += widths[column]
        if width + _GAP > console.report.width and len(parts[-1]) > 1:
            parts, width = [*parts, [0]], widths[0] + widths[column]
        parts[-1].append(column)
    left = [_styled(name) for name, mark in zip(headings, rule, strict=True) if not mark.endswith(":")]
    for part in parts:
        for has_values, group in itertools.groupby(rows, lambda row: any(row[1:])):
            if has_values:
                shown = ([_styled(row[column]) for column in part] for row in group)
                console.show_table([_styled(headings[column]) for column in part], shown, left=left)
            else:
                console.report.print("\n".join(row[0] for row in group), markup=False)


def _styled(cell: str) -> str:
    """Return a cell of a Markdown table as markup of rich."""
    return re.sub(r"\*\*(.+?)\*\*", r"[bold]\1[/]", escape(cell))
