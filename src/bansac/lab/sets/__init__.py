"""Benchmark sets with ground truth.

==================  ==========================================================================
``tutorial``        sets of the "RANSAC in 2020" tutorial; ``image_finder`` finds their images
``labelled``        sets whose matches are labelled, or whose ground truth is check points
``survey``          all sets below a folder
``fetch``           download of the tutorial's sets; ``download`` and ``unpack`` serve it
==================  ==========================================================================

It imports ``matches`` and the rooms below, nothing that estimates.
"""

from __future__ import annotations

from bansac.lab.sets.survey import find_sets
from bansac.lab.sets.tutorial import PairSet

__all__ = ["PairSet", "find_sets"]
