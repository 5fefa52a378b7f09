"""What a benchmark asks of a library: a task in, a model out; and the methods, which are libraries with settings.

There is one adapter for each library, a :class:`Library`. That of this package is here, the others have modules.
"""

import functools
import importlib.util
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bansac.geometry.camera import Camera
from bansac.problems.estimators import ESTIMATORS

Array = NDArray[np.float64]

ModelAndInliers = tuple[Any, NDArray[np.bool_] | None]
"""Model or None, and the mask of its inliers if the library returns one."""

_PROTOCOL = ("threshold", "confidence", "max_iterations")


@dataclass(frozen=True)
class Task:
    """Input of an estimation. What is None has the library's default."""

    problem: str  # "H", "F", "E" (a matrix), "relative pose", "pose" (of one camera), "circle", "line" or "plane"
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

    def best_first(self) -> Self:
        """Return the task with its matches sorted by descending score."""
        assert self.scores is not None
        order = np.argsort(-self.scores, kind="stable")
        return replace(self, points=tuple(x[order] for x in self.points), scores=self.scores[order])

    def mismatched(self) -> Self:
        """Return the task with wrong matches, whose test of a model that fits by chance needs further kernels."""
        *first, last = self.points
        return replace(self, points=(*first, np.roll(last, len(last) // 2, axis=0)))

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
        """Return the library's call on converted input; ``settings`` override those of the task."""
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

    def _read(self, task: Task, answer: Any) -> ModelAndInliers:
        """Return model and inliers in the return value of the call, by default a pair of them."""
        model, inliers = answer
        return model, inliers


def _is_usable(model: Any) -> bool:
    """Return whether a model is complete: several matrices of one problem, for example, or NaN are none."""
    parts = model if isinstance(model, tuple) else (model,)
    return all(
        part is not None and part.shape in ((3, 3), (3, 4), (3,), (4,)) and np.all(np.isfinite(part)) for part in parts
    )


def rename(limits: Mapping[str, Any], **names: str) -> dict[str, Any]:
    """Return limits by the names of a library, with a least number of iterations that is at most the largest one."""
    if unknown := set(limits) - set(names):
        raise TypeError(f"there is no setting {', '.join(sorted(unknown))}")
    renamed = {names[name]: value for name, value in limits.items()}
    if {"min_iterations", "max_iterations"} <= set(limits):
        renamed[names["min_iterations"]] = min(limits["min_iterations"], limits["max_iterations"])
    return renamed


def as_camera(camera: Camera | Array) -> Camera:
    """Return a camera; a matrix has a principal point at the centre of its image."""
    if isinstance(camera, Camera):
        return camera
    width, height = (round(2 * float(x)) for x in camera[:2, 2])
    return replace(Camera.from_matrix(camera), width=width, height=height)


def has_unknown_focal(task: Task) -> bool:
    """Return whether the focal length of a camera is to be estimated."""
    return any(isinstance(camera, Camera) and not camera.has_focal for camera in task.cameras)


_NAMES = {"H": "homography", "F": "fundamental", "E": "essential", "pose": "absolute_pose"}  # others: the problem's
_ESTIMATORS = {estimator.name: estimator for estimator in ESTIMATORS}


class Ours(Library):
    """``bansac``; the settings are keyword arguments of its functions."""

    package = "bansac"

    def _call(self, task: Task, **settings: Any) -> Callable[[], Any]:
        name = _NAMES.get(task.problem, task.problem.replace(" ", "_"))
        function = _ESTIMATORS[name].load_function()
        known: dict[str, Any] = {} if task.scores is None else {"scores": task.scores}
        if task.problem == "F" and task.size1 is not None and task.size2 is not None:
            known |= {"image_size1": task.size1, "image_size2": task.size2}
        return functools.partial(function, *task.points, *task.cameras, **{"seed": task.seed, **known, **settings})

    def _read(self, task: Task, answer: Any) -> ModelAndInliers:
        return answer.model, answer.inliers


OURS = Ours()


@dataclass(frozen=True)
class Method:
    """Estimation method."""

    name: str  # on the command line
    # Settings of the adapter; ours has the preset "paper" if not given.
    settings: Mapping[str, Any] = field(default_factory=dict)
    library: Library = OURS
    scored: bool = False  # pass the scores of the matches
    sized: bool = False  # pass the image sizes if they are known
    sort: bool = False  # pass the matches in descending order of their scores
    own_limits: bool | None = None  # ignore threshold, confidence and iterations of a task; by default ours with preset
    label: str = ""  # name in the paper's tables; by default ``name``
    problems: tuple[str, ...] = ("H", "F", "E")  # that ``bansac bench`` gives the method
    columns: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)  # added to every row
    prior: float | None = None  # P^0 of every match, even if the method has scores
    max_ratio: float | None = None  # use matches of a lower SNN ratio; None for the protocol's ratio
    adapt: Callable[[Task], tuple[Task, Mapping[str, Any]]] | None = None  # returns another task, and further settings

    def __post_init__(self) -> None:
        """Set the defaults that depend on other fields."""
        if not self.label:
            object.__setattr__(self, "label", self.name)
        if self.own_limits is None:
            object.__setattr__(self, "own_limits", self.ours and "preset" in self.settings)

    @property
    def ours(self) -> bool:
        """Whether this package estimates."""
        return self.package == OURS.package

    @property
    def package(self) -> str:
        """Module that must be installed."""
        return self.library.package

    @property
    def installed(self) -> bool:
        """Whether the package is installed."""
        return importlib.util.find_spec(self.package) is not None

    def changed(self, name: str, **settings: Any) -> Self:
        """Return a copy with another name and additional settings."""
        return self.configured(name, settings)

    def configured(self, name: str, settings: Mapping[str, Any], **fields: Any) -> Self:
        """Return a copy with another name, additional settings, and other values of further fields."""
        return replace(self, name=name, settings={**self.settings, **settings}, **fields)

    def call(self, task: Task, **settings: Any) -> Callable[[], Any]:
        """Return the call of the library for a task; ``settings`` override the method's."""
        return self.library.call(*self._arrange(task, settings))

    def estimate(self, task: Task, **settings: Any) -> Estimate:
        """Estimate the model of a task and time the call; ``settings`` override the method's."""
        return self.library.estimate(*self._arrange(task, settings))

    def _arrange(self, task: Task, settings: Mapping[str, Any]) -> tuple[Task, dict[str, Any]]:
        """Return what the method knows of a task, and all settings."""
        task, more = (task, {}) if self.adapt is None else self.adapt(task)
        if self.sort:
            task = task.best_first()
        if not self.scored:
            task = replace(task, scores=None)
        if not self.sized:
            task = replace(task, size1=None, size2=None)
        if self.own_limits:
            task = replace(task, threshold=None, confidence=None, max_iterations=None)
        preset = {"preset": "paper"} if self.ours else {}
        priors = {} if self.prior is None else {"priors": np.full(len(task.x1), self.prior)}
        return task, {**preset, **self.settings, **priors, **more, **settings}


def require(methods: Iterable[Method]) -> None:
    """Raise a ModuleNotFoundError if the package of a method is not installed."""
    for method in methods:
        if not method.installed:
            raise ModuleNotFoundError(f"method {method.name} needs the package {method.package}", name=method.package)
