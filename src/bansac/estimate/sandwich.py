"""The sandwich: the covariance of parameters that the biweight loss of residuals determines, and its doubts.

With a plain sum of squares it is s^2 (J^T J)^-1, where J holds the derivatives of the residuals by the parameters and s
is the noise (Hartley and Zisserman, Multiple View Geometry, 2nd ed., section 5.2). An estimate here has less accuracy:
its last step minimises Tukey's biweight loss rho over the points near the model (``engine.refinement.lm``). It also has
some chance inliers, which may be far from the others and so have a large effect. Matches that share a point have a
common error. The covariance is therefore the sandwich A^-1 B A^-1 of an M-estimator (Huber and Ronchetti, Robust
Statistics, 2nd ed., section 7.6), where

* A = d (J^T J - C) with the mean d of the derivatives of psi, the gradient of rho. C is the part of chance inliers:
  over uniform residuals the derivatives of psi add up to zero. The points beyond the scale of the loss give it, as many
  as there are in a volume of the same size. Points with a leverage above two times the mean (Velleman and Welsch, The
  American Statistician 1981) count less, because many of these are chance inliers,
* B = sum of g_k g_k^T over groups of matches that share points, where g_k = (I - G)^-1 J_k^T psi_k, and G is the part
  of the group in the normalised J^T J: CR3 of Bell and McCaffrey (Survey Methodology 2002), which approximates the
  jackknife over groups. For groups of one it is HC3 (MacKinnon and White, Journal of Econometrics 1985).

psi falls to zero for large residuals, so the end of the near points needs no correction. B is measured, so the noise of
the points need not be equal. Rounded points of curves have errors that are not independent, so the variance of the
rounding is added.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from bansac.maths.arrays import Floats, Ints
from bansac.problems.problem import Problem

Errors = Callable[[Floats], Floats]

EQUAL = 1e-3
"""The largest difference of equal residuals, in thresholds."""

# The inliers do not determine the parameters if a singular value of J, with columns of unit length, is below this.
_SINGULAR = 1e-11
# Points with a leverage above this multiple of the mean give no more information than at it.
_LEVERAGE = 2.0
# The covariance is doubtful with fewer errors for a parameter than _FEW, or if the residuals have a second difference
# above this share of the first within _STANDARD standard deviations.
_FEW, _NONLINEAR, _STANDARD = 20, 0.3, 2.0
# The last doubt is that chance inliers may hold more than the share _HELD of the information on a parameter, which is
# the largest one that is subtracted. The points beyond the scale of the loss, up to BEYOND times it, show how many
# there are.
BEYOND, _HELD = 10.0, 0.5


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariance of a model to first order, see :func:`bansac.covariance`; unpacks as ``(matrix, basis)``.

    Attributes
    ----------
    matrix : (p, p) ndarray
        Covariance of the p parameters.
    basis : (p, m) ndarray
        Derivatives of the m numbers of the model by the parameters. The numbers are those of ``result.model`` row by
        row; for a pose the nine of R, then the three of t, then the scale if depths are given.
    doubt : str
        Why the covariance may be too small, "" if nothing speaks against it.
    """

    matrix: Floats
    basis: Floats
    doubt: str = ""

    def __iter__(self) -> Iterator[Floats]:
        """Iterate over the two arrays."""
        return iter((self.matrix, self.basis))

    def __repr__(self) -> str:
        """Summarise the covariance in a few lines, with the standard deviations of the parameters."""
        deviations = ", ".join(f"{deviation:.3g}" for deviation in np.sqrt(np.diag(self.matrix)))
        return f"Covariance(standard deviations [{deviations}], doubt {self.doubt!r})"

    @property
    def of_model(self) -> Floats:
        """Covariance (m, m) of the numbers of the model, ``basis.T @ matrix @ basis``; its rank is at most p."""
        return np.asarray(self.basis.T @ self.matrix @ self.basis)


def project(problem: Problem, model: Floats) -> Floats:
    """Return a flat model that has moved in its tangent space, back on the manifold, in place."""
    problem.manifold[2](model, np.empty(problem.scratch_size))
    return model


