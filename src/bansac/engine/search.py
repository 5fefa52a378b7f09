"""The search of a run: plan a restart, run it, refine its model, compare it with the best one, until no plan is left.

:func:`bansac.engine.restarts.next_restart` plans. A restart leads to a hypothesis, which all data refine, whatever data
the restart is on. If the threshold is estimated, each hypothesis has its own: it follows the residuals of the model as
soon as this one is significant (``bansac.evidence.noise_scale``).

A hypothesis with nearly the inliers of the best one is a *duplicate* of it. One that has most of its inliers near the
best one is compared with it by the score at the same threshold. Any other one is an *alternative*. A score at one
threshold does not compare structures of different noise: at the threshold of a fine structure, a larger and coarser one
loses its inliers. So alternatives are compared by their significance over all thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bansac.engine.cheirality_score import cheirality_score, score_in_full
from bansac.engine.frame import Frame
from bansac.engine.interruptible import InterruptibleLoop, current_beliefs
from bansac.engine.model_selection import ModelSelection, make_model_selection, plausibility_of
from bansac.engine.restarts import History, Hypothesis, Purpose, RestartPlan, finer_threshold, next_restart
from bansac.engine.state import DUPLICATE, MAX_ITERATIONS, RUNNING, STOPPED_BANSAC, STOPPED_CRITERION, SavedState
from bansac.engine.trace import Recorder
from bansac.evidence.noise_scale import are_close, estimate_threshold, threshold_bounds
from bansac.evidence.posterior import WINDOW
from bansac.evidence.rivals import FINER, NEAR, RIVAL, has_more_near, is_same
from bansac.maths.arrays import Floats

# Until a model is significant, the threshold is also estimated after these numbers of iterations of a restart.
_EARLY = 50, 150
# A model that shares more of its inliers with the best hypothesis is compared with it at the same threshold.
_SHARED = 0.5
# Another structure with a smaller significance, -log NFA, is chance.
_SIGNIFICANT = 10.0


class Search:
    """The search for the best model of a frame; ``is_over`` says whether no time is left.

    ``history`` has its hypotheses, best first, after :meth:`run`, which returns the stop reason.
    """

    def __init__(self, frame: Frame, is_over: Callable[[], bool]) -> None:
        self.frame, self._problem, self._is_over = frame, frame.problem, is_over
        self.state, self._components = frame.start()
        self.history = History(
            options=frame.options,
            n=frame.order.size,
            sample_size=frame.problem.sample_size,
            first=frame.threshold,
            is_estimated=frame.is_estimated,
            majority_agrees=frame.problem.majority_agrees,
            is_informed=frame.is_informed,
            find_supported=frame.supported,
        )
        self.recorder: Recorder | None = None
        if frame.options.trace:
            criteria = ["bansac"] * bool(self.state.settings["stop_bansac"])
            self.recorder = Recorder(frame.order, criteria + [stop.name for stop in self._components.criteria])
        # The function and the arrays of the model selection; None if optimised models are compared by score alone.
        self._selection: tuple[Any, ModelSelection | None] = None, None
        if frame.plausibility is not None:
            self._selection = make_model_selection(frame.problem, frame.plausibility, frame.transform)
        self._bounds = threshold_bounds(frame.problem, frame.threshold, frame.caller_data)
        self._threshold = frame.threshold
        self._loop = self._make_loop(frame)
        self._start = SavedState(self.state) if frame.options.restarts > 1 else None

    def run(self, initial_model: Floats | None = None) -> str:
        """Run the restarts; return the stop reason.

        An initial model, in the coordinates of the data, is the first hypothesis if it is significant. If chance
        explains all hypotheses, the one that it explains least is the best.
        """
        history, stop = self.history, RUNNING
        if initial_model is not None and (model := self.frame.from_data(initial_model)) is not None:
            self._start = self._start or SavedState(self.state)
            self._begin_with(model)
            self._start.restore()
        plan = next_restart(history)
        while plan is not None:
            stop, hypothesis = self._run_restart(plan)
            if hypothesis is not None:
                self._compare(hypothesis, plan)
            plan = None if stop == RUNNING else next_restart(history)
            if plan is not None and self._is_over():  # the restart ended by a criterion, but no time is left
                stop, plan = RUNNING, None
        if not history.is_significant and len(history.ranked) > 1:
            history.ranked.sort(key=self.frame.significance, reverse=True)
        for array, values in history.best.learnt if history.best is not None else ():
            array[...] = values
        return self._stop_reason(stop)

    def beliefs(self) -> Floats | None:
        """Return the sampler's inlier probabilities in the caller's order; None if the sampler has none."""
        if self._components.probabilities is None and not self.frame.options.sampler_row.adaptive:
            return None
        beliefs = np.empty(self.frame.order.size)
        beliefs[self.frame.order] = current_beliefs(self._components, self.state)
        return beliefs

    def _make_loop(self, frame: Frame) -> InterruptibleLoop:
        state = self.state if frame is self.frame else frame.start()[0]
        return InterruptibleLoop(self._problem, self._components, state, *self._selection, self._is_over, self.recorder)

    # Run

    def _run_restart(self, plan: RestartPlan) -> tuple[int, Hypothesis | None]:
        """Run a restart; return its stop code, and its hypothesis unless it is that of the best one again."""
        history, loop, best = self.history, self._loop, self.history.best
        if self._start is not None and history.iterations > 0:
            self._start.restore(with_prior=plan.with_prior)
        if plan.members is not None:
            loop = self._make_loop(self.frame.restrict(plan.members, with_prior=plan.with_prior))
        self._threshold = plan.threshold
        self.frame.set_threshold(loop.state, plan.threshold)
        self._reset_selection()
        if plan.purpose is Purpose.BEST and best is not None and best.is_significant:
            self._aim_at(loop, best)
        if self.recorder is not None:
            self.recorder.begin_restart(plan.members)
        stop, is_known = self._iterate(loop, plan)
        self._count(stop, loop.state.progress, plan, best)
        return stop, self._conclude(loop, plan, is_known)

    def _aim_at(self, loop: InterruptibleLoop, best: Hypothesis) -> None:
        """Let a restart end as soon as it has found a duplicate of the best hypothesis."""
        state = loop.state
        score_in_full(loop.packed, best.model, state.target)
        state.settings["target_inliers"] = np.count_nonzero(state.target)

    def _iterate(self, loop: InterruptibleLoop, plan: RestartPlan) -> tuple[int, bool]:
        """Run the loop of a restart; return its stop code, and whether the threshold is that of a significant model.

        The threshold may change on the way and at the end of a restart on all data.
        """
        history, best = self.history, self.history.best
        is_known = not history.is_estimated
        if plan.purpose is Purpose.BEST and best is not None and best.is_significant:
            is_known |= best.threshold == plan.threshold
        follows = not is_known and plan.members is None and loop.optimize is not None
        for end in (*(count for count in _EARLY if follows and count < plan.iterations), plan.iterations):
            stop = loop.run(history.iterations, end, learns=plan.learns)
            is_over = stop != MAX_ITERATIONS or end == plan.iterations
            if follows and not is_known and stop != DUPLICATE:
                is_known = self._follow_early(is_over)
            if is_over:
                break
            loop.state.progress["stop"] = RUNNING
        return stop, is_known

    def _count(self, stop: int, progress: Any, plan: RestartPlan, best: Hypothesis | None) -> None:
        """Count the iterations and models of a restart, and the restart unless it is for an alternative."""
        history = self.history
        history.iterations += int(progress["iterations"])
        history.models_tested += int(progress["models_tested"])
        if plan.purpose is Purpose.BEST:
            history.count += 1
        elif best is not None:
            best.challenges = 1 if plan.purpose is Purpose.OTHER_DATA else max(best.challenges, 1) + 1
        if self.recorder is not None:
            name = self._criterion(stop) if plan.purpose is Purpose.BEST else "challenge"
            self.recorder.reasons.append(name)

    # Refine

    def _begin_with(self, model: Floats) -> None:
        """Make the refined initial model a hypothesis if it is significant.

        The width of its residuals shows how far the model is from the points. So it is refined at thresholds that are
        estimated from them, first from all residuals.
        """
        first, is_estimated = self.frame.threshold, self.history.is_estimated
        widest = self._estimate(model, np.inf)
        self._threshold = first
        if not self._optimize_at(widest if is_estimated else max(widest, first), model):
            return
        hypothesis = self._refine(is_significant=False)
        if is_estimated:
            hypothesis = self._settle(hypothesis)
        elif self._threshold != first and self._optimize_at(first, hypothesis.model):
            hypothesis = self._refine(is_significant=False)
        if hypothesis.is_significant or self._test(hypothesis.model):
            hypothesis.is_significant, hypothesis.is_initial, hypothesis.restarts = True, True, 0
            self.history.ranked = [hypothesis]

    def _conclude(self, loop: InterruptibleLoop, plan: RestartPlan, is_known: bool) -> Hypothesis | None:
        """Return the refined model of a restart, by all data; None if it has too few inliers."""
        progress, least = loop.state.progress, 1 if plan.members is None else self._problem.sample_size + 1
        if progress["best_inliers"] < max(least, plan.least):
            return None
        if loop.optimize is not None and progress["unoptimized"]:
            loop.optimize()
        if plan.members is not None:
            if not self._optimize_at(self._threshold, loop.state.best_model):
                return None
            self.state.odds[plan.members] = loop.state.odds
        return self._refine(is_known)

    def _refine(self, is_significant: bool) -> Hypothesis:
        """Refine the best model of the state and return it as a hypothesis."""
        (function, selection), state, frame = self._selection, self.state, self.frame
        if selection is not None:
            selection.restore_score(state.progress)
        if self._components.refine is not None:
            self._components.refine(self._loop.packed, self._problem)
        model, score = state.best_model.copy(), float(state.progress["best_score"])
        is_inlier = np.empty(state.odds.size, np.bool_)
        weighted = cheirality_score(self._problem, state, self._loop.packed, model, is_inlier)
        weighted *= 1.0 if selection is None else plausibility_of(function, selection, model)
        is_near = frame.distances(model) <= NEAR * self._threshold
        inliers = int(np.count_nonzero(is_inlier))
        return Hypothesis(model, self._threshold, score, weighted, is_inlier, is_near, inliers, is_significant)

    def _follow_early(self, is_over: bool) -> bool:
        """Let the threshold follow the best model of the restart so far; return whether the model is significant.

        If the restart is over, the refinement follows and replaces an optimisation at a smaller threshold.
        """
        progress, last = self.state.progress, self._threshold
        if progress["best_inliers"] <= self._problem.sample_size:
            return False
        self._optimize_if(progress["unoptimized"])
        model = self.state.best_model.copy()
        if not self._test(model, fast=True):
            return False
        threshold = self._estimate(model)
        if not are_close(threshold, last):
            optimizes = not (is_over and threshold < last)
            if not self._optimize_at(threshold, model, optimizes=optimizes):
                self._optimize_at(last, model)
        return True

    def _settle(self, hypothesis: Hypothesis) -> Hypothesis:
        """Return a hypothesis at the threshold that follows its residuals, if it is significant."""
        if not hypothesis.is_significant:
            hypothesis.is_significant = self._test(hypothesis.model)
            if not hypothesis.is_significant and self._threshold == self.frame.threshold:
                return hypothesis
        last, threshold = self._threshold, self._estimate(hypothesis.model)
        if not are_close(threshold, last):
            if self._optimize_at(threshold, hypothesis.model):
                moved = self._refine(is_significant=True)
                keeps = hypothesis.is_significant and moved.inliers >= hypothesis.inliers
                if keeps or self._test(moved.model):
                    return moved
            self._threshold = last
        return hypothesis

    def _optimize_at(self, threshold: float, model: Floats, *, optimizes: bool = True) -> bool:
        """Make the optimum at a threshold the best model; return False if too few points are inliers there."""
        state, is_inlier = self.state, np.empty(self.state.odds.size, np.bool_)
        self._threshold = threshold
        self.frame.set_threshold(state, threshold)
        state.settings["target_inliers"] = 0
        state.best_model[:] = model
        state.progress["best_score"] = score_in_full(self._loop.packed, model, is_inlier)
        state.progress["best_inliers"] = inliers = np.count_nonzero(is_inlier)
        enough = bool(inliers > self._problem.sample_size)
        self._reset_selection()
        self._optimize_if(enough and optimizes)
        return enough

    def _optimize_if(self, is_due: bool) -> None:
        """Optimise the best model of the state locally, if the run does so at all."""
        if is_due and self._loop.optimize is not None:
            self._loop.optimize()

    def _reset_selection(self) -> None:
        """Discard the best optimised model."""
        selection = self._selection[1]
        if selection is not None:
            selection.reset()

    def _estimate(self, model: Floats, window: float = WINDOW, *, raised: bool = True) -> float:
        """Return the threshold estimated from the residuals of a model within this number of thresholds."""
        smallest, largest = self._bounds
        raised = raised and len(self._problem.points) > 1
        bounds = smallest, min(window * self._threshold, largest)
        return estimate_threshold(self.frame.distances(model), self._problem, bounds, raised=raised)

    def _test(self, model: Floats, fast: bool = False) -> bool:
        """Return whether a model has more support than chance explains, and its residuals are not too large."""
        if not self.frame.is_significant(model, self._threshold, fast):
            return False
        # Outliers, such as those of a closed curve, may not be uniform in the wide window.
        largest, windows = self._bounds[1], (np.inf, WINDOW)
        return any(self._estimate(model, w, raised=False) < 0.98 * min(w * self._threshold, largest) for w in windows)

    # Compare

    def _compare(self, new: Hypothesis, plan: RestartPlan) -> None:
        """Rank a hypothesis, at the threshold that follows its residuals if it would be the best one."""
        history, best, is_estimated = self.history, self.history.best, self.history.is_estimated
        if best is None or not best.is_significant:
            old = next((h for h in history.ranked if h.threshold == new.threshold), None)
            leads = old is None or new.weighted_score > old.weighted_score
            is_duplicate = old is not None and is_same(old.is_inlier, new.is_inlier)
            new = self._settle(new) if leads and is_estimated else new
            self._rank(new, old, leads=leads, is_duplicate=is_duplicate)
            return
        old = next((h for h in history.ranked if is_same(h.is_inlier, new.is_inlier)), None)
        shared = np.count_nonzero(new.is_inlier & best.is_near)
        if old is best or (plan.purpose is not Purpose.LESS_NOISE and shared > _SHARED * new.inliers):
            self._compare_scores(new, best)
        else:
            self._compare_structures(new, old, best, plan)

    def _compare_scores(self, new: Hypothesis, best: Hypothesis) -> None:
        """Rank a hypothesis by its score at the threshold of the best one."""
        is_estimated = self.history.is_estimated
        if new.threshold != best.threshold and self._optimize_at(best.threshold, new.model):
            new = self._refine(is_significant=True)
        is_duplicate, leads = is_same(best.is_inlier, new.is_inlier), new.weighted_score > best.weighted_score
        self._rank(self._settle(new) if leads and is_estimated else new, best, leads=leads, is_duplicate=is_duplicate)

    def _compare_structures(self, new: Hypothesis, old: Hypothesis | None, best: Hypothesis, plan: RestartPlan) -> None:
        """Rank a hypothesis of other data, or of less noise, than the best one."""
        is_duplicate = old is not None
        if self.history.is_estimated:
            new.is_significant = True
            settled = self._settle(new)
            if plan.purpose is not Purpose.LESS_NOISE or settled.threshold <= FINER * best.threshold:
                new = settled
            elif new.threshold > FINER * best.threshold:
                return
        leads = self._leads(new, best)
        new.is_significant = leads or self._is_distinct(new)
        if leads and self.history.is_estimated and not self._is_distinct(best):
            self.history.ranked.remove(best)
        self._rank(new, old, leads=leads, is_duplicate=is_duplicate)

    def _leads(self, new: Hypothesis, best: Hypothesis) -> bool:
        """Return whether another structure is better: by score at a given threshold, else over all thresholds.

        A structure is better than a compromise of it, such as one with the outliers of a search window.
        """
        if not self.history.is_estimated:
            return new.weighted_score > best.weighted_score
        if not self._is_distinct(new):
            return False
        wins = not self._is_distinct(best) or new.significance > best.significance
        fine, coarse = sorted((new, best), key=lambda hypothesis: hypothesis.threshold)
        if self._is_compromise(coarse, fine):
            wins = fine is new
        self._threshold = new.threshold
        return wins and self._test(new.model)

    def _is_compromise(self, coarse: Hypothesis, fine: Hypothesis) -> bool:
        """Return whether a model of matches is a compromise of a finer structure and others.

        The finer one has more data within its threshold. Beyond them, chance explains the support of the compromise. It
        does not explain that of a scene with more noise than an overlay.
        """
        if len(self._problem.points) == 1 or finer_threshold(coarse, self.frame.threshold) is None:
            return False
        if fine.threshold >= FINER * coarse.threshold or fine.inliers < RIVAL * coarse.inliers:
            return False
        distances, others = (self.frame.distances(h.model) for h in (fine, coarse))
        if not has_more_near(distances, others, fine.threshold):
            return False
        return not self.frame.is_significant(coarse.model, coarse.threshold, members=~fine.is_near)

    def _is_distinct(self, hypothesis: Hypothesis) -> bool:
        """Return whether chance does not explain a structure over all thresholds; it is measured once."""
        if math.isnan(hypothesis.significance):
            hypothesis.significance = self.frame.significance(hypothesis)
        return hypothesis.significance > _SIGNIFICANT

    def _rank(self, new: Hypothesis, old: Hypothesis | None, *, leads: bool, is_duplicate: bool) -> None:
        """Add a hypothesis: as the best one if it leads, in place of the old one of the same structure.

        The first significant one replaces all others.
        """
        ranked = self.history.ranked
        if old is not None:
            new.challenges = old.challenges
            if is_duplicate:
                old.restarts = new.restarts = old.restarts + 1
                new.is_initial = old.is_initial
        if leads:
            others = (h for h in ranked if h is not old and (h.is_significant or not new.is_significant))
            self.history.ranked = [new, *others]
            if self._start is not None:
                state = self.state
                arrays = (state.odds, state.sampler_numbers, state.sampler_indices)
                new.learnt = [(array, array.copy()) for array in arrays if array.size > 0]
        elif old is None and new.is_significant:
            ranked.append(new)

    # End

    def _stop_reason(self, stop: int) -> str:
        """Return the stop reason of the run; ``stop`` is the stop code of the last restart."""
        history = self.history
        if history.is_confirmed():
            return "agreement"
        if stop == MAX_ITERATIONS and history.iterations >= history.budget:
            return "max_iterations"
        if stop != RUNNING and (stop == MAX_ITERATIONS or history.options.restarts > 1):
            return "restarts"
        return self._criterion(stop)

    def _criterion(self, stop: int) -> str:
        """Return the name of what ended a restart."""
        names = {RUNNING: "max_seconds", MAX_ITERATIONS: "restart_iterations", DUPLICATE: "agreement"}
        names[STOPPED_BANSAC] = "bansac"
        return names.get(stop) or self._components.criteria[stop - STOPPED_CRITERION].name
