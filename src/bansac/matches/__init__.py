"""Matches of two images: their type, readers of files, image matching, and demo pairs, all as :class:`Matches`."""

from bansac.matches.demo import load_demo, load_motorcycle_matches
from bansac.matches.hloc import HlocPairs
from bansac.matches.matches import Matches

__all__ = ["HlocPairs", "Matches", "load_demo", "load_motorcycle_matches"]
