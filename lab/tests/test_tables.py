import math
from typing import Any

import pytest

from bansac_lab.tables import (
    Measured,
    Table,
    TableRow,
    format_number,
    from_document,
    to_document,
    to_markdown,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0810, "0.0810"),
        (0.6104, "0.610"),
        (0.99951, "1.00"),
        (9.8, "9.80"),
        (9.999, "10.0"),
        (25.54, "25.5"),
        (1234.6, "1235"),
        (0.0, "0.000"),
        (-0.5, "-0.500"),
        (12, "12"),
        (math.inf, "∞"),
    ],
)
def test_numbers_have_significant_digits(value: float, text: str) -> None:
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("values", "better", "marks"),
    [
        ((0.568, 0.158, 0.610, 0.603), "higher", [None, None, "best", "second"]),
        ((25.5, 40.1, 15.6, 15.2), "lower", [None, None, "second", "best"]),
        ((0.8661, 0.259, 0.8659, 0.848), "higher", ["best", None, "best", None]),  # what looks alike ranks alike
        ((0.608, 0.5931, 0.5929, 0.26), "higher", ["best", "second", "second", None]),
        ((1.0, 1.0, 1.0), "higher", [None] * 3),  # all alike or alone is no contest
        ((1.0, None, math.nan), "higher", [None] * 3),
        ((0.5, 0.6), "higher", [None, "best"]),  # two have no second
        ((0.5, None, 0.6), "higher", [None, None, "best"]),
        ((None, 0.1, math.nan, 0.2, 0.3), "higher", [None, None, None, "second", "best"]),
        ((math.inf, 3.0, 2.0), "lower", [None, "second", "best"]),
        ((Measured(3.0, 9.0), Measured(1.0, 0.1), 2.0, "n/a"), "higher", ["best", None, "second", None]),
        ((1.0, 2.0, 3.0), None, [None] * 3),  # rows without direction are not marked
    ],
)
def test_marks_of_a_row(values: tuple[Any, ...], better: Any, marks: list[str | None]) -> None:
    row = TableRow(("x",), values, better=better)
    assert Table("t", ("s",), tuple("abcdef"[: len(values)]), (row,)).marks() == [marks]


class TestMarks:
    def test_groups_of_columns_compete_apart(self) -> None:
        row = TableRow(("x",), (1.0, 2.0, 3.0, 6.0, 5.0, 4.0), better="higher")
        table = Table("t", ("s",), tuple("abcabc"), (row,), groups=(("first", 3), ("second", 3)))
        assert table.marks() == [[None, "second", "best", "best", "second", None]]

    def test_columns_compete_between_sections(self) -> None:
        rows = tuple(TableRow((str(i),), (float(i), float(i)), section="" if i < 3 else "next") for i in range(6))
        table = Table("t", ("s",), ("up", "down"), rows, better=("higher", "lower"))
        first = [[None, "best"], ["second", "second"], ["best", None]]
        assert table.marks() == [*first, *first]


@pytest.fixture
def table() -> Table:
    return Table(
        "Six methods & more",
        ("Metrics",),
        ("RANSAC", "BANSAC", "P-BANSAC") * 2,
        (
            TableRow(("mAA (5°)",), (0.568, 0.610, 0.603, 0.569, 0.611, 0.604), "higher", "E, 100 %", arrow=True),
            TableRow(("scene_1|x",), (14.4, None, 9.8, 15.4, "n/a", Measured(8.87, 0.1234)), "lower", "F", arrow=True),
        ),
        groups=(("Without LO", 3), ("With LO", 3)),
    )


def test_markdown(table: Table) -> None:
    lines = to_markdown(table).splitlines()
    assert lines[:2] == ["Six methods & more", ""]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]
    assert cells[0] == ["", "Without LO", "", "", "With LO", "", ""]
    assert cells[1] == [":---", *["---:"] * 6]
    assert cells[2] == ["**Metrics**", *["**RANSAC**", "**BANSAC**", "**P-BANSAC**"] * 2]
    assert cells[3] == ["*E, 100 %*", *[""] * 6]
    assert cells[4][:4] == ["mAA (5°) ↑", "0.568", "**0.610**", "<ins>0.603</ins>"]
    assert cells[6][0] == r"scene_1\|x ↓"
    assert cells[6][2:] == ["-", "**9.80**", "15.4", "n/a", "**8.87 ± 0.12**"]


def test_a_stored_table_is_the_same(table: Table) -> None:
    read = from_document(to_document(table))
    assert to_document(read) == to_document(table)
    assert read.value("scene_1|x", "P-BANSAC", section="F", group="With LO") == Measured(8.87, 0.1234)


def test_values_that_are_text_stand_as_they_are() -> None:
    assert "| <= 0.8 |" in to_markdown(Table("t", ("what",), ("target",), (TableRow(("time",), ("<= 0.8",)),)))
