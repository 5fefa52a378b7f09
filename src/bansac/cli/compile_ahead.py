"""Compile the kernels of the package in advance, for containers and installations.

Compiled code is cached on disk (``NUMBA_CACHE_DIR``, see :mod:`bansac.compiled.cache`).
"""

import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import config

import bansac
from bansac.compiled.cache import cache_folders
from bansac.compiled.clock import KERNELS
from bansac.compiled.pack import write_pack
from bansac.compiled.target import describe_target, find_mismatch, portable_level
from bansac.engine.option_groups import Network
from bansac.engine.sampling import SAMPLERS
from bansac.engine.scoring import SCORES
from bansac.estimate.result import Result
from bansac.executors.threads import count_workers
from bansac.maths.arrays import Floats
from bansac.problems.contract import IN_LOOP, MANIFOLD
from bansac.problems.estimators import ESTIMATORS, Estimator
from bansac.problems.problem import Problem

_ROWS = {row.name: row for row in ESTIMATORS if row.warm is not None or row.scene}

# Further calls: the function and the key of its data.
_VARIANTS = {
    "sized_images": ("estimate_fundamental", "sized scene"),
    "planar_scene": ("estimate_fundamental", "plane of space"),
    "relative_pose": ("estimate_relative_pose", "normalised scene"),
    "pose_of_plane": ("estimate_relative_pose", "normalised plane"),
    "known_vertical": ("estimate_relative_pose", "normalised scene, vertical known"),
    "depths": ("estimate_relative_pose", "normalised scene, depths"),
    "shared_focal": ("estimate_relative_pose", "scene, focal length unknown"),
    "one_focal": ("estimate_relative_pose", "scene, one focal length unknown"),
    "unknown_focal_pose": ("estimate_absolute_pose", "projections, focal length unknown"),
}

# Number of matches or points, with the option ``few``, where most matches are wrong, and how often each is in ``many``.
_SIZE, _FEW, _TIMES = 60, 12, 200

Task = tuple[str, dict[str, Any]]
"""The name of an estimator, and its options."""

DEFAULTS: tuple[Task, ...] = (
    *((name, {}) for name in _ROWS),
    ("sized_images", {}),  # the plausibility of the focal lengths of F
    *((name, {"few": True}) for name in _ROWS),  # samples and searches of rearranged matches
    ("homography", {"many": True}),  # the refinement on all of them
    ("relative_pose", {"scores": True}),
    *((name, {}) for name in ("known_vertical", "depths", "shared_focal", "one_focal", "unknown_focal_pose")),
    *((name, {"scores": True}) for name in ("homography", "fundamental", "essential")),
    ("planar_scene", {}),  # the epipole of F of a plane
    *((name, {"local_optimization": "lm"}) for name in ("fundamental", "essential")),  # twins, distant scenes
    ("pose_of_plane", {}),  # the motion of a plane, also in COLMAP's databases
    ("fundamental", {"sampler": "uniform"}),  # ``bansac demo``
    ("homography", {"trace": True}),  # ``bansac match --report``
    ("fundamental", {"preset": "fast"}),  # ``bansac colmap verify``
)
"""Calls that together use every kernel of the default options, with and without scores, and of the commands."""

_CORE = ("homography", "fundamental", "essential", "relative_pose", "absolute_pose")

CORE = tuple(task for task in DEFAULTS if task[0] in (*_CORE, "sized_images", "planar_scene", "pose_of_plane"))
"""Those of homographies, of fundamental and essential matrices, and of poses."""

OPTIONS: tuple[Task, ...] = (
    *((name, {"preset": "paper"}) for name in _ROWS),
    ("planar_scene", {"preset": "paper"}),  # without local optimisation, the repair of all samples
    ("sized_images", {"preset": "paper"}),  # without local optimisation, the plausibility of the focal lengths
    *((name, {"local_optimization": "lm"}) for name in ("homography", "circle")),
    *((name, {"scoring": score}) for score in SCORES if score != "msac" for name in ("homography", "circle")),
    ("homography", {"scores": True, "stopping": "ransac+prosac"}),
    ("homography", {"network": Network(order=2)}),
    ("homography", {"stopping": None}),
    *(
        ("homography", {"preset": "paper", "sampler": row.name} | ({"scores": True} if row.order else {}))
        for row in SAMPLERS.values()
        if row.name != "bansac"
    ),
    ("homography", {"sampler": "uniform", "verification": None}),
    ("solvers", {}),
)
"""Calls that use all other kernels: those of the presets, samplers, scores and stopping criteria."""


