"""Two image pairs with their matches, for examples and tests; they need only NumPy.

The first pair is drawn from random numbers and letters, without a photograph, so its homography is known.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from bansac.geometry import apply_transform
from bansac.matches.array_files import read_arrays
from bansac.matches.matches import Matches

ASSETS = Path(__file__).parent / "assets"

# Fundamental matrix of a rectified pair: matches are in the same row.
_RECTIFIED = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]) / np.sqrt(2)


def load_demo() -> Matches:
    """Load the image pair of this package: two views of a wall of posters.

    The matches are one-way nearest neighbours of RootSIFT with an SNN ratio of at most 0.95.

    Returns
    -------
    Matches
        Matches in pixels, the images, their sizes, the true homography ``H``, and ``inliers``: the matches with a
        transfer error of at most 3 pixels.

    Examples
    --------
    >>> demo = load_demo()
    >>> bool(0.2 < demo.inliers.mean() < 0.5)
    True
    """
    arrays, _ = read_arrays(ASSETS / "demo.npz", ("x1", "x2", "ratios", "H", "size1", "size2"))
    x1, x2, ratios, H = (np.asarray(arrays[name], dtype=np.float64) for name in ("x1", "x2", "ratios", "H"))
    inliers = np.asarray(np.hypot(*(apply_transform(H, x1) - x2).T) <= 3.0)
    size1, size2 = (tuple(arrays[name].tolist()) for name in ("size1", "size2"))
    matches = Matches(x1, x2, "demo", ratios, size1=size1, size2=size2, H=H, inliers=inliers)
    return replace(matches, image1=ASSETS / "demo_1.jpg", image2=ASSETS / "demo_2.jpg")


def load_motorcycle_matches() -> Matches:
    """Load matches of two photographs in which uniform sampling rarely finds the model.

    The photographs are the motorcycle of the Middlebury 2014 stereo benchmark, as in scikit-image. They are rectified:
    F is [[0, 0, 0], [0, 0, -1], [0, 1, 0]] up to scale. The matches are one-way nearest neighbours of RootSIFT with an
    SNN ratio of .9 to .99, which a ratio test rejects.

    Returns
    -------
    Matches
        Matches in pixels with their ratios and scores, the paths of grey copies of the photographs, the true ``F``, and
        ``inliers``: the matches within 2 pixels of the measured disparity.

    Examples
    --------
    >>> pair = load_motorcycle_matches()
    >>> len(pair), int(pair.inliers.sum())
    (1076, 51)
    """
    arrays, _ = read_arrays(ASSETS / "motorcycle.npz", ("x1", "x2", "ratios", "inliers"))
    x1, x2, ratios = (np.asarray(arrays[name], dtype=np.float64) for name in ("x1", "x2", "ratios"))
    inliers, F = np.asarray(arrays["inliers"], dtype=bool), _RECTIFIED.copy()
    image1, image2 = ASSETS / "motorcycle_1.jpg", ASSETS / "motorcycle_2.jpg"
    return Matches(x1, x2, "motorcycle", ratios, image1=image1, image2=image2, F=F, inliers=inliers)
