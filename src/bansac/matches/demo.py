"""Two pairs of images for examples and tests: one that is part of this package, one of scikit-image.

The first is drawn by ``scripts/render_demo_pair.py`` and comes with its matches: :func:`load_demo` needs NumPy alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bansac.geometry import apply_transform
from bansac.matches.matches import Matches

__all__ = ["StereoPair", "load_demo", "load_motorcycle", "plane_inliers"]

ASSETS = Path(__file__).parent / "assets"
IMAGE1, IMAGE2, MATCHES = "demo_1.jpg", "demo_2.jpg", "demo.npz"

_Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StereoPair:
    """Two photographs of a still scene by a rectified stereo camera: RGB bytes, and the truth that follows from it.

    ``disparity`` (H, W) is how far left of its place in image 1 a point is seen in image 2, in pixels, NaN if it is not
    known. ``F`` is of unit norm: matches lie in one row.
    """

    image1: NDArray[np.uint8]
    image2: NDArray[np.uint8]
    disparity: _Array
    F: _Array

    def inliers(self, x1: _Array, x2: _Array, threshold: float = 2.0) -> NDArray[np.bool_]:
        """Return which matches, in pixels, are true by the disparity: stricter than F, which determines the row alone.

        ``threshold`` is the largest distance, in pixels, between ``x2`` and ``x1`` moved by the disparity of the pixel
        it lies in. False, too, if the disparity is not known.
        """
        height, width = self.disparity.shape
        column = np.clip(np.round(x1[:, 0]).astype(int), 0, width - 1)
        row = np.clip(np.round(x1[:, 1]).astype(int), 0, height - 1)
        expected = x1 - np.column_stack([self.disparity[row, column], np.zeros(len(x1))])
        return np.asarray(np.hypot(*(x2 - expected).T) <= threshold)  # comparisons with NaN are False


def load_demo(folder: str | os.PathLike[str] | None = None) -> Matches:
    """Load the pair that is part of this package: two views of a wall of posters.

    The matches are RootSIFT, one-way nearest neighbours, of an SNN ratio of at most 0.95.

    Parameters
    ----------
    folder : str or path or None, optional
        A folder with another pair, as ``scripts/render_demo_pair.py`` writes it.

    Returns
    -------
    Matches
        Matches in pixels, the images, their sizes, the true homography ``H``, and ``inliers``: the matches that it maps
        to within 3 pixels.

    Raises
    ------
    OSError
        If a file is missing or damaged.

    Examples
    --------
    >>> demo = load_demo()
    >>> bool(0.2 < demo.inliers.mean() < 0.5)
    True
    """
    folder = ASSETS if folder is None else Path(folder)
    path = folder / MATCHES
    try:
        with np.load(BytesIO(path.read_bytes())) as data:  # np.load leaves a damaged file open
            numbers = {name: np.asarray(data[name], dtype=np.float64) for name in ("x1", "x2", "ratios", "H")}
            (height1, width1), (height2, width2) = data["size1"].tolist(), data["size2"].tolist()
    except FileNotFoundError:
        raise
    except Exception as error:  # a damaged archive raises errors of zipfile, zlib, NumPy and others
        raise OSError(f"cannot read {path}: {error}") from error
    return Matches(
        x1=numbers["x1"],
        x2=numbers["x2"],
        key="demo",
        ratios=numbers["ratios"],
        size1=(height1, width1),
        size2=(height2, width2),
        image1=folder / IMAGE1,
        image2=folder / IMAGE2,
        H=numbers["H"],
        inliers=plane_inliers(numbers["H"], numbers["x1"], numbers["x2"], threshold=3.0),
    )


def plane_inliers(H: _Array, x1: _Array, x2: _Array, threshold: float) -> NDArray[np.bool_]:
    """Return which matches a homography maps to within a distance in image 2, in pixels."""
    return np.asarray(np.hypot(*(apply_transform(H, x1) - x2).T) <= threshold)


def load_motorcycle() -> StereoPair:
    """Load the motorcycle of the Middlebury 2014 stereo benchmark, as scikit-image has it.

    The images are rectified: a point (x, y) of image 1 with disparity d is seen at (x - d, y) in image 2. So F is [[0,
    0, 0], [0, 0, -1], [0, 1, 0]] up to scale. scikit-image may have to download the images once; if they cannot be
    loaded it is an OSError, without scikit-image an ImportError.
    """
    try:
        from skimage.data import stereo_motorcycle
    except ImportError as error:
        raise ImportError("the motorcycle comes with scikit-image: pip install scikit-image pooch") from error
    try:
        left, right, disparity = stereo_motorcycle()
    except Exception as error:  # errors of pooch, requests and others; without pooch a ModuleNotFoundError
        raise OSError(
            f"scikit-image cannot load its stereo_motorcycle (it is downloaded once, by pooch): {error}"
        ) from error
    disparity = np.where(np.isfinite(disparity), disparity, np.nan).astype(np.float64)
    F = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]) / np.sqrt(2)
    return StereoPair(np.asarray(left), np.asarray(right), disparity, F)
