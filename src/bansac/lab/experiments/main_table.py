"""Six methods on E, F and H, with and without local optimisation (tab:results_E_F_H_LO)."""

from __future__ import annotations

from collections.abc import Iterable

from bansac.batch.journal import Row
from bansac.lab.evaluation.methods import BANSAC, LOCAL_OPTIMIZATION, P_BANSAC, PAPER_METHODS
from bansac.lab.grid import Grid
from bansac.lab.intervals import Leads, lead_table
from bansac.lab.measurement import Report, Setup
from bansac.lab.pairs import Configuration
from bansac.lab.summary import ITERATIONS, Summary, metric_table

_PLAIN = tuple(Configuration(method.label, method, {}, {"local_optimization": False}) for method in PAPER_METHODS)
_LOCAL = tuple(
    Configuration(f"{method.label}+LO", method, LOCAL_OPTIMIZATION, {"local_optimization": True})
    for method in PAPER_METHODS
)
_COLUMNS = {configuration.name: configuration.method.label for configuration in _PLAIN + _LOCAL}
_OURS = (BANSAC.label, P_BANSAC.label)


def _report(setup: Setup, rows: Iterable[Row]) -> Report:
    summary = Summary(rows)
    table = metric_table(
        summary,
        title="Calibrated relative pose, uncalibrated relative pose and homography estimation: BANSAC and P-BANSAC "
        "beside RANSAC, NAPSAC, P-NAPSAC and PROSAC, with and without the local optimization of LO-RANSAC.",
        columns=_COLUMNS,
        extra_h=(ITERATIONS,),
        groups=(("Without Local Optimization", len(_PLAIN)), ("With Local Optimization", len(_LOCAL))),
    )
    leads = lead_table(
        summary,
        "Lead of BANSAC and P-BANSAC in each row of the main table, and half of its 95 % interval by a bootstrap over "
        "pairs. Positive numbers are better, also for times.",
        {
            "Over the best baseline": _leads("", _OURS),
            "Over the best other method": _leads("", ()),
            "With LO, over the best baseline": _leads("+LO", _OURS),
            "With LO, over the best other method": _leads("+LO", ()),
        },
        _COLUMNS,
    )
    return Report(tables={"main_table": table, "leads": leads}, notes=summary.notes())


def _leads(suffix: str, excluded: tuple[str, ...]) -> Leads:
    labels = [method.label for method in PAPER_METHODS]
    return {
        name + suffix: [label + suffix for label in labels if label != name and label not in excluded] for name in _OURS
    }


EXPERIMENT = Grid(("E", "F", "H"), _PLAIN + _LOCAL).experiment(
    name="main-table",
    title="Six methods on E, F and H, with and without local optimisation",
    reference="tab:results_E_F_H_LO",
    defaults="first 4000 pairs of a scene, 5 repeats (E, F); all pairs, 10 repeats, both errors (H)",
    report=_report,
)
