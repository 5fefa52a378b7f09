"""The estimators that can be compared, by name.

A method is a function of a :class:`Task`; it is the call alone that is timed. What a method needs beforehand (matches
sorted by quality) and afterwards (a matrix from what its library returns) is declared beside it and not timed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from bansac.geometry import essential_from_pose

__all__ = ["METHODS", "Kind", "Method", "Task", "select_methods"]

Kind = Literal["H", "F", "E"]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """What a method gets: the matches of one pair, and the settings.

    Parameters
    ----------
    kind : {"H", "F", "E"}
        The model that is wanted.
    x1, x2 : (N, 2) ndarray of float64
        Matched points in pixels; for E in normalised units (K^-1 applied).
    scores : (N,) ndarray
        1 - SNN ratio of the matches.
    threshold : float
        Largest residual of an inlier, in the unit of the points.
    confidence : float
        Wished probability of having seen the best model.
    max_iterations : int
        Most minimal samples.
    seed : int
        Seed of the random numbers.
    """

    kind: Kind
    x1: Array
    x2: Array
    scores: Array
    threshold: float
    confidence: float
    max_iterations: int
    seed: int


def _as_returned(answer: Any) -> Any:
    return answer


@dataclass(frozen=True)
class Method:
    """One estimator.

    Parameters
    ----------
    name : str
        Name on the command line and in tables.
    call : callable
        ``call(task)``: estimates; timed.
    package : str
        Module that has to be installed.
    kinds : tuple of str
        Models it can estimate.
    sort : bool
        Whether it expects the best matches first.
    matrix : callable
        ``matrix(answer)``: the 3 x 3 matrix, or None, of what ``call`` returned; not timed.
    """

    name: str
    call: Callable[[Task], Any]
    package: str = "bansac"
    kinds: tuple[Kind, ...] = ("H", "F", "E")
    sort: bool = False
    matrix: Callable[[Any], Array | None] = _as_returned


def select_methods(names: Sequence[str], kind: Kind) -> list[Method]:
    """Return the methods of these names.

    Parameters
    ----------
    names : sequence of str
        Keys of ``METHODS``.
    kind : {"H", "F", "E"}
        The model they have to estimate.

    Returns
    -------
    list of Method
        In the order of ``names``.

    Raises
    ------
    ValueError
        If a name is unknown, given twice, or cannot estimate ``kind``.
    ModuleNotFoundError
        If the package of a method is not installed.
    """
    if not names:
        raise ValueError(f"methods must name at least one of {', '.join(METHODS)}")
    for name in names:
        if name not in METHODS:
            raise ValueError(f"methods: unknown method {name!r}; the methods are {', '.join(METHODS)}")
        method = METHODS[name]
        if kind not in method.kinds:
            raise ValueError(f"methods: {name} estimates {', '.join(method.kinds)}, not {kind}")
        if names.count(name) > 1:
            raise ValueError(f"methods: {name} is given twice")
        if importlib.util.find_spec(method.package) is None:
            raise ModuleNotFoundError(f"method {name} needs the package {method.package}", name=method.package)
    return [METHODS[name] for name in names]


def _bansac(*, scores: bool = False, **settings: Any) -> Callable[[Task], Any]:
    def call(task: Task) -> Any:
        import bansac

        functions = {
            "H": bansac.estimate_homography,
            "F": bansac.estimate_fundamental,
            "E": bansac.estimate_essential,
        }
        return functions[task.kind](
            task.x1,
            task.x2,
            preset="paper",
            scores=task.scores if scores else None,
            threshold=task.threshold,
            confidence=task.confidence,
            max_iterations=task.max_iterations,
            seed=task.seed,
            **settings,
        ).model

    return call


def _opencv(*, sampler: str = "SAMPLING_UNIFORM", local: bool = False) -> Callable[[Task], Any]:
    """OpenCV's USAC with settings named one by one: scored by the inlier count, with or without local optimisation."""

    def call(task: Task) -> Any:
        import cv2

        params = cv2.UsacParams()
        params.sampler = getattr(cv2, sampler)
        params.score = cv2.SCORE_METHOD_MSAC if local else cv2.SCORE_METHOD_RANSAC
        params.loMethod = cv2.LOCAL_OPTIM_INNER_LO if local else cv2.LOCAL_OPTIM_NULL
        params.threshold = task.threshold
        params.confidence = task.confidence
        params.maxIterations = task.max_iterations
        params.randomGeneratorState = task.seed
        if task.kind == "H":
            return cv2.findHomography(task.x1, task.x2, params)
        if task.kind == "F":
            return cv2.findFundamentalMat(task.x1, task.x2, params)
        return cv2.findEssentialMat(task.x1, task.x2, np.eye(3), np.eye(3), None, None, params)

    return call


