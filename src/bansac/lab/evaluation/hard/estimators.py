"""Estimators on a scene: this package's and those of other libraries, without scores; and one unit of work.

The other libraries get the thresholds in ``THRESHOLDS``. PoseLib has its default limits (1000 to 100,000 samples,
success probability .9999), OpenCV up to 10,000 samples at a confidence of .999. SupeRANSAC has its default limits (1000
to 5000) with uniform sampling, since there are no scores.
"""

from __future__ import annotations

import importlib
import importlib.util
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import bansac
from bansac.batch.journal import Row
from bansac.engine.noise_scale import estimate_threshold
from bansac.estimate.absolute_pose import estimate_absolute_pose
from bansac.estimate.presets import resolve_options
from bansac.estimate.solve import solve
from bansac.estimate.two_views import estimate_homography
from bansac.geometry import essential_from_pose
from bansac.lab.scenes import Scene, make_scene

THRESHOLDS: Mapping[str, float] = {"H": 2.0, "E": 1.0, "F": 1.0, "relative pose": 1.0, "pose": 4.0}
"""Thresholds of other libraries in pixels."""

_OPENCV_SAMPLES = 10_000


class Answer(NamedTuple):
    """Model or None, whether the library claims it, and what else this package's result says."""

    model: Any
    success: bool
    details: Row = {}  # noqa: RUF012


