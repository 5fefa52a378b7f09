"""The compiled loop on a state, interrupted every 50 ms, and the steps on its best model after it.

Between two slices are the repairs of degenerate samples, the time limit, Ctrl-C and the record of the trace.
"""

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bansac.engine import local_optimization
from bansac.engine.dbn import probabilities_from_odds
from bansac.engine.frame import Frame
from bansac.engine.loop import run_iterations
from bansac.engine.model_selection import (
    ModelSelection,
    find_degenerate,
    make_model_selection,
    plausibility_of,
    score_repaired,
)
from bansac.engine.refinement.levenberg_marquardt import make_work, select_manifold
from bansac.engine.state import NOTHING, RUNNING, pack_run
from bansac.engine.trace import TRACE_COLUMNS, Recorder
from bansac.engine.verification import score_in_full
from bansac.maths.arrays import Bools, Floats

# The first slice measures the speed of the loop.
_SLICE_SECONDS = 0.05
_FIRST_SLICE = 32

_NO_TRACE = np.empty((0, len(TRACE_COLUMNS)))


class InterruptibleLoop:
    """The loop on the data of a frame; ``is_time_over`` says whether no time is left.

    ``state`` has its arrays, ``packed`` is the same as the struct for the kernels. ``threshold`` is in the unit of the
    data, ``target_score`` the score of the model that it aims at. ``selection`` are the function and the arrays of the
    model selection, None if optimised models are compared by score alone.
    """

    def __init__(self, frame: Frame, is_time_over: Callable[[], bool], recorder: Recorder | None) -> None:
        self.frame, self._is_time_over, self._recorder = frame, is_time_over, recorder
        self.state, self.components = frame.start()
        self.packed, self.threshold, self.target_score = pack_run(self.state), np.nan, np.inf
        self.selection: tuple[Any, ModelSelection | None] = None, None
        if frame.plausibility is not None:
            self.selection = make_model_selection(frame.problem, frame.plausibility, frame.transform)
        self._slice = _FIRST_SLICE
        self._iterate: Callable[..., tuple[int, int, int]] = functools.partial(run_iterations, self.packed)
        self._optimize: Callable[[], None] | None = None
        if self.components.optimization is not None:
            by_lm, problem = self.components.optimization == "lm", frame.problem
            manifold, work = (select_manifold(problem), make_work(problem)) if by_lm else (None, None)
            arguments = self.packed, manifold, work, *self.selection
            self._iterate = functools.partial(local_optimization.iterate, *arguments)
            self._optimize = functools.partial(local_optimization.optimize, *arguments)

    def set_threshold(self, threshold: float) -> None:
        """Set the threshold, and discard the best optimised model, whose score was that of another one."""
        self.threshold = threshold
        self.frame.set_threshold(self.state, threshold)
        if self.selection[1] is not None:
            self.selection[1].reset()

    def aim_at(self, model: Floats) -> None:
        """Let the loop end as soon as it has a duplicate of a model, with at least as many inliers."""
        function, selection = self.selection
        plausibility = 1.0 if selection is None else plausibility_of(function, selection, model)
        self.target_score = plausibility * score_in_full(self.packed, model, self.state.target)
        self.state.settings["target_inliers"] = np.count_nonzero(self.state.target)

    def run(self, before: int, most: int, *, learns: bool) -> int:
        """Call the compiled loop slice by slice until it stops; return its stop code, ``RUNNING`` for the time limit.

        ``before`` is the number of iterations of earlier restarts, ``most`` the maximum for this restart. Without
        ``learns`` the network is not used.
        """
        recorder, started, progress = self._recorder, time.perf_counter(), self.state.progress
        self.state.settings["max_iterations"] = most
        if not learns:
            self.state.settings["adaptive"] = False
        progress["stop"] = stop = RUNNING
        done = int(progress["iterations"])
        while stop == RUNNING:
            first, length = done, min(self._slice, most - done)
            if recorder is not None:
                length = recorder.begin(before + first, length, self.beliefs())
            rows = _NO_TRACE if recorder is None else recorder.rows
            stop, done, due = self._iterate(rows, first, first + length)
            while due != NOTHING:
                self._repair()
                stop, done, due = self._iterate(rows, first, first + length)
            if recorder is not None:
                recorder.end(before + done, self.beliefs(), self._best_inliers())
            if self._is_time_over():
                break
            now = time.perf_counter()
            self._slice = max(1, int(_SLICE_SECONDS * (done - first) / max(now - started, 1e-9)))
            started = now
        return stop

    def _best_inliers(self) -> Bools:
        """Return the mask of the best model so far."""
        is_inlier = np.zeros(self.state.odds.size, np.bool_)
        if self.state.progress["best_inliers"] > 0:
            score_in_full(self.packed, self.state.best_model, is_inlier)
        return is_inlier

    def _repair(self) -> None:
        """Repair the iteration's best model, whose sample is degenerate, if the problem has a ``repair`` function."""
        state, repair = self.state, self.frame.problem.compiled("repair_degenerate")
        if repair is None:
            return
        sample, model, work = find_degenerate(self.packed)
        if repair(state.data, sample, model, state.settings["squared_threshold"], state.rng, work):
            score_repaired(self.packed)

    def optimize(self) -> None:
        """Optimise the best model locally, if the run does so and it is not yet optimised."""
        if self._optimize is not None and self.state.progress["unoptimized"]:
            self._optimize()

    def take(self, model: Floats, threshold: float, *, optimizes: bool = True) -> bool:
        """Make the optimum near a model the best one, at a threshold; return False if too few data are inliers."""
        state, is_inlier = self.state, np.empty(self.state.odds.size, np.bool_)
        self.set_threshold(threshold)
        state.settings["target_inliers"] = 0
        state.best_model[:] = model
        state.progress["best_score"] = score_in_full(self.packed, model, is_inlier)
        state.progress["best_inliers"] = inliers = np.count_nonzero(is_inlier)
        state.progress["unoptimized"] = enough = bool(inliers > self.frame.problem.sample_size)
        if enough and optimizes:
            self.optimize()
        return enough

    def refine(self) -> tuple[Floats, float]:
        """Refine the best model; return it and its score."""
        progress = self.state.progress
        if self.selection[1] is not None:
            self.selection[1].restore_score(progress)
        if self.components.refine is not None:
            self.components.refine(self.packed, self.frame.problem)
        return self.state.best_model.copy(), float(progress["best_score"])

    def beliefs(self) -> Floats:
        """Return the inlier probabilities of the sampler, or those of the network if the sampler has none."""
        state = self.state
        probabilities = self.frame.options.sampler_row.probabilities
        if probabilities is not None:
            found = probabilities(state.sampler_numbers, state.sampler_indices)
            if found is not None:
                return np.asarray(found)
        return probabilities_from_odds(state.odds)