def _opencv_flag(flag: str) -> Callable[[Task], Any]:
    """OpenCV's USAC by one of its ready-made flags; these take no seed."""

    def call(task: Task) -> Any:
        import cv2

        method = getattr(cv2, flag)
        if task.kind == "H":
            return cv2.findHomography(
                task.x1, task.x2, method, task.threshold, maxIters=task.max_iterations, confidence=task.confidence
            )
        if task.kind == "F":
            return cv2.findFundamentalMat(
                task.x1, task.x2, method, task.threshold, task.confidence, task.max_iterations
            )
        return cv2.findEssentialMat(
            task.x1, task.x2, np.eye(3), method, task.confidence, task.threshold, task.max_iterations
        )

    return call


def _poselib(*, progressive: bool = False) -> Callable[[Task], Any]:
    camera = {"model": "SIMPLE_PINHOLE", "width": 1, "height": 1, "params": [1.0, 0.0, 0.0]}

    def call(task: Task) -> Any:
        import poselib

        options = {
            "max_iterations": task.max_iterations,
            "min_iterations": 10,  # not its default of 1000: it may stop as early as the others
            "success_prob": task.confidence,
            "seed": task.seed,
            "progressive_sampling": progressive,
            "max_reproj_error": task.threshold,
            "max_epipolar_error": task.threshold,
        }
        if task.kind == "H":
            return poselib.estimate_homography(task.x1, task.x2, options)[0]
        if task.kind == "F":
            return poselib.estimate_fundamental(task.x1, task.x2, options)[0]
        return poselib.estimate_relative_pose(task.x1, task.x2, camera, camera, options)[0]

    return call


def _poselib_matrix(answer: Any) -> Array:
    """Return the matrix, for E the essential matrix of the pose."""
    if isinstance(answer, np.ndarray):
        return answer
    return essential_from_pose(answer.R, answer.t)


def _pydegensac(task: Task) -> Any:
    import pydegensac

    find = pydegensac.findHomography if task.kind == "H" else pydegensac.findFundamentalMatrix
    return find(task.x1, task.x2, task.threshold, task.confidence, task.max_iterations, seed=task.seed)[0]


def _opencv_matrix(answer: Any) -> Array | None:
    """Return the model of OpenCV's (model, mask)."""
    return cast("Array | None", answer[0])


_ALL = (
    Method("bansac", _bansac(sampler="bansac")),
    Method("p-bansac", _bansac(sampler="bansac", scores=True)),
    Method("uniform", _bansac(sampler="uniform")),
    Method("napsac", _bansac(sampler="napsac")),
    Method("p-napsac", _bansac(sampler="p-napsac", scores=True)),
    Method("prosac", _bansac(sampler="prosac", scores=True)),
    Method("prosac-lo", _bansac(sampler="prosac", scores=True, local_optimization="inner+iterative")),
    Method("bansac-lo", _bansac(sampler="bansac", local_optimization="inner+iterative")),
    Method("p-bansac-lo", _bansac(sampler="bansac", scores=True, local_optimization="inner+iterative")),
    Method("uniform-lo", _bansac(sampler="uniform", local_optimization="inner+iterative")),
    Method("opencv", _opencv(), "cv2", matrix=_opencv_matrix),
    Method("opencv-prosac", _opencv(sampler="SAMPLING_PROSAC"), "cv2", sort=True, matrix=_opencv_matrix),
    Method("opencv-prosac-lo", _opencv(sampler="SAMPLING_PROSAC", local=True), "cv2", sort=True, matrix=_opencv_matrix),
    Method("opencv-default", _opencv_flag("USAC_DEFAULT"), "cv2", matrix=_opencv_matrix),
    Method("opencv-accurate", _opencv_flag("USAC_ACCURATE"), "cv2", matrix=_opencv_matrix),
    Method("opencv-magsac", _opencv_flag("USAC_MAGSAC"), "cv2", matrix=_opencv_matrix),
    Method("poselib", _poselib(), "poselib", matrix=_poselib_matrix),
    Method("poselib-prosac", _poselib(progressive=True), "poselib", sort=True, matrix=_poselib_matrix),
    Method("pydegensac", _pydegensac, "pydegensac", kinds=("H", "F")),
)

METHODS: dict[str, Method] = {method.name: method for method in _ALL}
