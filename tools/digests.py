"""Compute digests of many runs, to verify that a change of the code leaves all results bit-identical.

    python tools/digests.py --out before.json [--data FOLDER]
    python tools/digests.py --compare before.json [--data FOLDER]

A run is defined by a problem, a scene and a set of options. Its digests cover the model, the inlier mask, the beliefs,
the residuals, the counts and, if present, the trace. The bits depend on the processor and on the versions of NumPy and
Numba. Compare digests of one machine only. ``--data`` adds real pairs from a folder with sets in the format of the
"RANSAC in 2020" tutorial.
"""

import argparse
import dataclasses
import hashlib
import json
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import bansac
from bansac.engine.trace import TRACE_COLUMNS
from bansac.lab.known_scenes import FUNCTIONS, known_scene
from bansac.lab.sets import find_sets
from bansac.matches import Matches, load_demo
from bansac.synthetic import epipolar_matches, homography_matches, planar_scene_matches

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


Scene = tuple[str, Callable[..., bansac.Result], int, np.ndarray | None]
"""Name, estimator as a function of keyword arguments, number of data, and scores."""


def two_view_scenes(name: str, pair: Matches, kinds: str) -> Iterator[Scene]:
    """Yield the estimators of one pair of images."""
    points, cameras = (pair.x1, pair.x2), (pair.K1, pair.K2)
    calls: dict[str, Callable[..., bansac.Result]] = {
        "H": partial(bansac.estimate_homography, *points, preset="paper"),
        "F": partial(bansac.estimate_fundamental, *points, preset="paper"),
        "E": partial(bansac.estimate_essential, *points, *cameras, preset="paper"),
        "P": partial(bansac.estimate_relative_pose, *points, *cameras, threshold=0.8),
    }
    yield from ((f"{kind} {name}", calls[kind], len(pair), pair.scores) for kind in kinds)


def noisy_scores(n: int, seed: int) -> np.ndarray:
    """Return scores in [0, 1] with ties."""
    return np.round(np.random.default_rng(seed).uniform(0.05, 0.95, n), 2)


def synthetic_scenes() -> Iterator[Scene]:
    """Yield synthetic scenes, and the bundled pair of images."""
    pairs = {
        "general": (epipolar_matches(400, 0.5, 0.3, seed=1), "FEP"),
        "plane": (planar_scene_matches(301, 0.6, 0.8, 0.3, seed=2), "FEP"),
        "planar": (planar := homography_matches(250, 0.4, 0.3, seed=3), "H"),
        "map": (Matches(planar.x1 + 1e6, planar.x2 - 1e6), "HF"),
    }
    for seed, (name, (pair, kinds)) in enumerate(pairs.items()):
        scored = dataclasses.replace(pair, scores=noisy_scores(len(pair), seed))
        yield from two_view_scenes(name, scored, kinds)
    for name in ("line", "circle", "polynomial"):
        arguments, *_ = known_scene(name, 200, 0.55, 5.0, seed=4)
        threshold = 0.03 if name == "polynomial" else 15.0
        call = partial(FUNCTIONS[name], *arguments, threshold=threshold, preset="paper")
        yield name, call, 200, noisy_scores(200, 4)
    yield from two_view_scenes("noise", Matches(*np.random.default_rng(4).uniform(0, 500, (2, 120, 2))), "HF")
    yield from two_view_scenes("demo", load_demo(), "HF")


def real_scenes(folder: Path) -> Iterator[Scene]:
    """Yield the first and the last pair of each set of real images."""
    for pair_set in find_sets(folder):
        for key in dict.fromkeys((pair_set.keys[0], pair_set.keys[-1])):
            pair = pair_set.pair(key).filtered(0.9)
            if len(pair) >= 20:
                yield from two_view_scenes(f"{pair_set.name} {key}", pair, "FE" if pair_set.kind == "EF" else "H")


def runs(scenes: Iterator[Scene], names: Iterable[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Run every scene with every set of options for which it has the data, and yield the digests."""
    for name, estimate, n, scores in scenes:
        data = {"scores": scores, "priors": np.linspace(0.1, 0.9, n)}
        for options in names:
            given = {key: data.get(key, value) for key, value in COMMON[options].items()}
            if "scores" in given and scores is None:
                continue
            try:
                yield f"{name}, {options}", describe(estimate(**given))
            except ValueError as error:
                yield f"{name}, {options}", {"error": str(error)}


def describe(result: Any) -> dict[str, str]:
    """Return the digests that must be equal in two runs, by field."""
    names = "model inliers residuals beliefs score iterations models_tested stop_reason success num_inliers"
    values = {name: getattr(result, name) for name in names.split()}
    if result.trace is not None:
        values["trace"] = [getattr(result.trace, name) for name in TRACE_COLUMNS]
        values["snapshots"] = sorted(result.trace.snapshots.items())
    return {name: hashlib.sha256(pickle.dumps(value)).hexdigest()[:16] for name, value in values.items()}


REAL = ("default", "p-bansac", "uniform", "prosac", "p-napsac", "lo msac p-bansac", "stop all", "order 2", "trace")


def main() -> int:
    """Run, and write or compare; return 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the digests here")
    parser.add_argument("--compare", type=Path, help="compare with these digests")
    parser.add_argument("--data", type=Path, help="folder with real pairs")
    arguments = parser.parse_args()
    found = dict(runs(synthetic_scenes(), COMMON))
    if arguments.data:
        found |= runs(real_scenes(arguments.data), REAL)
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
