"""The essential matrix: x2^T E x1 = 0 for rays x1, x2 of calibrated cameras, with singular values (1, 1, 0).

The data are normalised image coordinates (K^-1 applied). The residual, in these units, is the Sampson distance for
``ESSENTIAL`` and the symmetric epipolar distance for ``ESSENTIAL_SYMMETRIC``.
"""

import dataclasses
import math

import numpy as np

from bansac.compiled.jit import inner_kernel, kernel
from bansac.geometry import epipolar
from bansac.geometry.cheirality import score_in_front as score_in_front
from bansac.maths.arrays import Floats
from bansac.maths.linalg import copy
from bansac.maths.normalisation import fix_sign
from bansac.problems.problem import Problem
from bansac.problems.rank_two import span_essential
from bansac.problems.traits import Traits
from bansac.solvers import essential_5pt, fundamental_8pt
from bansac.solvers.fundamental_8pt import fit_eight_point, remove_smallest_singular_value

# Offset of the matrix that ``fit`` stores after the scratch of the eight-point algorithm.
_FIT = fundamental_8pt.SCRATCH

# Largest s1 s2 / (s1^2 + s2^2) of a matrix that counts as rank 1.
_RANK_ONE = 1e-9


def fit(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Fit E to weighted matches: eight-point algorithm, then the nearest matrix with singular values (1, 1, 0).

    Return False and leave the model unchanged if the matches determine no E or a matrix of rank 1.
    """
    f = scratch[_FIT : _FIT + 9]
    if not (fit_eight_point(data, weights, f, scratch) and equalize(f, scratch)):
        return False
    copy(f, model)
    return True


@inner_kernel
def equalize(e: Floats, scratch: Floats) -> bool:
    """Replace E = U S V^T by U diag(1, 1, 0) V^T; False if E has fewer than two non-zero singular values.

    The third singular value is removed first. With H = (E^T E)^(1/2) on the remaining plane, the result is E H^-1. By
    the Cayley-Hamilton theorem H = (E^T E + s I) / t and H^-1 = (t I - H) / s, where s = s1 s2 and t = s1 + s2.
    """
    remove_smallest_singular_value(e, scratch)
    trace, square = 0.0, 0.0  # of E^T E, and of its square
    for i in range(3):
        for j in range(3):
            entry = e[i] * e[j] + e[3 + i] * e[3 + j] + e[6 + i] * e[6 + j]
            scratch[3 * i + j] = entry
            trace += entry if i == j else 0.0
            square += entry * entry
    product = 0.5 * (trace * trace - square)
    s = math.sqrt(product if product > 0.0 else 0.0)
    if not s > _RANK_ONE * trace or not s < np.inf:
        return False
    scale = 1.0 / (s * math.sqrt(trace + 2.0 * s))
    for i in range(0, 9, 3):
        a, b, c = e[i], e[i + 1], e[i + 2]
        for j in range(3):
            last = a * scratch[j] + b * scratch[3 + j] + c * scratch[6 + j]
            e[i + j] = scale * ((trace + s) * (a if j == 0 else b if j == 1 else c) - last)
    return True


_equalize = kernel(equalize)


def canonical(model: Floats) -> None:
    """Give E the singular values (1, 1, 0), up to rounding, and the sign of ``fix_sign``."""
    scratch = np.empty(fundamental_8pt.SCRATCH)
    if not (_equalize(model, scratch) and _equalize(model, scratch)):  # the second step removes the error of the first
        U, _, Vt = np.linalg.svd(model.reshape(3, 3))
        model[:] = (U[:, :2] @ Vt[:2]).ravel()
    fix_sign(model)


ESSENTIAL = Problem.of(
    globals(),
    name="essential matrix",
    channels=4,
    sample_size=5,
    model_shape=(3, 3),
    solve=essential_5pt.solve,
    residuals=epipolar.sampson_residuals,
    is_valid=epipolar.is_oriented,
    linearize=epipolar.linearize_sampson,
    tangent=span_essential,
    project=equalize,
    parameters=5,
    max_models=10,
    scratch_size=max(essential_5pt.SCRATCH, _FIT + 9),
    solver_cost=1000.0,
    precision="float32",
    default_threshold=5e-4,
    default_max_iterations=12_000,
    default_local_optimization="inner",
    majority_agrees=False,
    traits=Traits(points=((0, 1), (2, 3)), unit="normalised"),
)

ESSENTIAL_SYMMETRIC = dataclasses.replace(
    ESSENTIAL, residuals=epipolar.symmetric_residuals, linearize=epipolar.linearize_symmetric, residual_size=2
)
