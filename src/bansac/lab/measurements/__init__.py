"""Measurements by name, one module each: ``bansac bench NAME`` runs one.

A module has a docstring with the protocol, a ``MEASUREMENT`` (:class:`bansac.lab.measurement.Measurement`), and the
functions of its units, of its report and of its tables on the pages. To add one, add a module and a row here.
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
    "ablation": "ablation",
    "thresholds": "thresholds",
    "many": "many",
    "cluster": "cluster",
    "latency": "latency",
}
"""Name of each measurement -> its module in this package."""


def find_measurement(name: str) -> Measurement:
    """Return a measurement by its name, a key of ``MEASUREMENTS``.

    Examples
    --------
    >>> find_measurement("planes").title
    'Relative poses with a repeated pattern on a dominant plane'
    """
    measurement: Measurement = importlib.import_module(f"{__name__}.{MEASUREMENTS[name]}").MEASUREMENT
    return measurement
