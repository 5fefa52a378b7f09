"""The search of a run: restarts of the compiled loop, repairs and time checks between its slices, and the refinement.

Each restart leads to a hypothesis; ``bansac.engine.hypotheses`` compares them and decides when the restarts end. When the
best one is confirmed, the data that are not near its model are searched for a better one (:meth:`Search._challenge`). If
the threshold is estimated, each hypothesis has its own: it changes during a restart and after it
(``bansac.engine.threshold``).
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from bansac.engine.cheirality_score import cheirality_score
from bansac.engine.dbn import probabilities_from_odds
from bansac.engine.hypotheses import (
    RIVAL,
    Hypotheses,
    Hypothesis,
    SavedState,
    challenge_length,
    is_same,
    iterations_to_confirm,
)
from bansac.engine.loop import run_iterations
from bansac.engine.model_selection import (
    ModelSelection,
    Plausibility,
    find_degenerate,
    make_model_selection,
    plausibility_of,
    score_repaired,
)
from bansac.engine.noise_scale import WIDE, are_close
from bansac.engine.options import Options
from bansac.engine.plan import Plan
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

NEAR = 3.0
"""Data within this number of thresholds are near the model of a hypothesis."""
# A model that shares more of its inliers with the best hypothesis is a variant of it.
_VARIANT = 0.5
# A best hypothesis with a threshold above this number of first ones may be a compromise of several structures.
_COARSE = 4.0
# Number of restarts after which a hypothesis is challenged, although it is not confirmed.
_PATIENCE = 4
# First odds of data near a known hypothesis, when the others are searched.
_KNOWN = np.float32(0.01)

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
    significance : callable
        Returns the significance of a hypothesis over all thresholds.
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
        significance: Callable[[Hypothesis], float] = lambda hypothesis: hypothesis.weighted_score,
    ) -> None:
        self.problem, self.options, self.state = problem, options, state
        self.plan, self.deadline, self.recorder = plan, deadline, recorder
        self.packed = pack_run(state)  # the struct for the kernels
        self.threshold = threshold
        self._initial_model = initial_model
        self.hypotheses = Hypotheses(options, problem.majority_agrees)
        self._significance = significance
        self._is_trusted = False  # whether chance does not explain the model of the current restart
        self._slice = _FIRST_SLICE if state.odds.size < _FEW else _SHORT_SLICE
        # The functions and the arrays of the model selection; None if optimised models are compared by score alone.
        self._selection: tuple[Any, ModelSelection | None] = None, None
        if plan.repairs or plausibility is not None:
            self._selection = make_model_selection(problem, plausibility, transform, plan.repairs)
        self._loop, self._optimize = self._select_loop()

    def run(self) -> tuple[Hypotheses, str]:
        """Run the restarts, each of which leads to a hypothesis; return the hypotheses and the stop reason."""
        hypotheses, start = self.hypotheses, None
        if self.options.restarts > 1 or self._initial_model is not None:
            start = SavedState(self.state)
            if self._initial_model is not None:
                self._start_warm(self._initial_model, start)
        while True:
            stop = self._run_restart()
            if start is None or stop == RUNNING:
                break
            while stop != RUNNING and self._is_challenge_due():
                stop = self._challenge(start)
            if stop == RUNNING or hypotheses.over():
                break
            self._begin(start, self._next_threshold(), hypotheses.ranked[1:])
        best = hypotheses.best
        for array, values in best.learnt if best is not None else ():
            array[...] = values
        return hypotheses, self._stop_reason(stop)

    def _begin(self, start: SavedState, threshold: float, known: list[Hypothesis]) -> None:
        """Reset the state before a restart, which has a low belief in the data of known hypotheses."""
        start.restore()
        self.threshold.write(threshold)
        if known:
            odds = self.state.odds
            for hypothesis in known:
                odds[self._near(hypothesis)] = _KNOWN
            self.state.progress["largest_odds"] = odds.max()

    def _near(self, hypothesis: Hypothesis) -> Bools:
        """Mark the data near the model of a hypothesis."""
        distances = self.problem.distances(self.state.data, hypothesis.model)
        return np.asarray(distances <= NEAR * hypothesis.threshold)

    def _next_threshold(self) -> float:
        """Return the threshold of the next restart.

        It is that of the best hypothesis if a restart has led to it. Until a hypothesis is significant, the restarts
        alternate between the first threshold and a wide one, because the noise may be larger than expected.
        """
        hypotheses, first = self.hypotheses, self.threshold.first
        best = hypotheses.best
        if not self.threshold.is_estimated:
            return first
        if best is None or not best.is_trusted:
            return first * (WIDE if hypotheses.count % 2 else 1.0)
        return max(first, best.threshold) if hypotheses.initial is best else best.threshold

    def _start_warm(self, initial_model: Floats, start: SavedState) -> None:
        """Make the refined initial model a hypothesis if it is significant."""
        refine = None if self.plan.refine is None else self._refine
        if refine_initial(self.state, self.packed, initial_model, self.threshold, refine):
            self.hypotheses.begin_with(self._hypothesis(is_trusted=True))
        self._begin(start, self._next_threshold(), [])

    def _run_restart(self) -> int:
        """Run a restart and add its hypothesis; return its stop code."""
        hypotheses, progress, optimize = self.hypotheses, self.state.progress, self._optimize
        best = hypotheses.best
        self._is_trusted = not self.threshold.is_estimated or (
            best is not None and best.is_trusted and best.threshold == self.threshold.value
        )
        self._reset_selection()
        if self.recorder is not None:
            self.recorder.begin_restart()
        stop, hypothesis = self._iterate_restart(), None
        if progress["best_inliers"] > 0:
            if optimize is not None and progress["unoptimized"]:
                optimize()
            hypothesis = self._refined_hypothesis(self._is_trusted)
        hypotheses.count_restart(progress)
        if hypothesis is not None:
            self._add(hypothesis)
        return stop

    def _add(self, new: Hypothesis, *, is_other: bool = False) -> None:
        """Add a hypothesis at the threshold that fits it.

        One that would lead is tested for its significance. A variant of the best hypothesis is compared with it at the
        same threshold, another structure over all thresholds; ``is_other`` says that it is not a variant.
        """
        hypotheses, best, is_estimated = self.hypotheses, self.hypotheses.best, self.threshold.is_estimated
        old = hypotheses.earlier(new)
        confirms = old is not None and is_same(old.is_inlier, new.is_inlier)
        if best is not None and best.is_trusted and old is not best and not is_other:
            shared = np.count_nonzero(self._near(best) & new.is_inlier)
            if shared > _VARIANT * new.inliers:
                old = best
                if new.threshold != best.threshold and self._optimize_at(best.threshold, new.model, self._optimize):
                    new = self._refined_hypothesis(is_trusted=True)
                    confirms = is_same(old.is_inlier, new.is_inlier)
        if best is None or not best.is_trusted or old is best:
            leads = old is None or new.weighted_score > old.weighted_score
            new = self._adapted(new) if leads and is_estimated else new
        else:
            new.is_trusted = True  # its significance is tested if it wins, or as a rival
            new = self._adapted(new) if is_estimated else new
            leads = self._significance(new) > self._significance(best)
            leads = leads and (not is_estimated or self.threshold.is_trustworthy(new.model))
        if self.options.restarts > 1:
            arrays = (self.state.odds, self.state.sampler_numbers, self.state.sampler_indices)
            new.learnt = [(array, array.copy()) for array in arrays if array.size > 0]
        hypotheses.add(new, old, leads=leads, confirms=confirms)

    def _is_challenge_due(self) -> bool:
        """Return whether to search for a better hypothesis of other data or of less noise than the best one."""
        if self.options.restarts == 1 or not self.options.sampler_row.adaptive or not self.hypotheses.is_trusted:
            return False
        return self._challenges_left() > 0 and (self.hypotheses.over() or self.hypotheses.count >= _PATIENCE)

    def _challenges_left(self) -> int:
        """Return how often the best hypothesis is still to be challenged: once, and once more if its noise is large."""
        best = self.hypotheses.ranked[0]
        return 1 + (best.threshold > _COARSE * self.threshold.first) - best.challenges

    def _challenge(self, start: SavedState) -> int:
        """Search for a better hypothesis than the best one, or a rival of it; return the stop code.

        The first search is among the data that are not near the model. A hypothesis of large noise may be a compromise
        of several structures. So the second search is among all data, at the first threshold.
        """
        hypotheses, state, first = self.hypotheses, self.state, self.threshold.first
        best, m = hypotheses.ranked[0], self.problem.sample_size
        is_coarse = best.challenges > 0
        best.challenges += 1
        others = np.ones(state.odds.size, np.bool_) if is_coarse else ~self._near(best)
        length = challenge_length(best, int(np.count_nonzero(others)), m, is_coarse=is_coarse)
        length = min(length, hypotheses.iterations_left())
        if length == 0:
            return MAX_ITERATIONS
        threshold, known = (first, hypotheses.ranked[1:]) if is_coarse else (best.threshold, hypotheses.ranked)
        self._begin(start, max(first, threshold), known)
        self._reset_selection()
        if self.recorder is not None:
            self.recorder.begin_restart()
        state.settings["max_iterations"] = length
        stop = self._iterate(hypotheses.iterations, length)
        own = int(np.count_nonzero(self._best_inliers() & others))
        if own >= max(RIVAL * best.inliers, m + 1):
            if self._optimize is not None and state.progress["unoptimized"]:
                self._optimize()
            self._add(self._refined_hypothesis(is_trusted=not self.threshold.is_estimated), is_other=is_coarse)
        hypotheses.count_restart(state.progress, challenge=True)
        return stop

    def _iterate_restart(self) -> int:
        """Run the loop of one restart; return its stop code. The threshold can change on the way and at the end."""
        hypotheses, optimize = self.hypotheses, self._optimize
        most = hypotheses.iterations_left()
        early: tuple[int, ...] = _EARLY if optimize is not None and not self._is_trusted else ()
        initial = hypotheses.initial
        if optimize is not None and initial is not None:
            early = iterations_to_confirm(initial, most, self.problem.sample_size, self.options.confidence)
        for end in (*(count for count in early if count < most), most):
            self.state.settings["max_iterations"] = end
            stop = self._iterate(hypotheses.iterations, end)
            is_over = stop != MAX_ITERATIONS or end == most
            if optimize is not None and not self._is_trusted and self._adapt_early(is_over):
                self._is_trusted = True
            if is_over or (initial is not None and is_same(self._best_inliers(), initial.is_inlier)):
                break
            self.state.progress["stop"] = RUNNING
        return stop

    def _adapt_early(self, is_over: bool) -> bool:
        """Adapt the threshold to the best model of the restart so far; return whether the model is significant.

        If the restart is over, the refinement follows and replaces an optimisation at a smaller threshold.
        """
        progress, last, optimize = self.state.progress, self.threshold.value, self._optimize
        if progress["best_inliers"] <= self.problem.sample_size:
            return False
        if progress["unoptimized"] and optimize is not None:
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

    def _adapted(self, hypothesis: Hypothesis) -> Hypothesis:
        """Return a hypothesis at the threshold that fits it, after a test of its significance."""
        if not hypothesis.is_trusted:
            hypothesis.is_trusted = self.threshold.is_trustworthy(hypothesis.model)
            if not hypothesis.is_trusted and self.threshold.value == self.threshold.first:
                return hypothesis
        for _ in range(_ESTIMATES):
            moved = self._follow_residuals(hypothesis)
            if moved is None:
                break
            hypothesis = moved
        return hypothesis

    def _follow_residuals(self, hypothesis: Hypothesis) -> Hypothesis | None:
        """Estimate the threshold from the residuals of a hypothesis, and optimise the model at it if it is another.

        Returns None, and nothing changes, if the threshold is nearly the same or the model is not significant there.
        """
        last, optimize = self.threshold.value, self._optimize
        threshold = self.threshold.estimate(hypothesis.model)
        if are_close(threshold, last):
            return None
        if self._optimize_at(threshold, hypothesis.model, optimize):
            moved = self._refined_hypothesis(is_trusted=True)
            keeps = hypothesis.is_trusted and moved.inliers >= (1.0 - _LOST) * hypothesis.inliers
            if keeps or self.threshold.is_trustworthy(moved.model):
                return moved
        self.threshold.write(last)
        return None

    def _optimize_at(self, threshold: float, model: Floats, optimize: Callable[[], None] | None) -> bool:
        """Make the optimum at another threshold the best model; return False if too few points are inliers there."""
        enough = self.threshold.make_best(self.packed, model, threshold)
        self._reset_selection()
        if enough and optimize is not None:
            optimize()
        return enough

    def _select_loop(self) -> tuple[_Loop, Callable[[], None] | None]:
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

    def _iterate(self, before: int, most: int) -> int:
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
            stop, done, due = self._loop(rows, first, first + length)
            while due != NOTHING:
                self._repair()
                stop, done, due = self._loop(rows, first, first + length)
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

    def _refined_hypothesis(self, is_trusted: bool) -> Hypothesis:
        """Refine the best model of the state and return it as a hypothesis."""
        selection = self._selection[1]
        if selection is not None:
            selection.restore_score(self.state.progress)
        self._refine()
        return self._hypothesis(is_trusted)

    def _hypothesis(self, is_trusted: bool) -> Hypothesis:
        """Return the best model of the state as a hypothesis."""
        state, threshold = self.state, self.threshold.value
        model, score = state.best_model.copy(), float(state.progress["best_score"])
        if self.options.restarts == 1 and self._initial_model is None:
            inliers = int(state.progress["best_inliers"])
            return Hypothesis(model, threshold, score, score, 1.0, _NO_MASK, inliers, is_trusted=is_trusted)
        is_inlier = np.empty(state.odds.size, np.bool_)
        in_front = cheirality_score(self.problem, state, self.packed, model, is_inlier)
        functions, selection = self._selection
        plausibility = 1.0 if selection is None else plausibility_of(functions, selection, model)
        inliers = int(np.count_nonzero(is_inlier))
        weighted = in_front * plausibility
        return Hypothesis(model, threshold, score, weighted, plausibility, is_inlier, inliers, is_trusted=is_trusted)

    def _stop_reason(self, stop: int) -> str:
        """Return the stop reason of the run; ``stop`` is the stop code of the last restart."""
        if self.hypotheses.is_confirmed():
            return "agreement"
        if stop == RUNNING:
            return "max_seconds"
        if stop == MAX_ITERATIONS and self.hypotheses.iterations_left() == 0:
            return "max_iterations"
        if stop == MAX_ITERATIONS or self.options.restarts > 1:
            return "restarts"
        return "bansac" if stop == STOPPED_BANSAC else self.plan.criteria[stop - STOPPED_CRITERION].name


def current_beliefs(plan: Plan, state: State) -> Floats:
    """Return the inlier probabilities of the sampler, or those of the network if the sampler has none."""
    found = None if plan.probabilities is None else plan.probabilities(state.sampler_numbers, state.sampler_indices)
    return probabilities_from_odds(state.odds) if found is None else np.asarray(found)
