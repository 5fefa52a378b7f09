"""Significance tests: whether a model has more inliers than chance explains, and whether its inliers determine it.

=================  ==============================================================================
``verdict``        the function that decides ``success``, with the message and the configuration
``fast_test``      a fast sufficient test, which most right models pass
``false_alarms``   the number of false alarms (NFA)
``null_model``     residuals under chance
``common_motion``  the affine motion that most matches of two images follow
``support``        distinct inliers; points on a line or a plane
``ambiguity``      another epipolar geometry off a dominant plane
``vertical``       the nearest essential matrix that keeps known verticals
``configuration``  planar, collinear and rotation-only configurations of two views
``misfit``         residuals that depend on the place in the image
=================  ==============================================================================

It imports ``engine``, ``problems``, ``geometry``, ``solvers``, ``maths`` and ``compiled``.
"""
