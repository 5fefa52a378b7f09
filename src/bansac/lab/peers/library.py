"""What a benchmark asks of a library: a task in, a model out. One adapter for each library, :class:`Library`."""

from __future__ import annotations

import dataclasses
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bansac.geometry.camera import Camera

Array = NDArray[np.float64]

_PROTOCOL = ("threshold", "confidence", "max_iterations")


@dataclass(frozen=True)
class Task:
    """Input of an estimation. What is None has the library's default."""

    problem: str  # "H", "F", "E" (a matrix), "relative pose", "pose" (of one camera), "circle" or "line"
    points: tuple[Array, ...]  # matches of both images; of "pose" 3D points and their images; points of a curve
    cameras: tuple[Camera | Array, ...] = ()  # a single one took both images; points of "E" without are normalised
    scores: Array | None = None  # quality of the matches, larger is better
    threshold: float | None = None  # largest residual of an inlier, in the unit of the points
    confidence: float | None = None  # desired probability of having sampled the best model
    max_iterations: int | None = None  # maximum number of minimal samples
    seed: int = 0
    size1: tuple[int, int] | None = None  # height and width of image 1 in pixels
    size2: tuple[int, int] | None = None

    @property
    def x1(self) -> Array:
        """The first points."""
        return self.points[0]

    @property
    def x2(self) -> Array:
        """The second points."""
        return self.points[1]

    def best_first(self) -> Task:
        """Return the task with its matches sorted by descending score."""
        assert self.scores is not None
        order = np.argsort(-self.scores, kind="stable")
        return dataclasses.replace(self, points=tuple(x[order] for x in self.points), scores=self.scores[order])

    def mismatched(self) -> Task:
        """Return the task with wrong matches, whose test of a model that fits by chance needs further kernels."""
        *first, last = self.points
        return dataclasses.replace(self, points=(*first, np.roll(last, len(last) // 2, axis=0)))

    def limits(self) -> dict[str, Any]:
        """Return the threshold, the confidence and the number of iterations, as far as they are given."""
        return {name: value for name in _PROTOCOL if (value := getattr(self, name)) is not None}


class Estimate(NamedTuple):
    """Model or None, mask of its inliers if the library returns one, time in seconds, and this package's result."""

    model: Any
    inliers: NDArray[np.bool_] | None
    seconds: float
    result: Any = None

    @property
    def success(self) -> bool:
        """Whether the library claims its model; one without such a flag claims each model."""
        return self.model is not None if self.result is None else bool(self.result.success)


@dataclass(frozen=True)
class Library(ABC):
    """Adapter of a library; it imports the library when it is called."""

    package: ClassVar[str]

    def call(self, task: Task, settings: Mapping[str, Any]) -> Callable[[], Any]:
        """Return the library's call without arguments; ``settings`` override those of the task.

        The input is converted here, so that the benchmarks time nothing but the library.
        """
        return self._call(task, **{**task.limits(), **settings})

    def estimate(self, task: Task, settings: Mapping[str, Any]) -> Estimate:
        """Estimate the model of a task. The model is a matrix, or a pose that unpacks as ``R, t``."""
        call = self.call(task, settings)
        started = time.perf_counter()
        answer = call()
        seconds = time.perf_counter() - started
        model, inliers = (None, None) if answer is None else self._read(task, answer)
        result = answer if self.package == "bansac" else None
        return Estimate(model if _is_usable(model) else None, inliers, seconds, result)

    @abstractmethod
    def _call(self, task: Task, *args: Any, **settings: Any) -> Callable[[], Any]:
        """Return the call; an unknown setting raises a TypeError."""

    @abstractmethod
    def _read(self, task: Task, answer: Any) -> tuple[Any, NDArray[np.bool_] | None]:
        """Return model and inliers in the return value of the call."""


def _is_usable(model: Any) -> bool:
    """Return whether a model is complete: several matrices of one problem, for example, or NaN are none."""
    parts = model if isinstance(model, tuple) else (model,)
    return all(part is not None and part.shape in ((3, 3), (3,)) and np.all(np.isfinite(part)) for part in parts)


def given(**settings: Any) -> dict[str, Any]:
    """Return the settings that are not None."""
    return {name: value for name, value in settings.items() if value is not None}


def as_camera(camera: Camera | Array) -> Camera:
    """Return a camera; a matrix has a principal point at the centre of its image."""
    if isinstance(camera, Camera):
        return camera
    width, height = (round(2 * float(x)) for x in camera[:2, 2])
    return dataclasses.replace(Camera.from_matrix(camera), width=width, height=height)


def has_unknown_focal(task: Task) -> bool:
    """Return whether the focal length of a camera is to be estimated."""
    return any(isinstance(camera, Camera) and not camera.has_focal for camera in task.cameras)
