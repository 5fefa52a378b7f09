"""Matches of two images: the type that readers, matchers and generators return."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from bansac.maths.arrays import Bools, Floats, Ints, as_floats
from bansac.maths.validate import as_points, as_scores


@dataclass(frozen=True, eq=False)
class Matches:
    """Matched points of two images, with optional data of the images and ground truth.

    Parameters
    ----------
    x1, x2 : (N, 2) ndarray
        Points in pixels; pixel centres have integer coordinates.
    key : str, optional
        Name of the pair, for example "img1-img2".
    ratios : (N,) ndarray or None, optional
        Distance to the nearest descriptor divided by that to the second nearest (SNN ratio); lower is better.
    scores : (N,) ndarray or None, optional
        Quality of each match; larger is better. By default 1 - ratio, at least 0, if there are ratios (the paper).
    depth1, depth2 : (N,) ndarray or None, optional
        Depths of the points along the optical axes, each in a unit of its image; NaN if unknown.
    K1, K2 : (3, 3) ndarray or None, optional
        Camera matrices.
    size1, size2 : (int, int) or None, optional
        Height and width of the images in pixels.
    image1, image2 : Path or None, optional
        Files of the images.
    R, t : (3, 3) and (3,) ndarray or None, optional
        True motion from camera 1 to camera 2, ``X2 = R X1 + t``.
    E, F : (3, 3) ndarray or None, optional
        True essential and fundamental matrix of unit norm, ``x2^T F x1 = 0``.
    H : (3, 3) ndarray or None, optional
        True homography from image 1 to image 2.
    inliers : (N,) ndarray of bool or None, optional
        True inlier mask.

    Examples
    --------
    >>> matches = Matches(np.zeros((3, 2)), np.zeros((3, 2)), ratios=np.array([0.5, 0.6, 0.7]))
    >>> len(matches), len(matches.filtered(0.6))
    (3, 1)
    """

    x1: Floats
    x2: Floats
    key: str = ""
    ratios: Floats | None = None
    scores: Floats | None = None
    depth1: Floats | None = None
    depth2: Floats | None = None
    K1: Floats | None = None
    K2: Floats | None = None
    size1: tuple[int, int] | None = None
    size2: tuple[int, int] | None = None
    image1: Path | None = None
    image2: Path | None = None
    R: Floats | None = None
    t: Floats | None = None
    E: Floats | None = None
    F: Floats | None = None
    H: Floats | None = None
    inliers: Bools | None = None

    _PER_MATCH: ClassVar[tuple[str, ...]] = ("x1", "x2", "ratios", "scores", "depth1", "depth2", "inliers")

    def __post_init__(self) -> None:
        """Compute the scores from the ratios."""
        if self.scores is None and self.ratios is not None:
            object.__setattr__(self, "scores", np.clip(1 - self.ratios, 0, 1))

    @classmethod
    def from_indices(
        cls, keypoints1: ArrayLike, keypoints2: ArrayLike, pairs: ArrayLike, scores: ArrayLike | None = None
    ) -> Self:
        """Return matches from indices of keypoints, the output format of LightGlue and other matchers.

        Parameters
        ----------
        keypoints1, keypoints2 : (M, 2) and (L, 2) array_like
            Keypoints of the two images in pixels.
        pairs : (N, 2) or (M,) array_like of int
            Indices of the keypoints of each match in image 1 and in image 2. Or, as ``matches0`` of LightGlue, for each
            keypoint of image 1 the index of its match in image 2, or -1.
        scores : (N,) or (M,) array_like or None, optional
            Quality of each match, or of each keypoint of image 1 (``matching_scores0``); larger is better.

        Returns
        -------
        Matches
            The matches in the order of ``pairs``.

        Notes
        -----
        PyTorch tensors may be on any device and may require gradients. Arrays may have a first axis of length 1, and
        lists may hold one array, as the output of a matcher for a batch of one pair.

        Raises
        ------
        ValueError
            If an argument has a wrong shape or type, or an index is out of range.

        Examples
        --------
        >>> matches = Matches.from_indices([[0, 0], [5, 5]], [[1, 0], [7, 7], [9, 9]], [[1, 2], [0, 0]])
        >>> matches.x2
        array([[9., 9.],
               [1., 0.]])
        """
        points1 = as_points("keypoints1", _unbatched(keypoints1, 2), 2)
        points2 = as_points("keypoints2", _unbatched(keypoints2, 2), 2)
        pairs, scores = _unbatched(pairs, 2), None if scores is None else _unbatched(scores, 1)
        first = _first_matches(pairs, len(points1))
        if first is not None:
            matched = first != -1
            pairs = np.column_stack([np.flatnonzero(matched), first[matched]])
            scores = None if scores is None else as_scores("scores", scores, len(points1))[matched]
        indices = as_indices("pairs", pairs, {"keypoints1": points1, "keypoints2": points2})
        quality = None if scores is None else as_scores("scores", scores, len(indices))
        return cls(points1[indices[:, 0]], points2[indices[:, 1]], scores=quality)

    @classmethod
    def from_opencv(
        cls,
        keypoints1: Sequence[Any],
        keypoints2: Sequence[Any],
        matches: Sequence[Any],
        scores: ArrayLike | None = None,
    ) -> Self:
        """Return matches from OpenCV's keypoints and matches.

        Parameters
        ----------
        keypoints1, keypoints2 : sequence of cv2.KeyPoint
            Keypoints of the query image and of the train image.
        matches : sequence of cv2.DMatch
            Matches from ``cv2.DescriptorMatcher.match``, whose order is kept.
        scores : (N,) array_like or None, optional
            Quality of each match; larger is better. By default it is the negative distance of the match.

        Raises
        ------
        ValueError
            If an argument has the wrong type, or a match refers to a keypoint that does not exist.

        Examples
        --------
        >>> import cv2
        >>> keypoints = [cv2.KeyPoint(10.0, 20.0, 5.0), cv2.KeyPoint(30.0, 40.0, 5.0)]
        >>> Matches.from_opencv(keypoints, keypoints, [cv2.DMatch(1, 0, 0.5)]).x1
        array([[30., 40.]])
        """
        points = []
        for name, keypoints in (("keypoints1", keypoints1), ("keypoints2", keypoints2)):
            try:
                points.append(np.array([keypoint.pt for keypoint in keypoints]).reshape(-1, 2))
            except (AttributeError, TypeError):
                raise ValueError(f"{name} must be a sequence of cv2.KeyPoint") from None
        try:
            pairs = [(match.queryIdx, match.trainIdx) for match in matches]
        except (AttributeError, TypeError):
            raise ValueError("matches must be a sequence of cv2.DMatch; of the pairs of knnMatch take one") from None
        quality = [-match.distance for match in matches] if scores is None else scores
        return cls.from_indices(points[0], points[1], pairs, quality)

    @classmethod
    def from_warp(cls, warp: ArrayLike, certainty: ArrayLike, size1: tuple[int, int], size2: tuple[int, int]) -> Self:
        """Return the matches of certainty > 0 of a dense matcher such as RoMa or DKM, in the order of their cells.

        Parameters
        ----------
        warp : (..., 4) array_like
            x and y in both images, from -1 to 1 between the edges of an image. float32 stays float32.
        certainty : (...) array_like
            Certainty of each match, the scores.
        size1, size2 : (height, width)
            Sizes of the images in whose pixels the points are to be.

        Examples
        --------
        >>> matches = Matches.from_warp([[[-1, -1, 0, 0], [1, 1, 0, 0]]], [[0.9, 0.0]], (4, 6), (4, 6))
        >>> matches.x1, matches.x2
        (array([[-0.5, -0.5]]), array([[2.5, 1.5]]))
        """
        warp, certainty = np.asarray(_unbatched(warp, 3)), np.asarray(_unbatched(certainty, 2))
        if warp.ndim < 2 or warp.shape != (*certainty.shape, 4):
            raise ValueError(f"warp must have shape (..., 4), certainty (...), got {warp.shape} and {certainty.shape}")
        warp, kept = warp.astype(np.result_type(warp, np.float32), copy=False), certainty > 0
        x1, x2 = (
            (0.5 * points + 0.5) * points.dtype.type([width, height]) - points.dtype.type(0.5)
            for points, (height, width) in ((warp[kept, :2], size1), (warp[kept, 2:], size2))
        )
        return cls(x1, x2, scores=certainty[kept], size1=size1, size2=size2)

    def __len__(self) -> int:
        """Return the number of matches."""
        return len(self.x1)

    def __repr__(self) -> str:
        """Return the pair's name, the number of matches and the available data."""
        known = [field.name for field in fields(self) if getattr(self, field.name) is not None]
        data = ", ".join(known[3:]) or "nothing else"
        return f"{type(self).__name__}({self.key!r}, {len(self)} matches, with {data})"

    @property
    def K(self) -> Floats:
        """Camera matrix of both images; a ValueError if it is unknown or differs between them."""
        if self.K1 is None or self.K2 is None or not np.array_equal(self.K1, self.K2):
            raise ValueError(f"the pair {self.key!r} has no common camera matrix of both images")
        return self.K1

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of both images; a ValueError if they are unknown or differ."""
        if self.size1 is None or self.size1 != self.size2:
            raise ValueError(f"the pair {self.key!r} has no common size of both images")
        return self.size1

    def select(self, keep: Bools) -> Self:
        """Return the same pair with the matches of a mask (N,), in the same order."""
        values = {name: getattr(self, name) for name in self._PER_MATCH}
        return replace(self, **{name: value[keep] for name, value in values.items() if value is not None})

    def filtered(self, max_ratio: float) -> Self:
        """Return the pair with the matches of an SNN ratio below ``max_ratio``; a ValueError if they have no ratios."""
        if self.ratios is None:
            raise ValueError(f"the matches of the pair {self.key!r} have no SNN ratios")
        return self.select(self.ratios < max_ratio)


def known_arguments(matches: Matches) -> dict[str, Any]:
    """Return what is known of a pair except its points, by the names of the arguments of estimators."""
    names = ("scores", "depth1", "depth2", "K1", "K2", "image_size1", "image_size2")
    return {name: getattr(matches, name.removeprefix("image_")) for name in names}


def _unbatched(value: Any, dimensions: int) -> Any:
    """Return a PyTorch tensor as an array in main memory, without the axis or list of a batch of one pair."""
    if isinstance(value, list | tuple) and len(value) == 1 and getattr(value[0], "ndim", 0) >= dimensions:
        value = value[0]
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        value = np.asarray(value.detach().cpu())
    shape: tuple[int, ...] = getattr(value, "shape", ())
    return value[0] if len(shape) > dimensions and shape[0] == 1 else value


def _first_matches(pairs: Any, n: int) -> Ints | None:
    """Return the index in image 2, or -1, of each of the n keypoints of image 1; None for pairs of indices."""
    as_floats("pairs", pairs)  # rejects masked values
    indices = np.asarray(pairs)
    if indices.shape == (1, n) and n != 2:  # a batch; (1, 2) is a pair
        indices = indices[0]
    return indices.astype(np.int64) if indices.shape == (n,) and indices.dtype.kind in "iu" else None


def as_indices(argument: str, value: ArrayLike, keypoints: Mapping[str, Floats]) -> Ints:
    """Check pairs of indices (N, 2) into the keypoints of two images, given by name, and return them."""
    as_floats(argument, value)  # rejects masked values
    indices = np.asarray(value)
    if indices.size == 0:
        return np.empty((0, 2), np.int64)
    if indices.dtype.kind not in "iu" or indices.ndim != 2 or indices.shape[1] != 2:
        raise ValueError(f"{argument} must be integers of shape (N, 2), got {indices.dtype} of shape {indices.shape}")
    for column, (name, points) in zip(indices.T, keypoints.items(), strict=True):
        wrong = column[(column < 0) | (column >= len(points))]
        if wrong.size:
            raise ValueError(f"{argument} must be indices of the {len(points)} {name}, got {wrong[0]}")
    return indices.astype(np.int64)
