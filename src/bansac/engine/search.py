"""The search of a run: restarts lead to hypotheses, which compete until the best one is confirmed and challenged.

``bansac.engine.hypotheses`` keeps the hypotheses and decides when the restarts end. If the threshold is estimated, each
hypothesis has its own: it changes during a restart and after it (``bansac.engine.threshold``).

A restart is on the inliers of the best hypothesis and the data that are not near the model of any other one. So it does
not lead to a structure that has lost. Of matches, most restarts are on those that neighbours support
(``bansac.evidence.neighbours``) and start from the prior. The first restart and every fourth one after it are on all
matches. The first starts from the prior, too, the others from equal odds: neighbours and scores may mislead. For all
problems, these others do not learn until a hypothesis is significant, because outliers that agree may hold the network.
If none is significant after five restarts, every second restart is such a one.

The best hypothesis is challenged by a short search of the data that are not near its model, either. A hypothesis of
large noise may be a compromise of several structures. So it is challenged again, by searches of all data at smaller
thresholds, from equal odds: neighbours may agree on the compromise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bansac.engine.cheirality_score import cheirality_score
from bansac.engine.frame import Frame, Run
from bansac.engine.hypotheses import (
    Hypotheses,
    Hypothesis,
    challenge_length,
    iterations_to_confirm,
)
from bansac.engine.model_selection import ModelSelection, make_model_selection, plausibility_of
from bansac.engine.slices import SlicedLoop
from bansac.engine.state import MAX_ITERATIONS, RUNNING, STOPPED_BANSAC, STOPPED_CRITERION, SavedState, State
from bansac.engine.threshold import AdaptiveThreshold
from bansac.engine.trace import Recorder
from bansac.evidence.noise_scale import WIDE, are_close
from bansac.evidence.rivals import FINER, NEAR, RIVAL, has_more_near, is_same
from bansac.maths.arrays import Bools, Floats

# The largest number of estimates of the threshold after a restart. Until a model is significant, the threshold is also
# estimated after these numbers of iterations of a restart.
_ESTIMATES = 3
_EARLY = 50, 150

# A model that shares more of its inliers with the best hypothesis is a variant of it.
_VARIANT = 0.5
# Another structure with a smaller significance, -log NFA, is chance.
_SIGNIFICANT = 10.0
# A hypothesis with a threshold above the first of these numbers may be a compromise. All data are then searched at the
# second number, for a structure with the inliers of a rival. The numbers are first thresholds.
_COARSE = (4.0, 2.0), (8.0, WIDE)
# A challenge has at most this number of iterations, and that of other data no more than all restarts before it. Without
# prior probabilities, it is on the data that neighbours support if it would have this number. A challenge at a smaller
# threshold may be longer.
_LONGEST, _LONGEST_AT_FINER = 600, 1500
# The first of each _COMPLETE restarts is on all matches, the others on those with more neighbours than chance gives.
_COMPLETE = 4
# Number of restarts after which a hypothesis is challenged, although it is not confirmed.
_PATIENCE = 4

_NO_MASK = np.empty(0, np.bool_)  # for a single restart, which is compared with no other


class Search:
    """The search for the best model of a run; ``is_over`` says whether no time is left."""

    def __init__(self, task: Run, frame: Frame, is_over: Callable[[], bool]) -> None:
        self.problem, self.options = task.problem, task.options
        self.state, self.plan = frame.start()
        test = None if task.is_significant is None else frame.is_significant
        self.threshold = AdaptiveThreshold(
            task.problem, self.state, frame.threshold, test, is_estimated=task.is_estimated
        )
        self.hypotheses = Hypotheses(task.options, task.problem.majority_agrees)
        self.recorder: Recorder | None = None
        if task.options.trace:
            criteria = ["bansac"] * bool(self.state.settings["stop_bansac"])
            self.recorder = Recorder(frame.order, criteria + [stop.name for stop in self.plan.criteria])
        self._frame, self._is_over = frame, is_over
        self._is_warm = False  # whether there is an initial model
        self._is_trusted = False  # whether chance does not explain the model of the current restart
        # The functions and the arrays of the model selection; None if optimised models are compared by score alone.
        self._selection: tuple[Any, ModelSelection | None] = None, None
        if self.plan.repairs or task.plausibility is not None:
            self._selection = make_model_selection(task.problem, task.plausibility, frame.transform, self.plan.repairs)
        self._loop = self._make_loop(self.state)
        self._start = SavedState(self.state) if task.options.restarts > 1 else None

    def _make_loop(self, state: State) -> SlicedLoop:
        return SlicedLoop(self.problem, self.plan, state, *self._selection, self._is_over, self.recorder)

    def run(self, initial_model: Floats | None = None) -> tuple[Hypotheses, str]:
        """Run the restarts, each of which leads to a hypothesis; return the hypotheses and the stop reason.

        An initial model, in the frame of the run, is the first hypothesis if it is significant. If chance explains
        all hypotheses, the one that it explains least is the best.
        """
        hypotheses, start = self.hypotheses, self._start
        if initial_model is not None:
            start, self._is_warm = start or SavedState(self.state), True
            self._start_warm(initial_model)
            start.restore()
        while True:
            self.threshold.write(self._next_threshold())
            stop = self._run_restart()
            while stop != RUNNING and self._is_challenge_due():
                stop = self._challenge()
            if start is None or stop == RUNNING or hypotheses.over():
                break
            if self._is_over():  # the restart ended by a criterion, but no time is left
                stop = RUNNING
                break
            start.restore(with_prior=not self._is_complete() or self._frame.supported is None)
        if not hypotheses.is_trusted and len(hypotheses.ranked) > 1:
            hypotheses.ranked.sort(key=self._frame.significance, reverse=True)
        best = hypotheses.best
        for array, values in best.learnt if best is not None else ():
            array[...] = values
        return hypotheses, self._stop_reason(stop)

    def _start_warm(self, model: Floats) -> None:
        """Make the refined initial model a hypothesis if it is significant.

        The width of its residuals shows how far the model is from the points. So it is refined at thresholds that are
        estimated from them, first from all residuals.
        """
        threshold = self.threshold
        if not self._optimize_at(threshold.widest(model), model):
            return
        hypothesis = self._refined_hypothesis(is_trusted=False)
        if threshold.is_estimated:
            hypothesis = self._adapted(hypothesis)
        elif threshold.value != threshold.first and self._optimize_at(threshold.first, hypothesis.model):
            hypothesis = self._refined_hypothesis(is_trusted=False)
        hypothesis.is_trusted = hypothesis.is_trusted or threshold.is_trustworthy(hypothesis.model)
        if hypothesis.is_trusted:
            self.hypotheses.begin_with(hypothesis)

    def _next_threshold(self) -> float:
        """Return the threshold of the next restart.

        It is that of the best hypothesis if a restart has led to it. Until a hypothesis is significant, the restarts
        alternate between the first threshold and a wide one, because the noise may be larger than expected.
        """
        hypotheses, first = self.hypotheses, self.threshold.first
        if not self.threshold.is_estimated:
            return first
        if not hypotheses.is_trusted:
            return first * (WIDE if hypotheses.count % 2 else 1.0)
        best = hypotheses.ranked[0]
        return max(first, best.threshold) if hypotheses.initial is best else best.threshold

    def _far(self, hypotheses: list[Hypothesis]) -> Bools:
        """Mark the data that are not near the models of hypotheses."""
        far = np.ones(self.state.odds.size, np.bool_)
        for hypothesis in hypotheses:
            far &= self.problem.distances(self.state.data, hypothesis.model) > NEAR * hypothesis.threshold
        return far

    def _run_restart(self) -> int:
        """Run a restart and add its hypothesis; return its stop code."""
        hypotheses, threshold = self.hypotheses, self.threshold
        self._is_trusted = not threshold.is_estimated or (
            hypotheses.is_trusted and hypotheses.ranked[0].threshold == threshold.value
        )
        members = self._members()
        if members is not None and self.problem.sample_size < np.count_nonzero(members) < members.size:
            return self._search_among(members, hypotheses.next_length())
        self._begin_restart()
        stop, hypothesis, progress = self._iterate_restart(), None, self.state.progress
        if progress["best_inliers"] > 0:
            self._optimize_if(progress["unoptimized"])
            hypothesis = self._refined_hypothesis(self._is_trusted)
        self._count_restart(stop, progress)
        if hypothesis is not None:
            self._add(hypothesis)
        return stop

    def _is_complete(self) -> bool:
        """Return whether the next restart is on all data."""
        count, is_trusted = self.hypotheses.count, self.hypotheses.is_trusted
        return count % (_COMPLETE if count <= _COMPLETE or is_trusted else 2) == 0

    def _members(self) -> Bools | None:
        """Mark the data of the next restart; None for all.

        They are supported by neighbours in most restarts. Those near the models of hypotheses that have lost are left
        out, unless they are inliers of the best one.
        """
        hypotheses, members = self.hypotheses, None
        if not self._is_complete():
            members = self._frame.supported
        if len(hypotheses.ranked) > 1 and hypotheses.is_trusted:
            far = self._far(hypotheses.ranked[1:]) | hypotheses.ranked[0].is_inlier
            members = far if members is None else members & far
        return members

    def _begin_restart(self, members: Bools | None = None) -> None:
        self._reset_selection()
        if self.recorder is not None:
            self.recorder.begin_restart(members)

    def _count_restart(self, stop: int, progress: Any, *, is_challenge: bool = False) -> None:
        self.hypotheses.count_restart(progress, is_challenge=is_challenge)
        if self.recorder is not None:
            self.recorder.reasons.append("challenge" if is_challenge else self._criterion(stop))

    def _search_among(self, members: Bools, most: int, *, is_challenge: bool = False, is_other: bool = False) -> int:
        """Run a restart on some data and add its hypothesis, which all data refine; return the stop code."""
        loop = self._make_loop(self._frame.restrict(members, with_prior=not is_other))
        loop.state.settings["squared_threshold"] = self.threshold.value * self.threshold.value
        self._begin_restart(members)
        stop = loop.run(self.hypotheses.iterations, most, learns=not is_other)  # it would learn the coarse structure
        progress = loop.state.progress
        self._count_restart(stop, progress, is_challenge=is_challenge)
        least = self.problem.sample_size
        if is_challenge and self.hypotheses.is_trusted:
            least = max(least, int(RIVAL * self.hypotheses.ranked[0].inliers) - 1)
        if progress["best_inliers"] <= least:
            return stop
        if loop.optimize is not None and progress["unoptimized"]:
            loop.optimize()
        if self._optimize_at(self.threshold.value, loop.state.best_model):
            self.state.odds[members] = loop.state.odds
            self._add(self._refined_hypothesis(self._is_trusted), is_other=is_other)
        return stop

    def _leads(self, new: Hypothesis, best: Hypothesis) -> bool:
        """Return whether another structure is better: by score at a given threshold, else over all thresholds.

        A structure is better than a compromise of it, such as one with the outliers of a search window.
        """
        if not self.threshold.is_estimated:
            return new.weighted_score > best.weighted_score
        if not self._is_distinct(new):
            return False
        wins = not self._is_distinct(best) or new.significance > best.significance
        fine, coarse = sorted((new, best), key=lambda hypothesis: hypothesis.threshold)
        if self._is_compromise(coarse, fine):
            wins = fine is new
        return wins and self.threshold.is_trustworthy(new.model)

    def _is_compromise(self, coarse: Hypothesis, fine: Hypothesis) -> bool:
        """Return whether a model of matches is a compromise of a finer structure and others.

        The finer one has more data within its threshold. Beyond them, chance explains the support of the compromise. It
        does not explain that of a scene with more noise than an overlay.
        """
        least = max(_COARSE[0][0] * self.threshold.first, fine.threshold / FINER)
        if len(self.problem.points) == 1 or coarse.threshold <= least or fine.inliers < RIVAL * coarse.inliers:
            return False
        distances, others = (self.problem.distances(self.state.data, h.model) for h in (fine, coarse))
        if not has_more_near(distances, others, fine.threshold):
            return False
        beyond = distances > NEAR * fine.threshold
        return not self._frame.is_significant(coarse.model, coarse.threshold, members=beyond)

    def _is_distinct(self, hypothesis: Hypothesis) -> bool:
        """Return whether chance does not explain a structure over all thresholds; it is measured once."""
        if math.isnan(hypothesis.significance):
            hypothesis.significance = self._frame.significance(hypothesis)
        return hypothesis.significance > _SIGNIFICANT

    def _is_challenge_due(self) -> bool:
        """Return whether to search for a better hypothesis of other data or of less noise than the best one."""
        if self.options.restarts == 1 or not self.options.sampler_row.adaptive or not self.hypotheses.is_trusted:
            return False
        best = self.hypotheses.ranked[0]
        left = 1 + sum(best.threshold > coarse * self.threshold.first for coarse, _ in _COARSE) - best.challenges
        patient = self.hypotheses.count >= _PATIENCE and self._is_distinct(best)
        return left > 0 and (self.hypotheses.over() or patient)

    def _challenge(self) -> int:
        """Search for a better hypothesis than the best one, or a rival of it; return the stop code."""
        hypotheses, first = self.hypotheses, self.threshold.first
        best = hypotheses.ranked[0]
        is_coarse = best.challenges > 0
        if is_coarse:
            threshold, share = _COARSE[best.challenges - 1][1] * first, RIVAL
            members = self._far(hypotheses.ranked[1:])
            most = min(hypotheses.budget - hypotheses.iterations, _LONGEST_AT_FINER)
        else:
            threshold, share = max(first, best.threshold), 1.0
            members, most = self._far(hypotheses.ranked), min(hypotheses.next_length(), hypotheses.iterations, _LONGEST)
        best.challenges += 1
        length = challenge_length(best, int(np.count_nonzero(members)), self.problem.sample_size, most, share)
        supported = self._frame.supported
        if length == _LONGEST and supported is not None and not (is_coarse or self._frame.is_informed):
            members &= supported
            length = challenge_length(best, int(np.count_nonzero(members)), self.problem.sample_size, most, share)
        if length == 0:
            return MAX_ITERATIONS
        self.threshold.write(threshold)
        self._is_trusted = not self.threshold.is_estimated
        return self._search_among(members, length, is_challenge=True, is_other=is_coarse)

    def _add(self, new: Hypothesis, *, is_other: bool = False) -> None:
        """Add a hypothesis at the threshold that fits it.

        One that would lead is tested for its significance. A variant of the best hypothesis is compared with it at the
        same threshold, another structure over all thresholds. If ``is_other``, it is no variant if its noise is less.
        """
        hypotheses, best, is_estimated = self.hypotheses, self.hypotheses.best, self.threshold.is_estimated
        old = hypotheses.competitor_of(new)
        confirms = old is not None and hypotheses.agree(old, new)
        if best is not None and best.is_trusted and old is not best and not is_other:
            shared = np.count_nonzero(new.is_inlier & ~self._far([best]))
            if shared > _VARIANT * new.inliers:
                old = best
                if new.threshold != best.threshold and self._optimize_at(best.threshold, new.model):
                    new = self._refined_hypothesis(is_trusted=True)
                    confirms = hypotheses.agree(old, new)
        if best is None or not best.is_trusted or old is best:
            leads = old is None or new.weighted_score > old.weighted_score
            new = self._adapted(new) if leads and is_estimated else new
        else:
            new.is_trusted = True
            moved = self._adapted(new) if is_estimated else new
            if not is_other or moved.threshold <= FINER * best.threshold:
                new = moved
            elif new.threshold > FINER * best.threshold:
                return
            leads = self._leads(new, best)
            new.is_trusted = leads or self._is_distinct(new)
            if leads and not self._is_distinct(best):
                hypotheses.ranked.remove(best)
        if self.options.restarts > 1:
            arrays = (self.state.odds, self.state.sampler_numbers, self.state.sampler_indices)
            new.learnt = [(array, array.copy()) for array in arrays if array.size > 0]
        hypotheses.add(new, old, leads=leads, confirms=confirms)

    def _iterate_restart(self) -> int:
        """Run the loop of one restart; return its stop code. The threshold can change on the way and at the end."""
        hypotheses, loop = self.hypotheses, self._loop
        most = hypotheses.next_length()
        learns = hypotheses.is_trusted or hypotheses.count == 0 or not self._is_complete()
        early: tuple[int, ...] = _EARLY if loop.optimize is not None and not self._is_trusted else ()
        initial = hypotheses.initial
        if loop.optimize is not None and initial is not None:
            early = iterations_to_confirm(initial, most, self.problem.sample_size, self.options.confidence)
        for end in (*(count for count in early if count < most), most):
            stop = loop.run(hypotheses.iterations, end, learns=learns)
            is_over = stop != MAX_ITERATIONS or end == most
            if loop.optimize is not None and not self._is_trusted and self._adapt_early(is_over):
                self._is_trusted = True
            if is_over or (initial is not None and is_same(loop.best_inliers(), initial.is_inlier)):
                break
            self.state.progress["stop"] = RUNNING
        return stop

    def _adapt_early(self, is_over: bool) -> bool:
        """Adapt the threshold to the best model of the restart so far; return whether the model is significant.

        If the restart is over, the refinement follows and replaces an optimisation at a smaller threshold.
        """
        progress, last = self.state.progress, self.threshold.value
        if progress["best_inliers"] <= self.problem.sample_size:
            return False
        self._optimize_if(progress["unoptimized"])
        model = self.state.best_model.copy()
        if not self.threshold.is_trustworthy(model, fast=True):
            return False
        threshold = self.threshold.estimate(model)
        if not are_close(threshold, last) and not self._optimize_at(
            threshold, model, is_optimized=not (is_over and threshold < last)
        ):
            self._optimize_at(last, model)
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
        last = self.threshold.value
        threshold = self.threshold.estimate(hypothesis.model)
        if are_close(threshold, last):
            return None
        if self._optimize_at(threshold, hypothesis.model):
            moved = self._refined_hypothesis(is_trusted=True)
            keeps = hypothesis.is_trusted and moved.inliers >= hypothesis.inliers
            if keeps or self.threshold.is_trustworthy(moved.model):
                return moved
        self.threshold.write(last)
        return None

    def _optimize_at(self, threshold: float, model: Floats, *, is_optimized: bool = True) -> bool:
        """Make the optimum at another threshold the best model; return False if too few points are inliers there."""
        enough = self.threshold.make_best(self._loop.packed, model, threshold)
        self._reset_selection()
        self._optimize_if(enough and is_optimized)
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

    def _refined_hypothesis(self, is_trusted: bool) -> Hypothesis:
        """Refine the best model of the state and return it as a hypothesis."""
        (functions, selection), state, threshold = self._selection, self.state, self.threshold.value
        if selection is not None:
            selection.restore_score(state.progress)
        if self.plan.refine is not None:
            self.plan.refine(self._loop.packed, self.problem)
        model, score = state.best_model.copy(), float(state.progress["best_score"])
        if self._start is None and not self._is_warm:
            inliers = int(state.progress["best_inliers"])
            return Hypothesis(model, threshold, score, score, 1.0, _NO_MASK, inliers, is_trusted=is_trusted)
        is_inlier = np.empty(state.odds.size, np.bool_)
        in_front = cheirality_score(self.problem, state, self._loop.packed, model, is_inlier)
        plausibility = 1.0 if selection is None else plausibility_of(functions, selection, model)
        inliers = int(np.count_nonzero(is_inlier))
        weighted = in_front * plausibility
        return Hypothesis(model, threshold, score, weighted, plausibility, is_inlier, inliers, is_trusted=is_trusted)

    def _stop_reason(self, stop: int) -> str:
        """Return the stop reason of the run; ``stop`` is the stop code of the last restart."""
        if self.hypotheses.is_confirmed():
            return "agreement"
        if stop == MAX_ITERATIONS and self.hypotheses.next_length() == 0:
            return "max_iterations"
        if stop == MAX_ITERATIONS or (stop != RUNNING and self.options.restarts > 1):
            return "restarts"
        return self._criterion(stop)

    def _criterion(self, stop: int) -> str:
        """Return the name of what ended a restart."""
        names = {RUNNING: "max_seconds", MAX_ITERATIONS: "restart_iterations", STOPPED_BANSAC: "bansac"}
        return names.get(stop) or self.plan.criteria[stop - STOPPED_CRITERION].name
