"""The compiled loop in slices of about 50 ms, with repairs, time checks and the record of the trace between them."""

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bansac.engine.components import Components
from bansac.engine.dbn import probabilities_from_odds
from bansac.engine.loop import run_iterations
from bansac.engine.model_selection import ModelSelection, find_degenerate, score_repaired
from bansac.engine.refinement.levenberg_marquardt import find_work, select_manifold
from bansac.engine.state import NOTHING, RUNNING, State, pack_run
from bansac.engine.trace import TRACE_COLUMNS, Recorder
from bansac.engine.verification import mark_inliers
from bansac.maths.arrays import Bools, Floats
from bansac.problems.problem import Problem

# Ctrl-C and max_seconds are checked between slices. The first slice measures the speed of the loop, and is shorter for
# many points.
_SLICE_SECONDS = 0.05
_FIRST_SLICE, _SHORT_SLICE = 64, 16
_FEW = 10_000

_NO_TRACE = np.empty((0, len(TRACE_COLUMNS)))


class InterruptibleLoop:
    """The loop on a state, with ``functions`` and ``selection`` of the model selection, or None twice.

    ``is_over`` says whether no time is left. ``packed`` is the state as the struct for the kernels.
    ``optimize`` optimises the best model locally, None if the run does not.
    """

    def __init__(
        self,
        problem: Problem,
        components: Components,
        state: State,
        functions: Any,
        selection: ModelSelection | None,
        is_over: Callable[[], bool],
        recorder: Recorder | None,
    ) -> None:
        self._problem, self._components, self.state, self.packed = problem, components, state, pack_run(state)
        self._is_over, self._recorder = is_over, recorder
        self._slice = _FIRST_SLICE if state.odds.size < _FEW else _SHORT_SLICE
        self._iterate: Callable[..., tuple[int, int, int]] = functools.partial(run_iterations, self.packed)
        self.optimize: Callable[[], None] | None = None
        if components.optimization is not None:
            from bansac.engine.local_optimization import iterate, optimize

            by_lm = components.optimization == "lm"
            manifold, work = (select_manifold(problem), find_work(problem)) if by_lm else (None, None)
            arguments = self.packed, manifold, work, functions, selection
            self._iterate = functools.partial(iterate, *arguments)
            self.optimize = functools.partial(optimize, *arguments)

    def run(self, before: int, most: int, *, learns: bool) -> int:
        """Call the compiled loop slice by slice until it stops; return its stop code, ``RUNNING`` for the time limit.

        ``before`` is the number of iterations of earlier restarts, ``most`` the maximum for this restart. Without
        ``learns`` the network is not used.
        """
        recorder, started = self._recorder, time.perf_counter()
        self.state.settings["max_iterations"] = most
        self.state.settings["adaptive"] &= learns
        stop, done = RUNNING, int(self.state.progress["iterations"])
        while stop == RUNNING:
            first, length = done, min(self._slice, most - done)
            if recorder is not None:
                length = recorder.begin(before + first, length, current_beliefs(self._components, self.state))
            rows = _NO_TRACE if recorder is None else recorder.rows
            stop, done, due = self._iterate(rows, first, first + length)
            while due != NOTHING:
                self._repair()
                stop, done, due = self._iterate(rows, first, first + length)
            if recorder is not None:
                recorder.end(before + done, current_beliefs(self._components, self.state), self.best_inliers())
            if self._is_over():
                break
            now = time.perf_counter()
            self._slice = max(1, int(_SLICE_SECONDS * (done - first) / max(now - started, 1e-9)))
            started = now
        return stop

    def best_inliers(self) -> Bools:
        """Return the mask of the best model so far."""
        is_inlier = np.zeros(self.state.odds.size, np.bool_)
        if self.state.progress["best_inliers"] > 0:
            mark_inliers(self.packed, self.state.best_model, is_inlier, self.state.settings["squared_threshold"])
        return is_inlier

    def _repair(self) -> None:
        """Repair the iteration's best model, whose sample is degenerate, if the problem has a ``repair`` function."""
        state, repair = self.state, self._problem.repair
        if repair is None:
            return
        sample, model, work = find_degenerate(self.packed)
        if repair(state.data, sample, model, state.settings["squared_threshold"], state.rng, work):
            score_repaired(self.packed)


def current_beliefs(components: Components, state: State) -> Floats:
    """Return the inlier probabilities of the sampler, or those of the network if the sampler has none."""
    if components.probabilities is not None:
        found = components.probabilities(state.sampler_numbers, state.sampler_indices)
        if found is not None:
            return np.asarray(found)
    return probabilities_from_odds(state.odds)
