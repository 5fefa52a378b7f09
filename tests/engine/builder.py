"""The state of a run as the engine itself makes it, for tests of single kernels."""

from typing import Any

import numpy as np
from numba import config
from numpy.typing import ArrayLike

from bansac.compiled.jit import kernel
from bansac.engine import frame
from bansac.engine.options import Options
from bansac.engine.sampling import SamplerInput
from bansac.engine.state import _RECORDS, State
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


def make_setup(
    problem: Problem,
    data: ArrayLike,
    options: Options,
    *,
    prior: ArrayLike | None = None,
    quality: ArrayLike | None = None,
) -> SamplerInput:
    """Return what a sampler gets at the start of a run; the data (channels x N) keep their order and units."""
    values = np.array(data, np.float64, order="C")
    return SamplerInput(
        data=values,
        sample_size=problem.sample_size,
        rng=seed_rng(options.seed),
        ranking=np.empty(0, np.int64) if quality is None else np.argsort(-np.asarray(quality), kind="stable"),
        prior=None if prior is None else np.array(prior, np.float64),
        radius=options.neighborhood_radius,
        activation=options.activation,
        weight_floor=options.weight_floor,
    )


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
    """Return the context of a run before its first iteration; the data are neither shuffled nor normalised."""
    options = BASE.replace(**settings)
    setup = make_setup(problem, data, options, prior=prior, quality=quality)
    return frame.start_state(problem, options, setup, options.threshold, weights)[0]
