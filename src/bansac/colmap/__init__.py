"""COLMAP's databases: matches in, two-view geometries out, from which COLMAP's mappers go on.

================  ===========================================================================
``verify``        a database: what is missing, in batches, in threads
``pairs``         a batch of pairs: matches in, geometries out, a function of its arguments alone
``selection``     which of E, F and H describes a pair (COLMAP's configurations)
``watermark``     pairs whose matches are a mark that is in the same place of both images
``options``       the settings, by COLMAP's names
``database``      reading and writing, through pycolmap
================  ===========================================================================

This room imports the public functions and what is below them; only ``cli`` imports it. Of it only ``database`` needs
pycolmap.
"""

from __future__ import annotations

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
