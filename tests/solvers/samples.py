"""Minimal solvers on one sample, as the loop calls them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from tests.problems.in_loop import compile_solve


def solve_sample(solver: ModuleType, size: int, *columns: Any, solve: Callable[..., Any] | None = None) -> Any:
    """Return the models (K, size) of a sample, given by arrays with a row for each point; by default of the module."""
    data, models = np.ascontiguousarray(np.hstack(columns).T, float), np.empty((solver.MAX_MODELS, size))
    call = compile_solve(solver.solve if solve is None else solve)
    return models[: call(data, np.arange(data.shape[1]), models, np.empty(solver.SCRATCH))]
