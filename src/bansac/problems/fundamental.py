"""The fundamental matrix: x2^T F x1 = 0, det F = 0, with the Sampson distance as residual."""

from bansac.geometry.epipolar import is_oriented, linearize_sampson, sampson_residuals
from bansac.maths.arrays import Floats
from bansac.maths.linalg import normalise_vector
from bansac.maths.normalisation import canonical_fundamental, denormalise_fundamental
from bansac.maths.normalisation import normalise as normalise
from bansac.problems.degensac import is_degenerate as is_degenerate
from bansac.problems.degensac import repair_degenerate as repair_degenerate
from bansac.problems.problem import Problem
from bansac.problems.rank_two import span_fundamental
from bansac.problems.traits import Traits
from bansac.solvers import fundamental_7pt, fundamental_8pt
from bansac.solvers.fundamental_8pt import remove_smallest_singular_value


def project(model: Floats, scratch: Floats) -> bool:
    """Replace a matrix by the nearest matrix of rank 2, scaled to unit norm."""
    remove_smallest_singular_value(model, scratch)
    return normalise_vector(model)


FUNDAMENTAL = Problem.of(
    globals(),
    name="fundamental matrix",
    channels=4,
    sample_size=7,
    model_shape=(3, 3),
    solve=fundamental_7pt.solve,
    residuals=sampson_residuals,
    fit=fundamental_8pt.fit,
    is_valid=is_oriented,
    linearize=linearize_sampson,
    tangent=span_fundamental,
    parameters=7,
    max_models=3,
    scratch_size=max(fundamental_7pt.SCRATCH, fundamental_8pt.SCRATCH),
    precision="float32",
    denormalise=denormalise_fundamental,
    canonical=canonical_fundamental,
    default_threshold=0.5,
    default_max_iterations=20_000,
    default_local_optimization="inner",
    default_weighting="density+scores",
    traits=Traits(points=((0, 1), (2, 3)), unit="pixels"),
)
