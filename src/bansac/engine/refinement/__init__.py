"""The last step: the best model fitted to its inliers. A refiner is one module; ``REFINERS`` lists them.

The functions of a refiner's module:

``refine(run, problem)``
    Called from Python with the struct of the run (``bansac.engine.state.Run``), for its kernels, and the problem:
    replace ``run.best_model`` by a better one, and bring ``best_score`` and ``best_inliers`` of ``run.progress`` up to
    date.
``supports(problem) -> bool``, optional
    Whether it can refine models of the problem; if not, the refiner is refused. What it needs of a problem is a row of
    the contract (``bansac.problems.problem.CONTRACT``), or kept by the problem's name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["REFINERS", "Refiner"]


@dataclass(frozen=True)
class Refiner:
    """A refiner, built in or the user's.

    Parameters
    ----------
    name : str
        Its name.
    module : str or object
        Name of the module, or object, with the refiner's functions.
    """

    name: str
    module: Any = field(hash=False)


REFINERS = {
    refiner.name: refiner
    for refiner in (
        Refiner("least_squares", "bansac.engine.refinement.least_squares"),
        Refiner("lm", "bansac.engine.refinement.lm"),
    )
}
