"""Does BANSAC drift towards a dominant plane, and does it come back? The paper's "Degenerative configurations".

Seven matches of which five or more lie on one plane give a fundamental matrix that fits the plane and little else. The
paper says that BANSAC can "create a bias towards degenerative sampling", but "can reverse that bias as soon as new
non-degenerative solutions are obtained", and that probabilities are not updated on hypotheses found degenerate. It has
no experiment on it; this is one.

Scenes: 500 matches, half of them true (noise .25 pixel), of which 50 to 95 % lie on a plane; with data, labelled sets
too (:mod:`bansac.datasets.labelled`), where the plane is that of the homography with most true matches. F is estimated
with the paper's settings, with and without DEGENSAC,

- once up to the stopping criterion of each method: how often is F wrong off the plane?
- once without any, for 10, 30, ..., 10000 iterations: the bias is the mean sampling weight of the true matches on the
  plane over that of those off the plane; 1 is none, 100 the most there can be. A run of k iterations is the beginning
  of every longer one with the same seed.

F is wrong off the plane where the median Sampson distance of the true matches there is above ``WRONG_ABOVE`` pixels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bansac.datasets import Matches
from bansac.datasets.hdf5 import evenly_spaced
from bansac.datasets.labelled import LabelledSet, find_labelled_sets
from bansac.datasets.synthetic import planar_scene_matches
from bansac.evaluation.bench import DEFAULTS, choose_sets, judge, make_task
from bansac.evaluation.charts import Chart, Series, plot_charts
from bansac.evaluation.experiment import Experiment, Report, Row, Setup, Unit
from bansac.evaluation.tables import Measured, Section, Table, TableRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT", "METHODS", "SHARES", "STEPS", "sampling_bias"]

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
WRONG_ABOVE = 2.0
# Above this the plane is drawn noticeably more often than its share.
BIASED = 2.0
PLANE_THRESHOLD = 3.0  # pixels; of real scenes
SYNTHETIC = "synthetic"


@dataclass(frozen=True, eq=False)
class _Scene:
    """Matches, which of them are true and which of these lie on the dominant plane."""

    pair: Matches
    on_plane: NDArray[np.bool_]
    off_plane: NDArray[np.bool_]


def units(setup: Setup) -> list[Unit]:
    """Return one unit for every scene: made-up ones, and pairs of labelled sets with each seed."""
    scenes = SCENES if setup.repeats is None else setup.repeats
    chosen = [
        Unit(f"{SYNTHETIC}/{_percent(share)}/{scene}", (None, share, scene), timed=scene == 0)
        for share in SHARES
        for scene in range(scenes)
    ]
    if setup.data is None:
        return chosen
    repeats = REPEATS if setup.repeats is None else setup.repeats
    for labelled in sets(setup):
        for key in evenly_spaced(labelled.keys, setup.pairs):
            for repeat in range(repeats):
                payload = (str(labelled.folder), key, repeat)
                chosen.append(Unit(f"{labelled.name}/{key}/{repeat}", payload, timed=repeat == 0))
    return chosen


def sets(setup: Setup) -> list[LabelledSet]:
    """Return the labelled sets that ``setup`` chooses."""
    assert setup.data is not None
    found = find_labelled_sets(setup.data)
    if not found:
        raise ValueError(
            f"--data: no set with labels in {setup.data} or below: it is a folder with matches.h5, labels.h5 and Fgt.h5"
        )
    return choose_sets(found, setup.sets, setup.exclude)


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run all methods on a scene."""
    folder, which, repeat = unit.payload
    seed = setup.seed + repeat
    scene = _synthetic_scene(which, seed) if folder is None else _labelled_scene(folder, which)
    if scene is None:
        return []
    common: Row = {
        "set": SYNTHETIC if folder is None else LabelledSet(folder).name,
        "scene": f"{_percent(which)} %" if folder is None else which,
        "repeat": repeat,
        "seed": seed,
        "on_plane": int(scene.on_plane.sum()),
        "off_plane": int(scene.off_plane.sum()),
    }
    rows: list[Row] = []
    for method in METHODS:
        rows.append({**common, **_stopped_run(scene, method, seed)})
    for method in ADAPTIVE:
        rows += [{**common, **_open_run(scene, method, seed, steps)} for steps in STEPS]
    return rows


