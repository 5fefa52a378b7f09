"""Benchmark sets with ground truth.

The package imports ``matches`` and the packages below it, but no estimator.
"""

from bansac_lab.sets.tutorial import PairSet, find_sets

__all__ = ["PairSet", "find_sets"]
