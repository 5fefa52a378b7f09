from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from bansac.batch import summary_page
from bansac.batch.records import as_record
from bansac.batch.sources import ImagePair
from bansac.batch.summary_page import write_summary


class Table(HTMLParser):
    """The texts of the cells of a page, and the tags that it has."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self._in_cell = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data


NASTY = '<script>alert(1)</script>&".jpg'
VALUES = {"success": True, "num_data": 120, "num_inliers": 80, "seconds": 0.0123, "configuration": "pure_rotation"}
RECORDS = [
    as_record("x", ImagePair(NASTY, "b.jpg", "", ""), VALUES),
    as_record("y", ImagePair("a.jpg", "c.jpg", "", ""), {"message": "c.jpg: <b>no</b> image"}),
    as_record("from a file", None, {}),
]


def test_rows_have_the_results_and_names_are_escaped(tmp_path: Path) -> None:
    write_summary(tmp_path / "s.html", RECORDS)
    page = (tmp_path / "s.html").read_text(encoding="utf-8")
    table = Table(page)
    assert table.rows[0] == ["image 1", "image 2", "matches", "inliers", "success", "configuration", "ms", "message"]
    assert table.rows[1] == [NASTY, "b.jpg", "120", "80", "yes", "pure rotation", "12.3", ""]
    assert table.rows[2] == ["a.jpg", "c.jpg", "0", "0", "no", "", "", "c.jpg: <b>no</b> image"]
    assert table.rows[3][0] == "from a file"
    assert not table.tags & {"script", "b", "link", "img"}
    assert "3 pairs, 1 with a model" in page


def test_a_page_does_not_grow_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_page, "SHOWN", 2)
    write_summary(tmp_path / "s.html", RECORDS)
    page = (tmp_path / "s.html").read_text(encoding="utf-8")
    assert len(Table(page).rows) == 3
    assert "The first 2 pairs are shown" in page
    assert "3 pairs, 1 with a model" in page


@pytest.mark.slow
def test_a_phone_scrolls_the_table_and_not_the_page(tmp_path: Path) -> None:
    from tests.browser import PHONE, open_browser  # which skips the test without Selenium

    message = {"message": "homography with 1206 of 1514 inliers", "configuration": "planar"}
    write_summary(tmp_path / "s.html", [as_record("a", ImagePair("i0.jpg", "i1.jpg", "", ""), VALUES | message)])
    with open_browser(tmp_path / "profile") as driver:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
        driver.get((tmp_path / "s.html").as_uri())
        assert driver.execute_script("return document.documentElement.scrollWidth") == 390
        assert driver.find_element("css selector", "td:last-child").rect["width"] > 150
