"""The curve y = c_0 + c_1 x + ... + c_d x^d; the residual of a point is its distance along y.

The coefficients are in the order of ``numpy.polynomial``. All degrees share their functions, which read the degree from
the length of the model. The functions are therefore compiled once for all degrees.
"""

import functools

import numpy as np

from bansac.compiled.jit import kernel
from bansac.maths.arrays import Bools, Floats, Ints, Reals
from bansac.maths.extent import UNIT, near_box
from bansac.maths.linalg import copy
from bansac.problems.problem import Problem
from bansac.problems.traits import Limit, Traits

# At higher degrees the powers of x are nearly dependent, and the coefficients are ill-conditioned.
MAX_DEGREE = 8
# Abscissae coincide if their difference is at most this fraction of the largest abscissa.
_REPEATED = 1e-12
# Number of scratch arrays of d + 1 numbers in ``fit``.
_WORK_ARRAYS = 6


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Interpolate d + 1 points by Newton's divided differences; a repeated x gives no curve."""
    n = sample.size
    c = models[0]
    largest = 0.0
    for i in range(n):
        c[i] = data[1, sample[i]]
        largest = max(largest, abs(data[0, sample[i]]))
    for order in range(1, n):
        for i in range(n - 1, order - 1, -1):
            step = data[0, sample[i]] - data[0, sample[i - order]]
            if not abs(step) > _REPEATED * largest:
                return 0
            c[i] = (c[i] - c[i - 1]) / step
    # Convert Newton's form to powers of x: multiply by (x - x_i), from the innermost factor outwards.
    for i in range(n - 2, -1, -1):
        for j in range(i, n - 1):
            c[j] -= data[0, sample[i]] * c[j + 1]
    return 1


def residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared distances along y, with Horner's scheme over all points at once."""
    x, y = data[0, start:stop], data[1, start:stop]
    for i in range(stop - start):
        out[i] = model[model.size - 1]
    for k in range(model.size - 2, -1, -1):
        c = model[k]
        for i in range(stop - start):
            out[i] = out[i] * x[i] + c
    for i in range(stop - start):
        distance = out[i] - y[i]
        out[i] = distance * distance


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute p(x) - y and its derivatives by the coefficients, which are the powers of x."""
    x, y = data[0, start:stop], data[1, start:stop]
    difference = residuals[0]
    for i in range(stop - start):
        difference[i] = -y[i]
    for j in range(model.size):
        power = jacobian[j]
        for i in range(stop - start):
            power[i] = 1.0 if j == 0 else jacobian[j - 1, i] * x[i]
            difference[i] += model[j] * power[i]


def fit(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Minimise the weighted sum of squared distances, in polynomials that are orthogonal on the weighted points.

    x is mapped to t in [-1, 1]. The monic polynomials are p_{k+1} = (t - alpha_k) p_k - beta_k p_{k-1}, where
    alpha_k = <t p_k, p_k> / <p_k, p_k> and beta_k = <p_k, p_k> / <p_{k-1}, p_{k-1}>. In this basis the normal matrix is
    diagonal (Forsythe, Generation and use of orthogonal polynomials for data-fitting with a digital computer, 1957). If
    p_k vanishes on all points, there are only k different x, and the result is False.
    """
    x, y = data[0], data[1]
    n = model.size
    alpha, beta, gamma = scratch[0:n], scratch[n : 2 * n], scratch[2 * n : 3 * n]
    powers, last_powers, c = scratch[3 * n : 4 * n], scratch[4 * n : 5 * n], scratch[5 * n : 6 * n]
    low, high, total = np.inf, -np.inf, 0.0
    for i in range(weights.size):
        if weights[i] > 0.0:
            low, high = min(low, x[i]), max(high, x[i])
            total += weights[i]
    centre, half = 0.5 * (low + high), 0.5 * (high - low)
    if not half > _REPEATED * abs(centre):
        return False

    for j in range(n):
        powers[j] = last_powers[j] = c[j] = 0.0
    powers[0] = 1.0
    last_norm = np.inf
    for k in range(n):
        norm, t_norm, dot = 0.0, 0.0, 0.0
        for i in range(weights.size):
            t = (x[i] - centre) / half
            p, last_p, fitted = 1.0, 0.0, 0.0
            for j in range(k):
                fitted += gamma[j] * p
                p, last_p = (t - alpha[j]) * p - beta[j] * last_p, p
            norm += weights[i] * p * p
            t_norm += weights[i] * p * p * t
            dot += weights[i] * p * (y[i] - fitted)
        if not norm > total * _REPEATED * _REPEATED:
            return False
        alpha[k], beta[k], gamma[k] = t_norm / norm, norm / last_norm, dot / norm
        last_norm = norm
        for j in range(k + 1):
            c[j] += gamma[k] * powers[j]
        for j in range(n - 1, -1, -1):
            lower = powers[j - 1] if j > 0 else 0.0
            last_powers[j], powers[j] = powers[j], lower - alpha[k] * powers[j] - beta[k] * last_powers[j]
    _substitute(c, 1.0 / half, centre)
    copy(c, model)
    return True


