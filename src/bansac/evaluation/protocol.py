"""The settings of a comparison: the same for every method, by default the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["DEFAULTS", "Kind", "Protocol"]

Kind = Literal["H", "F", "E"]
"""The model that is estimated."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """Settings of a comparison; the defaults of each kind, in ``DEFAULTS``, are the paper's.

    Parameters
    ----------
    kind : {"H", "F", "E"}
        The model.
    threshold : float
        Largest residual of an inlier: pixels for H and F, normalised units for E.
    max_iterations : int
        Maximum number of minimal samples.
    confidence : float
        Desired probability of having seen the best model.
    max_ratio : float
        Matches with an SNN ratio below this are used.
    min_matches : int
        Pairs with fewer matches are left out.
    pairs : int
        Maximum number of pairs of a set, evenly spaced over its sorted keys; the bench's.
    repeats : int
        Runs of every pair, with the seeds 0, 1, ...; the bench's.

    Raises
    ------
    ValueError
        If a value is out of its range, which the methods would each refuse in their own way.
    """

    kind: Kind
    threshold: float
    max_iterations: int
    confidence: float = 0.999
    max_ratio: float
    min_matches: int = 26
    pairs: int = 43
    repeats: int

    def __post_init__(self) -> None:
        """Check every value."""
        for name in ("threshold", "max_ratio"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be > 0, got {getattr(self, name)}")
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence must be in (0, 1), got {self.confidence}")
        for name in ("max_iterations", "min_matches", "pairs", "repeats"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


DEFAULTS: dict[Kind, Protocol] = {
    "H": Protocol(kind="H", threshold=1.0, max_iterations=1000, max_ratio=0.6, repeats=5),
    "F": Protocol(kind="F", threshold=0.5, max_iterations=10000, max_ratio=0.85, repeats=2),
    "E": Protocol(kind="E", threshold=1e-3, max_iterations=1000, max_ratio=0.85, repeats=2),
}
"""The paper's settings, and the numbers of pairs and repeats of the bench."""
