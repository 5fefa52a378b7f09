"""Robust losses, the normal equations of their sum, and the scale of the biweight loss, literally."""

import numpy as np


def cost(squares, squared_scale, smooth):
    """Return the sum of the losses of squared residuals."""
    if smooth:
        inside = np.minimum(squares / squared_scale, 1)
        return squared_scale / 3 * (1 - (1 - inside) ** 3).sum()
    return np.minimum(squares, squared_scale).sum()


def weights_of(squares, squared_scale, smooth):
    """Return the derivatives of the losses by the squared residuals."""
    inside = squares < squared_scale
    return np.where(inside, (1 - squares / squared_scale) ** 2 if smooth else 1.0, 0.0)


def normal_equations(residuals, jacobian, squared_scale, smooth):
    """Return the cost, sum w J^T J and sum w J^T r of residuals (c x n) with derivatives (c x m x n)."""
    squares = (residuals**2).sum(axis=0)
    weights = weights_of(squares, squared_scale, smooth)
    A = np.einsum("n,cjn,ckn->jk", weights, jacobian, jacobian)
    g = np.einsum("n,cjn,cn->j", weights, jacobian, residuals)
    return cost(squares, squared_scale, smooth), A, g


def variance(distances, scale, components, parameters):
    """Return the variance of a model up to a factor that is the same for all scales, inf if it is not determined."""

    def length_of_psi(r):
        return weights_of(r**2, scale**2, True) * r

    h = 1e-6 * scale
    along = (length_of_psi(distances + h) - length_of_psi(distances - h)) / (2 * h)
    across = weights_of(distances**2, scale**2, True)  # psi turns with the error
    information = ((along + (components - 1) * across) / components).sum() - 2 * parameters / components
    return (length_of_psi(distances) ** 2).sum() / information**2 if information > 0 else np.inf


def scale_of_least_variance(distances, widest, components, parameters):
    """Return the first of the scales widest, widest / 2, ... whose successor has no smaller variance."""
    scale = widest
    while variance(distances, scale / 2, components, parameters) < variance(distances, scale, components, parameters):
        scale /= 2
    return scale
