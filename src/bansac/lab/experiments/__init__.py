"""The paper's experiments by their names on the command line; those over image pairs are rows of one module.

A module defines the settings, the tables and the figures of an experiment, and its ``EXPERIMENT``. To add an
experiment, add a row to :mod:`.grids` or a module here, and a row to ``EXPERIMENTS``. The package imports the modules
of :mod:`bansac.lab`, its peers, metrics and sets, and no measurement.
"""

from __future__ import annotations

import importlib

from bansac.lab.measurement import Measurement

__all__ = ["EXPERIMENTS", "find_experiment"]

# In the order of the paper; experiments that are not in the paper come last.
EXPERIMENTS: dict[str, str] = {
    "markov-order": "grids",
    "fixed-iterations": "grids",
    "inlier-ratio": "grids",
    "main-table": "grids",
    "per-scene": "grids",
    "synthetic": "synthetic",
    "classification-cpt": "grids",
    "sampling-activation": "grids",
    "stopping-criteria": "grids",
    "probability-evolution": "probability_evolution",
    "curve-example": "curve_example",
    "cpt-robustness": "grids",
    "degenerate-sampling": "degenerate_sampling",
    "readings": "grids",
    "scoring": "grids",
}
"""Name of each experiment -> its module here, with an ``EXPERIMENT`` or ``EXPERIMENTS`` by name."""


def find_experiment(name: str) -> Measurement:
    """Return an experiment by its name, a key of ``EXPERIMENTS``; an unknown name raises a ValueError."""
    if name not in EXPERIMENTS:
        raise ValueError(f"unknown experiment {name!r}; the experiments are {', '.join(EXPERIMENTS)}")
    module = importlib.import_module(f"{__name__}.{EXPERIMENTS[name]}")
    experiment: Measurement = module.EXPERIMENTS[name] if hasattr(module, "EXPERIMENTS") else module.EXPERIMENT
    return experiment
