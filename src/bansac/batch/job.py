"""The settings that all pairs of a batch run share, and the estimation of one pair."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bansac.batch.journal import Row
from bansac.batch.records import as_row
from bansac.batch.sources import Source
from bansac.compiled.source import installed_versions, source_digest
from bansac.estimate.many import Failure, estimate_many, iter_estimates
from bansac.geometry.camera import Camera
from bansac.matches.match_files import CameraLike
from bansac.matches.matches import known_arguments
from bansac.maths.arrays import Ints
from bansac.problems.estimators import MODELS, Kind

Cameras = tuple[CameraLike, CameraLike]


@dataclass(frozen=True, kw_only=True)
class Job:
    """The settings of a batch run; invalid settings raise a ValueError."""

    model: Kind
    cameras: Cameras | None  # for E, of all pairs; if None, each pair has its own, if any
    ignored: tuple[str, ...]  # what matches have and is not used: scores, depth1, depth2
    settings: Mapping[str, Any]  # options of the estimation

    def __post_init__(self) -> None:
        """Check the options."""
        iter_estimates(MODELS[self.model].name, (), **self.settings)

    def fingerprint(self) -> str:
        """Return a digest of everything except the pairs that the results depend on."""
        cameras = [[c.model, *c.params] if isinstance(c, Camera) else c.tolist() for c in self.cameras or ()] or None
        settings = [self.model, cameras, self.ignored, dict(self.settings)]
        parts = [*settings, source_digest(), installed_versions()]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def estimate(self, source: Source) -> Row:
        """Read a pair and return its result as a row of the journal; any error is raised as a ValueError."""
        indices: Ints | None = None

        def load() -> dict[str, Any]:
            nonlocal indices
            matches, indices = source.read()
            known = known_arguments(matches) | dict(zip(("K1", "K2"), self.cameras or (), strict=False))
            used = {"scores", *MODELS[self.model].arguments}.difference(self.ignored)
            return {"x1": matches.x1, "x2": matches.x2} | {name: known[name] for name in used}

        (result,) = estimate_many(MODELS[self.model].name, [load], workers=1, **self.settings)
        if isinstance(result, Failure):
            raise ValueError(result.message)
        return as_row(result, indices)
