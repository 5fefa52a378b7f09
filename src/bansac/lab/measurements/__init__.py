"""Measurements by name, one module each: ``bansac bench NAME`` runs one.

A module has a docstring with the protocol, the functions ``units``, ``run_unit`` and ``report``, those of its tables on
the pages, and a ``MEASUREMENT`` (:func:`bansac.lab.measurement.of_module`). To add one, add a module and a row here.
The package imports the modules of :mod:`bansac.lab`, its peers, metrics and sets, and no experiment.
"""

from __future__ import annotations

import importlib

from bansac.lab.measurement import Measurement

__all__ = ["MEASUREMENTS", "find_measurement"]

MEASUREMENTS: dict[str, str] = {
    "folders": "folders",
    "speed": "speed.report",
    "hard": "few_inliers",
    "noise": "noise",
    "planes": "planes",
    "rivals": "rivals",
    "posebench": "posebench",
    "confidence": "confidence",
    "calibration": "calibration",
    "configurations": "configurations",
    "honesty": "honesty",
    "covariance": "covariance",
    "labelled": "labelled",
    "score-scales": "score_scales",
    "absolute-pose": "absolute_pose",
    "known-vertical": "known_vertical",
    "multiple": "multiple",
    "distortion": "distortion",
    "focal-lengths": "focal_lengths",
    "video": "video",
    "colmap": "colmap",
    "ablation": "ablation",
    "thresholds": "thresholds",
    "many": "many",
    "cluster": "cluster",
    "latency": "latency",
}
"""Name of each measurement -> its module in this package."""


def find_measurement(name: str) -> Measurement:
    """Return a measurement by its name, a key of ``MEASUREMENTS``."""
    measurement: Measurement = importlib.import_module(f"{__name__}.{MEASUREMENTS[name]}").MEASUREMENT
    return measurement