@kernel
def _substitute(c: Floats, scale: float, centre: float) -> None:
    """Convert the coefficients of a polynomial in t = scale (x - centre) to coefficients in x, in place."""
    power = 1.0
    for j in range(1, c.size):
        power *= scale
        c[j] *= power
    for i in range(c.size - 1):
        for j in range(c.size - 2, i - 1, -1):
            c[j] -= centre * c[j + 1]


def normalise(data: Floats, transform: Floats) -> None:
    """Map x to [-1, 1] and y to mean 0 and unit spread, except far values.

    ``transform`` is (y scale, y mean, x scale, x centre, -).
    """
    x, y = data[0], data[1]
    low, high = near_box(data[:1], UNIT)[:, 0].tolist()
    lowest, highest = near_box(data[1:], UNIT)[:, 0].tolist()
    is_near = (y >= lowest) & (y <= highest)
    near = y[is_near]
    mean = np.cumsum(near / near.size)[-1]
    centre = 0.5 * (low + high)
    x_scale = 2.0 / (high - low) if high - low >= np.finfo(np.float64).tiny else 1.0
    x[:] = (x - centre) * x_scale
    y -= mean
    near = y[is_near]
    variance = np.cumsum(near * near / near.size)[-1]
    y_scale = 1.0 / np.sqrt(variance) if variance > 0.0 else 1.0
    y *= y_scale
    transform[:4] = y_scale, mean, x_scale, centre


def denormalise(model: Floats, transform: Floats) -> None:
    """Undo ``normalise``; the powers of the shifted x are expanded.

    Far from x = 0 the powers of x cancel. With x near 1e6, coefficients in double precision cannot represent the values
    of a polynomial of degree 3 or more.
    """
    model /= transform[0]
    model[0] += transform[1]
    _substitute(model, transform[2], transform[3])


def normalise_model(model: Floats, transform: Floats) -> None:
    """Undo ``denormalise``."""
    y_scale, mean, x_scale, centre = transform[:4]
    denormalise(model, np.array([1.0 / y_scale, -y_scale * mean, 1.0 / x_scale, -x_scale * centre]))


def _distances_along_y(degree: int, data: Floats, members: Bools) -> Floats:
    """Return the distances along y of points from the least-squares polynomial of the members."""
    x, y = data
    low, high = x[members].min(), x[members].max()
    powers = np.polynomial.legendre.legvander((2.0 * x - low - high) / ((high - low) or 1.0), degree)
    return np.asarray(np.abs(powers @ np.linalg.lstsq(powers[members], y[members], rcond=1e-15)[0] - y))


def polynomial(degree: object) -> Problem:
    """Return the problem of a polynomial of a degree from 1 to 8, the same object for the same degree."""
    if isinstance(degree, bool) or not isinstance(degree, int | np.integer) or not 1 <= degree <= MAX_DEGREE:
        raise ValueError(f"degree must be an integer from 1 to {MAX_DEGREE}, got {degree!r}")
    return _problem(int(degree))


@functools.cache
def _problem(degree: int) -> Problem:
    """Return the problem of a valid degree."""
    limit = Limit(f"polynomial of degree {degree - 1}", functools.partial(_distances_along_y, degree - 1))
    return Problem.of(
        globals(),
        name=f"polynomial of degree {degree}",
        channels=2,
        sample_size=degree + 1,
        model_shape=(degree + 1,),
        scratch_size=_WORK_ARRAYS * (degree + 1),
        traits=Traits(limit=limit),
    )
