"""Model selection: decide which optimised model of a restart is kept as the best one.

A wrong model may have a higher score than the right one, but be less plausible. So optimised models are compared by
their weighted scores. A weighted score is the score of a model times its plausibility. ``best_score`` of the run is the
weighted score of the best optimised model. A plausibility is at most 1, so the loop misses no model of a higher
weighted score.

A new best model from a degenerate sample is repaired before it is accepted (DEGENSAC).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import float64, types

from bansac.compiled.jit import compile_kernel, inner_kernel, kernel
from bansac.compiled.struct import FunctionStruct
from bansac.engine.state import Run
from bansac.engine.verification import evaluate
from bansac.maths.arrays import Floats, Ints
from bansac.maths.linalg import copy
from bansac.problems.problem import Problem

# Saved fields of the best optimised model.
_SCORE, _WEIGHTED_SCORE, _INLIERS, _REQUIRED, _REQUIRED_BY = range(5)

_PLAUSIBILITY = float64(float64[::1], float64[::1], float64[::1])

_FUNCTIONS = FunctionStruct(__name__, "_Functions", ("plausibility",))


class Plausibility(NamedTuple):
    """The plausibility of a model: a factor of its score, in (0, 1].

    ``function(model, transform, parameters) -> float`` is a Python function that Numba can compile. Its arguments are a
    model in the frame of the run, which it may overwrite, the transform from ``normalise`` of the problem, and the
    parameters.
    """

    function: Callable[[Floats, Floats, Floats], float]
    parameters: Floats


class ModelSelection(NamedTuple):
    """The arrays of the model selection of a run.

    The struct of its functions is a separate argument everywhere. If this tuple held it, Numba would need 0.1 ms at
    each call to find the type of the tuple.
    """

    transform: Floats  # for the plausibility
    parameters: Floats
    scratch: Floats  # one model
    model: Floats  # the best optimised model
    saved: Floats  # its saved fields

    def reset(self) -> None:
        """Discard the best optimised model before a restart."""
        self.saved[_WEIGHTED_SCORE] = -np.inf

    def restore_score(self, progress: Any) -> None:
        """Replace the weighted score of the best optimised model by its score, which the refinement compares."""
        if self.saved[_WEIGHTED_SCORE] > -np.inf:
            progress["best_score"] = self.saved[_SCORE]


def make_model_selection(problem: Problem, plausibility: Plausibility, transform: Floats) -> tuple[Any, ModelSelection]:
    """Return the function and the arrays of the model selection; ``transform`` is that of ``normalise``."""
    function, parameters = plausibility
    scratch, model = np.empty((2, problem.model_size))
    selection = ModelSelection(transform, parameters, scratch, model, np.empty(5))
    selection.reset()
    return _FUNCTIONS.find(problem, function, lambda: _compile_plausibility(function)), selection


def _compile_plausibility(plausibility: Any) -> Any:
    compiled = compile_kernel(plausibility, _PLAUSIBILITY, inner=True, lean=True)
    return _FUNCTIONS.pack((compiled,), (types.FunctionType(_PLAUSIBILITY),))


@inner_kernel
def _plausibility_of(functions: Any, selection: ModelSelection, model: Floats) -> float:
    """Return the plausibility of a model in the frame of the run."""
    copy(model, selection.scratch)
    return functions.plausibility(selection.scratch, selection.transform, selection.parameters)  # type: ignore[no-any-return]


plausibility_of = kernel(_plausibility_of)


@inner_kernel
def update_if_better(run: Run, functions: Any, selection: ModelSelection) -> None:
    """Compare ``run.best_model`` with the best optimised model, and write the better one to both."""
    progress, saved = run.progress, selection.saved
    weighted_score = progress.best_score * _plausibility_of(functions, selection, run.best_model)
    if weighted_score > saved[_WEIGHTED_SCORE]:
        copy(run.best_model, selection.model)
        saved[_SCORE], saved[_WEIGHTED_SCORE] = progress.best_score, weighted_score
        saved[_INLIERS], saved[_REQUIRED] = progress.best_inliers, progress.required_iterations
        saved[_REQUIRED_BY] = progress.required_by
    else:
        copy(selection.model, run.best_model)
        progress.best_inliers, progress.required_iterations = np.int64(saved[_INLIERS]), saved[_REQUIRED]
        progress.required_by = np.int64(saved[_REQUIRED_BY])
    progress.best_score = saved[_WEIGHTED_SCORE]


@kernel
def find_degenerate(run: Run) -> tuple[Ints, Floats, Floats]:
    """Return the arguments of a repair: the sample, a copy of the iteration's best model, and scratch."""
    copy(run.models[run.candidate.row], run.other_model)
    return run.sample, run.other_model, run.repair_work


@kernel
def score_repaired(run: Run) -> None:
    """Replace the iteration's best model by the repaired one in ``run.other_model`` if its score is higher."""
    candidate = run.candidate
    run.progress.models_tested += 1
    is_inlier = run.is_inlier[1 - candidate.slot]
    score, inliers = evaluate(run, run.other_model, is_inlier, candidate.score, np.inf, candidate.first_block)
    if inliers >= 0 and score > candidate.score:
        candidate.score = score
        candidate.inliers = inliers
        candidate.slot = 1 - candidate.slot
        copy(run.other_model, run.models[candidate.row])
