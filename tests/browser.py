"""Headless Chromium for tests of pages; without it, or without Selenium, they are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="the browser is driven by Selenium")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,1400",
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def open_browser(profile: Path) -> Iterator[Any]:
    """Yield the driver of a browser that keeps its log and uses a folder for its profile."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    chromedriver = shutil.which("chromedriver")
    if browser is None or chromedriver is None:
        pytest.skip("there is no Chromium with its chromedriver here")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    session = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    try:
        yield session
    finally:
        session.quit()
