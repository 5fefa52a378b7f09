"""Benchmark sets with ground truth.

==================  ==========================================================================
``tutorial``        sets of the "RANSAC in 2020" tutorial; ``image_finder`` finds their images
``labelled``        sets with labelled matches, or with check points as ground truth
``posebench``       files of posebench: relative poses, absolute poses, homographies
``survey``          search for all sets below a folder
``fetch``           download of the tutorial's sets
==================  ==========================================================================

The package imports ``matches`` and the packages below it, but no estimator.
"""

from bansac.lab.sets.survey import find_sets
from bansac.lab.sets.tutorial import PairSet

__all__ = ["PairSet", "find_sets"]
