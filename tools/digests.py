"""Compute digests of many runs, to verify that a change of the code leaves all results bit-identical.

    python tools/digests.py --out before.json [--data FOLDER]
    python tools/digests.py --compare before.json [--data FOLDER]

A run is defined by a problem, a scene and a set of options. Its digests cover the model, the inlier mask, the beliefs,
the residuals, the counts and, if present, the trace. The bits depend on the processor and on the versions of NumPy and
Numba. Compare digests of one machine only. ``--data`` adds real pairs from a folder with sets in the format of the
"RANSAC in 2020" tutorial.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import bansac
from bansac.engine.trace import TRACE_COLUMNS
from bansac.matches import load_demo

LO = "inner+iterative"

# Options of every scene; "scores" and "priors" are replaced by those of the scene.
COMMON: dict[str, dict[str, Any]] = {
    "default": {},
    "p-bansac": {"scores": True},
    "priors": {"priors": True},
    "priors and scores": {"priors": True, "scores": True},
    "uniform": {"sampler": "uniform"},
    "prosac": {"sampler": "prosac", "scores": True},
    "napsac": {"sampler": "napsac"},
    "napsac radius": {"sampler": "napsac", "neighborhood_radius": 0.1},
    "p-napsac": {"sampler": "p-napsac", "scores": True},
    "baysac": {"sampler": "baysac", "priors": True},
    "ar": {"sampler": "ar", "priors": True},
    "msac": {"scoring": "msac"},
    "msac uniform": {"scoring": "msac", "sampler": "uniform", "verification": None},
    "no verification": {"verification": None},
    "inner": {"local_optimization": "inner", "sampler": "uniform"},
    "iterative": {"local_optimization": "iterative"},
    "lo": {"local_optimization": LO},
    "lo msac p-bansac": {"local_optimization": LO, "scoring": "msac", "scores": True},
    "lo prosac": {"local_optimization": LO, "sampler": "prosac", "scores": True},
    "stop ransac": {"stopping": "ransac"},
    "stop sprt uniform": {"stopping": "sprt", "sampler": "uniform"},
    "stop prosac": {"stopping": "prosac", "scores": True},
    "stop bansac": {"stopping": "bansac", "max_iterations": 600},
    "stop all": {"stopping": "ransac+sprt+prosac+bansac", "scores": True, "min_iterations": 40},
    "no stop": {"stopping": None, "max_iterations": 150},
    "no refinement": {"refinement": None, "degeneracy": None},
    "order 2": {"order": 2},
    "order 3": {"order": 3, "scores": True},
    "gamma_2": {"gamma": "gamma_2"},
    "gamma_3 rho_3": {"gamma": "gamma_3", "activation": "rho_3"},
    "rho_2": {"activation": "rho_2", "weight_floor": 3.0},
    "rho_4": {"activation": "rho_4", "tau": 0.05},
    "cpt": {"cpt": [[[0.1, 0.3], [0.8, 0.95]]], "seed": 5},
    "trace": {"trace": True, "max_iterations": 120, "confidence": 0.99999},
}


@dataclasses.dataclass(frozen=True)
class Scene:
    """Data of one estimator, as a function of keyword arguments."""

    name: str
    estimate: Callable[..., bansac.Result]
    n: int
    scores: np.ndarray | None = None


def rotation(x: float, y: float, z: float) -> np.ndarray:
    """Return the product of rotations about the three axes."""
    cx, sx, cy, sy, cz, sz = np.cos(x), np.sin(x), np.cos(y), np.sin(y), np.cos(z), np.sin(z)
    about_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    about_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def two_views(n: int, inlier_ratio: float, seed: int, *, plane: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return matches of two views of a scene with outliers and a share ``plane`` on a plane; and the camera matrix."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-2, 2, (n, 2)), rng.uniform(4, 9, n)])
    flat = rng.random(n) < plane
    X[flat, 2] = 6.0 + 0.3 * X[flat, 0]
    Y = X @ rotation(0.05, -0.2, 0.1).T + [0.8, 0.1, -0.2]
    K = np.array([[800.0, 0.0, 500.0], [0.0, 820.0, 400.0], [0.0, 0.0, 1.0]])
    x1, x2 = ((P @ K.T)[:, :2] / P[:, 2:] for P in (X, Y))
    x1 += rng.normal(0, 0.3, x1.shape)
    x2 += rng.normal(0, 0.3, x2.shape)
    wrong = rng.random(n) > inlier_ratio
    x2[wrong] = rng.uniform([0, 0], [1000, 800], (int(wrong.sum()), 2))
    return x1, x2, K


def noisy_scores(n: int, seed: int) -> np.ndarray:
    """Return scores in [0, 1] with ties."""
    return np.round(np.random.default_rng(seed).uniform(0.05, 0.95, n), 2)


def two_view_scenes(name: str, x1: Any, x2: Any, K1: Any, K2: Any, scores: Any, kinds: str) -> Iterator[Scene]:
    """Return the estimators of one pair of images."""
    n = len(x1)
    if "H" in kinds:
        yield Scene(f"H {name}", lambda **o: bansac.estimate_homography(x1, x2, preset="paper", **o), n, scores)
    if "F" in kinds:
        yield Scene(f"F {name}", lambda **o: bansac.estimate_fundamental(x1, x2, preset="paper", **o), n, scores)
    if "E" in kinds:
        yield Scene(f"E {name}", lambda **o: bansac.estimate_essential(x1, x2, K1, K2, preset="paper", **o), n, scores)
    if "P" in kinds:
        pose = bansac.estimate_relative_pose
        yield Scene(f"pose {name}", lambda **o: pose(x1, x2, K1, K2, threshold=0.8, **o), n, scores)


def synthetic_scenes() -> Iterator[Scene]:
    """Return synthetic scenes."""
    for name, n, ratio, seed, plane in (("general", 400, 0.5, 1, 0.0), ("plane", 301, 0.6, 2, 0.8)):
        x1, x2, K = two_views(n, ratio, seed, plane=plane)
        yield from two_view_scenes(name, x1, x2, K, K, noisy_scores(n, seed), "FEP")
    x1, x2, K = two_views(250, 0.4, 3, plane=1.0)
    yield from two_view_scenes("planar", x1, x2, K, K, noisy_scores(250, 3), "H")
    yield from two_view_scenes("map", x1 + 1e6, x2 - 1e6, K, K, noisy_scores(250, 3), "HF")
    rng = np.random.default_rng(4)
    n = 200
    x = rng.uniform(-1, 1, n)
    wrong = rng.random(n) < 0.45
    scores = noisy_scores(n, 4)
    curves = {
        "line": (np.column_stack([x, 0.5 * x + 0.2]), bansac.fit_line, ()),
        "circle": (np.column_stack([np.cos(3 * x) + 2, np.sin(3 * x)]), bansac.fit_circle, ()),
        "cubic": (np.column_stack([x, 1 - x + 2 * x**3]), bansac.fit_polynomial, (3,)),
    }
    for name, (points, fit, arguments) in curves.items():
        points = points + rng.normal(0, 0.01, points.shape)
        points[wrong] = rng.uniform(-2, 3, (int(wrong.sum()), 2))
        yield Scene(
            name, lambda fit=fit, p=points, a=arguments, **o: fit(p, *a, threshold=0.03, preset="paper", **o), n, scores
        )
    noise = rng.uniform(0, 500, (2, 120, 2))
    yield from two_view_scenes("noise", *noise, None, None, None, "HF")


def demo_scenes() -> Iterator[Scene]:
    """Return the bundled pair of images."""
    pair = load_demo()
    yield from two_view_scenes("demo", pair.x1, pair.x2, None, None, pair.scores, "HF")


def real_scenes(folder: Path) -> Iterator[Scene]:
    """Return some pairs of real images."""
    import h5py

    def read(path: Path, key: str) -> np.ndarray:
        with h5py.File(path, "r") as file:
            return np.asarray(file[key], np.float64)

    for path in sorted(folder.rglob("matches.h5")):
        if not (path.parent / "match_conf.h5").exists():
            continue
        with h5py.File(path, "r") as file:
            keys = sorted(file)
        for key in keys[:: max(1, len(keys) - 1)][:2]:
            ratio = read(path.parent / "match_conf.h5", key).ravel()
            chosen = ratio < 0.9
            matches, scores = read(path, key)[chosen], 1 - ratio[chosen]
            if len(matches) < 20:
                continue
            name = f"{path.parent.name} {key}"
            x1, x2 = matches[:, :2], matches[:, 2:]
            if (path.parent / "K1_K2.h5").exists():
                K1, K2 = read(path.parent / "K1_K2.h5", key)[0]
                yield from two_view_scenes(name, x1, x2, K1, K2, scores, "FE")
            else:
                yield from two_view_scenes(name, x1, x2, None, None, scores, "H")


def runs(scenes: Iterator[Scene], names: tuple[str, ...] = tuple(COMMON)) -> Iterator[tuple[str, bansac.Result]]:
    """Run every scene with every set of options for which it has the data."""
    for scene in scenes:
        for name in names:
            options = dict(COMMON[name])
            if options.get("scores"):
                if scene.scores is None:
                    continue
                options["scores"] = scene.scores
            if options.get("priors"):
                options["priors"] = np.linspace(0.1, 0.9, scene.n)
            try:
                yield f"{scene.name}, {name}", scene.estimate(**options)
            except ValueError as error:
                yield f"{scene.name}, {name}", str(error)


def digest(values: Any) -> str:
    """Return a short hash of arrays and numbers."""
    if values is None:
        return "none"
    hashed = hashlib.sha256()
    for value in values if isinstance(values, tuple) else (values,):
        hashed.update(np.ascontiguousarray(value).tobytes())
    return hashed.hexdigest()[:16]


def describe(result: Any) -> dict[str, Any]:
    """Return the digests that must be equal in two runs."""
    if isinstance(result, str):
        return {"error": result}
    model = result.model
    row = {
        "model": digest(tuple(model) if isinstance(model, tuple) else model),
        "inliers": digest(result.inliers),
        "residuals": digest(result.residuals),
        "beliefs": digest(result.beliefs),
        "score": float(result.score).hex(),
        "iterations": int(result.iterations),
        "models_tested": int(result.models_tested),
        "stop_reason": result.stop_reason,
        "success": bool(result.success),
        "num_inliers": int(result.inliers.sum()),
    }
    if result.trace is not None:
        row["trace"] = digest(tuple(getattr(result.trace, name) for name in TRACE_COLUMNS))
        row["snapshots"] = digest(tuple(result.trace.snapshots[key] for key in sorted(result.trace.snapshots)))
    return row


REAL = ("default", "p-bansac", "uniform", "prosac", "p-napsac", "lo msac p-bansac", "stop all", "order 2", "trace")


def main() -> int:
    """Run, and write or compare; return 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the digests here")
    parser.add_argument("--compare", type=Path, help="compare with these digests")
    parser.add_argument("--data", type=Path, help="folder with real pairs")
    arguments = parser.parse_args()
    found = {name: describe(result) for name, result in runs(synthetic_scenes())}
    found |= {name: describe(result) for name, result in runs(demo_scenes())}
    if arguments.data:
        found |= {name: describe(result) for name, result in runs(real_scenes(arguments.data), REAL)}
    errors = sum("error" in row for row in found.values())
    print(f"{len(found)} runs, {errors} of them refused")
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")
    if not arguments.compare:
        return 0
    before = json.loads(arguments.compare.read_text())
    different = [name for name in before if name in found and found[name] != before[name]]
    for name in different:
        fields = [field for field in before[name] if before[name][field] != found[name].get(field)]
        print(f"differs: {name}: {', '.join(fields)}")
    missing = [name for name in before if name not in found]
    print(f"{len(before)} before: {len(different)} differ, {len(missing)} not run now")
    return bool(different or missing)


if __name__ == "__main__":
    sys.exit(main())