def spread(
    residuals: Floats, moves: Floats, beyond: Floats, codimension: int, groups: Ints, scale: float, rounding: float
) -> tuple[Floats, float]:
    """Return A^-1 B A^-1 over points within the scale of the biweight loss, and the share of chance inliers.

    It is the largest share of the information on a parameter, that of the points ``beyond`` the scale, which
    are as dense as they. ``moves`` and ``beyond`` are derivatives. ``rounding`` is the variance of rounding.
    """
    (c, n), p = residuals.shape, moves.shape[2]
    squares = (residuals * residuals).sum(axis=0) / scale**2
    if c * n <= p:
        raise ValueError(f"the inliers do not determine the model: {n} inliers for {p} parameters")
    J = moves.reshape(c * n, p)
    lengths = np.linalg.norm(J, axis=0)
    Q, values, Vt = np.linalg.svd(J / np.where(lengths > 0.0, lengths, 1.0), full_matrices=False)
    if not values[-1] > _SINGULAR:
        raise ValueError("the inliers do not determine the model: a change of it leaves their residuals as they are")
    weights, blocks = (1.0 - squares) ** 2, Q.reshape(n, c, p)
    slope = np.mean(weights - 4.0 / codimension * squares * (1.0 - squares))
    if not slope > 0.0:
        raise ValueError("the inliers do not determine the model: most residuals are not small beside the threshold")
    root = Vt / (values[:, None] * lengths)
    information, other = (_information(some, _LEVERAGE * p / n) for some in (blocks, beyond @ root.T))
    values, axes = np.linalg.eigh(information)
    scores, own = np.zeros((n, p)), np.zeros((n, p, p))
    np.add.at(scores, groups, np.einsum("ncp,cn->np", blocks, residuals * weights))
    np.add.at(own, groups, blocks.transpose(0, 2, 1) @ blocks)
    outside = np.eye(p) - own  # the share of the errors of a group that the fit leaves
    if not min(np.linalg.det(outside).min(), slope * values[0]) > _SINGULAR:
        raise ValueError("the inliers do not determine the model: one of them alone determines a parameter")
    axes = axes / np.sqrt(values)  # the information is 1 along each of them
    shares, along = np.linalg.eigh(axes.T @ other @ axes / (BEYOND**codimension - 1.0))
    axes = axes @ along
    left = slope * (1.0 - np.minimum(shares, _HELD))
    half = np.linalg.solve(outside, scores[:, :, None])[:, :, 0] @ (axes / left) @ axes.T @ root
    return half.T @ half + rounding * root.T @ root, float(shares[-1])


def _information(blocks: Floats, limit: float) -> Floats:
    """Return the sum of J^T J over points; those with a leverage above the limit count as at it."""
    leverages = (blocks * blocks).sum(axis=(1, 2))
    shares = np.minimum(1.0, limit / np.maximum(leverages, _SINGULAR))
    return np.asarray(np.einsum("ncp,n,ncq->pq", blocks, shares, blocks))


def find_doubt(matrix: Floats, errors: int, share: float, evaluate: Errors, threshold: float, doubt: str) -> str:
    """Return why a covariance may be too small, by default this ``doubt``.

    ``errors`` is the number of independent ones, ``share`` is that of chance inliers. ``evaluate`` returns the
    residuals of the inliers after a change of the parameters.
    """
    p = len(matrix)
    if errors < _FEW * p:
        return f"{errors} independent errors of inliers are few for {p} parameters"
    residuals = evaluate(np.zeros(p))
    variances, axes = np.linalg.eigh(matrix)
    for step in _STANDARD * np.sqrt(np.maximum(variances, 0.0))[:, None] * axes.T:
        after, before = evaluate(step), evaluate(-step)
        curved = np.linalg.norm(after + before - 2.0 * residuals)
        if not curved <= _NONLINEAR * np.linalg.norm(after - before) + EQUAL * threshold:
            return "the residuals are not linear within two standard deviations"
    return doubt or (f"chance inliers may hold {share:.0%} of the information on a parameter" if share > _HELD else "")
