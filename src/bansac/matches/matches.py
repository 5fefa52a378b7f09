"""Matches of two images: the one type that readers, matchers and generators return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.numeric.arrays import as_floats
from bansac.validate import as_points, as_scores

__all__ = ["Matches", "as_indices"]

_Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Matches:
    """Matched points of two images, and what is known about the images and about the truth.

    Parameters
    ----------
    x1, x2 : (N, 2) ndarray
        Points in pixels; pixel centres have whole coordinates.
    key : str, optional
        Name of the pair, for example "img1-img2".
    ratios : (N,) ndarray or None, optional
        Distance of the nearest over that of the second nearest descriptor (SNN ratio); lower is better.
    scores : (N,) ndarray or None, optional
        Quality of every match, larger is better; by default 1 - ratio, as in the BANSAC paper, if there are ratios.
    K1, K2 : (3, 3) ndarray or None, optional
        Camera matrices.
    size1, size2 : (int, int) or None, optional
        Height and width of the images in pixels.
    image1, image2 : Path or None, optional
        Files of the images.
    R, t : (3, 3) and (3,) ndarray or None, optional
        True motion from camera 1 to camera 2, ``X2 = R X1 + t``.
    E, F : (3, 3) ndarray or None, optional
        True essential and fundamental matrix, both of unit norm: ``x2^T F x1 = 0``.
    H : (3, 3) ndarray or None, optional
        True homography from image 1 to image 2.
    inliers : (N,) ndarray of bool or None, optional
        Which matches are true.

    Examples
    --------
    >>> matches = Matches(np.zeros((3, 2)), np.zeros((3, 2)), ratios=np.array([0.5, 0.6, 0.7]))
    >>> len(matches), len(matches.filtered(0.6))
    (3, 1)
    """

    x1: _Array
    x2: _Array
    key: str = ""
    ratios: _Array | None = None
    scores: _Array | None = None
    K1: _Array | None = None
    K2: _Array | None = None
    size1: tuple[int, int] | None = None
    size2: tuple[int, int] | None = None
    image1: Path | None = None
    image2: Path | None = None
    R: _Array | None = None
    t: _Array | None = None
    E: _Array | None = None
    F: _Array | None = None
    H: _Array | None = None
    inliers: NDArray[np.bool_] | None = None

    _PER_MATCH: ClassVar[tuple[str, ...]] = ("x1", "x2", "ratios", "scores", "inliers")

    def __post_init__(self) -> None:
        """Derive the scores from the ratios."""
        if self.scores is None and self.ratios is not None:
            object.__setattr__(self, "scores", 1 - self.ratios)

    @classmethod
    def from_indices(
        cls, keypoints1: ArrayLike, keypoints2: ArrayLike, pairs: ArrayLike, scores: ArrayLike | None = None
    ) -> Self:
        """Return matches that are given as indices of keypoints, as LightGlue and other matchers give them.

        Parameters
        ----------
        keypoints1, keypoints2 : (M, 2) and (L, 2) array_like
            Points of the two images in pixels.
        pairs : (N, 2) array_like of int
            For every match the index of its keypoint in image 1 and in image 2.
        scores : (N,) array_like or None, optional
            Quality of every match, larger is better.

        Returns
        -------
        Matches
            The matches in the order of ``pairs``.

        Raises
        ------
        ValueError
            If an argument has the wrong shape or type, or an index is out of range.

        Examples
        --------
        >>> matches = Matches.from_indices([[0, 0], [5, 5]], [[1, 0], [7, 7], [9, 9]], [[1, 2], [0, 0]])
        >>> matches.x2
        array([[9., 9.],
               [1., 0.]])
        """
        points1, points2 = as_points("keypoints1", keypoints1, 2), as_points("keypoints2", keypoints2, 2)
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
        """Return the matches of OpenCV's keypoints.

        Parameters
        ----------
        keypoints1, keypoints2 : sequence of cv2.KeyPoint
            Keypoints of the query image and of the train image.
        matches : sequence of cv2.DMatch
            What ``cv2.DescriptorMatcher.match`` returns.
        scores : (N,) array_like or None, optional
            Quality of every match, larger is better.

        Returns
        -------
        Matches
            The matches in their order.

        Raises
        ------
        ValueError
            If an argument is no such sequence, or a match names a keypoint that is not there.

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
        return cls.from_indices(points[0], points[1], pairs, scores)

    def __len__(self) -> int:
        """Return the number of matches."""
        return len(self.x1)

    def __repr__(self) -> str:
        """Name the pair, the number of matches and what is known."""
        known = [field.name for field in fields(self) if getattr(self, field.name) is not None]
        return (
            f"{type(self).__name__}({self.key!r}, {len(self)} matches, with {', '.join(known[3:]) or 'nothing else'})"
        )

    @property
    def K(self) -> _Array:
        """Camera matrix of both images; a ValueError if there is none or they differ."""
        if self.K1 is None or self.K2 is None or not np.array_equal(self.K1, self.K2):
            raise ValueError(f"the pair {self.key!r} has no camera matrix that is that of both images")
        return self.K1

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of both images; a ValueError if they are not known or differ."""
        if self.size1 is None or self.size1 != self.size2:
            raise ValueError(f"the pair {self.key!r} has no size that is that of both images")
        return self.size1

    def select(self, keep: NDArray[np.bool_]) -> Self:
        """Return some of the matches, in the same order.

        Parameters
        ----------
        keep : (N,) ndarray of bool
            Which matches to keep.

        Returns
        -------
        Matches
            The same pair with these matches.
        """
        values = {name: getattr(self, name) for name in self._PER_MATCH}
        return replace(self, **{name: value[keep] for name, value in values.items() if value is not None})

    def filtered(self, max_ratio: float) -> Self:
        """Return the matches whose SNN ratio is below (not at) ``max_ratio``, in the same order.

        Parameters
        ----------
        max_ratio : float
            Bound of the ratios.

        Returns
        -------
        Matches
            The same pair with these matches.

        Raises
        ------
        ValueError
            If the matches have no ratios.
        """
        if self.ratios is None:
            raise ValueError(f"the matches of the pair {self.key!r} have no SNN ratios to be filtered by")
        return self.select(self.ratios < max_ratio)


def as_indices(argument: str, value: ArrayLike, keypoints: Mapping[str, _Array]) -> NDArray[np.int64]:
    """Return pairs of indices of the keypoints of two images, which come with their names, (N, 2)."""
    as_floats(argument, value)  # refuses masked values
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
