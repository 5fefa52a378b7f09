"""Measurements by name, one module each: ``bansac bench NAME`` runs one.

A module has a docstring with the protocol, the functions ``units``, ``run_unit`` and ``report``, those of its tables on
the pages, and a ``MEASUREMENT`` (:func:`bansac_lab.measurement.of_module`). To add one, add a module and its name here.
The package imports the modules of :mod:`bansac_lab`, its peers, metrics and sets, and no experiment.
"""

import importlib

from bansac_lab.measurement import Measurement

MEASUREMENTS = (
    *("folders", "speed", "hard", "noise", "rivals", "power", "confidence", "calibration"),
    *("configurations", "honesty", "covariance", "labelled", "absolute-pose", "known-vertical", "depth"),
    *("multiple", "distortion", "focal-lengths", "video", "colmap", "ablation", "rules", "thresholds", "many"),
    *("cluster", "latency", "trust", "replacements", "scale"),
)
"""Names of the measurements; the module of each has its name, except those of ``_MODULES``."""

_MODULES = {"hard": "few_inliers"}


def find_measurement(name: str) -> Measurement:
    """Return a measurement by its name, one of ``MEASUREMENTS``."""
    module = importlib.import_module(f"{__name__}.{_MODULES.get(name, name.replace('-', '_'))}")
    measurement: Measurement = module.MEASUREMENT
    return measurement
