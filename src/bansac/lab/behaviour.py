"""Whether a report is older than the results of the code: a digest of some calls, stored with the report.

The digest covers models, masks, thresholds and counts of calls on known scenes. So an edit that leaves all results as
they are does not make a report old. The bits depend on the processor, so only reports of the same one are compared.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from bansac.lab.known_scenes import FUNCTIONS, known_scene
from bansac.lab.provenance import machine

PRESETS: Mapping[str, str | None] = {"default": None, "paper": "paper"}
"""What a report may depend on: the default, or the paper's methods."""

_SCENES = ("homography", "fundamental", "essential", "line")
_POINTS, _RATIOS = 200, (0.3, 0.5, 0.7)


@functools.cache
def behaviour() -> dict[str, str]:
    """Return the processor, and for each of ``PRESETS`` a digest of results."""
    return {"processor": machine()["processor"]} | {name: _digest(preset) for name, preset in PRESETS.items()}


def _digest(preset: str | None) -> str:
    """Return a digest of the results of a preset."""
    digest = hashlib.sha256()
    for name in _SCENES:
        for seed, ratio in enumerate(_RATIOS):
            scene = known_scene(name, _POINTS, ratio, 0.5, seed)
            settings: dict[str, Any] = {"threshold": 1.5} if preset and name == "line" else {}
            result = FUNCTIONS[name](*scene.arguments, preset=preset, seed=seed, **settings)
            digest.update(np.round(np.ravel(result.model), 9).tobytes() + result.inliers.tobytes())
            digest.update(repr((result.iterations, result.restarts, round(result.threshold, 9))).encode())
    return digest.hexdigest()[:12]


def is_older(report: Mapping[str, Any], preset: str) -> bool:
    """Return whether a report has the digest of other results than those of today; False if it has none."""
    stored, today = report.get("behaviour", {}), behaviour()
    same_processor = stored.get("processor") == today["processor"]
    return bool(same_processor and stored.get(preset) != today[preset])
