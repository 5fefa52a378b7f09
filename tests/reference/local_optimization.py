"""The iterative local optimisation of a line, literally."""

import numpy as np

from tests.reference import curves


def line_distances(points, line):
    return np.abs(points @ line[:2] + line[2])


def fit_line(points):
    return curves.fit_line(points, np.ones(len(points)))


def iterate(points, line, threshold):
    """Fit to the inliers at 2, 5/3, 4/3 and 1 times the threshold; keep the result if it has more."""
    fitted = line
    for factor in (2.0, 5 / 3, 4 / 3, 1.0):
        fitted = fit_line(points[line_distances(points, fitted) <= factor * threshold])
    better = np.sum(line_distances(points, fitted) <= threshold) > np.sum(line_distances(points, line) <= threshold)
    chosen = fitted if better else line
    return chosen * np.sign(chosen[:2] @ line[:2])