class Warmed(NamedTuple):
    """The numbers of kernels that a call has compiled and loaded, its seconds, and its estimator with the options."""

    name: str
    compiled: int
    loaded: int
    seconds: float


def warm_cache(*, options: bool = False) -> Iterator[Warmed]:
    """Compile what the calls of ``DEFAULTS``, and with ``options`` those of ``OPTIONS``, need."""
    for task in (*DEFAULTS, *OPTIONS) if options else DEFAULTS:
        yield _run(*task)


def build_pack(path: Path, *, everything: bool) -> int:
    """Compile the kernels of ``CORE``, or of ``DEFAULTS`` and ``OPTIONS``, and write them into a pack for a wheel.

    All cores compile, and share one cache. One process makes the first call, which compiles the engine. Meanwhile the
    others compile the functions of the problems. Two processes compile a kernel twice if both need it at one time.
    ``NUMBA_CPU_NAME`` is the portable level of processors and ``NUMBA_CPU_FEATURES`` is empty; a RuntimeError if other
    processors would not run the code. Return the number of kernels.
    """
    from bansac.compiled.numba_private.cache import read_cache  # private parts are for tested versions of Numba

    target = describe_target()
    if (config.CPU_NAME, config.CPU_FEATURES) != (portable_level(), ""):
        raise RuntimeError(f"set NUMBA_CPU_NAME={portable_level()} and NUMBA_CPU_FEATURES to nothing")
    if mismatch := find_mismatch(target):
        raise RuntimeError(f"the kernels {mismatch}")
    calls = (*DEFAULTS, *OPTIONS) if everything else CORE
    functions = [(name, {"functions": True}) for name, row in _ROWS.items() if row.problem and (name, {}) in calls]
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as config.CACHE_DIR:
        shared = config.CACHE_DIR, spawn.Lock()
        with ProcessPoolExecutor(count_workers(None), spawn, _share_cache, shared) as pool:
            list(pool.map(_run, *zip(calls[0], *functions, *calls[1:], strict=True)))
        kernels = {key: kernel for folder in cache_folders() for key, kernel in read_cache(folder).items()}
    write_pack(path, target, kernels)
    return len(kernels)


def _share_cache(folder: str, lock: AbstractContextManager[Any]) -> None:
    """Let this process use a cache; Numba's index of a function has one writer at a time, who holds the lock."""
    from bansac.compiled.numba_private.cache import CheckedCache

    config.CACHE_DIR, CheckedCache.writing = folder, lock


def _run(name: str, options: dict[str, Any]) -> Warmed:
    """Call an estimator on small data, and count the kernels that it compiles and loads."""
    before, started = KERNELS.copy(), time.perf_counter()
    if name == "solvers":
        call_solvers()
    elif options.get("functions"):
        _compile_functions(_ROWS[name].load_problem())
    else:
        call_estimator(name, options)
    label = ", ".join([name, *(f"{key}={value}" for key, value in options.items())])
    counts = {kind: KERNELS[kind] - before[kind] for kind in ("compiled", "loaded")}
    return Warmed(label, **counts, seconds=time.perf_counter() - started)


def _compile_functions(problem: Problem) -> None:
    """Compile the functions of a problem, from the last to the first that a call needs."""
    problem.compiled("residuals")
    for role in (*MANIFOLD, *reversed(IN_LOOP)):
        problem.compiled(role.name, problem.precision)


def call_estimator(name: str, options: dict[str, Any]) -> Result:
    """Call an estimator or a variant; ``scores`` adds scores, ``few`` leaves few data, ``many`` repeats them."""
    function, key = _find_call(name)
    settings, data = dict(options), _data()[key]
    if settings.get("scores"):
        settings["scores"] = np.linspace(0.9, 0.1, _SIZE)
    if settings.pop("few", False):
        data = {name: value[:_FEW] if isinstance(value, np.ndarray) else value for name, value in data.items()}
    if settings.pop("many", False):
        data = {name: np.repeat(value, _TIMES, axis=0) for name, value in data.items()}
    result: Result = getattr(bansac, function)(max_iterations=50, **data | settings)
    _ = result.probabilities, result.model_confidence  # computed on access
    return result


