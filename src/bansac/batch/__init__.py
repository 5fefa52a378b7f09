"""Estimation for many pairs in one run, from files of matches or a folder of images to one file of results.

====================  ==================================================================================
``sources``           sources of pairs: a folder, h5 sets, a list of files
``pair_selection``    selection of the pairs of a folder of images: all, sequential, or a list
``features``          the pairs of a folder of images, and their features, cached on disk
``job``               settings that all pairs of a run share, and the estimation of one pair
``run``               estimation of the pairs that the journal lacks, by an executor
``journal``           finished pairs in an SQLite database
``records``           a pair as stored in the journal, and as written to the results
``result_files``      npz, HDF5 and Parquet files
====================  ==================================================================================
"""
