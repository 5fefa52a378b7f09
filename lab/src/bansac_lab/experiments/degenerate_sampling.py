"""Bias of BANSAC's sampling towards a dominant plane: the paper's "Degenerative configurations".

A sample of seven matches with five or more on one plane gives a fundamental matrix that fits the plane and few other
matches. The paper says that BANSAC can "create a bias towards degenerative sampling", but "can reverse that bias as
soon as new non-degenerative solutions are obtained". It also says that degenerate hypotheses do not update the
probabilities. The paper has no experiment on it.

A synthetic scene has 500 matches. Half of them are true (noise .25 pixel), and 50 to 95 % of these lie on a plane. F is
estimated with the paper's settings, with and without DEGENSAC:

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
from bansac.synthetic import planar_scene_matches
from bansac_lab.charts import Chart, Series, plot_charts
from bansac_lab.frames import DataFrame, Figure, to_frame
from bansac_lab.measurement import RUNS, SEED, Report, Row, Setup, Unit, of_module
from bansac_lab.peers.library import Method, Task
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
SCENES = 50


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each scene."""
    places = itertools.product(SHARES, range(setup.get("repeats", SCENES)))
    return [Unit(f"synthetic/{percent(share)}/{k}", (share, k)) for share, k in places]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run all methods on a scene."""
    share, repeat = unit.payload
    seed = setup.seed + repeat
    scene: Any = planar_scene_matches(MATCHES, INLIER_RATIO, share, NOISE, seed)
    off_plane = scene.inliers & ~scene.on_plane
    counts = {"on_plane": int(scene.on_plane.sum()), "off_plane": int(off_plane.sum())}
    common: Row = {"scene": f"{percent(share)} %", "repeat": repeat, "seed": seed, **counts}
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
        **judge(result.model, task, scene),
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


WRONG_ABOVE = 2.0
# Above this bias, matches on the plane are drawn noticeably more often than their share.
BIASED = 2.0

_Sections = dict[str, list[tuple[str, Iterable[Cell]]]]


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Report means over the scenes of each share of the plane."""
    frame = to_frame(rows).astype({"off_plane_error": float, "translation_error": float, "bias": float})
    frame["wrong"] = ~(frame["off_plane_error"] <= WRONG_ABOVE)  # True for NaN, which is a run without a model
    is_open = frame["open"].astype(bool)
    stopped, open_ = frame[~is_open], frame[is_open]
    title = "Median bias towards the plane after a number of iterations, no stopping criterion; 1 is none"
    groups = [(with_arrow("Bias after a number of iterations", "lower"), len(STEPS))]
    medians = _by_method(open_, lambda bias, wrong: bias.median())
    tables = {
        "degenerate_errors": _error_table(stopped),
        "degenerate_bias": sectioned(title, "Plane", map(str, STEPS), medians, groups=groups),
        "degenerate_return": _return_table(open_),
    }
    return Report(tables=tables, figures={"degenerate_bias": _bias_figure(open_)}, notes=_NOTES)


def _error_table(stopped: DataFrame) -> Table:
    """Tabulate the errors and iterations of each method with its stopping criterion."""
    lines: list[tuple[str, Iterable[Cell]]] = []
    for place, of_place in stopped.groupby("scene", sort=False):
        runs = [of_place[of_place["method"] == method] for method in METHODS]
        wrong = [100 * of_method["wrong"].mean() for of_method in runs]
        cells = [*wrong, *(of["translation_error"].median() for of in runs), *(of["iterations"].mean() for of in runs)]
        lines.append((place, cells))
    sections: _Sections = {"Synthetic scenes, by the share of the true matches that lie on the plane": lines}
    measures = ("F wrong off the plane [%]", "Median translation error [°]", "Iterations")
    groups = ((with_arrow(measure, "lower"), len(METHODS)) for measure in measures)
    title = "F of scenes with a dominant plane, up to each method's stopping criterion"
    return sectioned(title, "Plane", tuple(METHODS) * 3, sections, groups=groups, ranked="lower")


def _by_method(runs: DataFrame, cells: Callable[[DataFrame, DataFrame], Iterable[Cell]]) -> _Sections:
    """Return for each adaptive method the rows of all shares.

    ``cells`` computes them from the bias and from the wrong models of each run, one column for each of ``STEPS``.
    """
    sections: _Sections = {}
    for (place, method), of_place in runs.groupby(["scene", "method"], sort=False):
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


def _bias_figure(runs: DataFrame) -> Figure:
    """Draw the bias of runs without a stopping criterion."""
    charts = [
        Chart(
            [
                Series(place, STEPS, of_place.groupby("iterations")["bias"].median())
                for place, of_place in of_method.groupby("scene", sort=False)
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
    return plot_charts([charts])


_NOTES = [
    f"F is wrong off the plane if the median Sampson distance of its true matches exceeds {WRONG_ABOVE:g} px.",
    "RANSAC and BANSAC stop by their criteria of the paper; the bias is measured in runs without any.",
]

EXPERIMENT = of_module(
    __name__,
    title="Scenes with a dominant plane: does BANSAC's sampling drift towards it, and does it come back?",
    reference='the section "Degenerative configurations"',
    defaults=f"{SCENES} synthetic scenes for each share of the plane",
    options=(RUNS, SEED),
    warm_up=None,
)
