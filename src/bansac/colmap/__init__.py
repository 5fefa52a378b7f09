"""Geometric verification in COLMAP's databases: matches in, two-view geometries for COLMAP's mappers out.

Only ``database`` needs pycolmap.
"""

from bansac.colmap.options import VerificationOptions as VerificationOptions
from bansac.colmap.pairs import PairGeometry as PairGeometry
from bansac.colmap.pairs import PairMatches as PairMatches
from bansac.colmap.pairs import verify_pairs as verify_pairs
from bansac.colmap.verify import VerificationSummary as VerificationSummary
from bansac.colmap.verify import verify_database as verify_database
