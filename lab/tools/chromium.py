"""Headless Chromium, for pictures of pages and for the tests of pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def find_chromium() -> tuple[str | None, str | None]:
    """Return the paths of the browser and of its driver."""
    return next(filter(None, map(shutil.which, BROWSERS)), None), shutil.which("chromedriver")


@contextmanager
def open_chromium(profile: Path, size: str = "1280,1400") -> Iterator[Any]:
    """Yield the driver of a browser that keeps its log and uses a folder for its profile."""
    from selenium import webdriver

    browser, driver = find_chromium()
    options = webdriver.ChromeOptions()
    options.binary_location = browser or ""
    for flag in (*FLAGS, f"--window-size={size}", f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(driver)) as session:
        yield session
