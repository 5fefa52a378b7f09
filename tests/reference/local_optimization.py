"""The iterative local optimisation of a line, literally."""

import numpy as np

from tests.reference.curves import line_distances
from tests.reference.space import hyperplane


def iterate(points, line, threshold):
    """Fit to the inliers at 2, 5/3, 4/3 and 1 times the threshold; keep the result if it has more."""
    fitted = line
    for factor in (2.0, 5 / 3, 4 / 3, 1.0):
        near = points[line_distances(fitted, points) <= factor * threshold]
        fitted = hyperplane(near, np.ones(len(near)))
    better = np.sum(line_distances(fitted, points) <= threshold) > np.sum(line_distances(line, points) <= threshold)
    chosen = fitted if better else line
    return chosen * np.sign(chosen[:2] @ line[:2])
