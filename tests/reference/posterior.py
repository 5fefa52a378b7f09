"""The mixture of inliers and outliers, literally: expectation maximisation over bins of residuals, with densities."""

import math

import numpy as np

WIDE_SHARE, WIDE, WINDOW, BINS, ROUNDS, CONVERGED = 0.2, 4, 6.0, 64, 30, 0.01
SIGMAS = 0.02, 1.0


def densities(u, sigma, codimension):
    """Return the densities of a narrow error, of a wide one and of an outlier, at a length u of the error vector."""

    def normal(s):
        return np.exp(-(u**2) / (2 * s**2)) / (2 * math.pi * s**2) ** (codimension / 2)

    ball = math.pi ** (codimension / 2) / math.gamma(codimension / 2 + 1) * WINDOW**codimension
    return (1 - WIDE_SHARE) * normal(sigma), WIDE_SHARE * normal(WIDE * sigma), 1 / ball


def fit(u, codimension):
    """Return the share of inliers and their sigma; ``u`` are residuals in thresholds."""
    near = u[u < WINDOW]
    bins = (near * BINS / WINDOW).astype(int)
    counts = np.bincount(bins, minlength=BINS)
    squares = np.bincount(bins, near**2, minlength=BINS)
    used = counts > 0
    counts, squares = counts[used], squares[used]
    share, sigma = 0.5, 1 / 3
    for _ in range(ROUNDS):
        narrow, wide, outlier = densities(np.sqrt(squares / counts), sigma, codimension)
        evidence = share * (narrow + wide) + (1 - share) * outlier
        narrow, wide = share * narrow / evidence, share * wide / evidence
        inliers = np.sum(counts * (narrow + wide))
        before = share, sigma
        share = min(inliers / max(counts.sum(), 1), counts.sum() / (counts.sum() + 1))
        if inliers > 0:
            variance = np.sum(squares * (narrow + wide / WIDE**2)) / (codimension * inliers)
            sigma = float(np.clip(math.sqrt(variance), *SIGMAS))
        if abs(share - before[0]) < CONVERGED * share and abs(sigma - before[1]) < CONVERGED * sigma:
            break
    return share, sigma


def inlier_probabilities(residuals, threshold, codimension):
    """Return the posterior of every datum."""
    u = residuals / threshold
    share, sigma = fit(u, codimension)
    narrow, wide, outlier = densities(u, sigma, codimension)
    inlier = share * (narrow + wide)
    return inlier / (inlier + (1 - share) * outlier)
