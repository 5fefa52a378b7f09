"""Initial models, such as that of the last frame of a video.

The search refines an initial model and makes it the first hypothesis if chance does not explain its support. A restart
does not start from it. It ends early if it leads to the same model, and so confirms it (``bansac.engine.hypotheses``).
"""

import numpy as np

from bansac.maths.arrays import Floats
from bansac.maths.normalization import apply_inverse, normalize
from bansac.problems.problem import Problem


def normalize_model(problem: Problem, model: Floats, transform: Floats) -> Floats | None:
    """Return a flat model of the caller in the frame of the run, with its constraints; None if it is degenerate.

    ``transform`` is that of ``normalize`` of the problem. A problem with ``normalize``, but not ``normalize_model``,
    raises a ValueError.
    """
    model = model.copy()
    with np.errstate(all="ignore"):
        if problem.normalize is not None:
            if problem.normalize_model is not None:
                problem.normalize_model(model, transform)
            elif problem.normalize is normalize and problem.denormalize is not None:
                apply_inverse(problem.denormalize, model, transform)
            else:
                raise ValueError(f"initial_model needs normalize_model, which problem {problem.name!r} does not define")
        if problem.project is not None and problem.linearize is not None:
            project = problem.manifold[-1]
            if not project(model, np.empty(problem.scratch_size)):
                return None
    return model if np.isfinite(model).all() else None
