"""The last step: the best model fitted to its inliers. A refiner is one module; ``REFINERS`` lists them.

The function of a refiner's module, compiled when it is first used:

``refine(run)``
    Replace ``run.best_model`` by a model that scores no less, and bring ``best_score`` and ``best_inliers`` of
    ``run.progress`` up to date (``bansac.engine.state.Run``).
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
        Name of the module, or object, with the function ``refine``, a kernel.
    """

    name: str
    module: Any = field(hash=False)


REFINERS = {refiner.name: refiner for refiner in (Refiner("least_squares", "bansac.engine.refinement.least_squares"),)}
