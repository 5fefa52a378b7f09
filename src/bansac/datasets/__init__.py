"""Data to estimate from: image matches, sets of pairs with their truth, synthetic data with ground truth, a demo pair.

It imports ``geometry``, ``metrics``, ``validate`` and the rooms below them, but not ``estimate``.
"""

from __future__ import annotations

from bansac.datasets.demo import DemoPair, StereoPair, load_demo, load_motorcycle
from bansac.datasets.synthetic import (
    CurvePoints,
    EpipolarMatches,
    HomographyMatches,
    PlanarSceneMatches,
    circle_points,
    epipolar_matches,
    homography_matches,
    line_points,
    planar_scene_matches,
    polynomial_points,
)
from bansac.datasets.tutorial import Pair, PairSet, find_sets

__all__ = [
    "CurvePoints",
    "DemoPair",
    "EpipolarMatches",
    "HomographyMatches",
    "Pair",
    "PairSet",
    "PlanarSceneMatches",
    "StereoPair",
    "circle_points",
    "epipolar_matches",
    "find_sets",
    "homography_matches",
    "line_points",
    "load_demo",
    "load_motorcycle",
    "planar_scene_matches",
    "polynomial_points",
]
