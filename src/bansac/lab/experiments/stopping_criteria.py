"""BANSAC with seven combinations of stopping criteria (tab:stopping_criteria).

PROSAC's criterion needs an order of the matches, which BANSAC gets from the scores. BANSAC keeps P^0 = 0.5 and tau =
0.01, so that the sampling is the same in all rows.
"""

from __future__ import annotations

import dataclasses
import functools

from bansac.lab.ablations import report_table
from bansac.lab.evaluation.methods import BANSAC
from bansac.lab.grid import Grid
from bansac.lab.pairs import Configuration
from bansac.lab.summary import settings_table

_CRITERIA = ("ransac", "sprt", "prosac", "bansac")
_COMBINATIONS = ("ransac", "sprt", "prosac", "bansac", "ransac+bansac", "sprt+bansac", "prosac+bansac")

_ORDERED_BANSAC = dataclasses.replace(BANSAC, scored=True)


def _configuration(stopping: str) -> Configuration:
    settings = {"stopping": stopping, "tau": 0.01}
    if "prosac" in stopping:
        return Configuration(stopping, _ORDERED_BANSAC, settings, {"stopping": stopping}, prior=0.5)
    return Configuration(stopping, BANSAC, settings, {"stopping": stopping})


EXPERIMENT = Grid(("E", "F"), tuple(map(_configuration, _COMBINATIONS)), ablation=True).experiment(
    name="stopping-criteria",
    title="BANSAC with seven combinations of stopping criteria",
    reference="tab:stopping_criteria",
    defaults="E and F (the paper: F, with the figures of E), all pairs of sacre_coeur, 5 repeats",
    report=functools.partial(
        report_table,
        name="stopping_criteria",
        make=settings_table,
        title="BANSAC with different stopping criteria.",
        stub=tuple(map(str.upper, _CRITERIA)),
        labels={both: tuple("✓" if one in both.split("+") else "" for one in _CRITERIA) for both in _COMBINATIONS},
        iterations="not in the paper",
    ),
)
