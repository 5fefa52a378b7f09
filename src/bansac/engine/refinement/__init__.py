"""Refiners: the last step fits the best model to its inliers, and does not lower the score of least squares."""
