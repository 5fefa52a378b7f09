"""What the compiled loop reads and writes: one context of functions, arrays and records.

Everything lives outside the loop, so that the loop can run in slices, return to Python between them and go on as if it
had never stopped. Records are passed to kernels by reference: ``progress.iterations += 1`` in a kernel is seen by
Python.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import config, from_dtype, types
from numba.experimental import structref

from bansac.numeric.arrays import Bools, Floats, Ints, Reals, Words
from bansac.numeric.jit import kernel
from bansac.numeric.struct import define_packer

__all__ = [
    "BLOCK",
    "CANDIDATE",
    "FULL_MODELS",
    "HISTORY",
    "LEARNT",
    "LEARNT_AT_LATEST",
    "MAX_ITERATIONS",
    "NOTHING",
    "OPTIMIZATION",
    "PROGRESS",
    "PROGRESS_TYPE",
    "REPAIR",
    "RUNNING",
    "SETTINGS",
    "SPRT",
    "STOPPED_BANSAC",
    "STOPPED_BOUND",
    "Run",
    "make_record",
    "make_records",
    "pack_run",
]

# Data are scored this many at a time: enough for SIMD, few enough to abandon a bad model early.
BLOCK = 128

# That many models are scored in full before the sequential test starts: a good early model is not lost, and their
# support estimates that of a bad model (as OpenCV does since 4.7; Ivashechkin et al., 2021).
FULL_MODELS = 20

# No criterion ends a run with a network before that many updates, or that many classifications if degenerate samples,
# which do not update, are the rule: see ``bansac.engine.stopping``.
LEARNT = 20
LEARNT_AT_LATEST = 100

# One row per sequential test: epsilon, delta, log A, samples tested.
HISTORY = 4

# Constant during a round.
SETTINGS = np.dtype(
    [
        ("squared_threshold", np.float64),
        ("confidence", np.float64),
        ("max_iterations", np.int64),
        ("min_iterations", np.int64),
        ("adaptive", np.bool_),  # the sampler draws by the probabilities of the network
        ("counts", np.bool_),  # the score is the number of inliers, all of weight 1
        ("total_weight", np.float64),  # of all data in the score
        ("sprt", np.bool_),
        ("bounds", np.int64),  # stopping criteria that ask for a number of samples
        ("stop_bansac", np.bool_),
        ("tau", np.float64),
        ("solver_cost", np.float64),
        ("optimize", np.bool_),  # local optimisation, and its two parts
        ("inner", np.bool_),
        ("iterative", np.bool_),
    ],
    align=True,
)

# The run so far. The samplers and the stopping criteria see it.
PROGRESS = np.dtype(
    [
        ("iterations", np.int64),
        ("models_tested", np.int64),
        ("best_score", np.float64),
        ("best_inliers", np.int64),
        ("stop", np.int64),  # RUNNING, or what ended the run
        ("required_iterations", np.float64),
        ("required_by", np.int64),  # which of the bounds
        ("subset_limit", np.int64),  # PROSAC: largest set of best data, lowered by its stopping criterion
        # the network: classifications C^k, and updates, which degenerate samples do not give
        ("classifications", np.int64),
        ("updates", np.int64),
        ("smallest_odds", np.float64),
        ("low_probability", np.int64),
        # local optimisation: support that is not random; whether the best model is still to be optimised
        ("chance_support", np.float64),
        ("unoptimized", np.bool_),
        ("due", np.int64),  # what interrupts the loop: NOTHING, REPAIR or OPTIMIZATION
    ],
    align=True,
)

# The best model of the iteration: its row in ``models`` (-1: none), the row of its mask in ``is_inlier``.
CANDIDATE = np.dtype(
    [
        ("score", np.float64),
        ("inliers", np.int64),
        ("row", np.int64),
        ("slot", np.int64),
        ("gamma", np.float64),  # of the update; NaN if there was none
        ("degenerate", np.bool_),  # its sample
        ("first_block", np.int64),  # at which the last scoring pass started
    ],
    align=True,
)

# The current sequential test, and what the rejected models had.
SPRT = np.dtype(
    [
        ("epsilon", np.float64),
        ("delta", np.float64),
        ("log_ratio_inlier", np.float64),
        ("log_ratio_outlier", np.float64),
        ("log_decision", np.float64),
        ("tests", np.int64),
        ("rejected_points", np.int64),
        ("rejected_inliers", np.int64),
        ("full_models", np.int64),  # scored in full before the first test
    ],
    align=True,
)

PROGRESS_TYPE = from_dtype(PROGRESS)

_RECORDS = np.dtype(
    [("settings", SETTINGS), ("progress", PROGRESS), ("candidate", CANDIDATE), ("sprt", SPRT)], align=True
)
_LAYOUT: tuple[Any, ...] = tuple(field[:2] for field in (_RECORDS.fields or {}).values())

# What takes place between two calls of the loop, so that it is compiled only for the runs that need it.
NOTHING, REPAIR, OPTIMIZATION = range(3)

# What ended a run; STOPPED_BOUND + k is the k-th of the bounds.
RUNNING, MAX_ITERATIONS, STOPPED_BANSAC, STOPPED_BOUND = range(4)


def make_record(dtype: np.dtype[np.void], **values: Any) -> Any:
    """Return a record with these values and zeros elsewhere, for kernels and, with attributes, for interpreted runs."""
    record = _first_record(np.zeros(1, dtype))
    for name, value in values.items():
        record[name] = value
    return record


def make_records(settings: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Return the records of a run: its settings, and its progress, candidate and SPRT, which are zeros.

    They share one piece of memory, and values are assigned at once: NumPy takes a microsecond for an array of records
    and a fourth of it for each field. The ``base`` of a record is an array that holds nothing else.
    """
    memory = np.zeros(_RECORDS.itemsize, np.uint8)
    first, *others = [np.ndarray(1, dtype, memory, offset) for dtype, offset in _LAYOUT]
    first[0] = tuple([settings[name] for name in _LAYOUT[0][0].names])
    return tuple(map(_first_record, (first, *others)))


