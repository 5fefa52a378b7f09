"""The main table with other readings of the paper's algorithm (not in the paper).

The framework that the authors used has SPRT verification: an iteration whose models are all rejected does not update
the network. Without SPRT every iteration updates it, as in Algorithm 1, and RANSAC's criterion replaces SPRT's. With a
smallest number of updates, BANSAC's criterion cannot end a run at its first models.
"""

from __future__ import annotations

from collections.abc import Iterable

from bansac.batch.journal import Row
from bansac.lab.evaluation.methods import BANSAC, P_BANSAC, PAPER_METHODS
from bansac.lab.grid import Grid
from bansac.lab.intervals import Leads, lead_table
from bansac.lab.measurement import Report, Setup
from bansac.lab.pairs import Configuration
from bansac.lab.summary import AUC_10, ITERATIONS, MODELS_TESTED, Summary, metric_table

_MIN_UPDATES = 20

_PRINTED = {method.label: Configuration(method.label, method, {}, {}) for method in PAPER_METHODS}
_UNVERIFIED = {
    f"{method.label}, no SPRT": Configuration(
        f"{method.label}, no SPRT", method, {"verification": None}, {"verification": "none"}
    )
    for method in PAPER_METHODS
}
_LATER = {
    f"{method.label}, {_MIN_UPDATES} updates": Configuration(
        f"{method.label}, {_MIN_UPDATES} updates", method, {"min_updates": _MIN_UPDATES}, {"min_updates": _MIN_UPDATES}
    )
    for method in (BANSAC, P_BANSAC)
}
_GROUPS = {
    "SPRT, no smallest number of updates": _PRINTED,
    "No SPRT": _UNVERIFIED,
    f"SPRT, at least {_MIN_UPDATES} updates": _LATER,
}
_CONFIGURATIONS = _PRINTED | _UNVERIFIED | _LATER
_COLUMNS = {name: configuration.method.label for name, configuration in _CONFIGURATIONS.items()}
_OURS = (BANSAC, P_BANSAC)


def _report(setup: Setup, rows: Iterable[Row]) -> Report:
    summary = Summary(rows)
    table = metric_table(
        summary,
        title="Readings of the paper: with SPRT verification, without it, and with a smallest number of updates.",
        columns=_COLUMNS,
        extra=(AUC_10, ITERATIONS, MODELS_TESTED),
        groups=[(title, len(group)) for title, group in _GROUPS.items()],
    )
    leads = lead_table(
        summary,
        "Lead of BANSAC and P-BANSAC over the best baseline, and half of its 95 % interval by a bootstrap over pairs. "
        "Positive numbers are better, also for times.",
        {title: _leads(group) for title, group in _GROUPS.items()},
        _COLUMNS,
    )
    return Report(tables={"readings": table, "leads": leads}, notes=summary.notes())


def _leads(group: dict[str, Configuration]) -> Leads:
    """Compare ours with the baselines of the group, or with those as printed if it has none."""
    baselines = [name for name, configuration in group.items() if configuration.method not in _OURS]
    if not baselines:
        baselines = [name for name, configuration in _PRINTED.items() if configuration.method not in _OURS]
    return {name: baselines for name, configuration in group.items() if configuration.method in _OURS}


EXPERIMENT = Grid(("E", "F"), tuple(_CONFIGURATIONS.values())).experiment(
    name="readings",
    title="Other readings of the paper's algorithm",
    reference="not in the paper",
    defaults="E and F, first 4000 pairs of a scene, 5 repeats",
    report=_report,
)
