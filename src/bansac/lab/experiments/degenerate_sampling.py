"""Bias of BANSAC's sampling towards a dominant plane: the paper's "Degenerative configurations".

A sample of seven matches with five or more on one plane gives a fundamental matrix that fits the plane and few other
matches. The paper says that BANSAC can "create a bias towards degenerative sampling", but "can reverse that bias as
soon as new non-degenerative solutions are obtained". It also says that degenerate hypotheses do not update the
probabilities. The paper has no experiment on it.

A synthetic scene has 500 matches. Half of them are true (noise .25 pixel), and 50 to 95 % of these lie on a plane. With
data, labelled sets are used as well (:mod:`bansac.lab.sets.labelled`). Their plane is the homography estimated from the
true matches. F is estimated with the paper's settings, with and without DEGENSAC:

- With each method's stopping criterion, the table shows the share of runs in which F is wrong off the plane.
- Without a stopping criterion, the tables show the bias after 10, 30, ..., 10000 iterations. The bias is the mean
  sampling weight of the true matches on the plane divided by the mean weight of those off the plane. A value of 1 means
  no bias, 100 is the maximum. A run of k iterations equals the beginning of every longer run with the same seed.

F is wrong off the plane if the median Sampson distance of the true matches there exceeds ``WRONG_ABOVE`` pixels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from bansac.batch.journal import Row
from bansac.lab.charts import Chart, Series, plot_charts
from bansac.lab.experiments.degenerate_scenes import (
    ADAPTIVE,
    METHODS,
    REPEATS,
    SCENES,
    STEPS,
    SYNTHETIC,
    run_unit,
    sets,
    units,
)
from bansac.lab.frames import DataFrame, Figure, import_pandas
from bansac.lab.frames import Series as Column
from bansac.lab.measurement import Measurement, Report, Setup
from bansac.lab.options import DATA, EXCLUDE, PAIRS, RUNS, SEED, SETS
from bansac.lab.pairs import UNIT_CODE
from bansac.lab.tables import Cell, Measured, Section, Table, TableRow, with_arrow
from bansac.lab.task import DEFAULTS

WRONG_ABOVE = 2.0
# Above this bias, matches on the plane are drawn noticeably more often than their share.
BIASED = 2.0

_Place = tuple[str, str]
_Stopped = dict[tuple[str, str, str], "DataFrame"]
"""Runs with a stopping criterion, by set, scene and method."""
_Open = dict[tuple[str, str, str, int], "DataFrame"]
"""Runs without a stopping criterion, by set, scene, method and number of iterations."""


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Report means over the scenes of each share of the plane, and over the repeats of each pair."""
    pandas = import_pandas()
    frame = pandas.DataFrame(list(rows))
    numbers = {"off_plane_error": float, "translation_error": float, "bias": float}
    frame = frame.reindex(columns=list(dict.fromkeys([*frame.columns, *numbers]))).astype(numbers)
    frame["wrong"] = ~(frame["off_plane_error"] <= WRONG_ABOVE)  # True for NaN, which is a run without a model
    by = ["set", "scene", "method"]
    is_open = frame["open"].astype(bool)
    stopped: _Stopped = dict(iter(frame[~is_open].groupby(by, sort=False)))
    open_: _Open = dict(iter(frame[is_open].groupby([*by, "iterations"], sort=False)))
    places = list(dict.fromkeys((name, scene) for name, scene, _ in stopped))
    return Report(
        tables={
            "degenerate_errors": _error_table(stopped, places),
            "degenerate_bias": _bias_table(open_, places),
            "degenerate_return": _return_table(open_, places),
        },
        figures=_figures(stopped, open_, [place for place in places if place[0] == SYNTHETIC]),
        notes=_notes(stopped),
    )


def _error_table(stopped: _Stopped, places: list[_Place]) -> Table:
    """Tabulate the errors and iterations of each method with its stopping criterion."""
    lines: list[TableRow | Section] = []
    for set_name, of_set in itertools.groupby(places, key=lambda place: place[0]):
        lines.append(Section(_section_title(set_name)))
        for place in of_set:
            runs = [stopped[*place, method] for method in METHODS]
            cells = [100 * _mean(of_method["wrong"]) for of_method in runs]
            cells += [_median(of_method["translation_error"]) for of_method in runs]
            cells += [_mean(of_method["iterations"]) for of_method in runs]
            lines.append(TableRow((_label(place, runs[0]),), tuple(cells), better="lower", arrow=False))
    width = len(METHODS)
    measures = ("F wrong off the plane [%]", "Median translation error [°]", "Iterations")
    groups = tuple((with_arrow(measure, "lower"), width) for measure in measures)
    title = "F of scenes with a dominant plane, up to each method's stopping criterion"
    return Table(title, ("Plane",), tuple(METHODS) * 3, tuple(lines), groups)


def _lines(
    runs: _Open, places: list[_Place], cells: Callable[[dict[int, DataFrame]], Iterable[Cell]]
) -> tuple[TableRow | Section, ...]:
    """Return a section for each adaptive method with a row for each place.

    ``cells`` computes the values of a row from the runs of each length.
    """
    lines: list[TableRow | Section] = []
    for method in ADAPTIVE:
        lines.append(Section(method))
        for place in places:
            steps = {k: runs[*place, method, k] for k in STEPS}
            lines.append(TableRow((_label(place, steps[STEPS[0]]),), tuple(cells(steps))))
    return tuple(lines)


