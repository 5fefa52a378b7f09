"""Bias of BANSAC's sampling towards a dominant plane: the paper's "Degenerative configurations".

A sample of seven matches with five or more on one plane gives a fundamental matrix that fits the plane and few other
matches. The paper says that BANSAC can "create a bias towards degenerative sampling", but "can reverse that bias as
soon as new non-degenerative solutions are obtained". It also says that degenerate hypotheses do not update the
probabilities. The paper has no experiment on it.

A synthetic scene has 500 matches. Half of them are true (noise .25 pixel), and 50 to 95 % of these lie on a plane. With
data, labelled sets are used as well (:mod:`bansac_lab.sets.labelled`). Their plane is the homography estimated from the
true matches. F is estimated with the paper's settings, with and without DEGENSAC:

- With each method's stopping criterion, the table shows the share of runs in which F is wrong off the plane.
- Without a stopping criterion, the tables show the bias after 10, 30, ..., 10000 iterations. The bias is the mean
  sampling weight of the true matches on the plane divided by the mean weight of those off the plane. A value of 1 means
  no bias, 100 is the maximum. A run of k iterations equals the beginning of every longer run with the same seed.

F is wrong off the plane if the median Sampson distance of the true matches there exceeds ``WRONG_ABOVE`` pixels.
"""

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from bansac.matches import Matches
from bansac.maths.arrays import Bools, Floats
from bansac.synthetic import SceneMatches, planar_scene_matches
from bansac_lab.charts import Chart, Series, plot_charts
from bansac_lab.frames import DataFrame, Figure, to_frame
from bansac_lab.measurement import PAIRS, RUNS, SEED, WITH_DATA, Report, Row, Setup, Unit, choose_sets, of_module
from bansac_lab.peers.library import Method, Task
from bansac_lab.sets.labelled import LabelledSet, find_labelled_sets
from bansac_lab.sets.tutorial import evenly_spaced
from bansac_lab.tables import Cell, Table, percent, sectioned, with_arrow
from bansac_lab.task import DEFAULTS, judge, squared_distances

SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
STEPS = (10, 30, 100, 300, 1000, 3000, 10000)
METHODS = {
    f"{name}{suffix}": Method(f"{name}{suffix}", {"sampler": sampler, "degeneracy": degeneracy})
    for name, sampler in (("RANSAC", "uniform"), ("BANSAC", "bansac"))
    for suffix, degeneracy in (("", None), (" + DEGENSAC", "degensac"))
}
ADAPTIVE = ("BANSAC", "BANSAC + DEGENSAC")
MATCHES, INLIER_RATIO, NOISE = 500, 0.5, 0.25
SCENES, REPEATS = 50, 5
PLANE_THRESHOLD = 3.0  # pixels; for real scenes
SYNTHETIC = "synthetic"


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each synthetic scene, and one for each pair and repeat of the labelled sets."""
    places: list[tuple[Any, ...]] = [(SYNTHETIC, percent(share), None, share, SCENES) for share in SHARES]
    for of in sets(setup) if setup.data is not None else ():
        places += [(of.name, key, str(of.folder), key, REPEATS) for key in evenly_spaced(of.keys, setup.pairs)]
    return [
        Unit(f"{name}/{shown}/{repeat}", (folder, which, repeat))
        for name, shown, folder, which, repeats in places
        for repeat in range(setup.get("repeats", repeats))
    ]


def sets(setup: Setup) -> list[LabelledSet]:
    """Return the labelled sets selected by ``setup``."""
    found = find_labelled_sets(setup.data)
    if not found:
        raise ValueError(f"--data: no set with labels (matches.h5, labels.h5, Fgt.h5) in {setup.data} or below")
    return choose_sets(found, setup.sets, setup.exclude)


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run all methods on a scene; there are no rows if no true matches of a real scene lie on its plane or off it."""
    folder, which, repeat = unit.payload
    seed = setup.seed + repeat
    scene = _synthetic_scene(which, seed) if folder is None else _labelled_scene(folder, which)
    off_plane = scene.inliers & ~scene.on_plane
    counts = {"on_plane": int(scene.on_plane.sum()), "off_plane": int(off_plane.sum())}
    if not all(counts.values()):
        return []
    place = (SYNTHETIC, f"{percent(which)} %") if folder is None else (LabelledSet(folder).name, which)
    common: Row = {"set": place[0], "scene": place[1], "repeat": repeat, "seed": seed, **counts}
    runs = [*((method, None) for method in METHODS), *itertools.product(ADAPTIVE, STEPS)]
    return [common | _run(scene, off_plane, method, seed, steps) for method, steps in runs]