def _stopped_run(scene: _Scene, method: str, seed: int) -> Row:
    """Estimate up to the method's stopping criterion."""
    result = _estimate(scene, method, seed)
    return {
        "method": method,
        "open": False,
        **_errors(scene, result, seed),
        "iterations": result.iterations,
        "stop_reason": result.stop_reason,
        "inliers": result.num_inliers,
        "bias": sampling_bias(result.probabilities, scene.on_plane, scene.off_plane),
        "seconds": result.seconds,
    }


def _open_run(scene: _Scene, method: str, seed: int, iterations: int) -> Row:
    """Estimate for a number of iterations."""
    result = _estimate(scene, method, seed, stopping=None, max_iterations=iterations)
    return {
        "method": method,
        "open": True,
        **_errors(scene, result, seed),
        "iterations": iterations,
        "stop_reason": None,
        "inliers": result.num_inliers,
        "bias": sampling_bias(result.probabilities, scene.on_plane, scene.off_plane),
    }


def _estimate(scene: _Scene, method: str, seed: int, **settings: Any) -> Any:
    import bansac

    protocol = DEFAULTS["F"]
    arguments: dict[str, Any] = {
        "preset": "paper",
        "threshold": protocol.threshold,
        "max_iterations": protocol.max_iterations,
        "confidence": protocol.confidence,
        "seed": seed,
        **METHODS[method],
        **settings,
    }
    return bansac.estimate_fundamental(scene.pair.x1, scene.pair.x2, **arguments)


def _errors(scene: _Scene, result: Any, seed: int) -> Row:
    """Return the distance of the true matches off the plane and, where the cameras are known, the pose errors."""
    errors: Row = {"off_plane_error": _median_distance(result.model, scene.pair, scene.off_plane)}
    if scene.pair.R is not None:
        task = make_task(scene.pair, DEFAULTS["F"], seed)
        errors["rotation_error"], errors["translation_error"] = judge(result.model, task, scene.pair)
    return errors


def _median_distance(F: _Array | None, pair: Matches, which: NDArray[np.bool_]) -> float | None:
    """Return the median Sampson distance of some matches in pixels; None without a model."""
    from bansac.problems.fundamental import FUNDAMENTAL

    if F is None:
        return None
    data = np.ascontiguousarray(np.column_stack([pair.x1, pair.x2])[which].T)
    squared = np.empty(data.shape[1])
    FUNDAMENTAL.exact_residuals(data, np.ascontiguousarray(F).ravel(), 0, data.shape[1], squared)
    return float(np.sqrt(np.median(squared)))


def sampling_bias(
    probabilities: _Array | None, on_plane: NDArray[np.bool_], off_plane: NDArray[np.bool_]
) -> float | None:
    """Return how much likelier BANSAC draws a match on the plane than one off it.

    Parameters
    ----------
    probabilities : (N,) ndarray or None
        Probabilities of the matches; None for a sampler that keeps none.
    on_plane, off_plane : (N,) ndarray of bool
        Which matches to compare.

    Returns
    -------
    float or None
        Ratio of the mean sampling weights, max(100 p, 1) as the paper draws.

    Examples
    --------
    >>> sampling_bias(np.array([0.9, 0.7, 0.4]), np.array([True, True, False]), np.array([False, False, True]))
    2.0
    """
    if probabilities is None:
        return None
    weights = np.maximum(100 * probabilities, 1)
    return float(weights[on_plane].mean() / weights[off_plane].mean())


def _synthetic_scene(share: float, seed: int) -> _Scene:
    matches = planar_scene_matches(MATCHES, INLIER_RATIO, share, NOISE, seed)
    assert matches.inliers is not None
    assert matches.on_plane is not None
    pair = replace(matches, key=f"{_percent(share)}-{seed}", ratios=np.full(MATCHES, 0.5))
    return _Scene(pair, matches.on_plane, matches.inliers & ~matches.on_plane)


