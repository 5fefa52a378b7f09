"""Synthetic data with ground truth: points on a model with Gaussian noise, and uniformly distributed outliers.

:func:`awkward_scene` returns scenes with structures that mislead estimators, and the expected answer.

Every generator is a pure function: the same arguments and seed give the same data, bit for bit.
"""

from bansac.synthetic.curves import CurvePoints, circle_points, line_points, polynomial_points
from bansac.synthetic.families import FAMILIES, AwkwardScene, awkward_scene
from bansac.synthetic.two_views import (
    SceneMatches,
    epipolar_matches,
    homography_matches,
    planar_scene_matches,
    rotation_matches,
)

__all__ = [
    "FAMILIES",
    "AwkwardScene",
    "CurvePoints",
    "SceneMatches",
    "awkward_scene",
    "circle_points",
    "epipolar_matches",
    "homography_matches",
    "line_points",
    "planar_scene_matches",
    "polynomial_points",
    "rotation_matches",
]
