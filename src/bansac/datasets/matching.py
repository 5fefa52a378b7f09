"""Two images in, matched points out: RootSIFT and nearest neighbours with the ratio of the second-nearest (SNN).

RootSIFT is SIFT whose descriptors are L1-normalised and square-rooted, so that their Euclidean distance compares
histograms as the Hellinger kernel does (Arandjelovic and Zisserman, CVPR 2012). The SNN ratio (Lowe, IJCV 2004) is the
distance to the nearest descriptor divided by that to the second nearest; the BANSAC paper takes 1 - ratio as the score.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bansac.datasets.matches import Matches
from bansac.images import MAX_SIZE, ImageLike, import_opencv, read_image, shrink

__all__ = ["match_images"]

_BLOCK = 1024  # descriptors of image 1 compared at a time: keeps the memory near 100 MB for 8000 features


def match_images(
    image1: ImageLike,
    image2: ImageLike,
    *,
    ratio: float = 0.95,
    max_features: int = 8000,
    max_size: int = MAX_SIZE,
    mutual: bool = True,
) -> Matches:
    """Match two images.

    Parameters
    ----------
    image1, image2 : path or (H, W[, 3 or 4]) array_like
        Images: files, or pixels (grey, RGB or RGBA; whole numbers 0 to 255, or floats 0 to 1).
    ratio : float, optional
        Largest SNN ratio of a match, in (0, 1].
    max_features : int, optional
        Largest number of features an image, the strongest first.
    max_size : int, optional
        Images with a longer side are scaled down to this many pixels to find features in them; the points are those of
        the given images.
    mutual : bool, optional
        Keep a match only if each point is the nearest neighbour of the other. Otherwise many points of image 1 can have
        the same match: of unrelated images most matches lead to a few points, and no wrong model is easier to support.

    Returns
    -------
    Matches
        Points in the order of the features of image 1. One point of image 2 can occur several times unless ``mutual``.

    Raises
    ------
    OSError
        If a file cannot be read as an image.
    ValueError
        If an argument is out of its range, or an image has fewer than two features.
    ImportError
        If OpenCV is not installed.

    Examples
    --------
    >>> from bansac.datasets import load_demo
    >>> demo = load_demo()
    >>> matches = match_images(demo.image1, demo.image2, ratio=0.8)
    >>> len(matches) > 100
    True
    """
    if not 0 < ratio <= 1:
        raise ValueError(f"ratio must lie in (0, 1], got {ratio}")
    if max_features < 2:
        raise ValueError(f"max_features must be at least 2, got {max_features}")
    if max_size < 1:
        raise ValueError(f"max_size must be at least 1, got {max_size}")
    grey1, grey2 = read_image(image1, argument="image1"), read_image(image2, argument="image2")
    points1, descriptors1 = _features("image1", grey1, max_features, max_size)
    points2, descriptors2 = _features("image2", grey2, max_features, max_size)

    nearest, ratios = _nearest_neighbours(descriptors1, descriptors2)
    keep = ratios <= ratio
    if mutual:
        kept = np.flatnonzero(keep)
        keep[kept] = _nearest_neighbours(descriptors2[nearest[kept]], descriptors1)[0] == kept
    return Matches(
        points1[keep],
        points2[nearest[keep]],
        ratios=ratios[keep],
        size1=grey1.shape[:2],
        size2=grey2.shape[:2],
        image1=_path(image1),
        image2=_path(image2),
    )


def _path(image: ImageLike) -> Path | None:
    return Path(image) if isinstance(image, str | os.PathLike) else None


def _features(
    name: str, grey: NDArray[np.uint8], max_features: int, max_size: int
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Detect features in an image, which is scaled down if it is large; their points are those of the given image."""
    small, scale = shrink(grey, max_size)
    points, descriptors = _root_sift(name, small, max_features)
    return (points + 0.5) / scale - 0.5 if small is not grey else points, descriptors


def _root_sift(
    name: str, grey: NDArray[np.uint8], max_features: int
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Detect the strongest features: points (N, 2) and RootSIFT descriptors (N, 128) of unit length."""
    keypoints, sift = import_opencv().SIFT_create(nfeatures=max_features).detectAndCompute(grey, None)
    if len(keypoints) < 2:
        height, width = grey.shape
        raise ValueError(
            f"{name} ({width} x {height} pixels) has {len(keypoints)} features, two are needed: "
            "it is too small or too plain"
        )
    # OpenCV keeps ties, and so at times more than it was asked for.
    strongest = np.argsort([-k.response for k in keypoints], kind="stable")[:max_features]
    points = np.array([keypoints[i].pt for i in strongest], dtype=np.float64)
    histograms = np.asarray(sift, dtype=np.float32)[strongest]
    total = np.maximum(histograms.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return points, np.sqrt(histograms / total)


def _nearest_neighbours(
    query: NDArray[np.float32], base: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the nearest of ``base`` for every descriptor, exactly, and its SNN ratio (1 for two equal distances).

    Descriptors have unit length, so |a - b|^2 = 2 - 2 a.b: the nearest two are those of the largest products.
    """
    nearest = np.empty(len(query), dtype=np.int64)
    ratios = np.empty(len(query))
    for start in range(0, len(query), _BLOCK):
        block = query[start : start + _BLOCK]
        products = block @ base.T
        two = np.argpartition(products, -2, axis=1)[:, -2:]
        # The product does not resolve how close two nearly equal descriptors are; the difference does.
        distance = np.linalg.norm(block[:, None].astype(np.float64) - base[two], axis=2)
        swap = distance[:, 0] <= distance[:, 1]
        nearest[start : start + _BLOCK] = np.where(swap, two[:, 0], two[:, 1])
        larger = distance.max(axis=1)
        ratios[start : start + _BLOCK] = np.divide(
            distance.min(axis=1), larger, out=np.ones(len(block)), where=larger > 0
        )
    return nearest, ratios
