"""Robust losses and the normal equations of their sum, literally."""

import numpy as np


def cost(squares, squared_scale, cauchy):
    """Return the sum of the losses of squared residuals."""
    if cauchy:
        return squared_scale * np.log1p(squares / squared_scale).sum()
    return np.minimum(squares, squared_scale).sum()


def normal_equations(residuals, jacobian, squared_scale, cauchy):
    """Return the cost, sum w J^T J and sum w J^T r of residuals (c x n) with derivatives (c x m x n)."""
    squares = (residuals**2).sum(axis=0)
    weights = 1 / (1 + squares / squared_scale) if cauchy else (squares < squared_scale).astype(float)
    A = np.einsum("n,cjn,ckn->jk", weights, jacobian, jacobian)
    g = np.einsum("n,cjn,cn->j", weights, jacobian, residuals)
    return cost(squares, squared_scale, cauchy), A, g
