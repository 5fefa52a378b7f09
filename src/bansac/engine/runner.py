"""One run: search for the best model of the data and return it in the coordinates of the data."""

from typing import NamedTuple

import numpy as np

from bansac.compiled.clock import Stopwatch
from bansac.engine.frame import Frame, Run, normalize_model
from bansac.engine.search import Search
from bansac.engine.slices import current_beliefs
from bansac.engine.trace import Trace
from bansac.maths.arrays import Floats


class EngineResult(NamedTuple):
    """The result of a run, in the coordinates and in the order of the data.

    ``model`` is flat, None if no model was found. ``threshold`` is the estimated one in the frame of the run, None if
    it is the first one. ``scale`` is the length of one unit of the data in this frame. ``others`` are the flat models
    of the other hypotheses, their thresholds in this frame, and their significance as a share of that of the best.
    """

    model: Floats | None
    score: float
    beliefs: Floats | None
    iterations: int
    models_tested: int
    stop_reason: str
    trace: Trace | None
    restarts: int
    threshold: float | None
    scale: float
    others: list[tuple[Floats, float, float]]


def run(task: Run) -> EngineResult:
    """Search for the best model of the data and refine it."""
    watch, seconds = Stopwatch(), task.options.max_seconds  # kernels that compile take no time of the run
    frame = Frame(task)
    initial = None if task.initial_model is None else normalize_model(task.problem, task.initial_model, frame.transform)
    search = Search(task, frame, lambda: seconds is not None and watch.read()[0] > seconds)
    hypotheses, stop_reason = search.run(initial)
    best = hypotheses.best
    model = None if best is None else frame.to_data(best.model)
    if model is not None and not np.isfinite(model).all():  # beyond the range of floats in the unit of the data
        best = model = None
    most = max(hypotheses.ranked[0].significance, 1.0) if hypotheses.ranked else 1.0
    return EngineResult(
        model=model,
        score=0.0 if best is None else best.score,
        beliefs=_beliefs(search, frame),
        iterations=hypotheses.iterations,
        models_tested=hypotheses.models_tested,
        stop_reason=stop_reason,
        trace=search.recorder.trace() if search.recorder is not None else None,
        restarts=hypotheses.count,
        threshold=None if best is None or best.threshold == frame.threshold else best.threshold,
        scale=frame.scale,
        others=[(frame.to_data(h.model), h.threshold, h.significance / most) for h in hypotheses.ranked[1:]],
    )


def _beliefs(search: Search, frame: Frame) -> Floats | None:
    """Return the sampler's inlier probabilities in the caller's order; None if the sampler has none."""
    if search.plan.probabilities is None and not search.options.sampler_row.adaptive:
        return None
    beliefs = np.empty(frame.order.size)
    beliefs[frame.order] = current_beliefs(search.plan, search.state)
    return beliefs
