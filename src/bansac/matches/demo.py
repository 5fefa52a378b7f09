"""Two image pairs for examples and tests: one is part of this package, the other comes in colour from scikit-image.

The first pair is drawn from random numbers and letters, without a photograph, so its homography is known. The files of
both include their matches: :func:`load_demo` and :func:`load_motorcycle_matches` need only NumPy.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bansac.geometry import apply_transform
from bansac.matches.array_files import read_arrays
from bansac.matches.matches import Matches
from bansac.maths.arrays import Bools, Bytes, Floats
from bansac.maths.optional import import_optional

ASSETS = Path(__file__).parent / "assets"

# Fundamental matrix of a rectified pair: matches are in the same row.
_RECTIFIED = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]) / np.sqrt(2)


@dataclass(frozen=True, eq=False)
class StereoPair:
    """RGB photographs of a static scene by a rectified stereo camera, with ground truth.

    ``disparity`` (H, W) is the shift to the left, in pixels, from image 1 to image 2. It is NaN where it is unknown.
    ``F`` has unit norm; matches are in the same row.
    """

    image1: Bytes
    image2: Bytes
    disparity: Floats
    F: Floats

    def inliers(self, x1: Floats, x2: Floats, threshold: float = 2.0) -> Bools:
        """Return which matches, in pixels, agree with the disparity; this is stricter than the constraint by F.

        ``threshold`` is the largest distance, in pixels, between ``x2`` and ``x1`` shifted by the disparity of the
        pixel at ``x1``. Matches with unknown disparity are False.
        """
        height, width = self.disparity.shape
        column = np.clip(np.round(x1[:, 0]).astype(int), 0, width - 1)
        row = np.clip(np.round(x1[:, 1]).astype(int), 0, height - 1)
        expected = x1 - np.column_stack([self.disparity[row, column], np.zeros(len(x1))])
        return np.asarray(np.hypot(*(x2 - expected).T) <= threshold)  # comparisons with NaN are False


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


def load_motorcycle() -> StereoPair:
    """Load the motorcycle pair of the Middlebury 2014 stereo benchmark from scikit-image.

    The images are rectified: a point (x, y) of image 1 with disparity d is at (x - d, y) in image 2. Therefore F is
    [[0, 0, 0], [0, 0, -1], [0, 1, 0]] up to scale. scikit-image downloads the images on first use. An OSError is raised
    if they cannot be loaded, and an ImportError if scikit-image is not installed.
    """
    data = import_optional("skimage.data", "the motorcycle comes with scikit-image", "scikit-image pooch")
    try:
        left, right, disparity = data.stereo_motorcycle()
    except Exception as error:  # errors of pooch, requests and others; a ModuleNotFoundError if pooch is missing
        raise OSError(f"scikit-image cannot load its stereo_motorcycle (downloaded once, by pooch): {error}") from error
    disparity = np.where(np.isfinite(disparity), disparity, np.nan).astype(np.float64)
    return StereoPair(np.asarray(left), np.asarray(right), disparity, _RECTIFIED.copy())


def load_motorcycle_matches() -> Matches:
    """Load matches of the photographs of :func:`load_motorcycle` in which uniform sampling rarely finds the model.

    They are one-way nearest neighbours of RootSIFT with an SNN ratio of .9 to .99, which a ratio test rejects.

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
