"""Times of the parts of an iteration, each in a compiled loop that calls it like the loop of a run.

These kernels read the fields of the run before the loop. Unlike the loop of a run, they have reference counts. Minimal
solvers are also timed from Python, beside PoseLib's for E, and their models are compared with the truth.
"""

import dataclasses
import functools
import importlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np

from bansac.compiled.jit import kernel
from bansac.engine.dbn import summarize
from bansac.engine.frame import Frame
from bansac.engine.loop import run_iterations
from bansac.engine.refinement.levenberg_marquardt import make_work, minimize, select_manifold
from bansac.engine.sampling import SAMPLERS
from bansac.engine.state import BLOCK, Run, State, pack_run
from bansac.engine.trace import TRACE_COLUMNS
from bansac.engine.verification import evaluate
from bansac.estimate.presets import PRESETS
from bansac.geometry import homogeneous, normalise_points
from bansac.maths.arrays import Bools, Floats, Reals
from bansac.maths.linalg import copy
from bansac.problems.essential import ESSENTIAL_SYMMETRIC
from bansac.problems.estimators import Kind
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.problem import Problem
from bansac.solvers.essential_5pt import essential_5pt
from bansac.solvers.fundamental_7pt import fundamental_7pt
from bansac.solvers.homography_4pt import homography_4pt
from bansac_lab.measurements.solver_rates import matrix_error, rate_solver
from bansac_lab.measurements.speed.timing import Call, least_seconds
from bansac_lab.peers.library import Task
from bansac_lab.scenes import make_scene
from bansac_lab.task import DEFAULTS
from bansac_lab.task import make_task as task_of_pair

KINDS: tuple[Kind, ...] = ("H", "F", "E")

# The problems of preset="paper".
PROBLEMS: dict[Kind, Problem] = {"H": HOMOGRAPHY, "F": FUNDAMENTAL, "E": ESSENTIAL_SYMMETRIC}

_NOISE = 0.3  # pixels

# Number of points and inlier ratio of the runs.
POINTS = 2000
INLIER_RATIO = 0.4

_SAMPLES = 200
_PASSES = 8  # over all points
_DRAWS = 500
# Iterations before the draws are measured, so that the network has updated its probabilities.
_LEARNING = 200


def make_task(kind: Kind, n: int, inlier_ratio: float, *, seed: int = 1, **changes: Any) -> Task:
    """Return a task of ``n`` matches with the paper's settings; ``changes`` overrides fields of the task.

    Scores are uniform in [.3, 1] for inliers and in [0, .7] for outliers.
    """
    scene = make_scene(kind, n, inlier_ratio, _NOISE, seed)
    scores = np.random.default_rng(seed).uniform(0.0, 0.7, n) + np.where(scene.inliers, 0.3, 0.0)
    task = task_of_pair(dataclasses.replace(scene.truth, scores=scores), DEFAULTS[kind], seed)
    return dataclasses.replace(task, **changes)


def open_frame(kind: Kind, n: int = POINTS, inlier_ratio: float = INLIER_RATIO, **settings: Any) -> Frame:
    """Return the frame of a run of ``preset="paper"`` with other ``settings``."""
    task = make_task(kind, n, inlier_ratio)
    assert task.threshold is not None
    options = PRESETS["paper"].options.replace(max_iterations=task.max_iterations, seed=task.seed, **settings)
    data = np.ascontiguousarray(np.column_stack(task.points).T)
    return Frame(PROBLEMS[kind], data, options, task.threshold, radius=None, quality=task.scores)


def start_run(kind: Kind, **settings: Any) -> State:
    """Return the state of a run before its first iteration, for ``pack_run``."""
    frame = open_frame(kind, **settings)
    state, _ = frame.start()
    frame.set_threshold(state, frame.threshold)
    return state


def point_costs(seconds: float) -> dict[str, Any]:
    """Measure the time for one point in ns, by problem; the network's update is the same for all problems.

    ``evaluate`` adds classification, inlier count and the checks of every block to the residual, ``msac`` also the
    score.
    """
    costs: dict[str, Any] = {}
    for kind in KINDS:
        counting, summing = (start_run(kind, sampler="uniform", scoring=name) for name in ("inliers", "msac"))
        models = np.random.default_rng(0).normal(size=(_PASSES, 9))
        calls: dict[str, Call] = {
            "residual": functools.partial(_residuals, pack_run(counting), models.astype(counting.points.dtype)),
            "evaluate": functools.partial(_evaluate, pack_run(counting), models),
            "msac": functools.partial(_evaluate, pack_run(summing), models),
            "lm_step": _step_call(kind),
        }
        costs[kind] = {name: 1e9 * time / (_PASSES * POINTS) for name, time in least_seconds(calls, seconds).items()}
    masks = np.random.default_rng(0).random((_PASSES, POINTS)) < INLIER_RATIO
    update = functools.partial(_update, pack_run(start_run("H", sampler="bansac")), masks)
    costs["update"] = 1e9 * least_seconds({"update": update}, seconds)["update"] / (_PASSES * POINTS)
    return costs


def draw_costs(seconds: float) -> dict[str, dict[str, float]]:
    """Measure the ns of a draw and of the update after a failure, by problem and sampler; the network has learnt."""
    costs: dict[str, dict[str, float]] = {}
    for kind in KINDS:
        calls: dict[str, Call] = {}
        for name in SAMPLERS:
            packed = pack_run(start_run(kind, sampler=name, verification=None))
            run_iterations(packed, np.empty((0, len(TRACE_COLUMNS))), 0, _LEARNING)
            calls[name] = functools.partial(_draw, packed, _DRAWS)
        costs[kind] = {name: 1e9 * time / _DRAWS for name, time in least_seconds(calls, seconds).items()}
    return costs