def _first_record(array: Any) -> Any:
    return array.view(np.recarray)[0] if config.DISABLE_JIT else array[0]


class Run(NamedTuple):
    """The context of a run; the kernels get it as a struct with these fields (:func:`pack_run`)."""

    kernels: Any  # the functions of the problem, the sampler, the score and the stopping criteria
    settings: Any
    progress: Any
    candidate: Any
    sprt: Any
    data: Floats  # channels x N, in their random order
    points: Reals  # the same in the number type of the residuals
    rng: Words
    sample: Ints
    models: Floats  # max_models x model_size
    scratch: Floats  # of the solvers
    best_model: Floats
    best_sample: Ints
    other_model: Floats  # room for one
    model: Reals  # one model in the type of the residuals
    residuals: Reals  # of one block
    is_inlier: Bools  # 2 x N: the model at hand and the iteration's best
    odds: Floats  # outlier over inlier, per datum
    odds_bits: Ints  # the same memory
    belief: Floats  # 2 ** order x N above order 1
    belief_work: Floats
    gamma: Floats  # by number of inliers
    cpt: Floats
    ranking: Ints  # data by decreasing quality; empty if it is not known
    sampler_numbers: Floats  # the sampler's own
    sampler_indices: Ints
    stop_indices: Ints  # one row per bound: its own
    history: Floats  # of the sequential tests
    supports: Ints  # inliers of the first models, those scored in full
    repair_work: Floats
    weights: Floats  # N, of a fit
    score_weights: Reals  # N, of the data in the score
    block_weights: Floats  # their sums, one per block


@structref.register
class _RunType(types.StructRef):  # type: ignore[misc]
    """Numba type of the struct."""


class _RunStruct(structref.StructRefProxy):  # type: ignore[misc]
    """The struct as Python sees it: opaque."""


_pack = kernel(define_packer(_RunStruct, _RunType, Run._fields))


def pack_run(run: Run) -> Any:
    """Return the struct that the kernels take; it refers to the memory of ``run``, which must outlive it."""
    return run if config.DISABLE_JIT else _pack(*run)
