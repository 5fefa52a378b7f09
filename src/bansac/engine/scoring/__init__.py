"""How good a model is. A score is one module; ``SCORES`` lists them with their traits.

A score grows with quality and gives an inlier at most 1, so that the best that ``k`` unseen data can add is ``k``. Its
module has a function ``gain(residuals, squared_threshold) -> float``, compiled for the problem's number type: the sum
over the data of a block. The score that is the number of inliers has none: the loop counts them in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["SCORES", "Score", "check_gain"]


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


def check_gain(name: str, gain: Callable[..., Any], precision: str) -> None:
    """Raise a ValueError if a gain is not between 0 and the number of data, or not 0 for NaN."""
    function = getattr(gain, "py_func", gain)
    for squared in (0.0, 0.3, 1.0, 4.0, np.inf, np.nan):
        found = float(function(np.full(3, squared, precision), np.dtype(precision).type(1)))
        if not 0 <= found <= (0 if np.isnan(squared) else 3):
            raise ValueError(
                f"score {name!r}: gain must lie between 0 and the number of data, and be 0 for NaN; for three squared "
                f"residuals of {squared:g} and a squared threshold of 1 it is {found:g}"
            )
