"""The optimised model of a round that has the most support: its score times its plausibility.

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

__all__ = ["Contest", "Plausibility", "compete", "make_contest", "repair_sampled", "weigh"]

# What is known of the incumbent: its score and its support, and what the loop knows of it apart from its score.
_SCORE, _SUPPORT, _INLIERS, _REQUIRED, _REQUIRED_BY = range(5)

_PLAUSIBILITY = float64(float64[::1], float64[::1], float64[::1])

FIELDS = ("plausibility", *(row.name for row in DEGENERACY))


_RULES = FunctionStruct(__name__, "_Rules", FIELDS)


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


class Contest(NamedTuple):
    """The arrays of a run whose optimised models compete; a struct of functions goes with them, the rules.

    The struct is not in here: Numba takes 0.1 ms to find the type of a tuple that holds one, at each call.
    """

    transform: Floats  # for the plausibility
    parameters: Floats
    sampled: Floats  # the best model before it was optimised
    room: Floats  # for a model
    model: Floats  # the incumbent
    known: Floats  # of it

    def reset(self) -> None:
        """Forget the model: a round begins."""
        self.known[_SUPPORT] = -np.inf

    def settle(self, progress: Any) -> None:
        """Bring back the score of the incumbent: the last step of a round compares scores."""
        if self.known[_SUPPORT] > -np.inf:
            progress["best_score"] = self.known[_SCORE]


def make_contest(
    problem: Problem, plausibility: Plausibility | None, transform: Floats, repairs: bool
) -> tuple[Any, Contest]:
    """Return the rules and the contest of a run, before its first model.

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
    sampled, room, model = np.empty((3, problem.model_size))
    contest = Contest(transform, parameters, sampled, room, model, np.empty(5))
    contest.reset()
    return _select_rules(problem, function, repairs), contest


# The structs that have been packed.
_STRUCTS: WeakKeyDictionary[Problem, dict[Any, Any]] = WeakKeyDictionary()


def _select_rules(problem: Problem, plausibility: Any, repairs: bool) -> Any:
    """Return the struct of the functions; what is not compiled yet is compiled now."""
    structs = _STRUCTS.setdefault(problem, {})
    key = plausibility, repairs
    if key not in structs:
        compiled = (
            plausibility if config.DISABLE_JIT else compile_kernel(plausibility, _PLAUSIBILITY, inner=True, lean=True)
        )
        signatures = [row.signature(float64) for row in DEGENERACY if row.signature is not None]
        structs[key] = _RULES.pack(
            (compiled, *problem.compile_degeneracy(repairs=repairs)),
            [types.FunctionType(signature) for signature in (_PLAUSIBILITY, *signatures)],
        )
    return structs[key]


@kernel
def weigh(rules: Any, contest: Contest, model: Floats) -> float:
    """Return the plausibility of a model in the frame of the run."""
    return _weigh(rules, contest, model)


@inner_kernel
def _weigh(rules: Any, contest: Contest, model: Floats) -> float:
    copy(model, contest.room)
    return rules.plausibility(contest.room, contest.transform, contest.parameters)  # type: ignore[no-any-return]


@inner_kernel
def compete(run: Run, rules: Any, contest: Contest) -> bool:
    """Keep the one with more support of the best model and the incumbent, as both; return whether it is the former."""
    progress, known = run.progress, contest.known
    support = progress.best_score * _weigh(rules, contest, run.best_model)
    won: bool = support > known[_SUPPORT]
    if won:
        copy(run.best_model, contest.model)
        known[_SCORE], known[_SUPPORT] = progress.best_score, support
        known[_INLIERS], known[_REQUIRED] = progress.best_inliers, progress.required_iterations
        known[_REQUIRED_BY] = progress.required_by
    else:
        copy(contest.model, run.best_model)
        progress.best_inliers, progress.required_iterations = np.int64(known[_INLIERS]), known[_REQUIRED]
        progress.required_by = np.int64(known[_REQUIRED_BY])
    progress.best_score = known[_SUPPORT]
    return won


@inner_kernel
def repair_sampled(run: Run, rules: Any, contest: Contest) -> bool:
    """Make the repair of the sampled model the best one if the sample is degenerate and the repair scores more."""
    threshold, model = run.settings.squared_threshold, run.other_model
    if not rules.is_degenerate(run.data, run.best_sample, contest.sampled, threshold, run.repair_work):
        return False
    copy(contest.sampled, model)
    repaired = rules.repair_degenerate(run.data, run.best_sample, model, threshold, run.rng, run.repair_work)
    return repaired and take_repaired(run)
