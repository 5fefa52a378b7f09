"""Trials of the ``synthetic`` experiment: settings, points and methods.

They are in a separate module so that an edit of the tables does not discard a run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.batch.journal import Row, Unit
from bansac.lab.measurement import Setup
from bansac.lab.metrics import circle_rmse, curve_rmse
from bansac.lab.tables import percent
from bansac.synthetic import CurvePoints, circle_points, polynomial_points

_Array = NDArray[np.float64]

RATES = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
CURVES = {"line": 1, "parabola": 2, "cubic": 3, "quartic": 4}
PROBLEMS = ("curve", "circle")
OWN_STOP = "BANSAC, own stop"
METHODS: dict[str, dict[str, Any]] = {
    "RANSAC": {"sampler": "uniform", "stopping": "ransac"},
    "BaySAC": {"sampler": "baysac", "stopping": "ransac"},
    "BANSAC": {"sampler": "bansac", "stopping": "bansac+ransac", "tau": 0.01},
    OWN_STOP: {"sampler": "bansac", "stopping": "bansac", "tau": 0.01},
}
SHARED: dict[str, Any] = {
    "preset": "paper",
    "threshold": 0.02,
    "max_iterations": 3000,
    "confidence": 0.99,
    "verification": None,
}
POINTS, TRIALS, NOISE = 300, 1000, 0.02

# Number of trials of a unit, about one second of work.
_CHUNK = 20


def units(setup: Setup) -> list[Unit]:
    """Split the trials of every problem and inlier rate into units of ``_CHUNK`` trials."""
    curve_of(setup)
    noise_of(setup)
    trials = TRIALS if setup.repeats is None else setup.repeats
    return [
        Unit(
            key=f"{problem}/{percent(rate)}/{start}-{min(start + _CHUNK, trials) - 1}",
            payload=(problem, rate, start, min(start + _CHUNK, trials)),
            timed=False,  # the paper compares iterations here
        )
        for problem in PROBLEMS
        for rate in RATES
        for start in range(0, trials, _CHUNK)
    ]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run all methods on the trials of a unit."""
    problem, rate, start, stop = unit.payload
    return [row for trial in range(start, stop) for row in _run_trial(setup, problem, rate, trial)]


def warm_up(setup: Setup, units: Sequence[Unit]) -> None:
    """Load or compile the kernels of both problems with one trial each."""
    for problem in PROBLEMS:
        _run_trial(setup, problem, RATES[-1], 0)


def _run_trial(setup: Setup, problem: str, rate: float, trial: int) -> list[Row]:
    import bansac

    seed, noise, degree = setup.seed + trial, noise_of(setup), CURVES[curve_of(setup)]
    rows: list[Row] = []
    for method, settings in METHODS.items():
        if problem == "circle":
            data = circle_points(POINTS, rate, noise, seed)
            result = bansac.fit_circle(data.points, seed=seed, **SHARED, **settings)
            rmse = circle_rmse(result.model, data.model)
        else:
            data = polynomial_points(POINTS, degree, rate, noise, seed)
            result = bansac.fit_polynomial(data.points, degree, seed=seed, **SHARED, **settings)
            rmse = curve_rmse(result.model, data.model)
        rows.append(
            {
                "problem": problem,
                "inlier_rate": rate,
                "method": method,
                "trial": trial,
                "seed": seed,
                "rmse": rmse,
                "iterations": result.iterations,
                "stop_reason": result.stop_reason,
                "found": result.model is not None,
                "inliers": result.num_inliers,
                **_counters(data, result.inliers, result.beliefs, settings.get("tau")),
                "seconds": result.seconds,
            }
        )
    return rows


def _counters(
    data: CurvePoints, inliers: NDArray[np.bool_], beliefs: _Array | None, tau: float | None
) -> dict[str, int | float | None]:
    """Return the counts of BANSAC's criterion and their split by ground truth.

    ``missed_probability`` is the mean belief of the true inliers that the best model misses.
    """
    if tau is None or beliefs is None:
        return dict.fromkeys(("low", "low_true_outliers", "missed_inliers", "missed_probability"))
    low = beliefs < tau
    missed = data.inliers & ~inliers
    return {
        "low": int(np.count_nonzero(low)),  # O~
        "low_true_outliers": int(np.count_nonzero(low & ~data.inliers)),
        "missed_inliers": int(np.count_nonzero(missed)),
        "missed_probability": float(beliefs[missed].mean()) if missed.any() else None,
    }


def curve_of(setup: Setup) -> str:
    """Return the name of the curve, a key of ``CURVES``."""
    name = str(setup.get("curve", "parabola"))
    if name not in CURVES:
        raise ValueError(f"curve must be one of {', '.join(CURVES)}; got {name!r}")
    return name


def noise_of(setup: Setup) -> float:
    """Return the standard deviation of the noise."""
    noise = setup.get("noise", NOISE)
    try:
        value = float(noise)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError(f"noise must be a finite number of at least 0, got {noise!r}")
    return math.sqrt(value) if setup.get("noise_is_variance") else value
