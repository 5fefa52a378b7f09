"""How good a model is. A score is one module; ``SCORES`` lists them with their traits.

A score grows with quality and gives an inlier at most 1, so that the best that ``k`` unseen data can add is ``k``. Its
module has a function ``gain(residuals, squared_threshold) -> float``, compiled for the problem's number type: the sum
over the data of a block. The score that is the number of inliers has none: the loop counts them in any case.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["SCORES", "Score"]


@dataclass(frozen=True)
class Score:
    """A score, built in or the user's.

    Parameters
    ----------
    name : str
        Its name.
    module : str or object, optional
        Name of the module, or object, with the function ``gain``; None for the number of inliers.
    """

    name: str
    module: Any = field(default=None, hash=False)


SCORES = {
    score.name: score
    for score in (
        Score("inliers"),
        Score("msac", "bansac.engine.scoring.msac"),
    )
}
