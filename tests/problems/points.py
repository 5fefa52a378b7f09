"""Kernels of curves, called with points as (N, 2)."""

import numpy as np


def columns(points):
    """Return points as channels x N."""
    return np.ascontiguousarray(np.asarray(points, dtype=np.float64).T)


def fit_points(fit, points, weights, size, scratch_size=0):
    """Return the model of ``size`` numbers fitted to weighted points, or None."""
    model = np.full(size, np.nan)
    if not fit(columns(points), weights, model, np.empty(scratch_size)):
        assert np.isnan(model).all()
        return None
    return model


def squared_distances(residuals, model, points, dtype=np.float64):
    """Return squared residuals of all points."""
    out = np.empty(len(points), dtype)
    residuals(columns(points).astype(dtype), np.asarray(model, dtype), 0, len(points), out)
    return out
