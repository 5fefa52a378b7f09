"""``bansac bench speed``: single-thread times of this package and other libraries, measured in one run.

=====================  ==============================================================================
:mod:`~.timing`        minimum time of calls that alternate, and peak memory of a call
:mod:`~.scenes`        synthetic matches, and the state of a run on them
:mod:`~.kernels`       parts of an iteration: solvers, residuals, evaluation, update, draws; a refinement step
:mod:`~.iterations`    a fixed number of iterations, and one iteration
:mod:`~.calls`         whole calls over the number of matches and over the inlier ratio
:mod:`~.report`        all measurements, also on real pairs, in one document with the targets
:mod:`~.tables`        the document as tables
=====================  ==============================================================================

A time is the minimum of many measurements that alternate with the other calls of the comparison. Compare ratios within
one run, not times of two runs.
"""
