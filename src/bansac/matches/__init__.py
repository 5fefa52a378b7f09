"""Matches of two images: the type, readers of files, matching of images, and a demo pair.

===================  ==============================================================================================
``matches``          :class:`Matches`, the type of all of them
``image_matching``   features and matches of two images
``match_files``      matches, points and camera matrices in files; ``text_tables`` and ``array_files`` serve it
``pair_folder``      many pairs in a folder of HDF5 files
``hloc``             features and matches in the files of hloc
``hdf5``             arrays of HDF5 files
``demo``             a pair of images that is part of the package, and one of scikit-image
===================  ==============================================================================================

It imports ``geometry``, ``images``, ``storage`` and ``validate``, nothing that estimates.
"""

from __future__ import annotations

from bansac.matches.demo import StereoPair, load_demo, load_motorcycle
from bansac.matches.hloc import HlocPairs
from bansac.matches.matches import Matches

__all__ = ["HlocPairs", "Matches", "StereoPair", "load_demo", "load_motorcycle"]
