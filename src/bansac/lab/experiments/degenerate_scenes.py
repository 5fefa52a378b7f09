"""Units of the ``degenerate-sampling`` experiment: estimation of F on scenes with a dominant plane.

They are in a separate module so that an edit of the tables does not discard a run.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.batch.journal import Row, Unit
from bansac.lab.evaluation.task import DEFAULTS, judge, make_task, squared_distances
from bansac.lab.measurement import Setup, choose_sets
from bansac.lab.sets.labelled import LabelledSet, find_labelled_sets
from bansac.lab.tables import percent
from bansac.matches import Matches
from bansac.matches.pair_folder import evenly_spaced
from bansac.synthetic import planar_scene_matches

_Array = NDArray[np.float64]

SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
STEPS = (10, 30, 100, 300, 1000, 3000, 10000)
METHODS: dict[str, dict[str, Any]] = {
    "RANSAC": {"sampler": "uniform", "degeneracy": None},
    "RANSAC + DEGENSAC": {"sampler": "uniform", "degeneracy": "degensac"},
    "BANSAC": {"sampler": "bansac", "degeneracy": None},
    "BANSAC + DEGENSAC": {"sampler": "bansac", "degeneracy": "degensac"},
}
ADAPTIVE = ("BANSAC", "BANSAC + DEGENSAC")
MATCHES, INLIER_RATIO, NOISE = 500, 0.5, 0.25
SCENES, REPEATS = 50, 5
PLANE_THRESHOLD = 3.0  # pixels; for real scenes
SYNTHETIC = "synthetic"


@dataclass(frozen=True, eq=False)
class _Scene:
    """Matches with masks of the true matches on and off the dominant plane."""

    pair: Matches
    on_plane: NDArray[np.bool_]
    off_plane: NDArray[np.bool_]


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each synthetic scene, and one for each pair and repeat of the labelled sets."""
    scenes = SCENES if setup.repeats is None else setup.repeats
    of_scenes = [
        Unit(f"{SYNTHETIC}/{percent(share)}/{scene}", (None, share, scene), timed=scene == 0)
        for share in SHARES
        for scene in range(scenes)
    ]
    of_sets = [
        Unit(f"{labelled.name}/{key}/{repeat}", (str(labelled.folder), key, repeat), timed=repeat == 0)
        for labelled in (sets(setup) if setup.data is not None else [])
        for key in evenly_spaced(labelled.keys, setup.pairs)
        for repeat in range(REPEATS if setup.repeats is None else setup.repeats)
    ]
    return of_scenes + of_sets


def sets(setup: Setup) -> list[LabelledSet]:
    """Return the labelled sets selected by ``setup``."""
    assert setup.data is not None
    found = find_labelled_sets(setup.data)
    if not found:
        raise ValueError(
            f"--data: no set with labels in {setup.data} or below: it is a folder with matches.h5, labels.h5 and Fgt.h5"
        )
    return choose_sets(found, setup.sets, setup.exclude)


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run all methods on a scene; there are no rows if all true matches of a real scene lie on its plane."""
    folder, which, repeat = unit.payload
    seed = setup.seed + repeat
    scene = _synthetic_scene(which, seed) if folder is None else _labelled_scene(folder, which)
    if scene is None:
        return []
    common: Row = {
        "set": SYNTHETIC if folder is None else LabelledSet(folder).name,
        "scene": f"{percent(which)} %" if folder is None else which,
        "repeat": repeat,
        "seed": seed,
        "on_plane": int(scene.on_plane.sum()),
        "off_plane": int(scene.off_plane.sum()),
    }
    runs = [_run(scene, method, seed) for method in METHODS]
    runs += [_run(scene, method, seed, steps) for method in ADAPTIVE for steps in STEPS]
    return [common | run for run in runs]


def _run(scene: _Scene, method: str, seed: int, iterations: int | None = None) -> Row:
    """Estimate F with the method's stopping criterion or, if given, with a fixed number of iterations."""
    import bansac

    protocol = DEFAULTS["F"]
    is_open = iterations is not None
    arguments: dict[str, Any] = {
        "preset": "paper",
        "threshold": protocol.threshold,
        "max_iterations": protocol.max_iterations,
        "confidence": protocol.confidence,
        "seed": seed,
        **METHODS[method],
        **({"stopping": None, "max_iterations": iterations} if is_open else {}),
    }
    result = bansac.estimate_fundamental(scene.pair.x1, scene.pair.x2, **arguments)
    row: Row = {
        "method": method,
        "open": is_open,
        **_errors(scene, result, seed),
        "iterations": iterations if is_open else result.iterations,
        "stop_reason": None if is_open else result.stop_reason,
        "inliers": result.num_inliers,
        "bias": sampling_bias(result.beliefs, scene.on_plane, scene.off_plane),
    }
    return row if is_open else row | {"seconds": result.seconds}


def _errors(scene: _Scene, result: Any, seed: int) -> Row:
    """Return the median error of the true matches off the plane and, if the pose is known, the pose errors."""
    errors: Row = {"off_plane_error": _median_distance(result.model, scene.pair, scene.off_plane)}
    if scene.pair.R is not None:
        errors |= judge(result.model, make_task(scene.pair, DEFAULTS["F"], seed), scene.pair)
    return errors


def _median_distance(F: _Array | None, pair: Matches, which: NDArray[np.bool_]) -> float | None:
    """Return the median Sampson distance of the selected matches in pixels; None without a model."""
    return None if F is None else float(np.sqrt(np.median(squared_distances(F, pair, "F")[which])))


def sampling_bias(beliefs: _Array | None, on_plane: NDArray[np.bool_], off_plane: NDArray[np.bool_]) -> float | None:
    """Compute the bias of BANSAC's sampling towards matches on the plane.

    It is the mean sampling weight on the plane divided by the mean weight off the plane. The weight of a match is
    max(100 p, 1), as in the paper. The result is None for a sampler without beliefs.

    Examples
    --------
    >>> sampling_bias(np.array([0.9, 0.7, 0.4]), np.array([True, True, False]), np.array([False, False, True]))
    2.0
    """
    if beliefs is None:
        return None
    weights = np.maximum(100 * beliefs, 1)
    return float(weights[on_plane].mean() / weights[off_plane].mean())


def _synthetic_scene(share: float, seed: int) -> _Scene:
    matches = planar_scene_matches(MATCHES, INLIER_RATIO, share, NOISE, seed)
    assert matches.inliers is not None
    assert matches.on_plane is not None
    pair = dataclasses.replace(matches, key=f"{percent(share)}-{seed}", ratios=np.full(MATCHES, 0.5))
    return _Scene(pair, matches.on_plane, matches.inliers & ~matches.on_plane)


def _labelled_scene(folder: str, key: str) -> _Scene | None:
    """Read a labelled pair and find its dominant plane; None if there are no true matches on it or off it."""
    import bansac

    pair = LabelledSet(folder).pair(key)
    assert pair.inliers is not None
    true = np.flatnonzero(pair.inliers)
    settings: dict[str, Any] = {"preset": "paper", "sampler": "uniform", "max_iterations": 2000}
    plane = bansac.estimate_homography(pair.x1[true], pair.x2[true], threshold=PLANE_THRESHOLD, **settings)
    on_plane = np.zeros(len(pair), bool)
    on_plane[true[plane.inliers]] = True
    off_plane = pair.inliers & ~on_plane
    return _Scene(pair, on_plane, off_plane) if on_plane.any() and off_plane.any() else None
