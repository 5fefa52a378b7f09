"""The optimised model of a restart that has the most support: its score times its plausibility.

The loop compares scores, and a wrong model may have a higher score than the right one and be less plausible, or have
been repaired for the worse. So every optimised model of a run competes here. The best score of the run is the support
of the incumbent, so that the loop brings forward what might have more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numba import config, float64, types

from bansac.engine.degeneracy import take_repaired
from bansac.engine.state import Run
from bansac.numeric.arrays import Floats
from bansac.numeric.jit import compile_kernel, inner_kernel, kernel
from bansac.numeric.linalg import copy
from bansac.numeric.struct import FunctionStruct
from bansac.problems.problem import DEGENERACY, Problem

__all__ = [
    "ModelSelection",
    "Plausibility",
    "make_model_selection",
    "plausibility_of",
    "repair_sampled",
    "update_if_better",
]

# What is saved of the incumbent: its score and its support, and what the loop knows of it apart from its score.
_SCORE, _WEIGHTED_SCORE, _INLIERS, _REQUIRED, _REQUIRED_BY = range(5)

_PLAUSIBILITY = float64(float64[::1], float64[::1], float64[::1])

FIELDS = ("plausibility", *(row.name for row in DEGENERACY))


_FUNCTIONS = FunctionStruct(__name__, "_Functions", FIELDS)


class Plausibility(NamedTuple):
    """A factor in (0, 1] of the support of a model.

    ``function(model, transform, parameters) -> float`` is plain Python that Numba can compile. It gets a model in the
    frame of the run, which it may change, what ``normalize`` of the problem has written, and the parameters.
    """

    function: Callable[[Floats, Floats, Floats], float]
    parameters: Floats


def equally_plausible(model: Floats, transform: Floats, parameters: Floats) -> float:
    """Return 1 for every model."""
    return 1.0


class ModelSelection(NamedTuple):
    """The arrays of a run whose optimised models compete; a struct of functions goes with them, the functions.

    The struct is not in here: Numba takes 0.1 ms to find the type of a tuple that holds one, at each call.
    """

    transform: Floats  # for the plausibility
    parameters: Floats
    sampled: Floats  # the best model before it was optimised
    scratch: Floats  # for a model
    model: Floats  # the incumbent
    saved: Floats  # of it

    def reset(self) -> None:
        """Forget the model: a restart begins."""
        self.saved[_WEIGHTED_SCORE] = -np.inf

    def restore_score(self, progress: Any) -> None:
        """Bring back the score of the incumbent: the last step of a restart compares scores."""
        if self.saved[_WEIGHTED_SCORE] > -np.inf:
            progress["best_score"] = self.saved[_SCORE]


def make_model_selection(
    problem: Problem, plausibility: Plausibility | None, transform: Floats, repairs: bool
) -> tuple[Any, ModelSelection]:
    """Return the functions and the selection of a run, before its first model.

    Parameters
    ----------
    problem : Problem
        The problem.
    plausibility : Plausibility, optional
        How plausible models are; by default all are equally plausible.
    transform : ndarray
        What ``normalize`` of the problem has written.
    repairs : bool
        Whether the repairs of models of degenerate samples take part.
    """
    function, parameters = plausibility or Plausibility(equally_plausible, np.empty(0))
    sampled, scratch, model = np.empty((3, problem.model_size))
    selection = ModelSelection(transform, parameters, sampled, scratch, model, np.empty(5))
    selection.reset()
    return _select_functions(problem, function, repairs), selection


# The structs that have been packed.
_STRUCTS: WeakKeyDictionary[Problem, dict[Any, Any]] = WeakKeyDictionary()


def _select_functions(problem: Problem, plausibility: Any, repairs: bool) -> Any:
    """Return the struct of the functions; what is not compiled yet is compiled now."""
    structs = _STRUCTS.setdefault(problem, {})
    key = plausibility, repairs
    if key not in structs:
        compiled = (
            plausibility if config.DISABLE_JIT else compile_kernel(plausibility, _PLAUSIBILITY, inner=True, lean=True)
        )
        signatures = [row.signature(float64) for row in DEGENERACY if row.signature is not None]
        structs[key] = _FUNCTIONS.pack(
            (compiled, *problem.compile_degeneracy(repairs=repairs)),
            [types.FunctionType(signature) for signature in (_PLAUSIBILITY, *signatures)],
        )
    return structs[key]


@kernel
def plausibility_of(functions: Any, selection: ModelSelection, model: Floats) -> float:
    """Return the plausibility of a model in the frame of the run."""
    return _plausibility_of(functions, selection, model)


@inner_kernel
def _plausibility_of(functions: Any, selection: ModelSelection, model: Floats) -> float:
    copy(model, selection.scratch)
    return functions.plausibility(selection.scratch, selection.transform, selection.parameters)  # type: ignore[no-any-return]


@inner_kernel
def update_if_better(run: Run, functions: Any, selection: ModelSelection) -> bool:
    """Keep the one with more support of the best model and the incumbent, as both; return whether it is the former."""
    progress, saved = run.progress, selection.saved
    weighted_score = progress.best_score * _plausibility_of(functions, selection, run.best_model)
    won: bool = weighted_score > saved[_WEIGHTED_SCORE]
    if won:
        copy(run.best_model, selection.model)
        saved[_SCORE], saved[_WEIGHTED_SCORE] = progress.best_score, weighted_score
        saved[_INLIERS], saved[_REQUIRED] = progress.best_inliers, progress.required_iterations
        saved[_REQUIRED_BY] = progress.required_by
    else:
        copy(selection.model, run.best_model)
        progress.best_inliers, progress.required_iterations = np.int64(saved[_INLIERS]), saved[_REQUIRED]
        progress.required_by = np.int64(saved[_REQUIRED_BY])
    progress.best_score = saved[_WEIGHTED_SCORE]
    return won


@inner_kernel
def repair_sampled(run: Run, functions: Any, selection: ModelSelection) -> bool:
    """Make the repair of the sampled model the best one if the sample is degenerate and the repair scores more."""
    threshold, model = run.settings.squared_threshold, run.other_model
    if not functions.is_degenerate(run.data, run.best_sample, selection.sampled, threshold, run.repair_work):
        return False
    copy(selection.sampled, model)
    repaired = functions.repair_degenerate(run.data, run.best_sample, model, threshold, run.rng, run.repair_work)
    return repaired and take_repaired(run)
