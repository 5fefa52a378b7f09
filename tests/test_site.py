"""The built site in a browser: every page loads without an error and fits the screen of a phone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import PHONE, open_browser

pytestmark = pytest.mark.slow

pytest.importorskip("mkdocs", reason="the site is built by MkDocs")

ROOT = Path(__file__).resolve().parents[1]
BROKEN = "return [...document.images].filter((image) => !image.naturalWidth).map((image) => image.src)"


def test_every_page_loads_and_fits_a_phone(tmp_path: Path) -> None:
    site = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(site)]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True)
    pages = [page for page in sorted(site.rglob("*.html")) if page.name != "404.html"]  # that one needs a server
    assert len(pages) > 30
    with open_browser(tmp_path / "profile") as driver:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
        for page in pages:
            driver.get(page.as_uri())
            assert driver.find_element("css selector", "h1").is_displayed(), page
            assert driver.execute_script("return document.documentElement.scrollWidth") <= PHONE["width"], page
            assert driver.execute_script(BROKEN) == [], page
            assert driver.get_log("browser") == [], page
