import html
import re
from pathlib import Path

import pytest

from bansac.batch import summary_page
from bansac.batch.records import as_record
from bansac.batch.sources import ImagePair
from bansac.batch.summary_page import write_summary


def rows_of(page: str) -> list[list[str]]:
    """Return the texts of the cells of a page."""
    rows = (re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in page.split("<tr")[1:])
    return [list(map(html.unescape, cells)) for cells in rows]


NASTY = '<script>alert(1)</script>&".jpg'
VALUES = {"success": True, "num_data": 120, "num_inliers": 80, "seconds": 0.0123, "configuration": "pure_rotation"}
VALUES |= {"model_confidence": 0.876}
RECORDS = [
    as_record("x", ImagePair(NASTY, "b.jpg", "", ""), VALUES),
    as_record("y", ImagePair("a.jpg", "c.jpg", "", ""), {"message": "c.jpg: <b>no</b> image"}),
    as_record("from a file", None, {}),
]


def test_rows_have_the_results_and_names_are_escaped(tmp_path: Path) -> None:
    write_summary(tmp_path / "s.html", RECORDS)
    page = (tmp_path / "s.html").read_text(encoding="utf-8")
    rows = rows_of(page)
    heads = ["image 1", "image 2", "matches", "inliers", "success", "configuration", "confidence", "ms", "message"]
    assert rows[0] == heads
    assert rows[1] == [NASTY, "b.jpg", "120", "80", "yes", "pure rotation", "0.88", "12.3", ""]
    assert rows[2] == ["a.jpg", "c.jpg", "0", "0", "no", "", "", "", "c.jpg: <b>no</b> image"]
    assert rows[3][0] == "from a file"
    assert not re.search(r"<(script|b|link|img)\b", page)
    assert "3 pairs, 1 with a model" in page


def test_a_page_does_not_grow_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_page, "SHOWN", 2)
    write_summary(tmp_path / "s.html", RECORDS)
    page = (tmp_path / "s.html").read_text(encoding="utf-8")
    assert len(rows_of(page)) == 3
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
