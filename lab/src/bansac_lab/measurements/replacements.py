"""Random calls of ``bansac.compat.cv2`` and ``bansac.compat.skimage`` beside OpenCV and scikit-image.

A call has 4 to 500 points, 30 to 100 % inliers (4 at least) with a noise of .3 px, and a threshold of .5, 1, 3 or 5. In
a third of OpenCV's maps the second points are in metres, a thousandth of the pixels: the threshold is larger than the
data. A model is right if the mean distance of the true inliers without noise is at most .9 px. A call agrees if both
libraries or neither have a right model. The table also counts the calls where only one of them is right, those without
a model, and the models with a ``DoubtWarning``.
"""

import contextlib
import dataclasses
import functools
import importlib
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from bansac.geometry import rotation_matrix
from bansac_lab.frames import to_frame
from bansac_lab.measurement import FIRST_SEED, Document, Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.scenes import MAPS, Scene, make_scene, map_scene, mean_distance
from bansac_lab.tables import Table, plain_table

NOISE, TOLERANCE, TRIALS, METRES = 0.3, 0.9, 1000, 1e-3
CALLS = 67


def _solve_pnp(cv: Any, threshold: float, X: Any, x: Any, K: Any) -> Any:
    found, vector, t, _ = cv.solvePnPRansac(X, x, K, None, reprojectionError=threshold)
    return (rotation_matrix(vector.ravel()), t.ravel()) if found else None


def _affine(name: str) -> Callable[..., Any]:
    return lambda cv, t, x, y: getattr(cv, name)(x, y, ransacReprojThreshold=t)[0]


def _ransac(name: str, measure: Any, threshold: float, *data: Any) -> Any:
    kind = getattr(importlib.import_module("skimage.measure" if "Model" in name else "skimage.transform"), name)
    size, points = 8 if "Fundamental" in name else 4, data if len(data) > 1 else data[0]
    return measure.ransac(points, kind, size, threshold, max_trials=TRIALS, rng=0)[0] or None  # a failure is false


OPENCV: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "findHomography": ("H", lambda cv, t, x, y: cv.findHomography(x, y, cv.RANSAC, t)[0]),
    "findFundamentalMat": ("F", lambda cv, t, x, y: cv.findFundamentalMat(x, y, cv.FM_RANSAC, t)[0]),
    "findEssentialMat": ("E", lambda cv, t, x, y, K, _: cv.findEssentialMat(x, y, K, cv.RANSAC, 0.999, t)[0]),
    "estimateAffine2D": ("affine", _affine("estimateAffine2D")),
    "estimateAffinePartial2D": ("similarity", _affine("estimateAffinePartial2D")),
    "solvePnPRansac": ("pose", _solve_pnp),
}
SKIMAGE: Mapping[str, tuple[str, Callable[..., Any]]] = {
    name: (problem, functools.partial(_ransac, name))
    for name, problem in {
        **{"ProjectiveTransform": "H", "AffineTransform": "affine", "SimilarityTransform": "similarity"},
        **{"FundamentalMatrixTransform": "F", "CircleModel": "circle", "LineModelND": "line"},
    }.items()
}
"""The problem and the call of each function and class."""

NAMES = (*OPENCV, *SKIMAGE)


def _make(problem: str, n: int, ratio: float, seed: int) -> tuple[Scene, tuple[Any, ...]]:
    """Return a scene whose truth has no noise, and the data without noise."""
    if problem in MAPS:
        scene = map_scene(problem, round(ratio * n), n, NOISE, np.random.default_rng(seed))
        return scene, (scene.truth.x1, scene.truth.x2)
    noisy, exact = (make_scene(problem, n, ratio, noise, seed) for noise in (NOISE, 0.0))
    return dataclasses.replace(noisy, truth=exact.truth), exact.data


def _error(name: str, model: Any, scene: Scene, exact: tuple[Any, ...], metres: float) -> float:
    """Return the mean distance of the true inliers without noise, in pixels; OpenCV may return several matrices."""
    if name in SKIMAGE:
        return float(np.mean(np.abs(model.residuals(*exact))[scene.inliers]))
    if scene.problem == "pose":
        return mean_distance(scene, model)
    models = [model] if scene.problem in MAPS else model.reshape(-1, 3, 3)
    return min(mean_distance(scene, np.vstack([matrix[:2] / metres, matrix[2:]])) for matrix in models)


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run a call with both libraries."""
    name, seed = unit.payload
    problem, call = {**OPENCV, **SKIMAGE}[name]
    modules = ("bansac.compat.cv2", "cv2") if name in OPENCV else ("bansac.compat.skimage", "skimage.measure")
    rng = np.random.default_rng([seed, NAMES.index(name)])
    n, ratio = int(np.exp(rng.uniform(np.log(4), np.log(501)))), rng.uniform(0.3, 1.0)
    threshold = float(rng.choice([0.5, 1, 3, 5]))
    ratio = max(ratio, 4 / n)
    scene, exact = _make(problem, n, ratio, int(rng.integers(2**31)))
    metres = METRES if problem in MAPS and name in OPENCV and rng.uniform() < 1 / 3 else 1.0
    data = (scene.data[0], metres * scene.data[1], *scene.data[2:]) if len(scene.data) > 1 else scene.data
    found: list[tuple[bool, bool, bool]] = []
    for module in modules:
        model = None
        with warnings.catch_warnings(record=True) as caught, contextlib.suppress(ValueError):
            warnings.simplefilter("always")
            model = call(importlib.import_module(module), threshold, *data)
        right = model is not None and _error(name, model, scene, exact, metres) <= TOLERANCE
        doubt = any(record.category.__name__ == "DoubtWarning" for record in caught)
        found.append((model is not None, right, doubt))
    (ours, mine, doubt), (theirs, other, _) = found
    return [
        {
            "call": name,
            "calls": True,
            "agree": mine == other,
            "only ours right": mine and not other,
            "only theirs right": other and not mine,
            "theirs right, ours None": other and not ours,
            "ours None": not ours,
            "theirs None": not theirs,
            "ours in doubt": ours and doubt,
            "of these right": mine and doubt,
        }
    ]


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Count what the libraries return."""
    return Report(records={"counts": to_frame(rows).groupby("call", sort=False).sum().to_dict("index")})


def table(document: Document) -> Table:
    """Return the counts of each call."""
    counts = document["counts"]
    columns = next(iter(counts.values()))
    return plain_table(["call", *columns], ([f"`{name}`", *map(str, row.values())] for name, row in counts.items()))


MEASUREMENT = of_module(
    __name__,
    title="The replacements of OpenCV and scikit-image",
    units=lambda setup: each(NAMES, range(setup.seed, setup.seed + setup.repeats)),
    options=(Option("repeats", int, CALLS, "Calls of each function.", least=1, flag="--seeds"), FIRST_SEED),
    tables={"replacements": table},
    packages=("opencv-python-headless", "scikit-image"),
    values=map_scene,
)
