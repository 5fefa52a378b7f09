"""Make the picture of the README, right models beside other libraries, and one of beliefs for the page of the reports.

Usage: python scripts/readme_picture.py [FOLDER]

The first picture, ``few_inliers.png``, comes from ``benchmarks/hard.json``; the second one, ``demo.jpg``, from the demo
pair. Both are readable at the width of a phone.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import bansac
from bansac.lab.measurements.few_inliers import means
from bansac.matches import load_demo
from bansac.plotting import plot_probability_evolution, save_figure

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
REPORT = ROOT / "benchmarks" / "hard.json"

METHODS = {
    "default": ("bansac", "#0072b2", "o"),
    "uniform": ("uniform sampling, same engine", "#e69f00", "D"),
    "poselib": ("PoseLib", "#d55e00", "v"),
    "opencv-magsac": ("OpenCV USAC_MAGSAC", "#009e73", "s"),
    "superansac": ("SupeRANSAC", "#000000", "X"),
}
PROBLEM = "F"


def few_inliers(target: Path) -> None:
    """Draw the share of right fundamental matrices over the inlier ratio and over the mean time of a call."""
    from matplotlib.figure import Figure

    document = json.loads(REPORT.read_text(encoding="utf-8"))
    cells, of_all = document["cells"], means(document, PROBLEM)
    figure = Figure(figsize=(6.0, 3.7), layout="constrained")
    over_ratio, over_time = figure.subplots(1, 2, sharey=True)
    for method, (label, color, mark) in METHODS.items():
        own = [c for c in cells if (c["problem"], c["method"]) == (PROBLEM, method) and c["inlier_ratio"] > 0]
        ratios = sorted({cell["inlier_ratio"] for cell in own})
        right = [100 * np.mean([cell["right"] for cell in own if cell["inlier_ratio"] == ratio]) for ratio in ratios]
        over_ratio.plot([100 * ratio for ratio in ratios], right, color=color, marker=mark, linewidth=2, label=label)
        share, seconds = of_all[method]
        over_time.plot(seconds, 100 * share, color=color, marker=mark, markersize=10)
    over_ratio.set(xlabel="inliers (%)", ylabel="right models (%)", ylim=(-4, 104))
    over_time.set(xlabel="mean time of a call (s)", xscale="log", xlim=(0.02, 30))
    over_time.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
    for ax in (over_ratio, over_time):
        ax.grid(color="0.9")
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    save_figure(figure, target, dpi=200)
    # The picture says what it shows; a test compares this with the report.
    with Image.open(target) as image:
        image.load()
    description = PngInfo()
    description.add_text("Description", json.dumps({method: of_all[method] for method in METHODS}))
    image.save(target, pnginfo=description, optimize=True)


def demo(target: Path) -> None:
    """Draw the matches of the demo pair, coloured by their beliefs."""
    pair = load_demo()
    assert pair.image1 is not None
    assert pair.image2 is not None
    # One restart: the beliefs of a run start from the scores once and are never thrown away.
    result = bansac.estimate_homography(pair.x1, pair.x2, scores=pair.scores, preset="paper", trace=True)
    assert result.trace is not None
    figure = plot_probability_evolution(pair.image1, pair.image2, pair.x1, pair.x2, result.trace.snapshots)
    save_figure(figure, target, dpi=105)


def main(folder: Path) -> None:
    """Write the pictures to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    few_inliers(folder / "few_inliers.png")
    demo(folder / "demo.jpg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
