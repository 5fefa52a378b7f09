"""The search of a run: restarts of the compiled loop, repairs and time checks between its slices, and the refinement.

``bansac.engine.restarts`` decides when the restarts end. If the threshold is estimated, it changes during a restart and
after it (``bansac.engine.threshold``).
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from bansac.engine.cheirality_score import cheirality_score
from bansac.engine.dbn import probabilities_from_odds
from bansac.engine.loop import run_iterations
from bansac.engine.model_selection import (
    ModelSelection,
    Plausibility,
    find_degenerate,
    make_model_selection,
    plausibility_of,
    score_repaired,
)
from bansac.engine.noise_scale import are_close
from bansac.engine.options import Options
from bansac.engine.plan import Plan
from bansac.engine.restarts import RestartModel, Restarts, SavedState, is_same, iterations_to_confirm
from bansac.engine.state import (
    MAX_ITERATIONS,
    NOTHING,
    RUNNING,
    STOPPED_BANSAC,
    STOPPED_CRITERION,
    State,
    pack_run,
)
from bansac.engine.threshold import AdaptiveThreshold
from bansac.engine.trace import TRACE_COLUMNS, Recorder
from bansac.engine.verification import mark_inliers
from bansac.engine.warm_start import refine_initial
from bansac.maths.arrays import Bools, Floats
from bansac.problems.problem import Problem

__all__ = ["Search", "current_beliefs"]

# A slice takes about 50 ms. Ctrl-C and max_seconds are checked between slices. The first slice measures the speed of
# the loop, and is shorter for many points.
_SLICE_SECONDS = 0.05
_FIRST_SLICE, _SHORT_SLICE = 64, 16
_FEW = 10_000

# The largest number of estimates of the threshold after a restart. Until a model is significant, the threshold is also
# estimated after these numbers of iterations of a restart.
_ESTIMATES = 3
_EARLY = 50, 150
# A model is tested again if its threshold loses a larger share of its inliers.
_LOST = 0.2

_Loop: TypeAlias = Callable[[Floats, int, int], tuple[int, int, int]]

_NO_TRACE = np.empty((0, len(TRACE_COLUMNS)))
_NO_MASK = np.empty(0, np.bool_)  # for a single restart, which is compared with no other


class Search:
    """The search for the best model of a run.

    Parameters
    ----------
    problem, options
        The problem and the options of the run.
    state : State
        The state before the first iteration.
    threshold : AdaptiveThreshold
        The threshold, in the frame of the run.
    plan : Plan
        The plan of the run (``find_plan``).
    deadline : float
        Time limit on the clock ``time.perf_counter``, in seconds.
    recorder : Recorder, optional
        Records the trace.
    transform : ndarray
        The transform from ``normalize`` of the problem.
    plausibility : Plausibility, optional
        Factor of the score of a model; 1 by default.
    initial_model : ndarray, optional
        A model in the frame of the run that competes with the search.
    """

    def __init__(
        self,
        problem: Problem,
        options: Options,
        state: State,
        threshold: AdaptiveThreshold,
        plan: Plan,
        deadline: float,
        recorder: Recorder | None,
        transform: Floats,
        plausibility: Plausibility | None,
        initial_model: Floats | None = None,
    ) -> None:
        self.problem, self.options, self.state = problem, options, state
        self.plan, self.deadline, self.recorder = plan, deadline, recorder
        self.packed = pack_run(state)  # the struct for the kernels
        self.threshold = threshold
        self._initial_model = initial_model
        self._slice = _FIRST_SLICE if state.odds.size < _FEW else _SHORT_SLICE
        # The functions and the arrays of the model selection; None if optimised models are compared by score alone.
        self._selection: tuple[Any, ModelSelection | None] = None, None
        if plan.repairs or plausibility is not None:
            self._selection = make_model_selection(problem, plausibility, transform, plan.repairs)

    def run(self) -> tuple[Restarts, str]:
        """Run the restarts and refine the best model of each; return the restarts and the stop reason."""
        state, (iterate, optimize) = self.state, self._loop()
        restarts = Restarts(self.options, self.problem.majority_agrees)
        restarts.is_trusted = not self.threshold.is_estimated
        start = SavedState(state) if self.options.restarts > 1 else None
        if self._initial_model is not None:
            self._start_warm(restarts, self._initial_model, start or SavedState(state))
        while True:
            self._reset_selection()
            if self.recorder is not None:
                self.recorder.begin_restart()
            stop = self._iterate_restart(restarts, iterate, optimize)
            candidate = None
            if state.progress["best_inliers"] > 0:
                if optimize is not None and state.progress["unoptimized"]:
                    optimize()
                candidate = self._refined_candidate()
            restarts.end_restart(state, candidate)
            if self.threshold.is_estimated:
                self._adapt_threshold(restarts, optimize)
            if stop == RUNNING or start is None or restarts.over():
                break
            if time.perf_counter() > self.deadline:  # the restart ended by a criterion, but no time is left
                stop = RUNNING
                break
            restarts.keep_best(state)
            start.restore()
            self.threshold.write()
        if not restarts.is_trusted and not self.threshold.is_first and restarts.swap_best():
            self.threshold.swap()
        restarts.restore_best()
        return restarts, self._stop_reason(restarts, stop)

    def _start_warm(self, restarts: Restarts, initial_model: Floats, start: SavedState) -> None:
        """Make the refined initial model the best model of the restarts if it is significant."""
        refine = None if self.plan.refine is None else self._refine
        if refine_initial(self.state, self.packed, initial_model, self.threshold, refine):
            restarts.begin_with(self._candidate())
        start.restore()
        self.threshold.write()

    def _iterate_restart(self, restarts: Restarts, iterate: _Loop, optimize: Callable[[], None] | None) -> int:
        """Run the loop of one restart; return its stop code. The threshold can change on the way and at the end."""
        most = restarts.iterations_left()
        early: tuple[int, ...] = _EARLY if optimize is not None and not restarts.is_trusted else ()
        if optimize is not None and restarts.initial is not None:
            early = iterations_to_confirm(restarts.initial, most, self.problem.sample_size, self.options.confidence)
        for end in (*(count for count in early if count < most), most):
            self.state.settings["max_iterations"] = end
            stop = self._iterate(iterate, restarts.iterations, end)
            is_over = stop != MAX_ITERATIONS or end == most
            if optimize is not None and not restarts.is_trusted and self._adapt_early(optimize, is_over):
                restarts.trust()
            if is_over:
                break
            if restarts.initial is not None and is_same(self._best_inliers(), restarts.initial.is_inlier):
                break
            self.state.progress["stop"] = RUNNING
        return stop

    def _adapt_early(self, optimize: Callable[[], None], is_over: bool) -> bool:
        """Adapt the threshold to the best model of the restart so far; return whether the model is significant.

        If the restart is over, the refinement follows and replaces an optimisation at a smaller threshold.
        """
        progress, last = self.state.progress, self.threshold.value
        if progress["best_inliers"] <= self.problem.sample_size:
            return False
        if progress["unoptimized"]:
            optimize()
        model = self.state.best_model.copy()
        if not self.threshold.is_trustworthy(model, fast=True):
            return False
        threshold = self.threshold.estimate(model)
        if not are_close(threshold, last):
            refined_next = is_over and threshold < last
            if not self._optimize_at(threshold, model, None if refined_next else optimize):
                self._optimize_at(last, model, optimize)
        return True

    def _adapt_threshold(self, restarts: Restarts, optimize: Callable[[], None] | None) -> None:
        """Adapt the threshold to a new best model.

        Without a significant model, the next restart has the other one of the two first thresholds.
        """
        if not restarts.is_trusted:
            best = restarts.best if restarts.is_latest else None
            is_wide = not self.threshold.is_first
            if best is not None and (
                self.threshold.is_trustworthy(best.model)
                or (is_wide and self._follow_residuals(restarts, best, optimize))
            ):
                restarts.is_trusted = True
            elif not restarts.over():
                restarts.swap_best()
                self.threshold.swap()
        for _ in range(_ESTIMATES if restarts.is_trusted and restarts.is_latest else 0):
            assert restarts.best is not None
            if not self._follow_residuals(restarts, restarts.best, optimize):
                break

    def _follow_residuals(self, restarts: Restarts, best: RestartModel, optimize: Callable[[], None] | None) -> bool:
        """Estimate the threshold from the residuals of the best model, and optimise the model at it if it is another.

        Nothing changes if the model is not significant there. Returns whether the threshold has changed.
        """
        last = self.threshold.value
        threshold = self.threshold.estimate(best.model)
        if are_close(threshold, last):
            return False
        if self._optimize_at(threshold, best.model, optimize):
            optimized = self._refined_candidate()
            keeps = restarts.is_trusted and optimized.inliers >= (1.0 - _LOST) * best.inliers
            if keeps or self.threshold.is_trustworthy(optimized.model):
                restarts.best = optimized
                return True
        self.threshold.write(last)
        return False

    def _optimize_at(self, threshold: float, model: Floats, optimize: Callable[[], None] | None) -> bool:
        """Make the optimum at another threshold the best model; return False if too few points are inliers there."""
        enough = self.threshold.make_best(self.packed, model, threshold)
        self._reset_selection()
        if enough and optimize is not None:
            optimize()
        return enough

    def _loop(self) -> tuple[_Loop, Callable[[], None] | None]:
        """Return the loop including its local optimisation, and the optimisation alone (None if there is none)."""
        name = self.plan.optimization
        if name is None:
            return functools.partial(run_iterations, self.packed), None
        from bansac.engine.local_optimization import select_optimization

        optimization = select_optimization(name, self.problem, self.packed, *self._selection)
        return optimization.iterate, optimization.optimize

    def _repair(self) -> None:
        """Repair the iteration's best model, whose sample is degenerate, if the problem has a ``repair`` function."""
        state, repair = self.state, self.problem.repair
        if repair is None:
            return
        sample, model, work = find_degenerate(self.packed)
        if repair(state.data, sample, model, state.settings["squared_threshold"], state.rng, work):
            score_repaired(self.packed)

    def _iterate(self, iterate: _Loop, before: int, most: int) -> int:
        """Call the compiled loop slice by slice until it stops; return its stop code, ``RUNNING`` for the time limit.

        ``before`` is the number of iterations of earlier restarts, ``most`` the maximum for this restart.
        """
        recorder, started = self.recorder, time.perf_counter()
        stop, done = RUNNING, int(self.state.progress["iterations"])
        while stop == RUNNING:
            first, length = done, min(self._slice, most - done)
            if recorder is not None:
                length = recorder.begin(before + first, length, current_beliefs(self.plan, self.state))
            rows = _NO_TRACE if recorder is None else recorder.rows
            stop, done, due = iterate(rows, first, first + length)
            while due != NOTHING:
                self._repair()
                stop, done, due = iterate(rows, first, first + length)
            if recorder is not None:
                recorder.end(before + done, current_beliefs(self.plan, self.state), self._best_inliers())
            now = time.perf_counter()
            if now > self.deadline:
                break
            self._slice = max(1, int(_SLICE_SECONDS * (done - first) / max(now - started, 1e-9)))
            started = now
        return stop

    def _best_inliers(self) -> Bools:
        """Return the mask of the restart's best model so far."""
        is_inlier = np.zeros(self.state.odds.size, np.bool_)
        if self.state.progress["best_inliers"] > 0:
            mark_inliers(self.packed, self.state.best_model, is_inlier, self.state.settings["squared_threshold"])
        return is_inlier

    def _reset_selection(self) -> None:
        """Discard the best optimised model."""
        selection = self._selection[1]
        if selection is not None:
            selection.reset()

    def _refine(self) -> None:
        if self.plan.refine is not None:
            self.plan.refine(self.packed, self.problem)

    def _refined_candidate(self) -> RestartModel:
        """Refine the model of a restart, and return it with the weighted score by which restarts are compared."""
        state, selection = self.state, self._selection[1]
        if selection is not None:
            selection.restore_score(state.progress)
        self._refine()
        return self._candidate()

    def _candidate(self) -> RestartModel:
        """Return the best model of a restart."""
        state = self.state
        model, score = state.best_model.copy(), float(state.progress["best_score"])
        if self.options.restarts == 1 and self._initial_model is None:
            return RestartModel(model, score, score, 1.0, _NO_MASK, int(state.progress["best_inliers"]))
        is_inlier = np.empty(state.odds.size, np.bool_)
        in_front = cheirality_score(self.problem, state, self.packed, model, is_inlier)
        functions, selection = self._selection
        plausibility = 1.0 if selection is None else plausibility_of(functions, selection, model)
        inliers = int(np.count_nonzero(is_inlier))
        return RestartModel(model, score, in_front * plausibility, plausibility, is_inlier, inliers)

    def _stop_reason(self, restarts: Restarts, stop: int) -> str:
        """Return the stop reason of the run; ``stop`` is the stop code of the last restart."""
        if restarts.agree():
            return "agreement"
        if stop == RUNNING:
            return "max_seconds"
        if stop == MAX_ITERATIONS and restarts.iterations_left() == 0:
            return "max_iterations"
        if stop == MAX_ITERATIONS or self.options.restarts > 1:
            return "restarts"
        return "bansac" if stop == STOPPED_BANSAC else self.plan.criteria[stop - STOPPED_CRITERION].name


def current_beliefs(plan: Plan, state: State) -> Floats:
    """Return the inlier probabilities of the sampler, or those of the network if the sampler has none."""
    found = None if plan.probabilities is None else plan.probabilities(state.sampler_numbers, state.sampler_indices)
    return probabilities_from_odds(state.odds) if found is None else np.asarray(found)
