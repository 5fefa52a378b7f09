"""Geometric verification in COLMAP's databases: matches in, two-view geometries for COLMAP's mappers out.

This package imports the public functions and lower layers; only ``cli`` and a measurement of ``lab`` import it. Only
``database`` needs pycolmap.
"""

from bansac.colmap.options import VerificationOptions
from bansac.colmap.pairs import PairGeometry, PairMatches, verify_pairs
from bansac.colmap.verify import VerificationSummary, verify_database

__all__ = [
    "PairGeometry",
    "PairMatches",
    "VerificationOptions",
    "VerificationSummary",
    "verify_database",
    "verify_pairs",
]
