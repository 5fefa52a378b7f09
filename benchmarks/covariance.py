"""Check covariances by simulation: normalised squared errors and the coverage of 95 % regions.

    python benchmarks/covariance.py [--runs 300] [--json FILE]

Every run has new data: a model, points on it with normal noise, and uniform outliers in the range of the points. The
error of the estimate is expressed in the parameters of ``bansac.covariance``. Its square, normalised by the covariance,
has a chi-square distribution if the covariance is right. Divided by the number of parameters, its mean is then 1, and
95 % of the runs lie below the 95 % quantile. Runs without success do not count.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import chi2

import bansac
from bansac.geometry import apply_homography, rotation_matrix
from bansac.lab.provenance import circumstances
from bansac.problems.estimators import ESTIMATORS
from bansac.synthetic import epipolar_matches, homography_matches

# Number of points and share of outliers.
CASES = {"300 points": (300, 0.0), "300 points, half outliers": (300, 0.5), "60 points": (60, 0.0)}
NOISE = 0.5  # pixels
SPACE = 0.003  # noise of points in space, whose extent is 1
COVERED = 0.95
DEGREE = 2

Data = tuple[tuple[Any, ...], np.ndarray]  # the arguments of the estimator, and the numbers of the true model


def spoil(points: np.ndarray, outliers: float, rng: np.random.Generator) -> np.ndarray:
    """Replace the first points by outliers in the range of all."""
    count = int(outliers * len(points))
    points[:count] = rng.uniform(points.min(axis=0), points.max(axis=0), (count, points.shape[1]))
    return points


def turn(rng: np.random.Generator) -> np.ndarray:
    """Return a rotation by less than 60 degrees."""
    return rotation_matrix(rng.uniform(-0.6, 0.6, 3))


def line(n: int, outliers: float, seed: int) -> Data:
    """Return points along a line through the image."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(-1.5, 1.5)
    normal = np.array([-np.sin(angle), np.cos(angle)])
    points = [320, 240] + rng.uniform(-200, 200, (n, 1)) * [np.cos(angle), np.sin(angle)]
    model = np.append(normal, -normal @ [320, 240])
    return (spoil(points + rng.normal(0, NOISE, (n, 2)), outliers, rng),), model


def circle(n: int, outliers: float, seed: int) -> Data:
    """Return points of a whole circle."""
    (points,), (x, y, r, _, _) = ellipse(n, outliers, seed, ratio=1.0)
    return (points,), np.array([x, y, r])


def ellipse(n: int, outliers: float, seed: int, ratio: float = 0.6) -> Data:
    """Return points of a whole ellipse."""
    rng = np.random.default_rng(seed)
    t, a, angle, centre = rng.uniform(0, 2 * np.pi, n), rng.uniform(80, 200), rng.uniform(0.3, 2.8), [320, 240]
    across = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    points = centre + np.column_stack([a * np.cos(t), ratio * a * np.sin(t)]) @ across
    model = np.array([*centre, a, ratio * a, angle])
    return (spoil(points + rng.normal(0, NOISE, (n, 2)), outliers, rng),), model


def polynomial(n: int, outliers: float, seed: int) -> Data:
    """Return points of a parabola."""
    rng = np.random.default_rng(seed)
    x, model = rng.uniform(-1, 1, n), rng.uniform(-1, 1, DEGREE + 1)
    y = np.polynomial.polynomial.polyval(x, model) + rng.normal(0, SPACE, n)
    return (spoil(np.column_stack([x, y]), outliers, rng), DEGREE), model


def plane(n: int, outliers: float, seed: int) -> Data:
    """Return points of a square."""
    rng = np.random.default_rng(seed)
    R, centre = turn(rng), rng.uniform(1, 2, 3)
    points = np.column_stack([rng.uniform(-0.5, 0.5, (n, 2)), np.zeros(n)]) @ R.T + centre
    points += rng.normal(0, SPACE, (n, 3))
    return (spoil(points, outliers, rng),), np.append(R[:, 2], -R[:, 2] @ centre)


def planar_map(n: int, outliers: float, seed: int, *, similarity: bool) -> Data:
    """Return matches of a similarity or an affine map."""
    rng = np.random.default_rng(seed)
    x1, (c, s) = rng.uniform(0, 500, (n, 2)), rng.uniform(0.6, 1.2, 2)
    A = np.array([[c, -s], [s, c]]) if similarity else np.eye(2) + rng.uniform(-0.3, 0.3, (2, 2))
    t = rng.uniform(-50, 50, 2)
    return (x1, spoil(x1 @ A.T + t + rng.normal(0, NOISE, (n, 2)), outliers, rng)), np.column_stack([A, t])


def motion(n: int, outliers: float, seed: int, *, scaled: bool) -> Data:
    """Return matches of points in a cube."""
    rng = np.random.default_rng(seed)
    x1, M, t = rng.uniform(0, 1, (n, 3)), turn(rng) * (rng.uniform(0.5, 2) if scaled else 1), rng.normal(size=3)
    return (x1, spoil(x1 @ M.T + t + rng.normal(0, SPACE, (n, 3)), outliers, rng)), np.column_stack([M, t])


