"""The state of a run: the functions, arrays and records that the compiled loop reads and writes.

The loop keeps no state of its own. So it can run in slices, return to Python between them, and continue with the same
results. Records are passed to kernels by reference: Python sees ``progress.iterations += 1`` of a kernel.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import config, from_dtype
from numpy.typing import NDArray

from bansac.compiled.jit import inlined, inner_kernel, kernel
from bansac.compiled.struct import make_struct, write_function
from bansac.maths.arrays import Bools, Bytes, Floats, Ints, Reals, Singles, Words

# Points are scored in blocks of this size: large enough for SIMD, small enough to abandon a bad model early.
BLOCK = 128

# Number of models scored in full before the sequential test starts. No good early model is lost, and the inliers of
# these models estimate those of a bad model (as in OpenCV since 4.7; Ivashechkin et al., 2021).
FULL_MODELS = 20

# Degenerate samples give no update. If most samples are degenerate, this number of classifications is enough in place
# of an update (``bansac.engine.stopping``).
CLASSIFICATIONS_FOR_UPDATE = 5

# Columns of the history of sequential tests (epsilon, delta, log A, samples tested), and its largest number of rows.
HISTORY = 4
_MAX_TESTS = 256

# The settings. Kernels only read them. The first four depend on the data.
SETTINGS = np.dtype(
    [
        ("squared_threshold", np.float64),
        ("total_weight", np.float64),  # sum of the score weights of all points
        ("counts", np.bool_),  # the score is the number of inliers, with weights of 1
        ("target_inliers", np.int64),  # inliers of the best hypothesis, whose duplicate ends a restart; 0 for none
        ("confidence", np.float64),
        ("max_iterations", np.int64),
        ("min_iterations", np.int64),
        ("min_updates", np.int64),
        ("adaptive", np.bool_),  # the sampler draws by the probabilities of the network
        ("sprt", np.bool_),
        ("criteria", np.int64),  # number of stopping criteria that give a required number of samples
        ("stop_bansac", np.bool_),
        ("tau", np.float64),
        ("solver_cost", np.float64),
        ("optimize", np.bool_),  # local optimisation, followed by its two parts
        ("inner", np.bool_),
        ("iterative", np.bool_),
    ],
    align=True,
)

# The progress of the run. Samplers and stopping criteria can read it.
PROGRESS = np.dtype(
    [
        ("iterations", np.int64),
        ("models_tested", np.int64),
        ("best_score", np.float64),
        ("best_inliers", np.int64),
        ("stop", np.int64),  # stop code: RUNNING, or the criterion that ended the run
        ("required_iterations", np.float64),
        ("required_by", np.int64),  # number of the criterion that requires them
        ("subset_limit", np.int64),  # PROSAC: largest subset of the best points, lowered by its stopping criterion
        # the network: number of classifications C^k, and of updates (degenerate samples give none)
        ("classifications", np.int64),
        ("updates", np.int64),
        ("largest_odds", np.float64),
        ("low_probability", np.int64),
        # local optimisation: number of inliers that chance seldom exceeds; whether the best model is not yet optimised
        ("chance_support", np.float64),
        ("unoptimized", np.bool_),
        ("due", np.int64),  # step that interrupts the loop: NOTHING, REPAIR or OPTIMIZATION
    ],
    align=True,
)

# The best model of the iteration. ``row`` is its row in ``models`` (-1: none), ``slot`` the row of its mask in
# ``is_inlier``.
CANDIDATE = np.dtype(
    [
        ("score", np.float64),
        ("inliers", np.int64),
        ("row", np.int64),
        ("slot", np.int64),
        ("gamma", np.float64),  # gamma of the update; NaN without an update
        ("degenerate", np.bool_),  # whether its sample is degenerate
        ("first_block", np.int64),  # block at which the last scoring pass started
    ],
    align=True,
)

# The current sequential test, and the sums over the rejected models.
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
        ("full_models", np.int64),  # models scored in full before the first test
    ],
    align=True,
)

PROGRESS_TYPE = from_dtype(PROGRESS)

_RECORDS = np.dtype(
    [("settings", SETTINGS), ("progress", PROGRESS), ("candidate", CANDIDATE), ("sprt", SPRT)], align=True
)
_LAYOUT: tuple[Any, ...] = tuple(field[:2] for field in (_RECORDS.fields or {}).values())

# Steps between two calls of the loop (``due``): they are compiled only for the runs that need them.
NOTHING, REPAIR, OPTIMIZATION = range(3)

# Stop codes; DUPLICATE is the best hypothesis found again, STOPPED_CRITERION + k the k-th of the criteria.
RUNNING, MAX_ITERATIONS, DUPLICATE, STOPPED_BANSAC, STOPPED_CRITERION = range(5)


def start_records(**constants: Any) -> Bytes:
    """Return the memory of the records before a run, with the settings that do not depend on the data."""
    records = np.zeros(1, _RECORDS)
    for name in (SETTINGS.names or ())[4:]:
        records["settings"][name] = constants[name]
    progress = records["progress"]
    progress["required_iterations"] = progress["chance_support"] = np.inf
    return records.view(np.uint8)


def open_records(memory: Bytes) -> tuple[Any, Any]:
    """Return the settings and the progress of the records in ``memory``; a view of all takes three times as long."""
    (settings_type, settings_at), (progress_type, progress_at) = _LAYOUT[:2]
    settings = np.ndarray(1, settings_type, memory, settings_at)
    progress = np.ndarray(1, progress_type, memory, progress_at)
    if config.DISABLE_JIT:
        settings, progress = settings.view(np.recarray), progress.view(np.recarray)
    return settings[0], progress[0]


class State(NamedTuple):
    """The state of a run that Python also accesses; :func:`pack_run` makes the struct for the kernels from it."""

    settings: Any
    progress: Any
    sample_size: int  # this and the next four are lengths of arrays that only kernels use
    max_models: int  # models of one sample
    beliefs: int  # joint states of a point if the order is above 1, else 0
    repair_size: int  # scratch for the repair of degenerate samples
    scratch_size: int  # scratch of the solvers
    kernels: Any  # the functions of the problem, the sampler, the score and the stopping criteria
    memory: Bytes  # memory of the records
    data: Floats  # channels x N, shuffled
    points: Reals  # the same in the number type of the residuals
    rng: Words
    best_model: Floats
    odds: Singles  # N: odds of inlier over outlier
    gamma: Floats  # table of gamma by number of inliers; empty without a network
    cpt: Floats
    ranking: Ints  # indices of the points by decreasing quality; empty without scores
    sampler_numbers: Floats  # memory of the sampler
    sampler_indices: Ints
    stop_indices: Ints  # memory of the criteria, one row each
    score_weights: Reals  # N: weights of the points in the score; empty if all are 1
    target: Bools  # N: inliers of the best hypothesis


def made(expression: str) -> Any:
    """Declare a field of :class:`Run` that ``pack_run`` creates in a kernel.

    The expression may use ``n``, ``records``, the fields of :class:`State`, and earlier fields.
    """
    return expression


class Run(State):
    """The struct of a run that the kernels take: the state, in the same memory, and scratch arrays.

    It has the fields of :class:`State` from ``kernels`` on and the fields below. To add a field, add a line to one of
    the two classes. The struct, the kernel that fills it and the named tuple of interpreted runs are generated from
    them.
    """

    settings: Any = made("records.settings")
    progress: Any = made("records.progress")
    candidate: Any = made("records.candidate")
    sprt: Any = made("records.sprt")
    sample: Ints = made("np.empty(sample_size, np.int64)")
    models: Floats = made("np.full((max_models, best_model.size), np.nan)")
    best_sample: Ints = made("np.arange(sample_size)")  # valid before the first iteration: an initial model has none
    other_model: Floats = made("np.empty(best_model.size)")  # scratch for one model
    is_inlier: Bools = made("np.empty((2, n), np.bool_)")  # masks of the current and the iteration's best model
    odds_bits: NDArray[np.int32] = made("odds.view(np.int32)")
    belief: Floats = made("np.empty((beliefs, n))")  # 2 ** order x N above order 1
    belief_work: Floats = made("np.empty(2 * beliefs)")
    history: Floats = made("np.empty((_MAX_TESTS, HISTORY))")  # history of the sequential tests
    supports: Ints = made("np.empty(FULL_MODELS, np.int64)")  # inliers of the first models, which are scored in full
    repair_work: Floats = made("np.empty(repair_size)")
    score_weights: Reals = made("score_weights if score_weights.size > 0 else np.ones(BLOCK, points.dtype)")
    block_weights: Floats = made("np.empty((n + BLOCK - 1) // BLOCK)")  # sum of score_weights of each block
    scratch: Floats = made("np.empty(scratch_size)")  # scratch of the solvers
    model: Reals = made("np.empty(best_model.size, points.dtype)")  # one model in the number type of the residuals
    residuals: Reals = made("np.empty(BLOCK, points.dtype)")  # residuals of one block


_GIVEN = State._fields[State._fields.index("sample_size") :]
_MADE = {name: getattr(Run, name) for name in Run.__annotations__}
_FIELDS = tuple(dict.fromkeys((*_GIVEN[_GIVEN.index("kernels") :], *_MADE)))

_CONTEXT, _ = make_struct(__name__, "_Run", _FIELDS)


def pack_run(state: State) -> Any:
    """Return the struct for the kernels, in the memory of ``state``."""
    if config.DISABLE_JIT:
        state = state._replace(memory=state.memory.view(np.recarray))
    return _pack(*state[-len(_GIVEN) :])


# One compiled call creates all arrays, because NumPy takes longer for each array.
_pack = kernel(
    write_function(
        __name__,
        "pack",
        _GIVEN,
        "n, records = data.shape[1], memory.view(_RECORDS)[0]",
        *(f"{name} = {expression}" for name, expression in _MADE.items()),
        "settings.total_weight = _sum_weights(score_weights, n, block_weights)",
        f"return _CONTEXT({', '.join(_FIELDS)})",
    )
)


@inner_kernel
def _sum_weights(weights: Reals, n: int, sums: Floats) -> float:
    """Write the sum of the weights of each block of the n points, and return the total."""
    total = 0.0
    for block in range(sums.size):
        start = block * BLOCK
        stop = start + BLOCK if start + BLOCK < n else n
        sums[block] = 0.0
        for weight in weights_at(weights, start, stop, n):
            sums[block] += weight
        total += sums[block]
    return total


@inlined
def weights_at(weights: Reals, start: int, stop: int, n: int) -> Reals:
    """Return the weights of points ``start`` to ``stop`` of n; if all are 1, ``weights`` has one block only."""
    first = start if weights.size >= n else 0
    return weights[first : first + stop - start]
