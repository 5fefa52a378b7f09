"""Random calls of ``bansac.compat.cv2`` and ``bansac.compat.skimage`` beside OpenCV and scikit-image.

A call has 4 to 500 points, 30 to 100 % inliers with a noise of .3 px, and a threshold of .5, 1, 3 or 5. In a third of
OpenCV's maps the second points are in metres, a thousandth of the pixels: the threshold is larger than the data.
A model is right if its median residual at the inliers without noise is at most .9 px. A call agrees if both libraries
or neither have a right model. The table also counts the calls where only one of them is right, those without a model,
and the models with a ``DoubtWarning``.
"""

import contextlib
import importlib
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from bansac.geometry import apply_transform, homogeneous, rotation_matrix
from bansac.maths.arrays import Floats
from bansac_lab.frames import to_frame
from bansac_lab.measurement import FIRST_SEED, Document, Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.tables import Table, plain_table

K = np.array([[800.0, 0.0, 320.0], [0.0, 800.0, 240.0], [0.0, 0.0, 1.0]])
NOISE, TOLERANCE, TRIALS = 0.3, 0.9, 1000
CALLS = 67

Data = tuple[Floats, Floats]


def map_of_plane(rng: np.random.Generator, n: int, freedom: int) -> Data:
    """Return points and their images by a similarity, an affine map or a homography, as 4, 6 or 8 parameters say."""
    x, angle, scale = rng.uniform(0, 640, (n, 2)), rng.uniform(-np.pi, np.pi), rng.uniform(0.5, 2.0)
    H = np.eye(3)
    H[:2, :2] = scale * rotation_matrix([0.0, 0.0, angle])[:2, :2]
    H[:2, :2] += rng.uniform(-0.2, 0.2, (2, 2)) * (freedom > 4)
    H[2, :2] = rng.uniform(-3e-4, 3e-4, 2) * (freedom > 6)
    H[:2, 2] = rng.uniform(-100, 100, 2)
    return x, apply_transform(H, x)


def space(rng: np.random.Generator, n: int) -> Data:
    """Return points of space before a camera at the origin, and their images in a second camera."""
    X = rng.uniform([-2.0, -1.5, 4.0], [2.0, 1.5, 8.0], (n, 3))
    R, t = rotation_matrix(rng.uniform(-0.2, 0.2, 3)), rng.uniform(-1.0, 1.0, 3) * [1.0, 0.5, 0.3]
    return X, apply_transform(K, X @ R.T + t)


def views(rng: np.random.Generator, n: int) -> Data:
    """Return the images of points of space in two cameras."""
    X, x2 = space(rng, n)
    return apply_transform(K, X), x2


def curve(rng: np.random.Generator, n: int, is_circle: bool) -> Data:
    """Return points on a line or a circle, twice."""
    angles, centre = rng.uniform(0.0, 2.0 * np.pi, n), rng.uniform(200, 400, 2)
    circle = centre + rng.uniform(50, 200) * np.column_stack([np.cos(angles), np.sin(angles)])
    line = centre + rng.uniform(-200, 200, (n, 1)) * [np.cos(angles[0]), np.sin(angles[0])]
    return (circle, circle) if is_circle else (line, line)


def transfer(H: Floats, x: Floats, y: Floats) -> Floats:
    """Return the transfer errors of a homography or an affine map."""
    H = H if len(H) == 3 else np.vstack([H, [0.0, 0.0, 1.0]])
    return np.asarray(np.linalg.norm(apply_transform(H, x) - y, axis=1))


def sampson(F: Floats, x: Floats, y: Floats) -> Floats:
    """Return the smallest Sampson distances of stacked fundamental matrices."""
    distances = []
    for each_F in F.reshape(-1, 3, 3):
        lines2, lines1 = homogeneous(x) @ each_F.T, homogeneous(y) @ each_F
        squares = (lines2[:, :2] ** 2 + lines1[:, :2] ** 2).sum(axis=1)
        distances.append(np.abs((homogeneous(y) * lines2).sum(axis=1)) / np.sqrt(squares))
    return np.asarray(min(distances, key=np.median))


def essential(E: Floats, x: Floats, y: Floats) -> Floats:
    """Return the Sampson distances in pixels of stacked essential matrices."""
    return sampson(np.vstack([np.linalg.inv(K).T @ each_E @ np.linalg.inv(K) for each_E in E.reshape(-1, 3, 3)]), x, y)


def reprojection(pose: Any, X: Floats, x: Floats) -> Floats:
    """Return the reprojection errors of a rotation vector and a translation."""
    images = apply_transform(K, X @ rotation_matrix(pose[0].ravel()).T + pose[1].ravel())
    return np.asarray(np.linalg.norm(images - x, axis=1))


def _pose(cv: Any, X: Floats, x: Floats, threshold: float) -> Any:
    found, *pose = cv.solvePnPRansac(X, x, K, None, reprojectionError=threshold)[:3]
    return pose if found else None


def _fit(name: str) -> tuple[str, Callable[..., Any], Callable[..., Floats]]:
    """Return the call of scikit-image's class, and the residuals of its model."""

    def call(module: Any, x: Floats, y: Floats, threshold: float) -> Any:
        kind = getattr(importlib.import_module("skimage.measure"), name, None)
        data, kind = (
            ((x, y), getattr(importlib.import_module("skimage.transform"), name)) if kind is None else (y, kind)
        )
        return module.ransac(data, kind, 8 if "Fund" in name else 4, threshold, max_trials=TRIALS, rng=0)[0]

    return "skimage", call, lambda model, x, y: np.abs(model.residuals(*((y,) if "Model" in name else (x, y))))


