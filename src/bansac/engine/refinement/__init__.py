"""Refiners: the last step fits the best model to its inliers. A refiner is one module; ``REFINERS`` lists the refiners.

A refiner's module has these functions:

``refine(run, problem)``
    Replace ``run.best_model`` by a better model, and update ``best_score`` and ``best_inliers`` of ``run.progress``.
    It is called from Python with the struct of the run (``bansac.engine.state.Run``), which its kernels take.
``supports(problem) -> bool``, optional
    Return whether the refiner can refine models of the problem. If False, the option is rejected. A refiner finds the
    functions it needs in the contract of the problem (``bansac.problems.problem.CONTRACT``), or keeps them by the name
    of the problem.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

RefinerName = Literal["default", "least_squares", "lm"]


@dataclass(frozen=True)
class Refiner:
    """A refiner, built in or the user's.

    Parameters
    ----------
    name : str
        Its name.
    module : str or object
        Name of the module, or object, with the refiner's functions.
    needs : str
        Optional function of the problem that it needs, if any.
    """

    name: str
    module: Any = field(hash=False)
    needs: str = ""


REFINERS = {
    refiner.name: refiner
    for refiner in (
        Refiner("least_squares", "bansac.engine.refinement.least_squares", needs="fit"),
        Refiner("lm", "bansac.engine.refinement.lm", needs="linearize"),
    )
}
