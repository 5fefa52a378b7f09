"""Make the picture of docs/report.md: the report of the demo pair in headless Chromium, in the middle of its run.

Usage: python scripts/report_picture.py [FILE]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image

import bansac
from bansac.matches import Matches, load_demo

DEFAULT = Path(__file__).resolve().parents[1] / "docs" / "images" / "report.jpg"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
SIZE = "1280,1500"
FRAME = 24  # of the replay: docs/report.md names its iteration


def estimate(pair: Matches) -> bansac.Result:
    """Return the result that the report shows."""
    return bansac.estimate_homography(pair.x1, pair.x2, scores=pair.scores, preset="paper", trace=True)


def main(target: Path) -> None:
    """Write the picture to ``target``."""
    from selenium import webdriver
    from selenium.webdriver.support.wait import WebDriverWait

    pair = load_demo()
    result = estimate(pair)
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        settings = {"preset": "paper", "priors": "scores of the matches"}
        result.report(page, pair.x1, pair.x2, image1=pair.image1, image2=pair.image2, settings=settings)
        for flag in (*FLAGS, f"--window-size={SIZE}", f"--user-data-dir={folder}/profile"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            driver.get(page.as_uri())
            ready = "return panels.every((panel) => panel.bitmap)"
            WebDriverWait(driver, 10).until(lambda _: driver.execute_script(ready))
            driver.execute_script(f"go({FRAME}); select({result.residuals.argmin()})")
            picture = Image.open(BytesIO(driver.get_screenshot_as_png())).convert("RGB")
        finally:
            driver.quit()
    target.parent.mkdir(parents=True, exist_ok=True)
    picture.save(target, quality=80, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
