"""Make the picture of the README: how the beliefs in the matches of the demo pair grow over the paper's run.

Usage: python scripts/readme_picture.py [FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path

import bansac
from bansac.matches import load_demo
from bansac.plotting import plot_probability_evolution, save_figure

DEFAULT = Path(__file__).resolve().parents[1] / "docs" / "images" / "demo.jpg"


def main(target: Path) -> None:
    """Write the picture to ``target``."""
    pair = load_demo()
    assert pair.image1 is not None
    assert pair.image2 is not None
    # One restart: the beliefs of a run start from the scores once and are never thrown away.
    result = bansac.estimate_homography(pair.x1, pair.x2, scores=pair.scores, preset="paper", trace=True)
    assert result.trace is not None
    homographies = {"H_true": pair.H, "H_estimated": result.model}
    snapshots = result.trace.snapshots
    figure = plot_probability_evolution(pair.image1, pair.image2, pair.x1, pair.x2, snapshots, **homographies)
    target.parent.mkdir(parents=True, exist_ok=True)
    save_figure(figure, target, dpi=105)
    print(f"{result!r}\nwrote {target}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
