"""Evidence: what the data say of a model, without words. ``estimate.verdict`` has the words.

====================  ==============================================================================
``significance``      whether chance explains the support of a model, and the reason
``fast_test``         a fast sufficient test, which most right models pass
``false_alarms``      the number of false alarms (NFA)
``null_model``        residuals under chance
``common_motion``     the affine motion that most matches of two images follow
``duplicate_points``  inliers that share no point; points on a line or a plane
``noise_scale``       the threshold from the residuals of a significant model
``search_window``     uniform errors of outliers that were searched near a prediction
``posterior``         inlier probabilities under a model
``neighbours``        prior inlier probabilities of matches, from their neighbours
``weights``           weights of the points in the score
``rivals``            models that the data support beside the best one
``twins``             two minima of one sum of squared errors
``ambiguity``         another epipolar geometry off a dominant plane
``configuration``     planar, collinear and rotation-only configurations of two views
``misfit``            residuals that depend on the place in the image
``camera_misfit``     poses that other focal lengths or lens distortion fit better
``static_share``      models that follow the static matches of an overlay
====================  ==============================================================================
"""
