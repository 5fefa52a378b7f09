"""Methods with posebench's settings: 100 to 1000 iterations, success probability .9999, the threshold of the set.

PoseLib and COLMAP are called as posebench calls them. It has no other libraries. This package has two methods: one with
the same settings, and one with its default threshold and limits. OpenCV's USAC_MAGSAC has no minimum of iterations. It
gets points without lens distortion for poses.
"""

from __future__ import annotations

from collections.abc import Mapping

from bansac.lab.peers.library import Task
from bansac.lab.peers.method import Method
from bansac.lab.peers.opencv import OPENCV
from bansac.lab.peers.poselib import POSELIB
from bansac.lab.peers.pycolmap import PYCOLMAP
from bansac.lab.sets.posebench import Instance

MODELS: Mapping[str, tuple[str, ...]] = {"relative": ("E", "F"), "absolute": ("PnP",), "homography": ("H",)}
"""Models of every problem: relative pose (E), fundamental matrix (F), absolute pose (PnP), homography (H)."""

_EARLIEST = {"min_iterations": 100}

OURS = (
    Method("bansac", {"preset": None, **_EARLIEST}, own_limits=False),
    Method("bansac, its own settings", {"preset": None}),
)
PEERS = (
    Method("poselib", _EARLIEST, POSELIB),
    Method("COLMAP", _EARLIEST, PYCOLMAP),
    Method("OpenCV", {"flag": "USAC_MAGSAC"}, OPENCV),
)

_PROBLEMS = {"E": "relative pose", "PnP": "pose"}


def task_of(model: str, instance: Instance, threshold: float, seed: int) -> Task:
    """Return the task of a model; a relative pose and an absolute pose have cameras."""
    points = instance.points[::-1] if model == "PnP" else instance.points
    cameras = instance.cameras if model in _PROBLEMS else ()
    return Task(_PROBLEMS.get(model, model), points, cameras, None, threshold, 0.9999, 1000, seed)
