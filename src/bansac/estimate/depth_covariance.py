"""The covariance of a relative pose that points and depths give (:mod:`bansac.estimate.relative_depth`).

The sandwich (:mod:`bansac.estimate.sandwich`) assumes independent matches. Two parts are added to it:

* Errors of depths are smooth in the image: at a distance d their correlation is exp(-d^2 / 2 l^2). Let s be the product
  of the residual of a match and of its derivative by the log depth. If errors are independent, the sum of s_i s_j times
  this correlation over pairs has the mean 0. Its largest value in standard deviations gives l.
* Depths may have a shift. Its effect counts with the factor max(0, 1 - 1 / T), where T is the Wald statistic of the
  shifts of both images; if shifts were removed, with the factor 1.
"""

import numpy as np

from bansac.estimate.relative_depth import last_fit
from bansac.estimate.result import RelativePose, Result
from bansac.estimate.sandwich import BEYOND, Covariance, find_doubt, project, spread
from bansac.evidence.duplicate_points import groups_of_equals
from bansac.maths.arrays import Floats
from bansac.problems.essential import ESSENTIAL
from bansac.problems.relative_depth import RELATIVE_DEPTH

# Lengths l, in sides of a square as large as the image; errors are smooth from this number of standard deviations on;
# the largest number of matches whose pairs are summed.
_LENGTHS, _SMOOTH, _MOST = (0.02, 0.04, 0.08, 0.16), 2.0, 500

# The covariance is doubtful if T is above this limit. Depths are wrong if the mean weight of the matches in the fit is
# below the second one. The last one is the relative step of derivatives by depths.
_SHIFTED, _LIGHT, _STEP = 5.0, 0.7, 1e-5

_IMAGES = np.repeat(np.eye(2), 2, axis=0)  # the image of the depth of each component of the residuals


def covariance_with_depths(
    result: Result[RelativePose], data: Floats, threshold: float, turns: Floats, doubt: str
) -> Covariance:
    """Return the covariance of a pose with depths, with this ``doubt`` if there is no other one.

    ``data`` and ``threshold`` are those of the problem. ``turns`` are the derivatives of R.
    """
    lengths, pose = result.residuals * (threshold / result.threshold), result.model
    model, members, depths, seen, data, scale = last_fit(pose, data, result.inliers, lengths)
    are_known = depths[:, members].any(axis=1)
    p = 7 if are_known.all() else 6  # the depths of one image have no scale
    directions, basis = _directions(model)[:p], np.zeros((7, 13))
    basis[:3, :9], basis[3:6, 9:12], basis[6, 12] = turns, np.eye(3), model[7]
    residuals, derivatives = RELATIVE_DEPTH.linearized(data, model)
    moves = np.einsum("pk,ckn->ncp", directions, derivatives)
    weights = np.maximum(1.0 - np.square(residuals).sum(axis=0) / scale**2, 0.0) ** 2
    near = members & (weights > 0.0)
    if not weights[members].mean() > _LIGHT:
        raise ValueError("the depths do not fit the pose: they are those of other data")
    other = np.vstack([data[:4], (1.0 + _STEP) * data[4:6], data[6:]])
    by_depth = ((RELATIVE_DEPTH.linearized(other, model)[0] - residuals) / _STEP)[:, near].T
    depths, seen = depths[:, near], seen[:, near]
    shares = np.where(depths > 0.0, np.median(seen) / seen, 0.0)
    by_shift = np.einsum("nc,ck,kn->nck", by_depth, _IMAGES, shares)
    some, residuals = np.compress(near, data, axis=1), residuals[:, near]
    chosen = np.linspace(0, len(by_depth) - 1, min(len(by_depth), _MOST)).astype(np.int64)
    products = np.stack([by_depth * residuals.T, by_depth * by_depth])[:, chosen] @ _IMAGES
    errors = _errors_of_depths(some[:4, chosen].reshape(2, 2, -1), *products)
    groups = groups_of_equals(ESSENTIAL, some, threshold)

    def estimate(J: Floats, beyond: Floats) -> tuple[Floats, float, Floats]:
        """Return the covariance of independent and of smooth errors, the share of chance inliers, and A^-1."""
        matrix, share = spread(residuals, J, beyond, 1, groups, scale, 0.0)
        inverse = np.linalg.inv(np.einsum("ncp,ncq->pq", J, J))
        effects = np.einsum("ncp,nc,ck->knp", J[chosen], by_depth[chosen], _IMAGES) @ inverse
        smooth = (effects.transpose(0, 2, 1) @ errors @ effects).sum(axis=0)
        return matrix + smooth * (len(J) / chosen.size) ** 2, share, inverse

    matrix, share, _ = estimate(moves[near], moves[~result.inliers & (lengths < BEYOND * threshold)])
    J = np.concatenate([moves[near], by_shift[:, :, are_known]], axis=2)
    longer, _, inverse = estimate(J, J[:0])
    change = inverse @ np.einsum("cn,ncp,n->p", residuals, J, weights[near])
    wald = max(float(change[p:] @ np.linalg.pinv(longer[p:, p:]) @ change[p:]), 1.0)
    factor = 1.0 if pose.shift1 or pose.shift2 else 1.0 - 1.0 / wald
    matrix += factor * (longer[:p, :p] + np.outer(change[:p], change[:p]) - matrix)

    def evaluate(step: Floats) -> Floats:
        return RELATIVE_DEPTH.linearized(some, project(RELATIVE_DEPTH, model + step @ directions))[0]

    count = np.unique(groups).size + int(np.count_nonzero(depths))
    doubt = find_doubt(matrix, count, share, evaluate, threshold, doubt)
    return Covariance(matrix, basis[:p], "the depths have a shift" if wald > _SHIFTED else doubt)


def _directions(model: Floats) -> Floats:
    """Return the derivatives (7 x 8) of a model by the rotation vector, the translation and the log scale."""
    w, x, y, z = model[:4]
    directions = np.zeros((7, 8))
    directions[:3, :4] = 0.5 * np.array([[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]])
    directions[3:6, 4:7], directions[6, 7] = np.eye(3), model[7]
    return directions


def _errors_of_depths(places: Floats, s: Floats, squares: Floats) -> Floats:
    """Return the covariances (2 x N x N) of the depths at places (2 x 2 x N) in both images, 0 if they are independent.

    ``s`` (N x 2) has the products of residuals and derivatives, and ``squares`` those of derivatives.
    """
    distances = np.square(places[:, :, :, None] - places[:, :, None]).sum(axis=1)
    distances /= np.ptp(places, axis=2).prod(axis=1)[:, None, None]
    largest, errors = _SMOOTH, np.zeros_like(distances)
    for length in _LENGTHS:
        correlation = np.exp(-distances / (2.0 * length**2))
        pairs = np.where(np.eye(len(s)) > 0.0, 0.0, correlation)
        total, deviation = _sum_pairs(pairs, s), np.sqrt(2.0 * _sum_pairs(pairs * pairs, s * s))
        if total > largest * deviation:
            variance = total / _sum_pairs(pairs * pairs, squares)
            largest, errors = total / deviation, min(variance, np.sum(s * s) / np.sum(squares * squares)) * correlation
    return np.asarray(errors)


def _sum_pairs(weights: Floats, values: Floats) -> float:
    """Return the sum of v_i w_ij v_j over both images, for weights (2 x N x N) and values (N x 2)."""
    return float(np.sum(values.T * (weights @ values.T[:, :, None])[:, :, 0]))
