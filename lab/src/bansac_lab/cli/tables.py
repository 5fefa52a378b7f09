"""Tables of reports in a terminal."""

import re
from collections.abc import Mapping

from rich.markup import escape
from rich.text import Text

from bansac.cli import console
from bansac_lab.tables import Mark, Table, column_titles, sections, to_markdown

# Characters between two columns of a table.
_GAP = 3
_MARKS: Mapping[Mark | None, str] = {"best": "[bold]{}[/]", "second": "[underline]{}[/]", None: "{}"}


def show(table: Table) -> None:
    """Print a table: as Markdown into a file; in a terminal, columns that do not fit beside the others follow below."""
    if not console.report.is_terminal:
        console.report.print(to_markdown(table) + "\n", markup=False)
        return
    parts = [(section, rows) for section, rows in sections(table, _styled, _styled, _MARKS)]
    groups = [*[""] * len(table.stub), *(group for group, _ in table.headings())]
    heads = ["\n".join([*of.split(), _styled(title)]) for of, title in zip(groups, column_titles(table), strict=True)]
    columns = zip(heads, *(row for _, rows in parts for row in rows), strict=True)
    texts = (Text.from_markup("\n".join(column)).plain.split("\n") for column in columns)
    widths = [_GAP + max(map(len, lines)) for lines in texts]
    console.report.print(table.title, markup=False)
    for chosen in _fitting(widths, len(table.stub)):
        for section, rows in parts:
            if section:
                console.report.print(section, markup=False)
            shown = ([row[column] for column in chosen] for row in rows)
            console.show_table([heads[column] for column in chosen], shown, left=heads[: len(table.stub)])
    console.report.print(table.note, markup=False)


def _fitting(widths: list[int], labels: int) -> list[list[int]]:
    """Return the columns of each part that fits into the width of the terminal; each part begins with the labels."""
    first, parts = list(range(labels)), [list(range(labels))]
    for column in range(labels, len(widths)):
        width = sum(widths[k] for k in (*parts[-1], column))
        if width + _GAP > console.report.width and len(parts[-1]) > labels:
            parts.append([*first])
        parts[-1].append(column)
    return parts


def _styled(cell: str) -> str:
    """Return a text, which may have Markdown's marks, as markup of rich."""
    plain = re.sub(r"`|</?ins>|(?<!\*)\*(?!\*)", "", cell)
    return re.sub(r"\*\*(.+?)\*\*", r"[bold]\1[/]", escape(plain))
