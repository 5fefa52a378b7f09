"""The paper's experiments, one module each, by their names on the command line.

A module defines the settings, the tables and the figures of an experiment, and its ``EXPERIMENT``. To add an
experiment, add a module here and a row to ``EXPERIMENTS``. The package imports
the modules of :mod:`bansac.lab`, its peers, metrics and sets, and no measurement.
"""

from __future__ import annotations

import importlib

from bansac.lab.measurement import Measurement

__all__ = ["EXPERIMENTS", "find_experiment"]

# In the order of the paper; experiments that are not in the paper come last.
EXPERIMENTS: dict[str, str] = {
    "markov-order": "bansac.lab.experiments.markov_order",
    "fixed-iterations": "bansac.lab.experiments.fixed_iterations",
    "inlier-ratio": "bansac.lab.experiments.inlier_ratio",
    "main-table": "bansac.lab.experiments.main_table",
    "per-scene": "bansac.lab.experiments.per_scene",
    "synthetic": "bansac.lab.experiments.synthetic",
    "classification-cpt": "bansac.lab.experiments.classification_cpt",
    "sampling-activation": "bansac.lab.experiments.sampling_activation",
    "stopping-criteria": "bansac.lab.experiments.stopping_criteria",
    "probability-evolution": "bansac.lab.experiments.probability_evolution",
    "curve-example": "bansac.lab.experiments.curve_example",
    "cpt-robustness": "bansac.lab.experiments.cpt_robustness",
    "degenerate-sampling": "bansac.lab.experiments.degenerate_sampling",
    "readings": "bansac.lab.experiments.readings",
    "scoring": "bansac.lab.experiments.scoring",
}
"""Name of each experiment -> its module, which has an ``EXPERIMENT``."""


def find_experiment(name: str) -> Measurement:
    """Return an experiment by its name, a key of ``EXPERIMENTS``; an unknown name raises a ValueError.

    Examples
    --------
    >>> find_experiment("main-table").reference
    'tab:results_E_F_H_LO'
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"unknown experiment {name!r}; the experiments are {', '.join(EXPERIMENTS)}")
    experiment: Measurement = importlib.import_module(EXPERIMENTS[name]).EXPERIMENT
    return experiment
