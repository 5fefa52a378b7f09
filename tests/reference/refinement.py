"""The last step, literally: least squares to the inliers until they stay."""

import numpy as np


def refine(points, model, threshold, *, fit, distances, score):
    """Return the refined model, the number of fits kept, and how near a decision was.

    That is the smallest difference of a distance from the threshold, and of two scores that were compared.

    ``fit(points)`` is the least-squares model of all its points, None if they do not determine one;
    ``score(distances)`` grows with quality. A fit that scores less than the model before it is not kept, and ends the
    rounds. One that scores as much is kept, and ends them, too.
    """
    fitted_to = None
    kept, gain = 0, 1
    margin = score_margin = np.inf
    while True:
        found = distances(model, points)
        margin = min(margin, np.abs(found - threshold).min())
        inliers = found <= threshold
        if gain <= 0 or not inliers.any() or (fitted_to is not None and np.array_equal(inliers, fitted_to)):
            return model, kept, (margin, score_margin)
        candidate = fit(points[inliers])
        if candidate is None:
            return model, kept, (margin, score_margin)
        margin = min(margin, np.abs(distances(candidate, points) - threshold).min())
        gain = score(distances(candidate, points)) - score(found)
        score_margin = min(score_margin, abs(gain))
        if gain < 0:
            return model, kept, (margin, score_margin)
        model, fitted_to, kept = candidate, inliers, kept + 1