@dataclass(frozen=True)
class Estimator:
    """Estimator of a benchmark.

    Parameters
    ----------
    name : str
        Name in the rows.
    settings : mapping
        Keyword arguments of this package's functions; for another library ``threshold``, in pixels.
    call : callable
        ``call(scene, seed, settings)`` returns an :class:`Answer`; the benchmarks time it.
    package : str
        Module that must be installed.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    call: Callable[[Scene, int, Mapping[str, Any]], Answer] | None = None
    package: str = "bansac"

    @property
    def installed(self) -> bool:
        """Whether the package is installed."""
        return importlib.util.find_spec(self.package) is not None

    def run(self, scene: Scene, seed: int) -> tuple[Answer, float]:
        """Estimate the model of a scene; return the answer and the time in seconds."""
        call = _ours if self.call is None else self.call
        started = time.perf_counter()
        answer = call(scene, seed, self.settings)
        return answer, time.perf_counter() - started


_FUNCTIONS: Mapping[str, str] = {
    "H": "estimate_homography",
    "E": "estimate_essential",
    "F": "estimate_fundamental",
    "relative pose": "estimate_relative_pose",
    "pose": "estimate_absolute_pose",
    "circle": "fit_circle",
    "line": "fit_line",
}


def _ours(scene: Scene, seed: int, settings: Mapping[str, Any]) -> Answer:
    result = getattr(bansac, _FUNCTIONS[scene.problem])(*scene.data, seed=seed, **settings)
    details: Row = {
        "configuration": result.configuration,
        "stop_reason": result.stop_reason,
        "iterations": result.iterations,
        "threshold": result.threshold,
    }
    return Answer(result.model, result.success, details)


def _poselib(scene: Scene, seed: int, settings: Mapping[str, Any]) -> Answer:
    library = importlib.import_module("poselib")
    threshold = settings.get("threshold", THRESHOLDS[scene.problem])
    options = {"seed": seed, "max_reproj_error": threshold, "max_epipolar_error": threshold}
    if scene.problem in ("H", "F"):
        function = library.estimate_homography if scene.problem == "H" else library.estimate_fundamental
        model = function(*scene.data, options)[0]
        return Answer(model, model is not None)
    first, second, K = scene.data
    camera = {"model": "PINHOLE", "width": 0, "height": 0, "params": [K[0, 0], K[1, 1], K[0, 2], K[1, 2]]}
    if scene.problem == "pose":
        pose = library.estimate_absolute_pose(second, first, camera, options, {})[0]
    else:
        pose = library.estimate_relative_pose(first, second, camera, camera, options)[0]
    return Answer(essential_from_pose(pose.R, pose.t) if scene.problem == "E" else (pose.R, pose.t), True)


def _opencv(scene: Scene, seed: int, settings: Mapping[str, Any]) -> Answer:
    """Estimate with USAC_MAGSAC, which takes no seed."""
    library = importlib.import_module("cv2")
    library.setNumThreads(1)
    flag, threshold = library.USAC_MAGSAC, settings.get("threshold", THRESHOLDS[scene.problem])
    try:
        if scene.problem == "H":
            model = library.findHomography(*scene.data, flag, threshold, maxIters=_OPENCV_SAMPLES, confidence=0.999)[0]
        elif scene.problem == "F":
            model = library.findFundamentalMat(*scene.data, flag, threshold, 0.999, _OPENCV_SAMPLES)[0]
        elif scene.problem == "E":
            model = library.findEssentialMat(*scene.data, flag, 0.999, threshold, _OPENCV_SAMPLES)[0]
        else:
            found, rotation, t, _ = library.solvePnPRansac(
                *scene.data, None,
                iterationsCount=_OPENCV_SAMPLES, reprojectionError=threshold, confidence=0.999, flags=flag,
            )  # fmt: skip
            model = (library.Rodrigues(rotation)[0], t.ravel()) if found else None
    except library.error:  # too few inliers for its last step
        model = None
    return _checked(model)


def _superansac(scene: Scene, seed: int, settings: Mapping[str, Any]) -> Answer:
    """Estimate with SupeRANSAC, which takes no seed."""
    library = importlib.import_module("pysuperansac")
    config = library.RANSACSettings()
    config.sampler = library.SamplerType.Uniform
    config.inlier_threshold = settings.get("threshold", THRESHOLDS[scene.problem])
    height, width = scene.truth.size1
    if scene.problem == "pose":
        X, x, K = scene.data
        box = [float(width), float(height), *np.ptp(X, axis=0)]
        camera = [K[0, 0], K[0, 2], K[1, 2]]
        points = np.ascontiguousarray(np.hstack([x, X]))
        R, t, *_ = library.estimateAbsolutePose(points, library.CameraType.SimplePinhole, camera, box, [], config)
        return _checked((R, t))
    matches = np.ascontiguousarray(np.hstack(scene.data[:2]))
    sizes, cameras = [float(width), float(height)] * 2, [*scene.data[2:]] * 2
    function = {
        "H": library.estimateHomography,
        "F": library.estimateFundamentalMatrix,
        "E": library.estimateEssentialMatrix,
    }[scene.problem]
    model, inliers, *_ = function(matches, *cameras, sizes, [], config)
    return _checked(model if len(inliers) else None)


def _checked(model: Any) -> Answer:
    """Return an answer; a model of another shape, such as several essential matrices, or with NaN is none."""
    parts = model if isinstance(model, tuple) else (model,)
    usable = all(part is not None and part.shape in ((3, 3), (3,)) and np.all(np.isfinite(part)) for part in parts)
    return Answer(model if usable else None, usable)


OURS = (
    Estimator("default"),
    Estimator("fast", {"preset": "fast"}),
    Estimator("accurate", {"preset": "accurate"}),
    Estimator("uniform", {"sampler": "uniform"}),
)
PEERS = (
    Estimator("poselib", call=_poselib, package="poselib"),
    Estimator("opencv-magsac", call=_opencv, package="cv2"),
    Estimator("superansac", call=_superansac, package="pysuperansac"),
)
POSELIB = PEERS[0]

CODE = (make_scene, resolve_options, solve, estimate_threshold, estimate_homography, estimate_absolute_pose)
"""Functions whose modules the rows depend on, for :attr:`.Measurement.values`."""


def choose(names: Sequence[str] | None) -> tuple[list[Estimator], list[str]]:
    """Return the named estimators, by default all that are installed, and notes on those that are not.

    An unknown name raises a ValueError, a named one that is not installed a ModuleNotFoundError.
    """
    known = {estimator.name: estimator for estimator in (*OURS, *PEERS)}
    for name in names or ():
        if name not in known:
            raise ValueError(f"methods: unknown method {name!r}; the methods are {', '.join(known)}")
    chosen = [known[name] for name in (known if names is None else dict.fromkeys(names))]
    missing = [estimator for estimator in chosen if not estimator.installed]
    if missing and names is not None:
        raise ModuleNotFoundError(
            f"method {missing[0].name} needs the package {missing[0].package}", name=missing[0].package
        )
    notes = [f"{estimator.name} is left out: {estimator.package} is not installed" for estimator in missing]
    return [estimator for estimator in chosen if estimator not in missing], notes


def run_scene(
    scene: Scene, estimators: Sequence[Estimator], key: str, seed: int, judge: Callable[[Any], Row]
) -> list[Row]:
    """Run the estimators on a scene, in an order that depends on the key; ``judge(model)`` returns columns of a row."""
    answers: dict[str, tuple[Answer, float]] = {}
    for estimator in random.Random(key).sample(estimators, len(estimators)):
        answers[estimator.name] = estimator.run(scene, seed)
    rows: list[Row] = []
    for estimator in estimators:
        answer, seconds = answers[estimator.name]
        found: Row = {"method": estimator.name, "found": answer.model is not None, "success": answer.success}
        rows.append({**found, **answer.details, **judge(answer.model), "seconds": seconds})
    return rows


def load_kernels(scenes: Iterable[Scene], estimators: Sequence[Estimator]) -> None:
    """Load or compile all kernels by one call of every estimator on every scene."""
    for scene in scenes:
        for estimator in estimators:
            estimator.run(scene, 0)
