"""Two images in, matched points out: RootSIFT and nearest neighbours with the ratio of the second-nearest (SNN).

RootSIFT is SIFT whose descriptors are L1-normalised and square-rooted, so that their Euclidean distance compares
histograms as the Hellinger kernel does (Arandjelovic and Zisserman, CVPR 2012). The SNN ratio (Lowe, IJCV 2004) is the
distance to the nearest descriptor divided by that to the second nearest; the BANSAC paper takes 1 - ratio as the score.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ImageLike", "Matches", "match_images", "read_image"]

ImageLike: TypeAlias = str | os.PathLike[str] | ArrayLike
"""A path, or pixels of shape (H, W), (H, W, 3) in RGB or (H, W, 4) in RGBA."""

_BLOCK = 1024  # descriptors of image 1 compared at a time: keeps the memory near 100 MB for 8000 features


@dataclass(frozen=True, eq=False)
class Matches:
    """Matched points of two images.

    Parameters
    ----------
    x1, x2 : (N, 2) ndarray of float64
        Points in pixels; pixel centres have whole coordinates.
    ratios : (N,) ndarray of float64
        SNN ratio of every match; lower is better.
    size1, size2 : (int, int)
        Height and width of the images.
    """

    x1: NDArray[np.float64]
    x2: NDArray[np.float64]
    ratios: NDArray[np.float64]
    size1: tuple[int, int]
    size2: tuple[int, int]

    def __len__(self) -> int:
        """Return the number of matches."""
        return len(self.x1)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The paper's scores, 1 - ratio: larger is better."""
        return 1 - self.ratios


def match_images(
    image1: ImageLike,
    image2: ImageLike,
    *,
    ratio: float = 0.95,
    max_features: int = 8000,
    mutual: bool = False,
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
    mutual : bool, optional
        Keep a match only where each point is the nearest neighbour of the other.

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
    >>> matches = match_images(demo.image1, demo.image2, ratio=0.8, mutual=True)
    >>> len(matches) > 100
    True
    """
    if not 0 < ratio <= 1:
        raise ValueError(f"ratio must lie in (0, 1], got {ratio}")
    if max_features < 2:
        raise ValueError(f"max_features must be at least 2, got {max_features}")
    grey1, grey2 = read_image(image1), read_image(image2)
    points1, descriptors1 = _root_sift("image1", grey1, max_features)
    points2, descriptors2 = _root_sift("image2", grey2, max_features)

    nearest, ratios = _nearest_neighbours(descriptors1, descriptors2)
    keep = ratios <= ratio
    if mutual:
        nearest_of_nearest = _nearest_neighbours(descriptors2, descriptors1)[0][nearest]
        keep &= nearest_of_nearest == np.arange(len(nearest))
    return Matches(points1[keep], points2[nearest[keep]], ratios[keep], grey1.shape[:2], grey2.shape[:2])


def read_image(image: ImageLike, *, color: bool = False) -> NDArray[np.uint8]:
    """Return an image as 8-bit pixels.

    Parameters
    ----------
    image : path or (H, W[, 3 or 4]) array_like
        A file, or pixels (grey, RGB or RGBA; whole numbers 0 to 255, or floats 0 to 1).
    color : bool, optional
        Return RGB in place of grey.

    Returns
    -------
    (H, W) or (H, W, 3) ndarray of uint8
        Grey or, with ``color``, RGB pixels. The rotation that a camera's file asks for is not applied: coordinates are
        those of the stored pixels.

    Raises
    ------
    OSError
        If the file is missing or no image.
    ValueError
        If the array has no shape or range of an image.
    ImportError
        If the image is a file and neither OpenCV nor Pillow is installed.

    Examples
    --------
    >>> read_image([[0.0, 0.5], [1.0, 1.0]])
    array([[  0, 128],
           [255, 255]], dtype=uint8)
    """
    pixels = _read_file(Path(image)) if isinstance(image, str | os.PathLike) else _as_bytes(image)
    if color:
        return pixels if pixels.ndim == 3 else np.repeat(pixels[:, :, None], 3, axis=2)
    return pixels if pixels.ndim == 2 else _grey(pixels)


def _read_file(path: Path) -> NDArray[np.uint8]:
    """Decode a file to RGB bytes."""
    content = path.read_bytes()
    decode = _decode_with_opencv if find_spec("cv2") else _decode_with_pillow
    try:
        return decode(content)
    except ValueError:
        raise OSError(f"cannot read {path} as an image ({len(content)} bytes)") from None


def _decode_with_opencv(content: bytes) -> NDArray[np.uint8]:
    cv2 = _opencv()
    try:
        pixels = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    except cv2.error:  # an empty file
        pixels = None
    if pixels is None:
        raise ValueError("no image")
    return np.ascontiguousarray(pixels[:, :, ::-1])


def _decode_with_pillow(content: bytes) -> NDArray[np.uint8]:
    """Decode with what Matplotlib brings along, so that figures need no OpenCV."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("reading images needs OpenCV: pip install 'bansac[match]'") from error
    try:
        with Image.open(BytesIO(content)) as image:
            return np.array(image.convert("RGB"))
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError("no image") from error


def _as_bytes(image: ArrayLike) -> NDArray[np.uint8]:
    """Check pixels and turn them into grey or RGB bytes."""
    pixels = np.asarray(image)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (3, 4))) or not pixels.size:
        raise ValueError(f"an image must have shape (H, W), (H, W, 3) or (H, W, 4), got {pixels.shape}")
    pixels = pixels[:, :, :3] if pixels.ndim == 3 else pixels
    if pixels.dtype == np.uint8:
        return np.ascontiguousarray(pixels)
    if pixels.dtype.kind not in "buif":
        raise ValueError(f"an image must hold numbers, got {pixels.dtype}")
    top = 1 if pixels.dtype.kind in "bf" else 255
    if not (pixels.min() >= 0 and pixels.max() <= top):  # false for NaN, too
        raise ValueError(
            f"an image of type {pixels.dtype} must hold values from 0 to {top}, got {pixels.min()} to {pixels.max()}"
        )
    return np.ascontiguousarray((pixels * (255 // top) + 0.5).astype(np.uint8))


def _grey(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Luma of ITU-R BT.601."""
    return np.asarray(rgb @ np.array([0.299, 0.587, 0.114]) + 0.5).astype(np.uint8)


def _root_sift(
    name: str, grey: NDArray[np.uint8], max_features: int
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Detect the strongest features: points (N, 2) and RootSIFT descriptors (N, 128) of unit length."""
    keypoints, sift = _opencv().SIFT_create(nfeatures=max_features).detectAndCompute(grey, None)
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
        # The difference, not the product, tells how close two near-equal descriptors are.
        distance = np.linalg.norm(block[:, None].astype(np.float64) - base[two], axis=2)
        swap = distance[:, 0] <= distance[:, 1]
        nearest[start : start + _BLOCK] = np.where(swap, two[:, 0], two[:, 1])
        larger = distance.max(axis=1)
        ratios[start : start + _BLOCK] = np.divide(
            distance.min(axis=1), larger, out=np.ones(len(block)), where=larger > 0
        )
    return nearest, ratios


def _opencv() -> Any:
    try:
        import cv2
    except ImportError as error:
        raise ImportError("matching images needs OpenCV: pip install 'bansac[match]'") from error
    return cv2
