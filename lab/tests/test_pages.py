"""The tables and figures of the pages are those of the reports, and no report is older than the results of the code."""

import json
import re
from pathlib import Path

import pytest

from bansac_lab import pages
from bansac_lab.measurements import MEASUREMENTS, find_measurement

ROOT = Path(__file__).parents[2]
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]}
PAGES = {name: text for name, text in TEXTS.items() if pages.MARKED.search(text)}


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_as_its_reports_have_it(page: str) -> None:
    assert pages.render(PAGES[page]) == PAGES[page], "run python -m bansac_lab.pages"
    assert not re.search(r"^ *<!-- figure", PAGES[page], re.MULTILINE), "Markdown begins a paragraph there"


def test_every_table_stands_on_one_page_or_is_printed_by_its_command() -> None:
    text = "".join(PAGES.values())
    tables = re.findall(r"<!-- table: (\S+) -->", text)
    figures = re.findall(r"<!-- figure: (\S+) -->", text)
    measurements = map(find_measurement, MEASUREMENTS)
    printed = {name for of in measurements for name in of.tables if name not in of.reports}
    assert len(tables) == len(set(tables))
    assert {*tables, *figures} <= set(pages.parts())
    assert set(pages.parts()) - {*tables, *figures} <= printed
    assert text.count("<!-- end -->") == len(tables) + len(figures)


@pytest.mark.parametrize("page", PAGES)
def test_every_table_says_when_it_was_measured(page: str) -> None:
    for kind, name, text in pages.MARKED.findall(PAGES[page]):
        measured = re.search(r"^Measured: .* on 20\d\d-\d\d-\d\d.*, stored in commits? .*\.$", text, re.MULTILINE)
        if kind == "table":
            assert measured or name == "options"


@pytest.mark.parametrize("page", PAGES)
def test_a_figure_that_is_not_the_report_s_is_noticed(page: str) -> None:
    text = PAGES[page]
    table = next(pages.MARKED.finditer(text))
    figures = table[3].partition("Measured:")[0]
    last = max(match.end() for match in re.finditer(r"\d", figures))
    at = table.start(3) + last - 1
    other = "7" if text[at] != "7" else "8"
    assert pages.render(text[:at] + other + text[at + 1 :]) == text


def test_an_unknown_table_or_figure_is_named() -> None:
    with pytest.raises(ValueError, match="unknown table 'waiting'; there are options, "):
        pages.render("<!-- table: waiting -->\n\n| a |\n\n<!-- end -->")
    with pytest.raises(ValueError, match="unknown figure 'a'; there are options, "):
        pages.render("<!-- figure: a -->1<!-- end -->")


def test_a_folder_without_reports_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="is not in a checkout of the repository"):
        pages.marked_pages()


def test_a_table_says_that_its_report_is_missing_or_of_no_known_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("benchmarks", "docs"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert "Not measured yet.\n" in pages.render("<!-- table: wheel --><!-- end -->")
    calls = {"H": {"cpu_seconds": 0.5, "from_wheel": 35, "compiled": 0}}
    report = {"date": "2026-11-23T10:00", "first_calls": calls}
    (tmp_path / "benchmarks" / "wheel.json").write_text(json.dumps(report), encoding="utf-8")
    _, _, _, _, row, _, measured, _, _ = pages.render("<!-- table: wheel --><!-- end -->").splitlines()
    assert row == "| H | 0.50 | 35 | 0 |"
    assert measured.endswith("on 2026-11-23, stored in commit not recorded.")


def test_a_report_with_other_results_of_the_same_processor_is_older() -> None:
    today = pages.behaviour()
    assert set(today) == {"processor", *pages.PRESETS}
    assert today["default"] != today["paper"]
    for preset in pages.PRESETS:
        assert not pages.is_older({"behaviour": today}, preset)
        assert pages.is_older({"behaviour": today | {preset: "0"}}, preset)
        assert not pages.is_older({"behaviour": today | {preset: "0", "processor": "another"}}, preset)
        assert not pages.is_older({}, preset)


def test_the_digest_follows_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    before = pages._digest(None)
    assert before == pages._digest(None)
    monkeypatch.setattr(pages, "_RATIOS", (0.31, 0.5, 0.7))
    assert pages._digest(None) != before


def test_no_stored_report_is_older_than_the_code() -> None:
    assert pages.older_reports() == []
