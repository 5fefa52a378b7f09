"""Data to estimate from, all of them as :class:`Matches`: readers, matching of images, generators, and a demo pair.

==============  ==============================================================================
``matches``     the type of all of them
``files``       matches, points and camera matrices in files; ``text_tables`` and ``array_files`` serve it
``matching``    two images in, matches out
``synthetic``   matches and curves with ground truth
``demo``        a pair of images that is part of the package, and one of scikit-image
``tutorial``    sets of the "RANSAC in 2020" tutorial; ``hdf5`` and ``image_finder`` serve it
``hloc``        features and matches in the files of hloc
``labelled``    sets whose matches are labelled, or whose truth are check points
``survey``      all sets below a folder
``fetch``       download of the tutorial's sets; ``download`` and ``unpack`` serve it
==============  ==============================================================================

May import ``geometry``, ``images``, ``metrics`` and ``validate``; nothing that estimates.
"""

from __future__ import annotations

from bansac.datasets.demo import StereoPair, load_demo, load_motorcycle
from bansac.datasets.hloc import HlocPairs
from bansac.datasets.matches import Matches
from bansac.datasets.survey import find_sets
from bansac.datasets.synthetic import (
    CurvePoints,
    SceneMatches,
    circle_points,
    epipolar_matches,
    homography_matches,
    line_points,
    planar_scene_matches,
    polynomial_points,
    rotation_matches,
)
from bansac.datasets.tutorial import PairSet

__all__ = [
    "CurvePoints",
    "HlocPairs",
    "Matches",
    "PairSet",
    "SceneMatches",
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
    "rotation_matches",
]