def _run(scene: Any, off_plane: Bools, method: str, seed: int, iterations: int | None = None) -> Row:
    """Estimate F with the method's stopping criterion or, if given, with a fixed number of iterations."""
    protocol, points = DEFAULTS["F"], (scene.x1, scene.x2)
    task = Task("F", points, (), None, protocol.threshold, protocol.confidence, protocol.max_iterations, seed)
    is_open = iterations is not None
    settings = {"stopping": None, "max_iterations": iterations} if is_open else {}
    result = METHODS[method].estimate(task, **settings).result
    row: Row = {
        "method": method,
        "open": is_open,
        "off_plane_error": _median_distance(result.model, scene, off_plane),
        **({} if scene.R is None else judge(result.model, task, scene)),
        "iterations": iterations if is_open else result.iterations,
        "stop_reason": None if is_open else result.stop_reason,
        "inliers": result.num_inliers,
        "bias": sampling_bias(result.beliefs, scene.on_plane, off_plane),
    }
    return row if is_open else row | {"seconds": result.seconds}


def _median_distance(F: Floats | None, pair: Matches, which: Bools) -> float | None:
    """Return the median Sampson distance of the selected matches in pixels; None without a model."""
    return None if F is None else float(np.sqrt(np.median(squared_distances(F, pair, "F")[which])))


def sampling_bias(beliefs: Floats | None, on_plane: Bools, off_plane: Bools) -> float | None:
    """Return the mean sampling weight of matches on the plane divided by that off the plane; None without beliefs.

    The weight of a match is max(100 p, 1), as in the paper.
    """
    if beliefs is None:
        return None
    weights = np.maximum(100 * beliefs, 1)
    return float(weights[on_plane].mean() / weights[off_plane].mean())


def _synthetic_scene(share: float, seed: int) -> Any:
    return planar_scene_matches(MATCHES, INLIER_RATIO, share, NOISE, seed)


def _labelled_scene(folder: str, key: str) -> Any:
    """Read a labelled pair and find its dominant plane."""
    import bansac

    pair = LabelledSet(folder).pair(key)
    assert pair.inliers is not None
    true = np.flatnonzero(pair.inliers)
    settings: dict[str, Any] = {"preset": "paper", "sampler": "uniform", "max_iterations": 2000}
    plane = bansac.estimate_homography(pair.x1[true], pair.x2[true], threshold=PLANE_THRESHOLD, **settings)
    on_plane = np.zeros(len(pair), bool)
    on_plane[true[plane.inliers]] = True
    return SceneMatches(pair.x1, pair.x2, inliers=pair.inliers, on_plane=on_plane)


WRONG_ABOVE = 2.0
# Above this bias, matches on the plane are drawn noticeably more often than their share.
BIASED = 2.0

