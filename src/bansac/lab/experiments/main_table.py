"""Six methods on E, F and H, with and without local optimisation (tab:results_E_F_H_LO)."""

from __future__ import annotations

import functools

from bansac.lab.evaluation.ablations import report_table
from bansac.lab.evaluation.grid import Grid
from bansac.lab.evaluation.methods import LOCAL_OPTIMIZATION, PAPER_METHODS
from bansac.lab.evaluation.pairs import Configuration
from bansac.lab.evaluation.summary import ITERATIONS

_PLAIN = tuple(Configuration(method.label, method, {}, {"local_optimization": False}) for method in PAPER_METHODS)
_LOCAL = tuple(
    Configuration(f"{method.label}+LO", method, LOCAL_OPTIMIZATION, {"local_optimization": True})
    for method in PAPER_METHODS
)

EXPERIMENT = Grid(("E", "F", "H"), _PLAIN + _LOCAL).experiment(
    name="main-table",
    title="Six methods on E, F and H, with and without local optimisation",
    reference="tab:results_E_F_H_LO",
    defaults="first 4000 pairs of a scene, 5 repeats (E, F); all pairs, 10 repeats, both errors (H)",
    report=functools.partial(
        report_table,
        name="main_table",
        title="Calibrated relative pose, uncalibrated relative pose and homography estimation: BANSAC and P-BANSAC "
        "beside RANSAC, NAPSAC, P-NAPSAC and PROSAC, with and without the local optimization of LO-RANSAC.",
        columns={configuration.name: configuration.method.label for configuration in _PLAIN + _LOCAL},
        extra_h=(ITERATIONS,),
        groups=(("Without Local Optimization", len(_PLAIN)), ("With Local Optimization", len(_LOCAL))),
    ),
)
