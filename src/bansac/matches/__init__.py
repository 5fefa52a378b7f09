"""Matches of two images: their type, readers of files, image matching, and a demo pair.

===================  ==============================================================================================
``matches``          :class:`Matches`, the type that all modules return
``image_matching``   features and matches of two images
``match_files``      matches, points and camera matrices in files; uses ``text_tables`` and ``array_files``
``pair_folder``      many pairs in a folder of HDF5 files
``hloc``             features and matches in the files of hloc
``hdf5``             arrays in HDF5 files
``demo``             an image pair that is part of the package, and one of scikit-image
``images``           images from files or arrays
``storage``          files that are written completely or not at all; results as JSON and npz
===================  ==============================================================================================

This package imports ``geometry`` and ``maths``, but no estimators.
"""

from bansac.matches.demo import StereoPair, load_demo, load_motorcycle, load_motorcycle_matches
from bansac.matches.hloc import HlocPairs
from bansac.matches.matches import Matches

__all__ = ["HlocPairs", "Matches", "StereoPair", "load_demo", "load_motorcycle", "load_motorcycle_matches"]
