"""Whether a model has more support than chance gives, and whether its inliers determine it.

=================  ==============================================================================
``verdict``        the function that decides ``success``, with the message and the configuration
``fast_test``      a sufficient test in one pass, which most right models pass
``false_alarms``   the number of false alarms (NFA)
``null_model``     residuals under chance
``support``        inliers that share no point; points on a line
``configuration``  planar, collinear and rotation-only configurations of two views
=================  ==============================================================================

It imports ``engine``, ``problems``, ``solvers`` and ``numeric``.
"""
