"""Comparison of estimators and reproduction of the paper's experiments.

================  =============================================================================
``measurements``  one module a measurement: options, rows, report, table (``bansac bench NAME``)
``experiments``   the same for the tables and figures of the paper
``reproduction``  verdicts on the paper's claims
``peers``         one adapter a library
``metrics``       errors of poses, homographies and curves; mAA and AUC
``sets``          benchmark sets with ground truth: readers
``pages``         marked tables and figures of the documentation, from stored reports
``cli``           ``bansac bench`` and ``bansac experiments``
================  =============================================================================

``measurement`` has the contract, ``runner`` distributes and resumes units of work. The package imports the library, and
the library finds the commands of ``cli`` as entry points.
"""
