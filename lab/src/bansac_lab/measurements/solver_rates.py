"""Success of minimal solvers on exact samples, called from Python, beside PoseLib's; and its table on the pages."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from bansac.batch.journal import Row
from bansac.compiled.jit import kernel
from bansac_lab.peers.library import Array
from bansac_lab.tables import Table, format_number, plain_table

SAMPLES = 1000
LABELS = {"ours": "bansac", "poselib": "PoseLib"}


def solver_call(solver: ModuleType, sample_size: int, model_size: int) -> Callable[[Array], Array]:
    """Return a function that solves a sample, the columns of its argument."""
    solve, order = kernel(solver.solve), np.arange(sample_size)
    models, scratch = np.empty((solver.MAX_MODELS, model_size)), np.empty(solver.SCRATCH)
    return lambda data: models[: solve(data, order, models, scratch)].copy()


def rate_solver(
    solve: Callable[..., Iterable[Any]],
    samples: Sequence[tuple[Any, ...]],
    truths: Sequence[Any],
    error: Callable[[Any, Any], float],
) -> Row:
    """Return the shares of samples that are solved to 1e-6 and to 1e-10, the models of a call and its microseconds.

    The least ``error(model, truth)`` of a sample counts.
    """
    best = math.inf
    for _ in range(3):
        started = time.perf_counter()
        found = [solve(*sample) for sample in samples]
        best = min(best, time.perf_counter() - started)
    answers = [list(models) for models in found]
    pairs = zip(answers, truths, strict=True)
    errors = np.array([min((error(model, truth) for model in models), default=math.inf) for models, truth in pairs])
    return {
        "solved": round(float(np.mean(errors < 1e-6)), 4),
        "solved_exactly": round(float(np.mean(errors < 1e-10)), 4),
        "models": round(float(np.mean([len(models) for models in answers])), 2),
        "us": round(1e6 * best / len(samples), 1),
    }


def matrix_error(model: Array, truth: Array) -> float:
    """Return the distance of two matrices of unit norm, of either sign."""
    model, truth = model / np.linalg.norm(model), truth / np.linalg.norm(truth)
    return float(min(np.linalg.norm(model - truth), np.linalg.norm(model + truth)))


def solver_table(document: Mapping[str, Any], found: str) -> Table:
    """Return the accuracy and time of the solvers; ``found`` names the quantity that a solved sample has."""
    rows = []
    for name, row in document.get("solvers", {}).items():
        rows.append([LABELS[name], *(format_number(row[key]) for key in ("solved", "solved_exactly", "models", "us"))])
    return plain_table(["solver", f"{found} found, to 1e-6", "to 1e-10", "solutions", "µs"], rows)
