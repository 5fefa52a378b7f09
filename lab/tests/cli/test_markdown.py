import io

import pytest

from bansac.cli import console
from bansac_lab.cli.markdown import show_markdown


@pytest.mark.parametrize("terminal", [False, True])
def test_a_terminal_shows_tables_and_a_file_has_markdown(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    screen = console._Screen(file=stream, width=40, force_terminal=terminal, soft_wrap=True, color_system=None)
    monkeypatch.setattr(console, "report", screen)
    show_markdown("| a | b |\n|---|---|\n| 1 | 2 |")
    assert ("| 1 | 2 |" in stream.getvalue()) == (not terminal)
    assert ("|" in stream.getvalue()) == (not terminal)


@pytest.mark.parametrize("width", [40, 80])
def test_columns_of_a_wide_table_that_do_not_fit_follow_below(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["method", *(f"measurement {k} [ms]" for k in range(5))]
    rows = [["*Homographies of photographs of two planes, all pairs*", *[""] * 5], ["**default**", *map(str, range(5))]]
    rule = [":---", *["---:"] * 5]
    stream = io.StringIO()
    screen = console._Screen(file=stream, width=width, force_terminal=True, soft_wrap=True, color_system=None)
    monkeypatch.setattr(console, "report", screen)
    show_markdown("Times\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in (names, rule, *rows)))
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= max(width, len(rows[0][0]))
    assert lines[0] == "Times"
    assert [name for name in names[1:] if name in stream.getvalue()] == names[1:]
    below = sum(line.split()[:1] == ["default"] for line in lines)
    assert below == sum("method" in line for line in lines) == {40: 5, 80: 2}[width]
    assert not set("|*…") & set(stream.getvalue())


def test_groups_of_columns_stand_above_the_names_of_their_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (["", "Without it", "", "With it"], [":---", *["---:"] * 3], ["**Metrics**", *["**A**", "**B**", "**A**"]])
    rows = (["*Essential*", "", "", ""], ["mAA", "1", "2", "3"], ["*Fundamental*", "", "", ""], ["mAA", "4", "5", "6"])
    stream = io.StringIO()
    screen = console._Screen(file=stream, width=80, force_terminal=True, soft_wrap=True, color_system=None)
    monkeypatch.setattr(console, "report", screen)
    show_markdown("\n".join(f"| {' | '.join(line)} |" for line in (*lines, *rows)))
    shown = [line.split() for line in stream.getvalue().splitlines() if line.strip()]
    assert shown[:4] == [["Essential"], ["Without", "Without", "With"], ["it", "it", "it"], ["Metrics", "A", "B", "A"]]
    assert shown.count(["Metrics", "A", "B", "A"]) == 2
    assert ["mAA", "4", "5", "6"] in shown
