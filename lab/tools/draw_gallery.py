"""Run the code of docs/gallery.md, which draws its pictures, and write the times of its estimates.

Usage: python lab/tools/draw_gallery.py [NAME]

The pictures go to ``docs/images``, the times to ``benchmarks/gallery.json``: of each section that quotes its time the
least of five runs. ``NAME`` draws one picture and keeps the times.
"""

import contextlib
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bansac_lab.provenance import circumstances

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
REPORT = ROOT / "benchmarks" / "gallery.json"
RUNS = 5


def sections(page: str) -> Iterator[tuple[str, str]]:
    """Return the name of the picture of each section with code, and the code."""
    for section in page.split("\n## ")[1:]:
        code = "".join(re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL))
        if code:
            (name,) = re.findall(r"\(images/gallery_(\w+)\.jpg\)", section)
            yield name, code


def least_seconds(code: str) -> float:
    """Run the code of a section several times; return the least time of its estimate."""
    seconds = []
    for _ in range(RUNS):
        names: dict[str, Any] = {}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, "docs/gallery.md", "exec"), names)
        seconds.append(names["result"].seconds)
    return min(seconds)


def main() -> None:
    """Write the pictures and the report."""
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    with contextlib.chdir(IMAGES):
        seconds = {name: least_seconds(code) for name, code in sections(page) if sys.argv[1:] in ([], [name])}
    if sys.argv[1:]:
        return
    seconds = {name: least for name, least in seconds.items() if f"<!-- figure: gallery-{name} -->" in page}
    report = {"date": circumstances()["date"], "runs": RUNS, "seconds": seconds}
    REPORT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