def _step_call(kind: Kind) -> Call:
    """Return a call of Levenberg-Marquardt steps on ``POINTS`` inliers, starting from the best model of a short run."""
    problem, run = PROBLEMS[kind], start_run(kind, inlier_ratio=1.0, sampler="uniform")
    run_iterations(pack_run(run), np.empty((0, len(TRACE_COLUMNS))), 0, _LEARNING)
    manifold, work, scratch = select_manifold(problem), make_work(problem), np.empty(problem.scratch_size)
    squared_scale, model = 0.25 * float(run.settings["squared_threshold"]), np.empty(problem.model_size)
    return functools.partial(_step, manifold, work, run.data, squared_scale, run.best_model, model, scratch)


@kernel
def _solve(run: Run, samples: Any) -> int:
    kernels, data, models, scratch, count = run.kernels, run.data, run.models, run.scratch, 0
    for row in range(samples.shape[0]):
        count += kernels.solve(data, samples[row], models, scratch)
    return count


@kernel
def _residuals(run: Run, models: Reals) -> float:
    kernels, points, residuals, n = run.kernels, run.points, run.residuals, run.points.shape[1]
    total = 0.0
    for row in range(models.shape[0]):
        for start in range(0, n, BLOCK):
            stop = start + BLOCK if start + BLOCK < n else n
            kernels.residuals(points, models[row], start, stop, residuals[: stop - start])
        total += residuals[0]
    return total


@kernel
def _evaluate(run: Run, models: Floats) -> float:
    is_inlier, first, total = run.is_inlier[0], run.candidate.first_block, 0.0
    for row in range(models.shape[0]):
        score, _ = evaluate(run, models[row], is_inlier, -1.0, np.inf, first)
        total += score
    return total


@kernel
def _update(run: Run, masks: Bools) -> np.int64:
    kernels, odds, bits, belief, work = run.kernels, run.odds, run.odds_bits, run.belief, run.belief_work
    cpt, tau, total = run.cpt, run.settings.tau, np.int64(0)
    for row in range(masks.shape[0]):
        kernels.update(odds, belief, masks[row], 0.75, cpt, 2, work)
        _, low = summarize(odds, bits, tau)
        total += low
    return total


@kernel
def _draw(run: Run, draws: int) -> None:
    kernels, rng, data, odds, ranking, progress = run.kernels, run.rng, run.data, run.odds, run.ranking, run.progress
    numbers, indices, sample = run.sampler_numbers, run.sampler_indices, run.sample
    for _ in range(draws):
        kernels.draw(rng, data, odds, ranking, progress, numbers, indices, sample)
        kernels.learn_from_failure(rng, numbers, indices, sample)
        progress.iterations += 1


@kernel
def _step(
    manifold: Any, work: Any, data: Floats, squared_scale: float, start: Floats, model: Floats, scratch: Floats
) -> None:
    for _ in range(_PASSES):
        copy(start, model)
        minimize(manifold, work, data, squared_scale, True, 0, 0.0, model, scratch)


_SCENES = 20
_EXACT_SAMPLES = 25  # per scene

# Normalisation of plane points, instead of K.
_PIXELS = np.diag([640.0, 640.0, 1.0])


def solver_costs(seconds: float, peers: Collection[str]) -> dict[str, dict[str, float]]:
    """Measure the minimal solvers and return a row for each.

    ``loop_ns`` is the time in a compiled loop over noisy samples with outliers. The other figures are of exact samples,
    solved from Python: times, the share with the true model among their models, and the mean number of models.
    """
    rows: dict[str, dict[str, float]] = {}
    for kind in KINDS:
        run = start_run(kind, sampler="uniform")
        rng, size = np.random.default_rng(0), PROBLEMS[kind].sample_size
        chosen = np.array([rng.choice(POINTS, size, replace=False) for _ in range(_SAMPLES)])
        loop = least_seconds({"loop": functools.partial(_solve, pack_run(run), chosen)}, seconds)["loop"]
        samples, truths = _exact_samples(kind)
        ours = rate_solver(_SOLVERS[kind], samples, truths, matrix_error)
        rows[kind] = {"loop_ns": 1e9 * loop / _SAMPLES, "share_of_truth": ours["solved"], "mean_models": ours["models"]}
        rows[kind]["python_us"] = ours["us"]
        if kind == "E" and "poselib" in peers:
            rays = [(homogeneous(x1), homogeneous(x2)) for x1, x2 in samples]
            solve = importlib.import_module("poselib").essential_matrix_5pt
            rows[kind]["poselib_us"] = rate_solver(solve, rays, truths, matrix_error)["us"]
    return rows


def _exact_samples(kind: Kind) -> tuple[list[tuple[Floats, Floats]], list[Floats]]:
    """Return the points of noise-free minimal samples in normalised coordinates, and their true models."""
    size = PROBLEMS[kind].sample_size
    samples: list[tuple[Floats, Floats]] = []
    truths: list[Floats] = []
    for seed in range(_SCENES):
        scene = make_scene(kind, size * _EXACT_SAMPLES, 1.0, 0.0, seed).truth
        K = _PIXELS if kind == "H" else scene.K
        points = normalise_points(K, scene.x1), normalise_points(K, scene.x2)
        samples += zip(*(np.split(x, _EXACT_SAMPLES) for x in points), strict=True)
        truths += [np.linalg.inv(K) @ scene.H @ K if kind == "H" else scene.E] * _EXACT_SAMPLES
    return samples, truths


_SOLVERS: Mapping[Kind, Callable[..., Iterable[Any]]] = {
    "H": lambda x1, x2: [model for model in [homography_4pt(x1, x2)] if model is not None],
    "F": fundamental_7pt,
    "E": essential_5pt,
}