def _find_call(name: str) -> tuple[str, str]:
    """Return the function of a task and the key of its data; ``name`` itself for what is not an estimator."""
    if row := _ROWS.get(name):
        return row.function, row.warm or name
    return _VARIANTS.get(name, (name, name))


def call_solvers() -> None:
    """Call the functions that have kernels of their own and no search: the solvers of OpenCV's names, focal lengths."""
    from bansac.compat import cv2  # here, because "bansac cache" starts faster without it

    (x1, x2), centre = np.random.default_rng(0).uniform(size=(2, 8, 2)), (0.0, 0.0)
    bansac.focals_from_fundamental(np.eye(3), centre, centre)
    cv2.findFundamentalMat(x1, x2, cv2.FM_8POINT)
    cv2.findFundamentalMat(x1[:7], x2[:7], cv2.FM_7POINT)
    cv2.findEssentialMat(x1[:5], x2[:5])


def _data_of_scene(row: Estimator) -> dict[str, Any]:
    """Return exact points of the scene of a row; ten of them are wrong."""
    points, _ = row.load_scene()(_SIZE, np.random.default_rng(0))
    points[:10] = points[10:20, ::-1]
    return {next(iter(row.data)): points, "threshold": 1.0}


def _data() -> dict[str, dict[str, Any]]:
    """Return the arguments of calls by their key in the table: the data, and the threshold if there is no default."""
    rng = np.random.default_rng(0)
    X = rng.uniform([-1, -1, 4], [1, 1, 6], (_SIZE, 3))
    Y = X + np.array([0.5, 0.1, 0.2])  # the motion of the camera
    x1, x2 = 500 * X[:, :2] / X[:, 2:], 500 * Y[:, :2] / Y[:, 2:]
    flat = x1 * 1.1 + 20  # matches of a plane; ten matches are wrong
    x2[:10] = flat[:10] = rng.uniform(-100, 100, (10, 2))
    circle = 100 * np.asarray(x1 / np.linalg.norm(x1, axis=1, keepdims=True))
    size, down, camera = (500, 500), (0, 1, 0), bansac.Camera("SIMPLE_PINHOLE", (np.nan, 0.0, 0.0))
    return {
        "plane of space": {"x1": x1, "x2": flat},
        "scene": {"x1": x1, "x2": x2},
        "sized scene": {"x1": x1 + 250, "x2": x2 + 250, "image_size1": size, "image_size2": size},
        "normalised scene": {"x1": x1 / 500, "x2": x2 / 500},
        "normalised scene, vertical known": {"x1": x1 / 500, "x2": x2 / 500, "gravity1": down, "gravity2": down},
        "normalised scene, depths": {"x1": x1 / 500, "x2": x2 / 500, "depth1": X[:, 2], "depth2": Y[:, 2]},
        "normalised plane": {"x1": x1 / 500, "x2": flat / 500},
        "projections": {"points3D": _space(x1 / 500), "points2D": x1 / 500},
        "scene, focal length unknown": {"x1": x1, "x2": x2, "K1": camera},
        "scene, one focal length unknown": {"x1": x1, "x2": x2, "K1": np.diag([500, 500, 1]), "K2": camera},
        "projections, focal length unknown": {"points3D": _space(x1 / 500), "points2D": x1, "K": camera},
        "motion of space": {"x1": _space(x1), "x2": _space(x1), "threshold": 1.0},
        "line": {"points": np.column_stack([x1[:, 0], x1[:, 0]]), "threshold": 1.0},
        "circle": {"points": circle, "threshold": 1.0},
        "ellipse": {"points": circle * [2, 1], "threshold": 1.0},
        "points of a plane": {"points": np.column_stack([x1, x1[:, 0]]), "threshold": 1.0},
        "polynomial": {"points": x1 * np.array([1, 0]), "degree": 2, "threshold": 1.0},
        **{row.name: _data_of_scene(row) for row in ESTIMATORS if row.scene},
    }


def _space(x: Floats) -> Floats:
    """Return points in space whose projections are ``x`` in normalised units."""
    return np.column_stack([x, np.ones(len(x))]) * np.linspace(1.0, 2.0, len(x))[:, None]
