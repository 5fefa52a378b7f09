"""The search of a run: plan a restart, run it, refine its model, compare it with the others, until no plan is left.

:func:`bansac.engine.restarts.next_restart` plans. A restart leads to a hypothesis, which all data refine, whatever data
the restart is on. If the threshold is estimated, each hypothesis has its own: it follows the residuals of the model as
soon as this one is significant (``bansac.evidence.noise_scale``).

A hypothesis with nearly the inliers of another one is a *duplicate* of it. One that has most of its inliers near the
best one is compared with it by the score at the same threshold. Any other one is an *alternative*. A score at one
threshold does not compare structures of different noise: at the threshold of a fine structure, a larger and coarser one
loses its inliers. So alternatives are compared by their significance over all thresholds.
"""

import math
from collections.abc import Callable

import numpy as np

from bansac.engine.frame import Frame
from bansac.engine.interruptible import InterruptibleLoop
from bansac.engine.model_selection import plausibility_of
from bansac.engine.restarts import PART, History, Hypothesis, Purpose, RestartPlan, finer_threshold, next_restart
from bansac.engine.state import DUPLICATE, MAX_ITERATIONS, RUNNING, STOPPED_BANSAC, STOPPED_CRITERION
from bansac.engine.trace import Recorder, Trace
from bansac.engine.verification import cheirality_score
from bansac.evidence.false_alarms import SIGNIFICANT
from bansac.evidence.noise_scale import are_close, estimate_threshold, threshold_bounds
from bansac.evidence.posterior import WINDOW
from bansac.evidence.rivals import FINER, RIVAL, has_more_near, is_between, is_same, significance_over_thresholds
from bansac.evidence.search_window import fits_window, has_peak
from bansac.evidence.significance import is_significant
from bansac.maths.arrays import Bools, Floats

# Until a model is significant, the threshold is also estimated after these numbers of iterations of a restart.
_EARLY = 50, 150
# Largest number of estimates after a restart.
_ESTIMATES = 3
# A model that shares more of its inliers with the best hypothesis is compared with it at the same threshold.
_SHARED = 0.5
# Models of different noise are compared over thresholds from this number of first thresholds on.
_SMALLEST = 0.05


