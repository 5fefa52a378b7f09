"""Slight variations of the conditional probability tables of order 1, for a claim without a table in the paper.

"We found that probability update is robust to slight variations of the reported parameters" (supplement, on
tab:prob_C). Each entry of P(x^k | c^k, x^{k-1}) changes by +-0.05 and +-0.1 if the result is a probability. The
function gamma_1 of P(c^k | x^{k-1}) changes by +-0.05.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.batch.journal import Row
from bansac.engine.dbn import PAPER_CPT, gamma_1
from bansac.lab.evaluation.methods import BANSAC
from bansac.lab.grid import Grid
from bansac.lab.measurement import Report, Setup
from bansac.lab.pairs import Configuration
from bansac.lab.summary import (
    ROTATION_5,
    ROTATION_10,
    TRANSLATION_5,
    TRANSLATION_10,
    Summary,
    settings_table,
)
from bansac.problems.estimators import Kind

_PAPER = "paper"
_STATES = {1: "inlier", 0: "outlier"}
_CHANGES = (-0.1, -0.05, 0.05, 0.1)
_GAMMA_CHANGES = (-0.05, 0.05)
_ACCURACIES = (ROTATION_5, ROTATION_10, TRANSLATION_5, TRANSLATION_10)


def shifted_gamma(shift: float, inlier_ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return gamma_1 plus a constant, clipped to [0, 1]."""
    return np.clip(gamma_1(inlier_ratio) + shift, 0.0, 1.0)


def _configuration(entry: str, value: float, settings: dict[str, Any]) -> Configuration:
    return Configuration(f"{entry}: {value:g}", BANSAC, settings, {"entry": entry, "value": value})


def _configurations() -> Iterator[Configuration]:
    yield Configuration(_PAPER, BANSAC, {}, {"entry": _PAPER, "value": None})
    for (before, state), (vote, evidence) in itertools.product(_STATES.items(), repeat=2):
        entry = f"P(x = inlier | x' = {state}, c = {evidence})"
        for change in _CHANGES:
            value = round(PAPER_CPT[0][before][vote] + change, 2)
            if 0 <= value <= 1:
                table = np.array(PAPER_CPT[0])
                table[before, vote] = value
                yield _configuration(entry, value, {"cpt": (table.tolist(),)})
    for change in _GAMMA_CHANGES:
        yield _configuration("γ₁ moved by", change, {"gamma": functools.partial(shifted_gamma, change)})


GRID = Grid(("E", "F"), tuple(_configurations()), ablation=True)


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return a table with a row for each variation, and notes with the largest differences."""
    summary = Summary(rows)
    labels = {}
    for configuration in GRID.configurations:
        value = configuration.columns["value"]
        labels[configuration.name] = (str(configuration.columns["entry"]), "" if value is None else f"{value:g}")
    title = "BANSAC with slight variations of the conditional probability tables of order 1."
    table = settings_table(summary, title, ("Varied", "Value"), labels, "Avg.")
    notes = [_largest_difference(summary, model) for model in summary.models]
    return Report(tables={"cpt_robustness": table}, notes=[*summary.notes(), *notes])


def _largest_difference(summary: Summary, model: Kind) -> str:
    differences = [
        (summary.mean(metric, model, configuration.name) - summary.mean(metric, model, _PAPER), metric, configuration)
        for configuration in GRID.configurations[1:]
        for metric in _ACCURACIES
    ]
    lowest, highest = (extreme(differences, key=lambda entry: entry[0]) for extreme in (min, max))
    said = [f"{change:+.3f} ({metric.label}, {where.name})" for change, metric, where in (lowest, highest)]
    return f"{model}: against the paper's values, mAA changes by {said[0]} to {said[1]}"


EXPERIMENT = GRID.experiment(
    name="cpt-robustness",
    title="Slight variations of the conditional probability tables",
    reference="supplement, on tab:prob_C (claimed without a table)",
    defaults="E and F, all pairs of sacre_coeur, 5 repeats",
    report=report,
)
