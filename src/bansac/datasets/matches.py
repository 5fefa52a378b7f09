"""Matches of two images: the one type that readers, matchers and generators return."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Matches"]

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
