"""Hard synthetic data: few inliers, unrelated images, unknown noise, dominant planes with repeated structure.

====================  ==============================================================================
:mod:`~.scenes`       scenes with ground truth, and the errors of a model
:mod:`~.estimators`   this package and other libraries on a scene; one unit of work
:mod:`~.few_inliers`  ``bansac bench hard``: right models and times over inlier ratios; unrelated images
:mod:`~.noise`        ``bansac bench noise``: the default threshold beside the best fixed one
:mod:`~.planes`       ``bansac bench planes``: relative poses of scenes with a repeated pattern on a plane
====================  ==============================================================================
"""
