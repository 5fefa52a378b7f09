"""Write the matches of ``bansac.matches.load_motorcycle_matches``: the motorcycle pair of scikit-image, few inliers.

The matches are one-way nearest neighbours of RootSIFT with an SNN ratio of .9 to .99, those that Lowe's ratio test
rejects. The photographs are not part of the package. It needs OpenCV and scikit-image:

    python scripts/motorcycle_matches.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from bansac.matches import demo
from bansac.matches.image_matching import match_images

RATIOS = (0.9, 0.99)


def main(folder: Path) -> None:
    """Write the matches to a folder."""
    pair = demo.load_motorcycle()
    matches = match_images(pair.image1, pair.image2, ratio=RATIOS[1], mutual=False)
    assert matches.ratios is not None
    matches = matches.select(matches.ratios >= RATIOS[0])
    assert matches.ratios is not None
    np.savez_compressed(
        folder / demo.MOTORCYCLE,
        x1=matches.x1.astype(np.float32),
        x2=matches.x2.astype(np.float32),
        ratios=matches.ratios.astype(np.float32),
        inliers=pair.inliers(matches.x1, matches.x2),
    )
    print(f"{len(matches)} matches, {pair.inliers(matches.x1, matches.x2).mean():.3f} of them true")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else demo.ASSETS)
