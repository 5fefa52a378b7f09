"""The settings of a comparison: the same for every method, by default the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["H", "F", "E"]
"""The model that is estimated."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """Settings of a comparison; a value out of its range is a ValueError here, and not one of each method.

    Thresholds are in pixels for H and F, in normalised units for E. Pairs with fewer than ``min_matches`` matches of an
    SNN ratio below ``max_ratio`` are left out. ``pairs`` of a set and ``repeats`` of each, with the seeds 0, 1, ...,
    are the bench's.
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
