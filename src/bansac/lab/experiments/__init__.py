"""The paper's experiments, one module each, by the names that they have on the command line.

A module has the settings of an experiment, its table and its figure, and an ``EXPERIMENT``; what they share is in
:mod:`bansac.lab.evaluation`. A new experiment is a module here and a row in ``EXPERIMENTS``. It may import
:mod:`bansac.lab.evaluation` and what is below it.
"""

from __future__ import annotations

import importlib

from bansac.lab.evaluation.experiment import Experiment

__all__ = ["EXPERIMENTS", "find_experiment"]

# In the order of the paper, what is not in it at the end. Each module has an EXPERIMENT.
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
    "verification": "bansac.lab.experiments.verification",
    "scoring": "bansac.lab.experiments.scoring",
}
"""Module of every experiment, by its name."""


def find_experiment(name: str) -> Experiment:
    """Return an experiment by its name, a key of ``EXPERIMENTS``; any other name is a ValueError.

    Examples
    --------
    >>> find_experiment("main-table").reference
    'tab:results_E_F_H_LO'
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"unknown experiment {name!r}; the experiments are {', '.join(EXPERIMENTS)}")
    experiment: Experiment = importlib.import_module(EXPERIMENTS[name]).EXPERIMENT
    return experiment
