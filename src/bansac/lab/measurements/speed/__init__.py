"""``bansac bench speed``: single-thread times of this package and other libraries, measured in one run.

=====================  ==============================================================================
:mod:`~.timing`        minimum time of calls that alternate, and peak memory of a call
:mod:`~.kernels`       parts of an iteration: solvers, residuals, evaluation, update, draws; a refinement step
:mod:`~.calls`         fixed numbers of iterations, and whole calls over matches and inlier ratios
:mod:`~.report`        all measurements, also on real pairs, in one document with the targets and tables
=====================  ==============================================================================

A time is the minimum of many measurements that alternate with the other calls of the comparison. Compare ratios within
one run, not times of two runs.
"""
