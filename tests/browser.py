"""Headless Chromium for tests of pages; without it, or without Selenium, they are skipped."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from chromium import find_chromium, open_chromium

webdriver = pytest.importorskip("selenium.webdriver", reason="the browser is driven by Selenium")

PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}


def open_browser(profile: Path) -> AbstractContextManager[Any]:
    """Return the driver of a browser that keeps its log and uses a folder for its profile."""
    if None in find_chromium():
        pytest.skip("there is no Chromium with its chromedriver here")
    return open_chromium(profile)
