import io

import pytest

from bansac.cli import console
from bansac_lab.cli.tables import show
from bansac_lab.tables import Table, TableRow, plain_table, rows_table


def shown(table: Table, monkeypatch: pytest.MonkeyPatch, width: int = 80, *, terminal: bool = True) -> str:
    """Return what a terminal, or a file, shows of a table."""
    stream = io.StringIO()
    screen = console._Screen(file=stream, width=width, force_terminal=terminal, soft_wrap=True, color_system=None)
    monkeypatch.setattr(console, "report", screen)
    show(table)
    return stream.getvalue()


def test_a_terminal_shows_tables_and_a_file_has_markdown(monkeypatch: pytest.MonkeyPatch) -> None:
    table = plain_table(["`a`", "b"], [["1", "**2**"]], "Two columns.")
    assert shown(table, monkeypatch, terminal=False) == "| `a` | b |\n| --- | --- |\n| 1 | **2** |\n\nTwo columns.\n\n"
    text = shown(table, monkeypatch)
    assert not set("|*`") & set(text)
    assert [line.split() for line in text.splitlines() if line.strip()][-1] == ["Two", "columns."]


@pytest.mark.parametrize("width", [40, 80])
def test_columns_of_a_wide_table_that_do_not_fit_follow_below(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = tuple(f"measurement {k} [ms]" for k in range(5))
    section = "Homographies of photographs of two planes, all pairs"
    rows = (TableRow(("default",), tuple(range(5)), section=section),)
    text = shown(Table("Times", ("method",), columns, rows), monkeypatch, width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= max(width, len(section))
    assert lines[0] == "Times"
    assert [name for name in columns if name in text] == list(columns)
    below = sum(line.split()[:1] == ["default"] for line in lines)
    assert below == sum("method" in line for line in lines) == {40: 5, 80: 2}[width]
    assert not set("|*…") & set(text)


def test_groups_of_columns_stand_above_the_names_of_their_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (TableRow(("mAA",), (1, 2, 3), section="Essential"), TableRow(("mAA",), (4, 5, 6), section="Fundamental"))
    table = Table("Means", ("Metrics",), tuple("ABA"), rows, groups=(("Without it", 2), ("With it", 1)))
    lines = [line.split() for line in shown(table, monkeypatch).splitlines() if line.strip()]
    heads = [["Without", "Without", "With"], ["it", "it", "it"], ["Metrics", "A", "B", "A"]]
    assert lines[:5] == [["Means"], ["Essential"], *heads]
    assert lines.count(["Metrics", "A", "B", "A"]) == 2
    assert ["mAA", "4", "5", "6"] in lines


def test_rows_of_several_kinds_are_one_table() -> None:
    table = rows_table([{"a": "x", "n": 1, "more": {"b": 1}}, {"a": "y", "m": 0.5}])
    assert (table.stub, table.columns) == (("a",), ("n", "m"))
    assert [(row.labels, row.values) for row in table.rows] == [(("x",), (1, None)), (("y",), (None, 0.5))]
