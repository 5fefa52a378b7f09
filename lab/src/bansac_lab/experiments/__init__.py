"""The paper's experiments by their names on the command line; those over image pairs are rows of one module.

A module defines the settings, the tables and the figures of an experiment, and its ``EXPERIMENT``. To add an
experiment, add a row to :mod:`.grids` or a module here, and its name to ``EXPERIMENTS``. The package imports the
modules of :mod:`bansac_lab`, its peers, metrics and sets, and no measurement.
"""

import importlib

from bansac_lab.measurement import Measurement

EXPERIMENTS = (
    *("markov-order", "fixed-iterations", "inlier-ratio", "main-table", "per-scene", "synthetic", "classification-cpt"),
    *("sampling-activation", "stopping-criteria", "probability-evolution", "curve-example", "cpt-robustness"),
    *("degenerate-sampling", "readings", "scoring"),
)
"""Names of the experiments in the order of the paper; those that are not in the paper come last."""

_MODULES = ("synthetic", "probability_evolution", "curve_example", "degenerate_sampling")


def find_experiment(name: str) -> Measurement:
    """Return an experiment by its name, one of ``EXPERIMENTS``; an unknown name raises a ValueError."""
    if name not in EXPERIMENTS:
        raise ValueError(f"unknown experiment {name!r}; the experiments are {', '.join(EXPERIMENTS)}")
    own = name.replace("-", "_")
    module = importlib.import_module(f"{__name__}.{own if own in _MODULES else 'grids'}")
    experiment: Measurement = module.EXPERIMENT if own in _MODULES else module.EXPERIMENTS[name]
    return experiment