def absolute_pose(n: int, outliers: float, seed: int) -> Data:
    """Return a cloud at depths of 4 to 12, seen by a camera with a focal length of 1000 px."""
    rng = np.random.default_rng(seed)
    K = np.array([[1000.0, 0, 640], [0, 1000, 480], [0, 0, 1]])
    R, t, depth = turn(rng), rng.normal(size=3), rng.uniform(4, 12, (n, 1))
    x = rng.uniform(0, [1280, 960], (n, 2))
    X = (np.column_stack([(x - K[:2, 2]) / 1000.0, np.ones(n)]) * depth - t) @ R
    return (X, spoil(x + rng.normal(0, NOISE, (n, 2)), outliers, rng), K), np.append(R, t)


def homography(n: int, outliers: float, seed: int) -> Data:
    """Return matches of a plane, with noise in image 2."""
    scene = homography_matches(n, 1.0, 0.0, seed)
    rng = np.random.default_rng(seed)
    x2 = apply_homography(scene.H, scene.x1) + rng.normal(0, NOISE, (n, 2))
    return (scene.x1, spoil(x2, outliers, rng)), scene.H


def two_views(n: int, outliers: float, seed: int, *, model: str) -> Data:
    """Return matches of a general scene, with noise in both images."""
    scene = epipolar_matches(n, 1 - outliers, NOISE, seed)
    if model == "pose":
        return (scene.x1, scene.x2, scene.K), np.append(scene.R, scene.t / np.linalg.norm(scene.t))
    if model == "E":
        return (scene.x1, scene.x2, scene.K), scene.E * np.sqrt(2) / np.linalg.norm(scene.E)
    return (scene.x1, scene.x2), scene.F / np.linalg.norm(scene.F)


def view(model: str) -> Callable[[int, float, int], Data]:
    """Return the generator of a model of two views."""
    return lambda n, outliers, seed: two_views(n, outliers, seed, model=model)


PROBLEMS: dict[str, Callable[[int, float, int], Data]] = {
    "relative_pose": view("pose"),
    "essential": view("E"),
    "fundamental": view("F"),
    "homography": homography,
    "absolute_pose": absolute_pose,
    "affine": lambda n, outliers, seed: planar_map(n, outliers, seed, similarity=False),
    "similarity": lambda n, outliers, seed: planar_map(n, outliers, seed, similarity=True),
    "rigid_3d": lambda n, outliers, seed: motion(n, outliers, seed, scaled=False),
    "similarity_3d": lambda n, outliers, seed: motion(n, outliers, seed, scaled=True),
    "line": line,
    "circle": circle,
    "ellipse": ellipse,
    "plane": plane,
    "polynomial": polynomial,
}

FUNCTIONS = {row.name: row.load_function() for row in ESTIMATORS}


def normalised_error(name: str, data: Data, seed: int) -> tuple[float, int] | None:
    """Return the normalised squared error and the number of parameters; None without success."""
    arguments, true = data
    result = FUNCTIONS[name](*arguments, seed=seed)
    if not result.success:
        return None
    found = bansac.covariance(name, result, *arguments)
    numbers = (
        np.concatenate([np.ravel(part) for part in result.model]) if name.endswith("pose") else result.model.ravel()
    )
    change = true.ravel() - numbers
    if name in ("line", "plane", "essential", "fundamental"):  # of either sign
        change = min(change, -true.ravel() - numbers, key=np.linalg.norm)
    if name == "ellipse":
        change[4] = (change[4] + np.pi / 2) % np.pi - np.pi / 2
    error = np.linalg.lstsq(found.basis.T, change, rcond=None)[0]
    return float(error @ np.linalg.solve(found.matrix, error)), error.size


def measure(name: str, n: int, outliers: float, runs: int) -> dict[str, float]:
    """Return the mean and the median of the normalised error, in those of chi-square, and the coverage."""
    found = [normalised_error(name, PROBLEMS[name](n, outliers, seed), seed) for seed in range(runs)]
    squares = np.array([one[0] for one in found if one is not None])
    p = next(one[1] for one in found if one is not None)
    return {
        "parameters": p,
        "runs": len(squares),
        "mean": float(squares.mean() / p),
        "median": float(np.median(squares) / chi2.median(p)),
        "coverage": float(np.mean(squares <= chi2.ppf(COVERED, p))),
    }


def main() -> None:
    """Measure all problems and cases; print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300, help="runs of a problem and a case")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    report: dict[str, Any] = {**circumstances(("scipy",)), "runs": arguments.runs, "problems": {}}
    for name in arguments.problems:
        report["problems"][name] = {}
        for case, (n, outliers) in CASES.items():
            found = report["problems"][name][case] = measure(name, n, outliers, arguments.runs)
            print(name, case, {key: round(value, 3) for key, value in found.items()}, flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