def _bias_table(runs: _Open, places: list[_Place]) -> Table:
    """Tabulate the bias over the number of iterations, for runs without a stopping criterion."""
    lines = _lines(runs, places, lambda steps: [_median(steps[k]["bias"]) for k in STEPS])
    title = "Median bias towards the plane after a number of iterations, no stopping criterion; 1 is none"
    groups = ((with_arrow("Bias after a number of iterations", "lower"), len(STEPS)),)
    return Table(title, ("Plane",), tuple(map(str, STEPS)), lines, groups)


_RETURN_COLUMNS = tuple(
    with_arrow(column, "lower")
    for column in (
        "bias > 2 at some time",
        "still > 2 at the end",
        "F wrong after 100",
        "F wrong after 1000",
        "F wrong at the end",
    )
)


def _return_table(runs: _Open, places: list[_Place]) -> Table:
    """Tabulate whether biased runs recover."""

    def cells(steps: dict[int, DataFrame]) -> Iterable[Cell]:
        biased = np.array([steps[k]["bias"].to_numpy() for k in STEPS]) > BIASED
        shares = [float(biased.any(axis=0).mean()), float(biased[-1].mean())]
        shares += [_mean(steps[k]["wrong"]) for k in (100, 1000, STEPS[-1])]
        return (f"{100 * share:.0f} %" for share in shares)

    title = (
        f"Runs that are biased towards the plane and come back, of {STEPS[-1]} iterations without a stopping criterion"
    )
    return Table(title, ("Plane",), _RETURN_COLUMNS, _lines(runs, places, cells))


def _figures(stopped: _Stopped, runs: _Open, places: list[_Place]) -> dict[str, Figure]:
    if not places:
        return {}
    bias = [
        Chart(
            [Series(place[1], STEPS, [_median(runs[*place, method, k]["bias"]) for k in STEPS]) for place in places],
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
    wrong, iterations = [], []
    for method in METHODS:
        runs_of = [stopped[*place, method] for place in places]
        shares = [_share_error(of_place["wrong"]) for of_place in runs_of]
        wrong.append(Series(method, percent, *zip(*((100 * s.value, 100 * s.error) for s in shares), strict=True)))
        iterations.append(Series(method, percent, [_mean(of_place["iterations"]) for of_place in runs_of]))
    label = "true matches on the plane (%)"
    errors = [
        Chart(wrong, xlabel=label, ylabel="F wrong off the plane (%)"),
        Chart(iterations, xlabel=label, ylabel="iterations", yscale="log"),
    ]
    return {"degenerate_bias": plot_charts([bias]), "degenerate_errors": plot_charts([errors])}


def _notes(stopped: _Stopped) -> list[str]:
    notes = [
        f"F is wrong off the plane if the median Sampson distance of its true matches exceeds {WRONG_ABOVE:g} px.",
        "RANSAC and BANSAC stop by their criteria of the paper; the bias is measured in runs without any.",
    ]
    for method in ADAPTIVE:
        wrong = [runs[runs["wrong"]]["stop_reason"] for (_, _, name), runs in stopped.items() if name == method]
        total = sum(map(len, wrong))
        if total:
            by_own = sum(int((reasons == "bansac").sum()) for reasons in wrong) / total
            notes.append(
                f"{method}: {100 * by_own:.0f} % of the runs that end with a wrong F are ended by bansac's stop."
            )
    return notes


def _share_error(wrong: Column[Any]) -> Measured:
    """Return the share of wrong fundamental matrices with its binomial standard error."""
    share = _mean(wrong)
    return Measured(share, math.sqrt(share * (1 - share) / len(wrong)))


def _median(values: Column[Any]) -> float:
    return float(values.median())


def _mean(values: Column[Any]) -> float:
    return float(values.mean())


def _label(place: _Place, runs: DataFrame) -> str:
    set_name, scene = place
    if set_name == SYNTHETIC:
        return scene
    on, off = runs["on_plane"].iloc[0], runs["off_plane"].iloc[0]
    return f"{scene} ({100 * on / (on + off):.0f} %)"


def _section_title(set_name: str) -> str:
    if set_name == SYNTHETIC:
        return "Synthetic scenes, by the share of the true matches that lie on the plane"
    return f"{set_name}, with the share of the true matches that lie on the dominant plane"


EXPERIMENT = Measurement(
    name="degenerate-sampling",
    title="Scenes with a dominant plane: does BANSAC's sampling drift towards it, and does it come back?",
    reference='the section "Degenerative configurations"',
    defaults=f"{SCENES} synthetic scenes for each share of the plane; of data, labelled sets, {REPEATS} repeats",
    units=units,
    run_unit=run_unit,
    report=report,
    sets=sets,
    options=(DATA, SETS, EXCLUDE, PAIRS, RUNS, SEED),
    values=(UNIT_CODE, DEFAULTS),
)
