"""Homographies the slow way: textbook equations, NumPy's SVD, one match at a time."""

import numpy as np
from numpy.typing import NDArray


def apply(H: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Map the points ``x`` (N, 2)."""
    mapped = np.column_stack([x, np.ones(len(x))]) @ H.T
    return mapped[:, :2] / mapped[:, 2:]


def transfer_error(H: NDArray[np.float64], x1: NDArray[np.float64], x2: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return squared distances between ``x2`` and the mapped ``x1``."""
    return ((apply(H, x1) - x2) ** 2).sum(axis=1)


def dlt(x1: NDArray[np.float64], x2: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimise sum(weight * d^2 * transfer error) / sum(weight * d^2), d being the depth, in plain coordinates.

    The rows h1 and h2 are eliminated by least squares, the constraint on h3 by a QR decomposition.
    """
    root = np.sqrt(weights)[:, None]
    p = root * np.column_stack([x1, np.ones(len(x1))])
    zero = np.zeros_like(p)
    first = np.block([[p, zero], [zero, p]])
    last = np.vstack([-x2[:, :1] * p, -x2[:, 1:] * p])
    elimination = np.linalg.lstsq(first, last, rcond=None)[0]
    R = np.linalg.qr(p)[1]
    h3 = np.linalg.solve(R, np.linalg.svd((last - first @ elimination) @ np.linalg.inv(R))[2][-1])
    return unit(np.vstack([-(elimination @ h3).reshape(2, 3), h3]))


def unit(H: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale to unit norm, the last entry (or, where it vanishes, the largest) positive."""
    H = H / np.linalg.norm(H)
    leading = H[2, 2] if abs(H[2, 2]) > 1e-12 else H.flat[np.argmax(np.abs(H))]
    return H if leading > 0 else -H


def one_sided(x1: NDArray[np.float64], x2: NDArray[np.float64]) -> bool:
    """Say whether the homography of four matches has one sign of depth at all four points."""
    H = dlt(x1, x2, np.ones(4))
    depth = np.column_stack([x1, np.ones(4)]) @ H[2]
    return bool((depth > 0).all() or (depth < 0).all())