class Search:
    """The search for the best model of a frame; ``is_time_over`` says whether no time is left.

    ``history`` has its hypotheses, best first, after :meth:`run`.
    """

    def __init__(self, frame: Frame, is_time_over: Callable[[], bool]) -> None:
        self.frame, self._is_time_over = frame, is_time_over
        self._recorder = Recorder(frame.order) if frame.options.trace else None
        self.history = History(frame)
        # The loop on all data, which refines all models, and whether it has not yet run.
        self._all, self._is_fresh = InterruptibleLoop(frame, is_time_over, self._recorder), True
        self._bounds = threshold_bounds(frame.problem, frame.threshold, frame.caller_data)

    def run(self, initial_model: Floats | None = None) -> str:
        """Run the restarts; return the stop reason.

        An initial model, in the coordinates of the data, is the first hypothesis if it is significant. If chance
        explains all hypotheses, the one that it explains least is the best.
        """
        history, stop = self.history, RUNNING
        if initial_model is not None:
            self._begin_with(initial_model)
            self._all = InterruptibleLoop(self.frame, self._is_time_over, self._recorder)
        plan = next_restart(history)
        while plan is not None:
            loop = self._open(plan)
            stop, is_significant = self._iterate(loop, plan)
            is_new = self._move_to_all_data(loop, plan, stop)
            self._count(loop, plan, stop)
            if is_new:
                self._compare(self._refine(is_significant, loop, plan), plan)
            plan = None if stop == RUNNING else next_restart(history)
            if plan is not None and self._is_time_over():  # the restart ended by a criterion, but no time is left
                stop, plan = RUNNING, None
        if not history.is_significant and len(history.ranked) > 1:
            history.ranked.sort(key=self._significance, reverse=True)
        return self._stop_reason(stop)

    def beliefs(self) -> Floats | None:
        """Return the sampler's inlier probabilities in the caller's order; None if the sampler has none."""
        best, frame = self.history.best, self.frame
        if frame.options.sampler_row.probabilities is None and not frame.options.sampler_row.adaptive:
            return None
        beliefs = np.empty(frame.order.size)
        beliefs[frame.order] = self._all.beliefs() if best is None or best.beliefs is None else best.beliefs
        return beliefs

    def trace(self) -> Trace | None:
        """Return the trace of the run, if it is recorded."""
        if self._recorder is None:
            return None
        criteria = ["bansac"] * bool(self._all.state.settings["stop_bansac"])
        return self._recorder.trace(criteria + [stop.name for stop in self._all.components.criteria])

    def _open(self, plan: RestartPlan) -> InterruptibleLoop:
        """Return the loop of a restart before its first iteration."""
        loop, best = self._all, self.history.best
        if plan.members is not None or not self._is_fresh:
            part = self.frame.restrict(plan.members, with_prior=plan.with_prior)
            loop = InterruptibleLoop(part, self._is_time_over, self._recorder)
        self._is_fresh &= loop is not self._all
        loop.set_threshold(plan.threshold)
        if plan.purpose is Purpose.BEST and best is not None and best.is_significant:
            loop.aim_at(best.model)
        if self._recorder is not None:
            self._recorder.begin_restart(plan.members)
        return loop

    def _iterate(self, loop: InterruptibleLoop, plan: RestartPlan) -> tuple[int, bool]:
        """Run the loop of a restart; return its stop code, and whether its model counts as significant."""
        history, best = self.history, self.history.best
        is_known = not self.frame.is_estimated
        if plan.purpose is Purpose.BEST and best is not None and best.is_significant:
            is_known |= best.threshold == plan.threshold
        follows = not is_known and plan.members is None and loop.components.optimization is not None
        for end in (*_EARLY, plan.iterations) if follows else (plan.iterations,):
            stop = loop.run(history.iterations, min(end, plan.iterations), learns=plan.learns)
            is_over = stop != MAX_ITERATIONS or end >= plan.iterations
            if follows and not is_known and stop != DUPLICATE:
                is_known = self._follow(loop, is_over)
            if is_over:
                break
        return stop, is_known

    def _count(self, loop: InterruptibleLoop, plan: RestartPlan, stop: int) -> None:
        """Count the iterations and models of a restart, and the restart unless it is for an alternative."""
        history, best, progress = self.history, self.history.best, loop.state.progress
        history.iterations += int(progress["iterations"])
        history.models_tested += int(progress["models_tested"])
        if plan.purpose is Purpose.BEST:
            history.count += 1
        elif best is not None:
            best.searched = 1 if plan.purpose is Purpose.OTHER_DATA else max(best.searched, 1) + 1
        if self._recorder is not None:
            reason = self._criterion(stop) if plan.purpose is Purpose.BEST else "challenge"
            self._recorder.reasons.append(reason)

    # Refine

    def _begin_with(self, initial_model: Floats) -> None:
        """Make the refined initial model a hypothesis if it is significant.

        The width of its residuals shows how far the model is from the points. So it is refined at thresholds that are
        estimated from them, first from all residuals.
        """
        model, first, loop = self.frame.from_data(initial_model), self.frame.threshold, self._all
        if model is None:
            return
        widest = self._estimate(self.frame.distances(model), first, np.inf)
        if not self.frame.is_estimated:
            widest = max(widest, first)
        if not loop.take(model, widest):
            return
        hypothesis = self._refine(is_significant=False)
        if self.frame.is_estimated:
            hypothesis = self._settle(hypothesis)
        elif widest != first:
            if not loop.take(hypothesis.model, first):
                return
            hypothesis = self._refine(is_significant=False)
        if hypothesis.is_significant or self._test_hypothesis(hypothesis):
            hypothesis.is_significant, hypothesis.is_initial, hypothesis.restarts = True, True, 0
            self.history.ranked = [hypothesis]

    def _follow(self, loop: InterruptibleLoop, is_over: bool) -> bool:
        """Let the threshold follow the best model of a restart so far; return whether the model is significant."""
        if loop.state.progress["best_inliers"] <= self.frame.problem.sample_size:
            return False
        loop.optimize()
        model, last = loop.state.best_model.copy(), loop.threshold
        distances = self.frame.distances(model)
        if not self._test(model, distances, last, fast=True):
            return False
        threshold = self._estimate(distances, last)
        if not are_close(threshold, last):
            optimizes = not (is_over and threshold < last)
            taken = loop.take(model, threshold, optimizes=optimizes)
            if not taken or self._fits_window(loop.state.best_model, threshold):
                loop.take(model, last)
        return True

    def _move_to_all_data(self, loop: InterruptibleLoop, plan: RestartPlan, stop: int) -> bool:
        """Optimise the model of a restart on all data; return False if it has too few inliers or is a duplicate."""
        least, best = 1 if plan.members is None else self.frame.problem.sample_size + 1, self.history.best
        if loop.state.progress["best_inliers"] < max(least, int(PART * plan.least)):
            return False
        loop.optimize()
        score = float(loop.state.progress["best_score"])
        is_duplicate = stop == DUPLICATE and self.history.is_same_optimum(score, loop.target_score)
        if is_duplicate and best is not None and score <= loop.target_score:
            best.restarts += 1
            return False
        if loop is not self._all and not self._all.take(loop.state.best_model, loop.threshold):
            return False
        return bool(self._all.state.progress["best_inliers"] >= plan.least)

    def _refine(
        self, is_significant: bool, loop: InterruptibleLoop | None = None, plan: RestartPlan | None = None
    ) -> Hypothesis:
        """Refine the best model of all data; return it as a hypothesis, with the beliefs of the loop of a restart."""
        refined, frame = self._all, self.frame
        model, score = refined.refine()
        is_inlier = np.empty(frame.order.size, np.bool_)
        weighted = cheirality_score(frame.problem, refined.state, refined.packed, model, is_inlier)
        function, selection = refined.selection
        if selection is not None:
            weighted *= plausibility_of(function, selection, model)
        distances, inliers = frame.distances(model), int(np.count_nonzero(is_inlier))
        new = Hypothesis(model, refined.threshold, score, weighted, is_inlier, distances, inliers, is_significant)
        if loop is not None and plan is not None and self.frame.options.restart_rules.limit != 1:
            if plan.members is None:
                new.beliefs = loop.beliefs()
            else:
                new.beliefs = frame.prior_beliefs()
                new.beliefs[plan.members] = loop.beliefs()
        return new

    def _settle(self, hypothesis: Hypothesis) -> Hypothesis:
        """Return a hypothesis at the threshold of its residuals, unless chance explains it at the first threshold."""
        if not hypothesis.is_significant:
            hypothesis.is_significant = self._test_hypothesis(hypothesis)
            if not hypothesis.is_significant and hypothesis.threshold == self.frame.threshold:
                return hypothesis
        for _ in range(_ESTIMATES):
            threshold = self._estimate(hypothesis.distances, hypothesis.threshold)
            if are_close(threshold, hypothesis.threshold) or not self._all.take(hypothesis.model, threshold):
                break
            moved = self._refine(is_significant=True)
            if is_between(moved.distances[moved.is_inlier], self.frame.problem.traits.codimension):
                break
            if self._fits_window(moved.model, moved.threshold) and self._has_peak(hypothesis.model, moved.threshold):
                break
            keeps = hypothesis.is_significant and moved.inliers >= hypothesis.inliers
            if not keeps and not self._test_hypothesis(moved):
                break
            moved.beliefs, hypothesis = hypothesis.beliefs, moved
        hypothesis.is_window = self._fits_window(hypothesis.model, hypothesis.threshold)
        hypothesis.is_significant &= not hypothesis.is_window
        return hypothesis

    def _estimate(self, distances: Floats, last: float, window: float = WINDOW, *, raised: bool = True) -> float:
        """Return the threshold estimated from the distances of a model, at most ``window`` times the last threshold."""
        (smallest, largest), problem = self._bounds, self.frame.problem
        bounds = smallest, min(window * last, largest)
        return estimate_threshold(distances, problem, bounds, raised=raised and problem.traits.are_matches)

    def _test(self, model: Floats, distances: Floats, threshold: float, fast: bool = False) -> bool:
        """Return whether chance does not explain the support of a model with these distances.

        They must not fill the window of the threshold, as those of outliers do, nor be those of a search window.
        """
        if not self._exceeds_chance(model, threshold, fast):
            return False
        # Outliers, such as those of a closed curve, may not be uniform in the wide window.
        for window in (np.inf, WINDOW):
            estimated = self._estimate(distances, threshold, window, raised=False)
            fills = estimated >= min(window * threshold, self._bounds[1])
            if not fills and (not self._fits_window(model, estimated) or self._has_peak(model, estimated)):
                return True
        return False

    def _fits_window(self, model: Floats, threshold: float) -> bool:
        frame = self.frame
        return fits_window(frame.problem, frame.caller_data, frame.to_data(model), threshold, frame.noise)

    def _has_peak(self, model: Floats, threshold: float) -> bool:
        return has_peak(self.frame.problem, self.frame.caller_data, self.frame.to_data(model), threshold)

    def _test_hypothesis(self, one: Hypothesis) -> bool:
        return self._test(one.model, one.distances, one.threshold)

    def _exceeds_chance(
        self, model: Floats, threshold: float, fast: bool = False, members: Bools | None = None
    ) -> bool:
        """Return whether chance does not explain the support of a model, by all data or by the members."""
        frame = self.frame
        data = frame.caller_data if members is None else np.take(frame.caller_data, frame.order[members], axis=1)
        return is_significant(frame.problem, data, frame.to_data(model), threshold, fast, noise=frame.noise)

    # Compare

    def _compare(self, new: Hypothesis, plan: RestartPlan) -> None:
        """Rank a hypothesis; the threshold of a new best one, and of an alternative, follows its residuals."""
        history, best, is_estimated = self.history, self.history.best, self.frame.is_estimated
        if best is None or not best.is_significant:
            old = next((h for h in history.ranked if h.threshold == new.threshold), None)
            is_best = old is None or new.weighted_score > old.weighted_score
            is_duplicate = old is not None and self._is_duplicate(old, new)
            self._rank(self._settle(new) if is_best and is_estimated else new, old, is_best, is_duplicate)
            return
        old = next((h for h in history.ranked if is_same(h.is_inlier, new.is_inlier)), None)
        shared = np.count_nonzero(new.is_inlier & best.is_near)
        if old is not best and (plan.purpose is Purpose.LESS_NOISE or shared <= _SHARED * new.inliers):
            self._compare_structures(new, old, best, plan)
            return
        if new.threshold != best.threshold and self._all.take(new.model, best.threshold):
            beliefs, new = new.beliefs, self._refine(is_significant=True)
            new.beliefs = beliefs
        is_duplicate, is_best = self._is_duplicate(best, new), new.weighted_score > best.weighted_score
        self._rank(self._settle(new) if is_best and is_estimated else new, best, is_best, is_duplicate)

    def _compare_structures(self, new: Hypothesis, old: Hypothesis | None, best: Hypothesis, plan: RestartPlan) -> None:
        """Rank a hypothesis of other data, or of less noise, than the best one."""
        if self.frame.is_estimated:
            new.is_significant = True
            settled = self._settle(new)
            if plan.purpose is not Purpose.LESS_NOISE or settled.threshold <= FINER * best.threshold:
                new = settled
            elif new.threshold > FINER * best.threshold:
                return
        is_best = self._is_better(new, best)
        new.is_significant = is_best or self._is_more_than_chance(new)
        if is_best and self.frame.is_estimated and not self._is_more_than_chance(best):
            self.history.ranked.remove(best)
        self._rank(new, old, is_best, old is not None and self._is_duplicate(old, new))

    def _is_better(self, new: Hypothesis, best: Hypothesis) -> bool:
        """Return whether another structure is better: by score at a given threshold, else over all thresholds.

        A structure is better than a mixture of it and others, such as the outliers of a search window.
        """
        if not self.frame.is_estimated:
            return new.weighted_score > best.weighted_score
        if not self._is_more_than_chance(new):
            return False
        wins = not self._is_more_than_chance(best) or new.significance > best.significance
        fine, coarse = sorted((new, best), key=lambda hypothesis: hypothesis.threshold)
        if self._is_mixture(coarse, fine):
            wins = fine is new
        return wins and self._test_hypothesis(new)

    def _is_mixture(self, coarse: Hypothesis, fine: Hypothesis) -> bool:
        """Return whether a model of matches fits a mixture of a finer structure and others.

        The finer one has more data within its threshold. Beyond them, chance explains the support of the mixture. It
        does not explain that of a scene with more noise than an overlay.
        """
        if not self.frame.problem.traits.are_matches or finer_threshold(coarse, self.frame.threshold) is None:
            return False
        if fine.threshold >= FINER * coarse.threshold or fine.inliers < RIVAL * coarse.inliers:
            return False
        if not has_more_near(fine.distances, coarse.distances, fine.threshold):
            return False
        return not self._exceeds_chance(coarse.model, coarse.threshold, members=~fine.is_near)

    def _is_duplicate(self, old: Hypothesis, new: Hypothesis) -> bool:
        """Return whether two hypotheses are the same model."""
        same_score = self.history.is_same_optimum(old.weighted_score, new.weighted_score)
        return same_score and is_same(old.is_inlier, new.is_inlier)

    def _is_more_than_chance(self, hypothesis: Hypothesis) -> bool:
        """Return whether chance does not explain a structure over all thresholds; it is measured once."""
        if math.isnan(hypothesis.significance):
            hypothesis.significance = self._significance(hypothesis)
        return hypothesis.significance > -SIGNIFICANT

    def _significance(self, hypothesis: Hypothesis) -> float:
        """Return the significance of a hypothesis over all thresholds, times its plausibility and cheirality."""
        frame, score = self.frame, hypothesis.score
        smallest, model = _SMALLEST * frame.threshold, frame.to_data(hypothesis.model)
        factor = hypothesis.weighted_score / score if score > 0.0 else 0.0
        threshold = hypothesis.threshold
        return factor * significance_over_thresholds(frame.problem, frame.caller_data, smallest, model, threshold)

    def _rank(self, new: Hypothesis, old: Hypothesis | None, is_best: bool, is_duplicate: bool) -> None:
        """Add a hypothesis instead of the old one of its structure; the first significant one replaces all others."""
        ranked = self.history.ranked
        if old is not None:
            new.searched = old.searched
            if is_duplicate:
                old.restarts = new.restarts = old.restarts + 1
                new.is_initial = old.is_initial
        if is_best:
            others = (h for h in ranked if h is not old and (h.is_significant or not new.is_significant))
            self.history.ranked = [new, *others]
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
        if stop != RUNNING and (stop == MAX_ITERATIONS or self.frame.options.restart_rules.limit != 1):
            return "restarts"
        return self._criterion(stop)

    def _criterion(self, stop: int) -> str:
        """Return the name of what ended a restart."""
        names = {RUNNING: "max_seconds", MAX_ITERATIONS: "restart_iterations", DUPLICATE: "duplicate"}
        names[STOPPED_BANSAC] = "bansac"
        return names.get(stop) or self._all.components.criteria[stop - STOPPED_CRITERION].name
