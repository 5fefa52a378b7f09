"""The search of a run: rounds of the compiled loop, what takes place between its slices, and the last step of each."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from bansac.engine.cheirality_score import visible_score
from bansac.engine.dbn import probabilities_from_odds
from bansac.engine.degeneracy import find_degenerate, score_repaired
from bansac.engine.loop import run_iterations
from bansac.engine.model_selection import Contest, Plausibility, make_contest, weigh
from bansac.engine.options import Options
from bansac.engine.plan import Plan
from bansac.engine.restarts import Candidate, Rounds, Start
from bansac.engine.state import (
    MAX_ITERATIONS,
    NOTHING,
    RUNNING,
    STOPPED_BANSAC,
    STOPPED_BOUND,
    State,
    pack_run,
)
from bansac.engine.trace import TRACE_COLUMNS, Recorder
from bansac.engine.verification import mark_inliers
from bansac.numeric.arrays import Bools, Floats
from bansac.problems.problem import Problem

__all__ = ["Search", "current_beliefs"]

# A slice lasts about 50 ms: then Ctrl-C and max_seconds are checked. The first one measures how fast the loop is: it is
# shorter where the data are many.
_SLICE_SECONDS = 0.05
_FIRST_SLICE, _SHORT_SLICE = 64, 16
_FEW = 10_000

_Loop: TypeAlias = Callable[[Floats, int, int], tuple[int, int, int]]

_NO_TRACE = np.empty((0, len(TRACE_COLUMNS)))
_NO_MASK = np.empty(0, np.bool_)  # of a round that is compared with none


class Search:
    """A search for the best model, from the state before the first iteration.

    Parameters
    ----------
    problem, options
        The problem and the options of the run.
    state : State
        The context.
    plan : Plan
        What it takes from the problem and the options alone.
    deadline : float
        Of ``time.perf_counter``.
    recorder : Recorder, optional
        Keeps the course of the run.
    transform : ndarray
        What ``normalize`` of the problem has written.
    plausibility : Plausibility, optional
        A factor of the support of a model, 1 by default.
    """

    def __init__(
        self,
        problem: Problem,
        options: Options,
        state: State,
        plan: Plan,
        deadline: float,
        recorder: Recorder | None,
        transform: Floats,
        plausibility: Plausibility | None,
    ) -> None:
        self.problem, self.options, self.state = problem, options, state
        self.plan, self.deadline, self.recorder = plan, deadline, recorder
        self.packed = pack_run(state)  # as the kernels take it
        self._slice = _FIRST_SLICE if state.odds.size < _FEW else _SHORT_SLICE
        # The rules and the arrays of the contest of the optimised models; None if they do not compete.
        self._contest: tuple[Any, Contest | None] = None, None
        if plan.repairs or plausibility is not None:
            self._contest = make_contest(problem, plausibility, transform, plan.repairs)

    def run(self) -> tuple[Rounds, str]:
        """Run the rounds, each from the same start, and refine the best model of each; say why the last one ended."""
        state, (_, contest), (iterate, optimize) = self.state, self._contest, self._loop()
        rounds = Rounds(self.options)
        start = Start(state) if self.options.rounds > 1 else None
        while True:
            if contest is not None:
                contest.reset()
            if self.recorder is not None:
                self.recorder.begin_round()
            state.settings["max_iterations"] = most = rounds.iterations_left()
            stop = self._iterate(iterate, rounds.iterations, most)
            candidate = None
            if state.progress["best_inliers"] > 0:
                if optimize is not None and state.progress["unoptimized"]:
                    optimize()
                if contest is not None:
                    contest.settle(state.progress)
                self._refine()
                candidate = self._candidate()
            rounds.end_round(state, candidate)
            if stop == RUNNING or start is None or rounds.over():
                break
            if time.perf_counter() > self.deadline:  # a round that ended by itself
                stop = RUNNING
                break
            rounds.keep_best(state)
            start.restore()
        rounds.restore_best()
        return rounds, self._stop_reason(rounds, stop)

    def _loop(self) -> tuple[_Loop, Callable[[], None] | None]:
        """Return the loop with its local optimisation, and the latter by itself, None if there is none."""
        name = self.plan.optimization
        if name is None:
            return functools.partial(run_iterations, self.packed), None
        from bansac.engine.local_optimization import select_optimization

        optimization = select_optimization(name, self.problem, self.packed, *self._contest)
        return optimization.iterate, optimization.optimize

    def _repair(self) -> None:
        """Repair the iteration's best model, whose sample is degenerate, if the problem can."""
        state, repair = self.state, self.problem.repair
        if repair is None:
            return
        sample, model, work = find_degenerate(self.packed)
        if repair(state.data, sample, model, state.squared_threshold, state.rng, work):
            score_repaired(self.packed)

    def _iterate(self, iterate: _Loop, before: int, most: int) -> int:
        """Call the compiled loop slice by slice until it stops; return what stopped it, ``RUNNING`` for the time limit.

        ``before`` iterations were those of earlier rounds, ``most`` this one may have.
        """
        recorder, started = self.recorder, time.perf_counter()
        stop, done = RUNNING, 0
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
        """Return the mask of the round's best model so far."""
        is_inlier = np.zeros(self.state.odds.size, np.bool_)
        if self.state.progress["best_inliers"] > 0:
            mark_inliers(self.packed, self.state.best_model, is_inlier, self.state.squared_threshold)
        return is_inlier

    def _refine(self) -> None:
        if self.plan.refine is not None:
            self.plan.refine(self.packed, self.problem)

    def _candidate(self) -> Candidate:
        """Return the model of a round; its support decides between several rounds."""
        state = self.state
        model, score = state.best_model.copy(), float(state.progress["best_score"])
        if self.options.rounds == 1:
            return Candidate(model, score, score, 1.0, _NO_MASK, int(state.progress["best_inliers"]))
        is_inlier = np.empty(state.odds.size, np.bool_)
        support = visible_score(self.problem, state, self.packed, model, is_inlier)
        rules, contest = self._contest
        plausibility = 1.0 if contest is None else weigh(rules, contest, model)
        inliers = int(np.count_nonzero(is_inlier))
        return Candidate(model, score, support * plausibility, plausibility, is_inlier, inliers)

    def _stop_reason(self, rounds: Rounds, stop: int) -> str:
        """Return the name of what ended the run; ``stop`` is what ended the last round."""
        if rounds.agree():
            return "agreement"
        if stop == RUNNING:
            return "max_seconds"
        if stop == MAX_ITERATIONS and rounds.iterations_left() == 0:
            return "max_iterations"
        if stop == MAX_ITERATIONS or self.options.rounds > 1:
            return "rounds"
        return "bansac" if stop == STOPPED_BANSAC else self.plan.bounds[stop - STOPPED_BOUND].name


def current_beliefs(plan: Plan, state: State) -> Floats:
    """Return the inlier probabilities of the sampler; those of the network, at first the prior, if it has none."""
    found = None if plan.probabilities is None else plan.probabilities(state.sampler_numbers, state.sampler_indices)
    return probabilities_from_odds(state.odds) if found is None else np.asarray(found)