_Sections = dict[str, list[tuple[str, Iterable[Cell]]]]


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Report means over the scenes of each share of the plane, and over the repeats of each pair."""
    frame = to_frame(rows)
    numbers = {"off_plane_error": float, "translation_error": float, "bias": float}
    frame = frame.reindex(columns=list(dict.fromkeys([*frame.columns, *numbers]))).astype(numbers)
    frame["wrong"] = ~(frame["off_plane_error"] <= WRONG_ABOVE)  # True for NaN, which is a run without a model
    share = 100 * frame["on_plane"] / (frame["on_plane"] + frame["off_plane"])
    frame["place"] = frame["scene"].where(frame["set"] == SYNTHETIC, frame["scene"] + share.map(" ({:.0f} %)".format))
    is_open = frame["open"].astype(bool)
    stopped, open_ = frame[~is_open], frame[is_open]
    title = "Median bias towards the plane after a number of iterations, no stopping criterion; 1 is none"
    groups = [(with_arrow("Bias after a number of iterations", "lower"), len(STEPS))]
    medians = _by_method(open_, lambda bias, wrong: bias.astype(float).median())
    tables = {
        "degenerate_errors": _error_table(stopped),
        "degenerate_bias": sectioned(title, "Plane", map(str, STEPS), medians, groups=groups),
        "degenerate_return": _return_table(open_),
    }
    of_scenes = (runs[runs["set"] == SYNTHETIC] for runs in (stopped, open_))
    figures = _figures(*of_scenes) if SYNTHETIC in set(frame["set"]) else {}
    return Report(tables=tables, figures=figures, notes=_notes(stopped))


def _error_table(stopped: DataFrame) -> Table:
    """Tabulate the errors and iterations of each method with its stopping criterion."""
    sections: _Sections = {}
    title_of = {SYNTHETIC: "Synthetic scenes, by the share of the true matches that lie on the plane"}
    for (name, place), of_place in stopped.groupby(["set", "place"], sort=False):
        section = title_of.get(name, f"{name}, with the share of the true matches that lie on the dominant plane")
        runs = [of_place[of_place["method"] == method] for method in METHODS]
        wrong = [100 * of_method["wrong"].mean() for of_method in runs]
        cells = [*wrong, *(of["translation_error"].median() for of in runs), *(of["iterations"].mean() for of in runs)]
        sections.setdefault(section, []).append((place, cells))
    measures = ("F wrong off the plane [%]", "Median translation error [°]", "Iterations")
    groups = ((with_arrow(measure, "lower"), len(METHODS)) for measure in measures)
    title = "F of scenes with a dominant plane, up to each method's stopping criterion"
    return sectioned(title, "Plane", tuple(METHODS) * 3, sections, groups=groups, ranked="lower")


def _by_method(runs: DataFrame, cells: Callable[[DataFrame, DataFrame], Iterable[Cell]]) -> _Sections:
    """Return for each adaptive method the rows of all places.

    ``cells`` computes them from the bias and from the wrong models of each run, one column for each of ``STEPS``.
    """
    sections: _Sections = {}
    for (_, place, method), of_place in runs.groupby(["set", "place", "method"], sort=False):
        by_steps = of_place.pivot(index="seed", columns="iterations", values=["bias", "wrong"])
        sections.setdefault(method, []).append((place, cells(by_steps["bias"], by_steps["wrong"])))
    return sections


def _return_table(runs: DataFrame) -> Table:
    """Tabulate whether biased runs recover."""

    def cells(bias: DataFrame, wrong: DataFrame) -> Iterable[Cell]:
        biased = bias > BIASED
        of_runs = (biased.any(axis=1), biased[STEPS[-1]], *(wrong[k] for k in (100, 1000, STEPS[-1])))
        return (f"{100 * which.mean():.0f} %" for which in of_runs)

    title = (
        f"Runs that are biased towards the plane and come back, of {STEPS[-1]} iterations without a stopping criterion"
    )
    wrong = ("F wrong after 100", "F wrong after 1000", "F wrong at the end")
    columns = (with_arrow(name, "lower") for name in ("bias > 2 at some time", "still > 2 at the end", *wrong))
    return sectioned(title, "Plane", columns, _by_method(runs, cells))


def _figures(stopped: DataFrame, runs: DataFrame) -> dict[str, Figure]:
    """Draw the bias of runs without a stopping criterion, and the errors and iterations of those with one."""
    bias = [
        Chart(
            [
                Series(place, STEPS, of_place.groupby("iterations")["bias"].median())
                for place, of_place in of_method.groupby("place", sort=False)
            ],
            title=f"{method}, by the share of the plane",
            xlabel="iterations",
            ylabel="median bias towards the plane",
            xscale="log",
            yscale="log",
            level=1.0,
        )
        for method, of_method in runs.groupby("method", sort=False)
    ]
    wrong, iterations = [], []
    for method, of_method in stopped.groupby("method", sort=False):
        by_place = of_method.groupby("place", sort=False)
        shares = by_place["wrong"].mean()
        percent = [float(place.removesuffix("%")) for place in shares.index]
        binomial = np.sqrt(shares * (1 - shares) / by_place.size())
        wrong.append(Series(method, percent, 100 * shares, 100 * binomial))
        iterations.append(Series(method, percent, by_place["iterations"].mean()))
    label = "true matches on the plane (%)"
    charts = [
        Chart(wrong, xlabel=label, ylabel="F wrong off the plane (%)"),
        Chart(iterations, xlabel=label, ylabel="iterations", yscale="log"),
    ]
    return {"degenerate_bias": plot_charts([bias]), "degenerate_errors": plot_charts([charts])}


def _notes(stopped: DataFrame) -> list[str]:
    notes = [
        f"F is wrong off the plane if the median Sampson distance of its true matches exceeds {WRONG_ABOVE:g} px.",
        "RANSAC and BANSAC stop by their criteria of the paper; the bias is measured in runs without any.",
    ]
    for method in ADAPTIVE:
        reasons = stopped[stopped["wrong"] & (stopped["method"] == method)]["stop_reason"]
        if len(reasons):
            share = f"{100 * (reasons == 'bansac').mean():.0f} %"
            notes.append(f"{method}: {share} of the runs that end with a wrong F are ended by bansac's stop.")
    return notes


EXPERIMENT = of_module(
    __name__,
    title="Scenes with a dominant plane: does BANSAC's sampling drift towards it, and does it come back?",
    reference='the section "Degenerative configurations"',
    defaults=f"{SCENES} synthetic scenes for each share of the plane; of data, labelled sets, {REPEATS} repeats",
    options=(*WITH_DATA, PAIRS, RUNS, SEED),
    warm_up=None,
)
