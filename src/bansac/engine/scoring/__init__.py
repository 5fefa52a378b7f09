"""Scores: they measure the quality of a model. A score is one module; ``SCORES`` lists the scores.

A larger score is better. An inlier adds at most its weight to the score, so the remaining points add at most the sum of
their weights. Weights are 1 unless the run has weights (``bansac.evidence.weights``). The module of a score has
one function:

``block_score(residuals, weights, squared_threshold) -> float``
    Return the sum of the contributions of the points of a block, from their squared residuals and their weights. It is
    compiled for the problem's number type.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

ScoreName = Literal["inliers", "msac", "magsac++"]


@dataclass(frozen=True)
class Score:
    """A score, built in or the user's.

    Parameters
    ----------
    name : str
        Its name.
    module : str or object
        Name of the module, or object, with the function ``block_score``.
    """

    name: str
    module: Any = field(default=None, hash=False)


SCORES = {
    score.name: score
    for score in (
        Score("inliers", "bansac.engine.scoring.inliers"),
        Score("msac", "bansac.engine.scoring.msac"),
        Score("magsac++", "bansac.engine.scoring.magsac"),
    )
}


def check_block_score(name: str, block_score: Callable[..., Any], precision: str) -> None:
    """Raise a ValueError if a ``block_score`` is not between 0 and the sum of the weights, or not 0 for NaN."""
    function = getattr(block_score, "py_func", block_score)
    one = np.dtype(precision).type(1)
    for weight in (1.0, 0.25):
        weights = np.full(3, weight, precision)
        for squared in (0.0, 0.3, 1.0, 4.0, np.inf, np.nan):
            score = float(function(np.full(3, squared, precision), weights, one))
            if not 0 <= score <= (0 if np.isnan(squared) else 3 * weight):
                raise ValueError(
                    f"score {name!r}: block_score must lie between 0 and the sum of the weights, and be 0 for NaN; for "
                    f"three squared residuals of {squared:g}, weights of {weight:g} and a squared threshold of 1 it is "
                    f"{score:g}"
                )
