"""The methods that the paper compares, as settings of this package's functions.

"Only the sampling and the stopping criterion vary between all methods": the sampler is named here, its stop is the
default that goes with it. ``preset="paper"`` is the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bansac.evaluation.methods import Task

__all__ = [
    "BANSAC",
    "BAYSAC",
    "LOCAL_OPTIMIZATION",
    "NAPSAC",
    "PAPER_METHODS",
    "PROSAC",
    "P_BANSAC",
    "P_NAPSAC",
    "RANSAC",
    "Method",
    "estimate",
]


@dataclass(frozen=True)
class Method:
    """A method of the paper.

    Parameters
    ----------
    name : str
        Its name there.
    settings : mapping
        Keyword arguments of the estimate functions.
    scored : bool
        Whether it uses the precomputed scores of the matches.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    scored: bool = False


RANSAC = Method("RANSAC", {"sampler": "uniform"})
NAPSAC = Method("NAPSAC", {"sampler": "napsac"})
P_NAPSAC = Method("P-NAPSAC", {"sampler": "p-napsac"}, scored=True)
PROSAC = Method("PROSAC", {"sampler": "prosac"}, scored=True)
BANSAC = Method("BANSAC", {"sampler": "bansac"})
P_BANSAC = Method("P-BANSAC", {"sampler": "bansac"}, scored=True)
BAYSAC = Method("BaySAC", {"sampler": "baysac"})

PAPER_METHODS = (RANSAC, NAPSAC, P_NAPSAC, PROSAC, BANSAC, P_BANSAC)
"""The columns of tab:results_E_F_H_LO, in their order."""

LOCAL_OPTIMIZATION: Mapping[str, Any] = {"local_optimization": "inner+iterative"}
"""What turns on the local optimisation of LO-RANSAC."""


def estimate(method: Method, task: Task, settings: Mapping[str, Any]) -> Any:
    """Estimate the model of a task.

    Parameters
    ----------
    method : Method
        The method.
    task : Task
        Matches and the paper's settings.
    settings : mapping
        Further keyword arguments, which go before those of the method and the task.

    Returns
    -------
    Result
        The answer.
    """
    import bansac

    function = {
        "H": bansac.estimate_homography,
        "F": bansac.estimate_fundamental,
        "E": bansac.estimate_essential,
    }[task.kind]
    arguments: dict[str, Any] = {
        "preset": "paper",
        "threshold": task.threshold,
        "confidence": task.confidence,
        "max_iterations": task.max_iterations,
        "seed": task.seed,
        **({"scores": task.scores} if method.scored else {}),
        **method.settings,
        **settings,
    }
    return function(task.x1, task.x2, **arguments)
