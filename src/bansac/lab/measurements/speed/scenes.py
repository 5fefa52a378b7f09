"""Synthetic matches as input of methods, and the engine's state of a run on them."""

import dataclasses
from typing import Any

import numpy as np

from bansac.engine import frame
from bansac.engine.sampling import SamplerInput
from bansac.estimate.presets import PRESETS
from bansac.lab.peers.library import Task
from bansac.lab.task import DEFAULTS
from bansac.lab.task import make_task as task_of_pair
from bansac.maths.arrays import Floats
from bansac.maths.rng import seed_rng
from bansac.problems.essential import ESSENTIAL_SYMMETRIC
from bansac.problems.estimators import Kind
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.problem import Problem
from bansac.synthetic import epipolar_matches, homography_matches

KINDS: tuple[Kind, ...] = ("H", "F", "E")

# The problems of preset="paper".
PROBLEMS: dict[Kind, Problem] = {"H": HOMOGRAPHY, "F": FUNDAMENTAL, "E": ESSENTIAL_SYMMETRIC}

_NOISE = 0.3  # pixels


def make_task(kind: Kind, n: int, inlier_ratio: float, *, noise: float = _NOISE, seed: int = 1, **changes: Any) -> Task:
    """Return a task of ``n`` matches with the paper's settings; ``changes`` overrides fields of the task.

    Scores are uniform in [.3, 1] for inliers and in [0, .7] for outliers.
    """
    matches: Any = (homography_matches if kind == "H" else epipolar_matches)(n, inlier_ratio, noise, seed)
    scores = np.random.default_rng(seed).uniform(0.0, 0.7, n) + np.where(matches.inliers, 0.3, 0.0)
    task = task_of_pair(dataclasses.replace(matches, scores=scores), DEFAULTS[kind], seed)
    return dataclasses.replace(task, **changes)


def inner_data(problem: Problem, task: Task) -> tuple[Floats, float]:
    """Return the normalised (channels, N) data of a run, and the scale factor of distances."""
    data = np.ascontiguousarray(np.column_stack([task.x1, task.x2]).T)
    transform = np.ones(1 + 2 * problem.channels)
    if problem.normalize is not None:
        problem.normalize(data, transform)
    return data, float(transform[0])


def start_run(problem: Problem, task: Task, **settings: Any) -> Any:
    """Return a run of ``preset="paper"`` with other ``settings`` before its first iteration, for ``pack_run``."""
    assert task.scores is not None
    assert task.threshold is not None
    data, scale = inner_data(problem, task)
    options = PRESETS["paper"].options.replace(
        threshold=task.threshold, max_iterations=task.max_iterations, seed=task.seed, **settings
    )
    setup = SamplerInput(
        data=data,
        sample_size=problem.sample_size,
        rng=seed_rng(task.seed),
        ranking=np.argsort(-task.scores, kind="stable"),
        prior=None,
        radius=None if options.neighborhood_radius is None else options.neighborhood_radius * scale,
        activation=options.activation,
        weight_floor=options.weight_floor,
    )
    return frame.start_state(problem, options, setup, task.threshold * scale)[0]
