"""Image matching: RootSIFT features and nearest neighbours with the ratio to the second nearest neighbour (SNN).

RootSIFT descriptors are L1-normalised SIFT descriptors with the square root of each entry. Their Euclidean distance
corresponds to the Hellinger kernel on histograms (Arandjelovic and Zisserman, CVPR 2012). The SNN ratio (Lowe, IJCV
2004) is the distance to the nearest descriptor divided by the distance to the second nearest. The score in the BANSAC
paper is 1 - ratio.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bansac.matches.images import MAX_SIZE, ImageLike, import_opencv, read_image, shrink
from bansac.matches.matches import Matches
from bansac.maths.arrays import Floats, Ints, Singles
from bansac.maths.validate import as_integer

_BLOCK = 1024  # descriptors of image 1 compared at a time; bounds the memory to about 100 MB for 8000 features


@dataclass(frozen=True, eq=False)
class Features:
    """Features of an image: points (N, 2) in pixels, and RootSIFT descriptors (N, 128) of unit length."""

    points: Floats
    descriptors: Singles
    size: tuple[int, int]


def match_images(
    image1: ImageLike,
    image2: ImageLike,
    *,
    ratio: float = 0.85,
    max_features: int = 8000,
    max_size: int = MAX_SIZE,
    mutual: bool = True,
) -> Matches:
    """Detect and match features of two images.

    Parameters
    ----------
    image1, image2 : path or (H, W[, 3 or 4]) array_like
        Files, or pixels: grey, RGB or RGBA; integers from 0 to 255 or floats from 0 to 1. The EXIF orientation of a
        file is not applied, as in COLMAP: points are coordinates of the stored pixels.
    ratio : float, optional
        Largest SNN ratio of a match, in (0, 1].
    max_features : int, optional
        Largest number of features in an image; the strongest are kept.
    max_size : int, optional
        Images with a longer side than this, in pixels, are scaled down for detection. The points are in the coordinates
        of the original images.
    mutual : bool, optional
        Whether to keep a match only if each point is the nearest neighbour of the other. Otherwise many points of image
        1 can have the same match. In unrelated images most matches then lead to a few points, which easily support a
        wrong model.

    Returns
    -------
    Matches
        Matches in the order of the features of image 1. A point of image 2 can occur several times unless ``mutual``.

    Raises
    ------
    OSError
        If a file cannot be read as an image.
    ValueError
        If an argument is out of range, or an image has fewer than two features.
    ImportError
        If OpenCV is not installed.

    Examples
    --------
    >>> from bansac.matches import load_demo
    >>> demo = load_demo()
    >>> matches = match_images(demo.image1, demo.image2, ratio=0.8, max_features=1000)
    >>> len(matches) > 100
    True
    """
    check_matching(ratio, max_features, max_size)
    features1 = detect_features(image1, max_features=max_features, max_size=max_size, name="image1")
    features2 = detect_features(image2, max_features=max_features, max_size=max_size, name="image2")
    matches, _ = match_features(features1, features2, ratio=ratio, mutual=mutual)
    return replace(matches, image1=_path(image1), image2=_path(image2))


def check_matching(ratio: float, max_features: int, max_size: int) -> None:
    """Raise a ValueError if a setting of :func:`match_images` is out of its range."""
    if not 0 < ratio <= 1:
        raise ValueError(f"ratio must lie in (0, 1], got {ratio}")
    as_integer("max_features", max_features, 2)
    as_integer("max_size", max_size, 1)


def detect_features(
    image: ImageLike, *, max_features: int = 8000, max_size: int = MAX_SIZE, name: str = "image"
) -> Features:
    """Detect the strongest features, the strongest first; ``name`` stands for the image in error messages."""
    grey = read_image(image, argument=name)
    small, scale = shrink(grey, max_size)
    keypoints, sift = import_opencv().SIFT_create(nfeatures=max_features).detectAndCompute(small, None)
    if len(keypoints) < 2:
        raise ValueError(
            f"{name} ({small.shape[1]} x {small.shape[0]} pixels) has {len(keypoints)} features, two are needed: "
            "it is too small or too plain"
        )
    # OpenCV keeps ties and may therefore return more features than requested.
    strongest = np.argsort([-k.response for k in keypoints], kind="stable")[:max_features]
    points = np.array([keypoints[i].pt for i in strongest], dtype=np.float64)
    if small is not grey:
        points = (points + 0.5) / scale - 0.5
    histograms = np.asarray(sift, dtype=np.float32)[strongest]
    total = np.maximum(histograms.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return Features(points, np.sqrt(histograms / total), (grey.shape[0], grey.shape[1]))


def match_features(
    features1: Features, features2: Features, *, ratio: float = 0.85, mutual: bool = True
) -> tuple[Matches, Ints]:
    """Return the matches of :func:`match_images`, in the order of image 1, and the indices (N, 2) of their features."""
    nearest, ratios = _nearest_neighbours(features1.descriptors, features2.descriptors)
    keep = ratios <= ratio
    if mutual:
        kept = np.flatnonzero(keep)
        back = _nearest_neighbours(features2.descriptors[nearest[kept]], features1.descriptors)[0]
        keep[kept] = back == kept
    indices = np.column_stack([np.flatnonzero(keep), nearest[keep]])
    x1, x2 = features1.points[indices[:, 0]], features2.points[indices[:, 1]]
    return Matches(x1, x2, ratios=ratios[keep], size1=features1.size, size2=features2.size), indices


def _path(image: ImageLike) -> Path | None:
    return Path(image) if isinstance(image, str | os.PathLike) else None


def _nearest_neighbours(query: Singles, base: Singles) -> tuple[Ints, Floats]:
    """Find the nearest neighbour in ``base`` of each unit descriptor, the largest product, and its SNN ratio."""
    nearest = np.empty(len(query), dtype=np.int64)
    ratios = np.empty(len(query))
    for start in range(0, len(query), _BLOCK):
        rows = slice(start, start + _BLOCK)
        block = query[rows]
        products = block @ base.T
        two = np.argpartition(products, -2, axis=1)[:, -2:]
        # Products do not resolve the distance of nearly equal descriptors, but differences do.
        distance = np.linalg.norm(block[:, None].astype(np.float64) - base[two], axis=2)
        swap = distance[:, 0] <= distance[:, 1]
        nearest[rows] = np.where(swap, two[:, 0], two[:, 1])
        larger = distance.max(axis=1)
        ratios[rows] = np.divide(distance.min(axis=1), larger, out=np.ones(len(block)), where=larger > 0)
    return nearest, ratios
