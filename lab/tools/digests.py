"""Store the results of many runs, to verify that a change of the code leaves them bit-identical or nearly equal.

    python lab/tools/digests.py --out before.json
    python lab/tools/digests.py --compare before.json [--tolerance 1e-9]

A run is defined by a problem, a scene and a set of options. The file has its counts; digests of the inlier mask, the
beliefs, the residuals and, if present, the trace; and the numbers of the model, the score, and the sums and maxima of
the beliefs and the finite residuals. All must be equal. With ``--tolerance``, only counts and masks must be equal. The
numbers may differ by this share of the largest one of their field, and the trace is not compared. The bits depend on
the processor and on the versions of NumPy and Numba. Compare files of one machine only.
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
from bansac.matches import Matches, load_demo
from bansac.synthetic import epipolar_matches, homography_matches, planar_scene_matches
from bansac_lab.known_scenes import FUNCTIONS, known_scene

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
    "napsac radius": {"sampler": bansac.Napsac(neighbourhood_radius=0.1)},
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
    "order 2": {"network": bansac.Network(order=2)},
    "order 3": {"network": bansac.Network(order=3), "scores": True},
    "gamma_2": {"network": bansac.Network(gamma="gamma_2")},
    "gamma_3 rho_3": {"network": bansac.Network(gamma="gamma_3", activation="rho_3")},
    "rho_2": {"network": bansac.Network(activation="rho_2", weight_floor=3.0)},
    "rho_4": {"network": bansac.Network(activation="rho_4", tau=0.05)},
    "cpt": {"network": bansac.Network(cpt=[[[0.1, 0.3], [0.8, 0.95]]]), "seed": 5},
    "trace": {"trace": True, "max_iterations": 120, "confidence": 0.99999},
}
COUNTS = ("iterations", "models_tested", "num_inliers", "success", "stop_reason")

Record = dict[str, Any]
"""Counts, digests and numbers of a run by field, or the error that refuses it."""

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


def runs(scenes: Iterable[Scene]) -> Iterator[tuple[str, Record]]:
    """Run every scene with every set of options for which it has the data, and yield the records."""
    for name, estimate, n, scores in scenes:
        data = {"scores": scores, "priors": np.linspace(0.1, 0.9, n)}
        for options, settings in COMMON.items():
            given = {key: data.get(key, value) for key, value in settings.items()}
            if "scores" in given and scores is None:
                continue
            try:
                yield f"{name}, {options}", describe(estimate(**given))
            except ValueError as error:
                yield f"{name}, {options}", {"error": str(error)}


def describe(result: Any) -> Record:
    """Return the record of a result; the numbers are lists of floats, which JSON stores exactly."""
    digested = {name: getattr(result, name) for name in ("inliers", "residuals", "beliefs")}
    if result.trace is not None:
        digested["trace"] = [getattr(result.trace, name) for name in TRACE_COLUMNS]
        digested["snapshots"] = sorted(result.trace.snapshots.items())
    parts = result.model if isinstance(result.model, tuple) else (result.model,)
    model = [float(value) for part in parts if part is not None for value in np.ravel(part)]
    numbers = {"model": model, "score": [float(result.score)]}
    for name in ("residuals", "beliefs"):
        values = np.array([] if digested[name] is None else digested[name])
        values = values[np.isfinite(values)]
        numbers |= {f"sum of {name}": [float(values.sum())], f"largest of {name}": [float(values.max(initial=0.0))]}
    digests = {name: hashlib.sha256(pickle.dumps(value)).hexdigest()[:16] for name, value in digested.items()}
    return {**{name: getattr(result, name) for name in COUNTS}, **digests, **numbers}


def differing(before: Record, now: Record, tolerance: float | None) -> list[str]:
    """Return the fields in which two records differ, with a relative tolerance of the numbers if there is one."""
    fields = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if tolerance is None or before.keys() != now.keys():
        return fields
    exact = ("error", "inliers", *COUNTS)
    return [
        f for f in fields if f in exact or (isinstance(now[f], list) and not is_close(before[f], now[f], tolerance))
    ]


def is_close(first: list[float], second: list[float], tolerance: float) -> bool:
    """Return whether two lists of numbers agree up to a share of the largest one."""
    most = tolerance * max(map(abs, first), default=0.0)
    return len(first) == len(second) and all(abs(a - b) <= most for a, b in zip(first, second, strict=True))


def main() -> int:
    """Run, and write or compare; return 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the results here")
    parser.add_argument("--compare", type=Path, help="compare with these results")
    parser.add_argument("--tolerance", type=float, help="largest relative difference; by default none is allowed")
    arguments = parser.parse_args()
    found = dict(runs(synthetic_scenes()))
    print(f"{len(found)} runs, {sum('error' in row for row in found.values())} of them refused")
    if arguments.out:
        arguments.out.write_text(json.dumps(found).replace("}, ", "},\n") + "\n")
    if not arguments.compare:
        return 0
    before = json.loads(arguments.compare.read_text())
    fields = {of: differing(before[of], row, arguments.tolerance) for of, row in found.items() if of in before}
    different = [f"differs: {of}: {', '.join(names)}" for of, names in fields.items() if names]
    print(*different, f"{len(before)} before: {len(different)} differ, {len(before.keys() - found)} not run", sep="\n")
    return bool(different or before.keys() - found)


if __name__ == "__main__":
    sys.exit(main())
