"""``bansac bench speed``: what everything costs on one thread, beside other libraries, in one run.

=====================  ==============================================================================
:mod:`~.timing`        the least time of calls that take turns
:mod:`~.scenes`        synthetic matches, and the state of a run over them
:mod:`~.solvers`       minimal solvers
:mod:`~.kernels`       parts of an iteration: residuals, evaluation, update, draws; a step of refinement
:mod:`~.limits`        what an iteration must cost at least on this core
:mod:`~.iterations`    a fixed number of iterations, and the distance to that limit
:mod:`~.calls`         whole calls, over the number of matches and the share of outliers
:mod:`~.pairs`         whole calls on real pairs
:mod:`~.report`        everything in one document, with the targets
:mod:`~.tables`        the document as tables
=====================  ==============================================================================

A time is the least of many in turn with the others of its comparison; compare the ratios of one run, not the times of
two runs.
"""
