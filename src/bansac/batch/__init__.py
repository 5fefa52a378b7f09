"""Many pairs in one run: from files of matches or a folder of images to one file of results.

====================  ==================================================================================
``sources``           where a pair comes from; the pairs of a folder, of h5 sets, of a list of files
``selection``         which pairs of a folder of images: all, those near in sequence, those of a list
``features``          features of images, computed once and kept on disk by the content of the image
``images``            the pairs of a folder of images
``job``               what all pairs of a run share, and the estimation of one of them
``run``               what the journal lacks, in threads or by an executor
``records``           a pair as it is kept in the journal, and as it is written
``result_files``      npz, HDF5 and Parquet
``summary``           a page for a browser
====================  ==================================================================================

It may import :mod:`bansac.lab.evaluation` and what is below it; the command line imports it.
"""