def _labelled_scene(folder: str, key: str) -> _Scene | None:
    """Read a labelled pair and find its dominant plane; None where all true matches lie on it."""
    import bansac

    pair = LabelledSet(folder).pair(key)
    assert pair.inliers is not None
    true = np.flatnonzero(pair.inliers)
    plane = bansac.estimate_homography(
        pair.x1[true], pair.x2[true], sampler="uniform", threshold=PLANE_THRESHOLD, max_iterations=2000
    )
    on_plane = np.zeros(len(pair), bool)
    on_plane[true[plane.inliers]] = True
    off_plane = pair.inliers & ~on_plane
    return _Scene(pair, on_plane, off_plane) if on_plane.any() and off_plane.any() else None


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Average over the scenes of each share of the plane, and over the repeats of each pair."""
    stopped: dict[_Place, dict[str, list[Row]]] = {}
    open_: dict[_Place, dict[str, dict[int, list[Row]]]] = {}
    for row in rows:
        place, method = (str(row["set"]), str(row["scene"])), str(row["method"])
        if row["open"]:
            steps = open_.setdefault(place, {}).setdefault(method, {})
            steps.setdefault(int(row["iterations"] or 0), []).append(row)
        else:
            stopped.setdefault(place, {}).setdefault(method, []).append(row)
    return Report(
        tables={
            "degenerate_errors": _error_table(stopped),
            "degenerate_bias": _bias_table(open_),
            "degenerate_return": _return_table(open_),
        },
        figures=_figures(stopped, open_),
        notes=_notes(stopped),
    )


_Place = tuple[str, str]
_Stopped = Mapping[_Place, Mapping[str, list[Row]]]
_Open = Mapping[_Place, Mapping[str, Mapping[int, list[Row]]]]


def _error_table(stopped: _Stopped) -> Table:
    """Show what each method answers when it stops."""
    lines: list[TableRow | Section] = []
    section = None
    for (set_name, scene), by_method in stopped.items():
        if set_name != section:
            section = set_name
            lines.append(Section(_section_title(set_name)))
        runs = [by_method[method] for method in METHODS]
        cells: list[Any] = [100 * _share_wrong(of_method) for of_method in runs]
        cells += [_median(of_method, "translation_error") for of_method in runs]
        cells += [_mean(of_method, "iterations") for of_method in runs]
        lines.append(TableRow((_label(set_name, scene, runs[0]),), tuple(cells), better="lower"))
    width = len(METHODS)
    groups = (("F wrong off the plane [%]", width), ("Median translation error [°]", width), ("Iterations", width))
    title = "F of scenes with a dominant plane, up to each method's stopping criterion"
    return Table(title, ("Plane",), tuple(METHODS) * 3, tuple(lines), groups)


def _bias_table(runs: _Open) -> Table:
    """Show the bias over the iterations of runs that no criterion stops."""
    lines: list[TableRow | Section] = []
    for method in ADAPTIVE:
        lines.append(Section(method))
        for (set_name, scene), by_method in runs.items():
            steps = by_method[method]
            cells = tuple(_median(steps[k], "bias") for k in STEPS)
            lines.append(TableRow((_label(set_name, scene, steps[STEPS[0]]),), cells))
    title = "Median bias towards the plane after a number of iterations, no stopping criterion; 1 is none"
    return Table(title, ("Plane",), tuple(map(str, STEPS)), tuple(lines))


_RETURN_COLUMNS = (
    "bias > 2 at some time",
    "still > 2 at the end",
    "F wrong after 100",
    "F wrong after 1000",
    "F wrong at the end",
)


def _return_table(runs: _Open) -> Table:
    """Show whether runs that were biased come back."""
    lines: list[TableRow | Section] = []
    for method in ADAPTIVE:
        lines.append(Section(method))
        for (set_name, scene), by_method in runs.items():
            steps = by_method[method]
            bias = np.array([[float(row["bias"] or math.nan) for row in steps[k]] for k in STEPS])
            shares = [float((bias > BIASED).any(axis=0).mean()), float((bias[-1] > BIASED).mean())]
            shares += [_share_wrong(steps[k]) for k in (100, 1000, STEPS[-1])]
            label = _label(set_name, scene, steps[STEPS[0]])
            lines.append(TableRow((label,), tuple(f"{100 * share:.0f} %" for share in shares)))
    title = (
        f"Runs that are biased towards the plane and come back, of {STEPS[-1]} iterations without a stopping criterion"
    )
    return Table(title, ("Plane",), _RETURN_COLUMNS, tuple(lines))


def _figures(stopped: _Stopped, runs: _Open) -> dict[str, Figure]:
    places = [place for place in runs if place[0] == SYNTHETIC]
    if not places:
        return {}
    bias = [
        Chart(
            [
                Series(scene, STEPS, [_median(runs[name, scene][method][k], "bias") for k in STEPS])
                for name, scene in places
            ],
            title=f"{method}, by the share of the plane",
            xlabel="iterations",
            ylabel="median bias towards the plane",
            xscale="log",
            yscale="log",
            level=1.0,
        )
        for method in ADAPTIVE
    ]
    percent = [float(scene.removesuffix("%")) for _, scene in places]
    wrong = {m: [_share_error([r for r in stopped[place][m]]) for place in places] for m in METHODS}
    iterations = {m: [_mean(stopped[place][m], "iterations") for place in places] for m in METHODS}
    errors = [
        Chart(
            [
                Series(m, percent, [100 * v.value for v in values], [100 * v.error for v in values])
                for m, values in wrong.items()
            ],
            xlabel="true matches on the plane (%)",
            ylabel="F wrong off the plane (%)",
        ),
        Chart(
            [Series(m, percent, values) for m, values in iterations.items()],
            xlabel="true matches on the plane (%)",
            ylabel="iterations",
            yscale="log",
        ),
    ]
    return {"degenerate_bias": plot_charts([bias]), "degenerate_errors": plot_charts([errors])}


def _notes(stopped: _Stopped) -> list[str]:
    notes = [
        f"F is wrong off the plane where the median Sampson distance of its true matches exceeds {WRONG_ABOVE:g} px.",
        "RANSAC and BANSAC stop by their criteria of the paper; the bias is measured in runs without any.",
    ]
    for method in ADAPTIVE:
        rows = [row for by_method in stopped.values() for row in by_method[method]]
        wrong = [row for row in rows if _is_wrong(row)]
        if wrong:
            by_own = sum(row["stop_reason"] == "bansac" for row in wrong) / len(wrong)
            notes.append(
                f"{method}: {100 * by_own:.0f} % of the runs that end with a wrong F are ended by bansac's stop."
            )
    return notes


def _is_wrong(row: Row) -> bool:
    error = row["off_plane_error"]
    return error is None or float(error) > WRONG_ABOVE


def _share_wrong(rows: list[Row]) -> float:
    return sum(map(_is_wrong, rows)) / len(rows)


def _share_error(rows: list[Row]) -> Measured:
    """Return the share of wrong F with its binomial standard error."""
    share = _share_wrong(rows)
    return Measured(share, math.sqrt(share * (1 - share) / len(rows)))


def _median(rows: list[Row], column: str) -> float:
    values = [float(row[column]) for row in rows if row.get(column) is not None]  # type: ignore[arg-type]
    return float(np.median(values)) if values else math.nan


def _mean(rows: list[Row], column: str) -> float:
    return float(np.mean([float(row[column] or 0) for row in rows]))


def _label(set_name: str, scene: str, rows: list[Row]) -> str:
    if set_name == SYNTHETIC:
        return scene
    on, off = int(rows[0]["on_plane"] or 0), int(rows[0]["off_plane"] or 0)
    return f"{scene} ({100 * on / (on + off):.0f} %)"


def _section_title(set_name: str) -> str:
    if set_name == SYNTHETIC:
        return "Made-up scenes, by the share of the true matches that lie on the plane"
    return f"{set_name}, with the share of the true matches that lie on the dominant plane"


def _percent(share: float) -> int:
    return round(100 * share)


EXPERIMENT = Experiment(
    name="degenerate-sampling",
    title="Scenes with a dominant plane: does BANSAC's sampling drift towards it, and does it come back?",
    reference='the section "Degenerative configurations"',
    needs_data=False,
    defaults=f"{SCENES} made-up scenes for each share of the plane; of data, labelled sets, {REPEATS} repeats",
    units=units,
    run_unit=run_unit,
    report=report,
    sets=sets,
    settings=("pairs", "repeats"),
)
