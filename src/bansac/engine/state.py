"""What the compiled loop reads and writes, laid out in NumPy records and arrays.

Everything lives outside the loop, so that the loop can run in slices, return to Python between them and go on as if it
had never stopped. Records are passed to kernels by reference: ``run.iterations += 1`` in a kernel is seen by Python.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import config
from numpy.typing import NDArray

__all__ = [
    "BLOCK",
    "FULL_MODELS",
    "HISTORY",
    "RUN",
    "SAMPLER_CODES",
    "SETTINGS",
    "STOP_REASONS",
    "TRACE_COLUMNS",
    "State",
    "make_record",
]

# Data are scored this many at a time: enough for SIMD, few enough to abandon a bad model early.
BLOCK = 128

# Fixed for a run.
SETTINGS = np.dtype(
    [
        ("squared_threshold", np.float64),
        ("confidence", np.float64),
        ("max_iterations", np.int64),
        ("min_iterations", np.int64),
        ("sampler", np.int64),  # see SAMPLER_CODES
        ("msac", np.bool_),
        ("sprt", np.bool_),
        ("stop_ransac", np.bool_),
        ("stop_sprt", np.bool_),
        ("stop_prosac", np.bool_),
        ("stop_bansac", np.bool_),
        ("activation", np.int64),
        ("weight_floor", np.float64),
        ("tau", np.float64),
        ("solver_cost", np.float64),
        ("inner", np.bool_),  # local optimisation
        ("iterative", np.bool_),
    ],
    align=True,
)

# Changes in the course of a run.
RUN = np.dtype(
    [
        ("iterations", np.int64),
        ("models_tested", np.int64),
        ("stop", np.int64),  # index into STOP_REASONS
        ("required_iterations", np.float64),
        ("required_by", np.int64),  # index into STOP_REASONS
        ("best_score", np.float64),
        ("best_inliers", np.int64),
        # the best model of the iteration: its row in models (-1: none), its mask's row in is_inlier
        ("score", np.float64),
        ("inliers", np.int64),
        ("row", np.int64),
        ("slot", np.int64),
        # PROSAC: samples drawn, size of the set they come from, largest size
        ("draws", np.int64),
        ("subset", np.int64),
        ("subset_limit", np.int64),
        # local optimisation: whether the best model waits for it; the support that it must exceed, not random
        ("unoptimized", np.bool_),
        ("chance_support", np.float64),
        # the network
        ("updates", np.int64),
        ("smallest_odds", np.float64),
        ("low_probability", np.int64),
        # the current sequential test
        ("epsilon", np.float64),
        ("delta", np.float64),
        ("log_ratio_inlier", np.float64),
        ("log_ratio_outlier", np.float64),
        ("log_decision", np.float64),
        ("first_block", np.int64),
        ("tests", np.int64),
        ("rejected_points", np.int64),
        ("rejected_inliers", np.int64),
        ("full_models", np.int64),  # scored in full before the test starts
    ],
    align=True,
)

# That many models are scored in full before the sequential test starts: a good early model is not lost, and they tell
# how much support a bad model has (as OpenCV does since 4.7; Ivashechkin et al., 2021).
FULL_MODELS = 20

# One row a sequential test: epsilon, delta, log A, samples tested.
HISTORY = 4

STOP_REASONS = ("running", "max_iterations", "ransac", "sprt", "prosac", "bansac")
RUNNING, MAX_ITERATIONS, STOPPED_RANSAC, STOPPED_SPRT, STOPPED_PROSAC, STOPPED_BANSAC = range(6)

BANSAC, UNIFORM, PROSAC, NAPSAC, P_NAPSAC, BAYSAC, AR = range(7)
SAMPLER_CODES = {
    "bansac": BANSAC,
    "uniform": UNIFORM,
    "prosac": PROSAC,
    "napsac": NAPSAC,
    "p-napsac": P_NAPSAC,
    "baysac": BAYSAC,
    "ar": AR,
}

TRACE_COLUMNS = (
    "inlier_ratio",
    "gamma",
    "best_score",
    "best_inliers",
    "low_probability",
    "outliers",
    "required_iterations",
)


def make_record(dtype: np.dtype[np.void], **values: Any) -> Any:
    """Return a record with these values and zeros elsewhere, for kernels and, with attributes, for interpreted runs."""
    array = np.zeros(1, dtype)
    for name, value in values.items():
        array[name] = value
    return array.view(np.recarray)[0] if config.DISABLE_JIT else array[0]


class State(NamedTuple):
    """The arrays of a run."""

    rng: NDArray[np.uint64]
    sample: NDArray[np.int64]
    models: NDArray[np.float64]  # max_models x model_size
    scratch: NDArray[np.float64]
    best_model: NDArray[np.float64]
    minimal_model: NDArray[np.float64]  # while the problem's repair_degenerate may replace it
    model: NDArray[Any]  # one model in the type of the residuals
    residuals: NDArray[Any]  # of one block
    is_inlier: NDArray[np.bool_]  # 2 x N: the model at hand and the iteration's best
    odds: NDArray[np.float64]  # outlier over inlier, one a datum
    odds_bits: NDArray[np.int64]  # the same memory
    belief: NDArray[np.float64]  # 2 ** order x N above order 1
    belief_work: NDArray[np.float64]
    gamma: NDArray[np.float64]  # by number of inliers
    cpt: NDArray[np.float64]
    history: NDArray[np.float64]
    supports: NDArray[np.int64]  # inliers of the first models, those scored in full
    ranking: NDArray[np.int64]  # data by decreasing quality; empty where it is not known
    significant: NDArray[np.int64]  # inliers among the n best data that are no chance, for PROSAC's stop; or empty
    recovery: NDArray[np.float64]  # scratch of the problem's repair_degenerate
    trace: NDArray[np.float64]  # iterations of this slice x TRACE_COLUMNS, or no row
