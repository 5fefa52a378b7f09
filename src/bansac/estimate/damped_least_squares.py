"""Damped least squares (Levenberg, 1944; Marquardt, 1963) on a manifold, for refinements after the search.

The refinement in the engine, :mod:`bansac.engine.refinement.levenberg_marquardt`, is its compiled counterpart.
"""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

import numpy as np

from bansac.maths.arrays import Floats

_State = TypeVar("_State")

Linearize: TypeAlias = Callable[[], tuple[Floats, Floats]]
"""Function that returns the normal matrix J^T W J and the gradient J^T W r of a state."""

# Relative singular value of the normal matrix of a direction that does not change the cost.
_FREE = 1e-12

_LARGEST_DAMPING = 1e6


def minimize(
    state: _State,
    evaluate: Callable[[_State], tuple[float, Linearize]],
    move: Callable[[_State, Floats], _State],
    *,
    damping: float = 1e-3,
    steps: int = 20,
    least_gain: float = 1e-6,
) -> tuple[_State, Floats]:
    """Minimise a cost; return the state and its normal matrix.

    ``evaluate`` returns the cost of a state and its linearization, ``move`` the state after a step. A step that reduces
    the cost by at most its fraction ``least_gain`` is the last one. With ``damping=0``, the Gauss-Newton method, such a
    step is not taken.
    """
    cost, linearize = evaluate(state)
    normal, gradient = linearize()
    for _ in range(steps):
        step = np.linalg.lstsq(normal + damping * np.diag(np.diag(normal)), -gradient, rcond=_FREE)[0]
        moved = move(state, np.asarray(step, np.float64))
        new_cost, linearize = evaluate(moved)
        if new_cost < (cost if damping > 0.0 else (1.0 - least_gain) * cost):
            is_last = cost - new_cost <= least_gain * cost
            state, cost, damping = moved, new_cost, 0.1 * damping
            normal, gradient = linearize()
        else:
            damping *= 10.0
            is_last = not 0.0 < damping <= _LARGEST_DAMPING
        if is_last:
            break
    return state, normal


def differentiate(function: Callable[[Floats], Floats], steps: Floats) -> Floats:
    """Return the central differences of a function at 0 along the rows of ``steps``; the row is the last index."""
    with np.errstate(invalid="ignore"):  # inf - inf
        return np.stack([0.5 * (function(step) - function(-step)) for step in steps], axis=-1)
