"""Relative pose with an unknown focal length: of both cameras, which share it, or of the second camera only.

The data are matches relative to the principal points, in a common unit of length. If only the focal length of camera 2
is unknown, the unit is the focal length of camera 1, whose points are therefore rays. A model is F, row by row, and f
in this unit: F = diag(1, 1, f) E diag(1, 1, f), or diag(1, 1, f) E, up to scale, with an essential matrix E. The
residual is the Sampson distance. A model has six parameters: five of E, and the logarithm of f. If both focal lengths
are unknown and differ, the model is a fundamental matrix.
"""

import dataclasses

from bansac.compiled.jit import inlined, inner_kernel
from bansac.geometry import cheirality
from bansac.geometry.epipolar import linearize_sampson
from bansac.maths.arrays import Floats
from bansac.maths.linalg import normalise_vector
from bansac.maths.normalisation import fix_sign
from bansac.problems.essential import ESSENTIAL, equalize
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.rank_two import span_essential
from bansac.solvers import fundamental_8pt, shared_focal_6pt

# Offset of E after the scratch of the projection.
_E = fundamental_8pt.SCRATCH

# Range of f in ``project``. The cameras in it are wider than any fisheye and longer than any telephoto lens.
SHORTEST, LONGEST = 0.05, 500.0

_linearize = inner_kernel(linearize_sampson)
_span = inner_kernel(span_essential)


def linearize(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute signed Sampson distances and their derivatives by F; they do not depend on f for a given F."""
    _linearize(data, model, start, stop, residuals, jacobian)
    by_focal = jacobian[9]
    for i in range(stop - start):
        by_focal[i] = 0.0


def tangent_shared(model: Floats, basis: Floats) -> None:
    """Write the tangent directions of (F, f) for a shared focal length."""
    _tangent(model, basis, model[9])


def tangent_one(model: Floats, basis: Floats) -> None:
    """Write the tangent directions of (F, f) for the focal length of camera 2."""
    _tangent(model, basis, 1.0)


def project_shared(model: Floats, scratch: Floats) -> bool:
    """Replace F by diag(1, 1, f) E diag(1, 1, f) with the nearest essential matrix E."""
    return _project(model, scratch, model[9])


def project_one(model: Floats, scratch: Floats) -> bool:
    """Replace F by diag(1, 1, f) E with the nearest essential matrix E."""
    return _project(model, scratch, 1.0)


def score_in_front_shared(data: Floats, model: Floats, scores: Floats, squared_threshold: float) -> float:
    """Return the summed scores of the matches in front of both cameras."""
    return cheirality.score_rays_in_front(data, model, scores, squared_threshold, model[9], model[9])


def score_in_front_one(data: Floats, model: Floats, scores: Floats, squared_threshold: float) -> float:
    """Return the summed scores of the matches in front of both cameras."""
    return cheirality.score_rays_in_front(data, model, scores, squared_threshold, 1.0, model[9])


@inner_kernel
def _tangent(model: Floats, basis: Floats, f1: float) -> None:
    """Write the five directions of E, then that of the logarithm of f; ``f1`` is the focal length of camera 1."""
    f2 = model[9]
    last = basis[5]
    _divide(model, f1, f2, last)
    _span(last, basis)
    for r in range(5):
        direction = basis[r]
        _divide(direction, 1.0 / f1, 1.0 / f2, direction)
        direction[9] = 0.0
    for i in range(9):
        last[i] = 0.0
    for k in range(3):
        last[6 + k] += model[6 + k]
        last[3 * k + 2] += model[3 * k + 2] if f1 != 1.0 else 0.0
    last[9] = f2


@inner_kernel
def _project(model: Floats, scratch: Floats, f1: float) -> bool:
    """Replace F by the nearest one of an essential matrix; False if the focal length is extreme."""
    f2, e = model[9], scratch[_E : _E + 9]
    if not SHORTEST < f2 < LONGEST:
        return False
    _divide(model, f1, f2, e)
    if not equalize(e, scratch):
        return False
    _divide(e, 1.0 / f1, 1.0 / f2, model)
    return True


@inlined
def _divide(f: Floats, f1: float, f2: float, out: Floats) -> None:
    """Write diag(1, 1, 1 / f2) F diag(1, 1, 1 / f1)."""
    for i in range(9):
        out[i] = f[i] / ((f2 if i > 5 else 1.0) * (f1 if i % 3 == 2 else 1.0))


def canonical(model: Floats) -> None:
    """Scale F to unit norm and the sign of ``fix_sign``."""
    F = model[:9]
    normalise_vector(F)
    fix_sign(F)


SHARED_FOCAL = dataclasses.replace(
    ESSENTIAL,
    name="relative pose with a shared focal length",
    sample_size=6,
    model_shape=(10,),
    solve=shared_focal_6pt.solve,
    fit=None,
    linearize=linearize,
    tangent=tangent_shared,
    project=project_shared,
    parameters=6,
    score_in_front=score_in_front_shared,
    max_models=shared_focal_6pt.MAX_MODELS,
    scratch_size=max(shared_focal_6pt.SCRATCH, _E + 9),
    solver_cost=8000.0,
    canonical=canonical,
    default_local_optimization="lm",
    traits=dataclasses.replace(ESSENTIAL.traits, unit="data"),
)

ONE_FOCAL = dataclasses.replace(
    SHARED_FOCAL,
    name="relative pose with the focal length of one camera",
    solve=shared_focal_6pt.solve_second,
    tangent=tangent_one,
    project=project_one,
    score_in_front=score_in_front_one,
)

TWO_FOCALS = dataclasses.replace(FUNDAMENTAL, majority_agrees=False)