Kind = tuple[Callable[[np.random.Generator, int], Data], str, Callable[..., Any], Callable[..., Floats]]

# The data of each call, its library, the call itself and the residuals of its model.
KINDS: Mapping[str, Kind] = {
    "findHomography": (
        lambda rng, n: map_of_plane(rng, n, 8), "cv2", lambda cv, x, y, t: cv.findHomography(x, y, cv.RANSAC, t)[0],
        transfer,
    ),
    "findFundamentalMat": (views, "cv2", lambda cv, x, y, t: cv.findFundamentalMat(x, y, cv.FM_RANSAC, t)[0], sampson),
    "findEssentialMat": (
        views, "cv2", lambda cv, x, y, t: cv.findEssentialMat(x, y, K, cv.RANSAC, 0.999, t)[0], essential,
    ),
    "estimateAffine2D": (
        lambda rng, n: map_of_plane(rng, n, 6), "cv2",
        lambda cv, x, y, t: cv.estimateAffine2D(x, y, ransacReprojThreshold=t)[0], transfer,
    ),
    "estimateAffinePartial2D": (
        lambda rng, n: map_of_plane(rng, n, 4), "cv2",
        lambda cv, x, y, t: cv.estimateAffinePartial2D(x, y, ransacReprojThreshold=t)[0], transfer,
    ),
    "solvePnPRansac": (space, "cv2", _pose, reprojection),
    "ProjectiveTransform": (lambda rng, n: map_of_plane(rng, n, 8), *_fit("ProjectiveTransform")),
    "AffineTransform": (lambda rng, n: map_of_plane(rng, n, 6), *_fit("AffineTransform")),
    "SimilarityTransform": (lambda rng, n: map_of_plane(rng, n, 4), *_fit("SimilarityTransform")),
    "FundamentalMatrixTransform": (views, *_fit("FundamentalMatrixTransform")),
    "CircleModel": (lambda rng, n: curve(rng, n, True), *_fit("CircleModel")),
    "LineModelND": (lambda rng, n: curve(rng, n, False), *_fit("LineModelND")),
}  # fmt: skip


def units(setup: Setup) -> list[Unit]:
    """Return the calls."""
    return each(KINDS, range(setup.seed, setup.seed + setup.repeats))


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run a call with both libraries."""
    name, seed = unit.payload
    make, library, call, residuals = KINDS[name]
    rng = np.random.default_rng([seed, list(KINDS).index(name)])
    n, share, threshold = (
        int(np.exp(rng.uniform(np.log(4), np.log(501)))),
        rng.uniform(0.3, 1.0),
        rng.choice([0.5, 1, 3, 5]),
    )
    x, y = make(rng, n)
    unit_of_y = 1e-3 if make not in (views, space, curve) and library == "cv2" and rng.uniform() < 1 / 3 else 1.0
    good = np.arange(n) < max(np.ceil(share * n), 4)
    noisy = y + rng.normal(0.0, NOISE, y.shape)
    noisy[~good] = rng.uniform(y.min(axis=0) - 50, y.max(axis=0) + 50, y.shape)[~good]
    row: Row = {"call": name, "n": n, "threshold": float(threshold), "unit": unit_of_y}
    for side, module in (
        ("ours", f"bansac.compat.{library}"),
        ("theirs", {"skimage": "skimage.measure"}.get(library, library)),
    ):
        model = None
        with warnings.catch_warnings(record=True) as caught, contextlib.suppress(ValueError):
            warnings.simplefilter("always")
            model = call(importlib.import_module(module), x, unit_of_y * noisy, float(threshold))
        error = (
            np.inf if model is None else float(np.median(residuals(model, x[good], unit_of_y * y[good]))) / unit_of_y
        )
        doubt = any(record.category.__name__ == "DoubtWarning" for record in caught)
        row |= {f"{side}_found": model is not None, f"{side}_right": error <= TOLERANCE, f"{side}_doubt": doubt}
    return [row]


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Count what the libraries return."""
    counts: Row = {}
    for name, calls in to_frame(rows).groupby("call", sort=False):
        mine, other, found = calls["ours_right"], calls["theirs_right"], calls["ours_found"]
        counts[str(name)] = {
            "calls": len(calls),
            "agree": int((mine == other).sum()),
            "only ours right": int((mine & ~other).sum()),
            "only theirs right": int((~mine & other).sum()),
            "theirs right, ours None": int((~found & other).sum()),
            "ours None": int((~found).sum()),
            "theirs None": int((~calls["theirs_found"]).sum()),
            "ours in doubt": int((found & calls["ours_doubt"]).sum()),
            "of these right": int((mine & calls["ours_doubt"]).sum()),
        }
    return Report(records={"counts": counts})


def table(document: Document) -> Table:
    """Return the counts of each call."""
    counts = document["counts"]
    columns = next(iter(counts.values()))
    return plain_table(["call", *columns], ([f"`{name}`", *map(str, row.values())] for name, row in counts.items()))


MEASUREMENT = of_module(
    __name__,
    title="The replacements of OpenCV and scikit-image",
    options=(Option("repeats", int, CALLS, "Calls of each function.", least=1, flag="--seeds"), FIRST_SEED),
    tables={"replacements": table},
    packages=("opencv-python-headless", "scikit-image"),
    parallel=True,
)
