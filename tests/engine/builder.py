"""The state of a run as the engine itself makes it, for tests of single kernels."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import config
from numpy.typing import ArrayLike

from bansac.compiled.jit import kernel
from bansac.engine.frame import Frame
from bansac.engine.options import Options
from bansac.engine.search import Search
from bansac.engine.state import _RECORDS, State
from bansac.engine.trace import Trace
from bansac.estimate.presets import PRESETS
from bansac.maths.arrays import Floats
from bansac.maths.rng import seed_rng
from bansac.problems.problem import Problem
from bansac.synthetic import line_points

# One restart, and the parts of the paper: what tests of single mechanisms start from.
BASE = PRESETS["paper"].options.replace(threshold=1.0, max_iterations=1000)


def make_record(dtype: np.dtype[np.void], **values: Any) -> Any:
    """Return a record with these values and zeros elsewhere, for kernels and, with attributes, for interpreted runs."""
    array = np.zeros(1, dtype)
    record = array.view(np.recarray)[0] if config.DISABLE_JIT else array[0]
    for name, value in values.items():
        record[name] = value
    return record


def blurred_line(seed: int, n: int) -> tuple[Floats, Floats]:
    """Return n points, half of them about a line, and the line through two of these."""
    rng = np.random.default_rng(seed)
    made = line_points(n, inlier_ratio=0.5, noise=0.008, seed=seed)
    return made.points, line_through(*made.points[made.inliers][rng.choice(n // 2, 2, replace=False)])


def line_through(first: Floats, second: Floats) -> Floats:
    """Return the line through two points."""
    normal = np.array([first[1] - second[1], second[0] - first[0]])
    normal /= np.linalg.norm(normal)
    return np.append(normal, -normal @ first)


def records_of(state: State) -> Any:
    """Return the records of a run, an array of one."""
    return state.memory.view(_RECORDS)


def make_frame(
    problem: Problem,
    data: ArrayLike,
    options: Options,
    *,
    prior: ArrayLike | None = None,
    quality: ArrayLike | None = None,
    weights: Floats | None = None,
) -> Frame:
    """Return the frame of data (channels x N) that keep their order and unit."""
    values = np.array(data, np.float64, order="C")
    prior = None if prior is None else np.array(prior, np.float64)
    frame = Frame(problem, values, options, options.threshold or 1.0)
    frame.order, frame.data, frame.rng = np.arange(values.shape[1]), values, seed_rng(options.seed)
    frame.transform, frame.scale = np.eye(1, 1 + 2 * problem.channels)[0], 1.0
    radius = options.sampler_row.neighbourhood_radius
    frame.radius = None if radius == "default" else radius
    frame.prior, frame.weights = prior, weights
    frame.ranking = np.empty(0, np.int64) if quality is None else np.argsort(-np.asarray(quality), kind="stable")
    return frame


@kernel
def mask_of(run: Any) -> Any:
    """Return the row of ``run.is_inlier`` that is not the candidate's."""
    return run.is_inlier[1 - run.candidate.slot]


def build_run(
    problem: Problem,
    data: ArrayLike,
    *,
    prior: ArrayLike | None = None,
    quality: ArrayLike | None = None,
    weights: Floats | None = None,
    **settings: Any,
) -> State:
    """Return the state of a run before its first iteration; the data are neither shuffled nor normalised."""
    options = BASE.replace(**settings)
    frame = make_frame(problem, data, options, prior=prior, quality=quality, weights=weights)
    state, _ = frame.start()
    frame.set_threshold(state, frame.threshold)
    return state


class Outcome(NamedTuple):
    """What a search returns, in the coordinates and the order of the data."""

    search: Search
    stop_reason: str
    model: Floats | None
    score: float
    threshold: float
    iterations: int
    models_tested: int
    restarts: int
    beliefs: Floats | None
    trace: Trace | None


def run_search(frame: Frame, *, initial: Floats | None = None, is_over: Callable[[], bool] = lambda: False) -> Outcome:
    """Run the search of a frame."""
    search = Search(frame, is_over)
    stop_reason, best, history = search.run(initial), search.history.best, search.history
    return Outcome(
        search,
        stop_reason,
        None if best is None else frame.to_data(best.model),
        0.0 if best is None else best.score,
        frame.threshold if best is None else best.threshold,
        history.iterations,
        history.models_tested,
        history.count,
        search.beliefs(),
        search.trace(),
    )
