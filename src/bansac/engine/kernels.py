"""The functions that the loop calls through pointers: of the problem, sampler, score, network and stopping criteria.

They are Numba first-class functions in the fields of one struct. The loop is compiled and cached once for all of them.
Functions that a run does not use are not compiled. A user's function is compiled like a built-in one. A call costs some
nanoseconds, once per iteration or once per block of residuals.
"""

import functools
from collections.abc import Callable
from typing import Any

from numba import boolean, errors, float32, float64, int64, types, uint64, void

from bansac.compiled.jit import compile_kernel
from bansac.compiled.struct import FunctionStruct
from bansac.engine.dbn import update_first_order, update_higher_order
from bansac.engine.sampling import Sampler
from bansac.engine.scoring import SCORES, Score, check_block_score
from bansac.engine.state import PROGRESS_TYPE
from bansac.engine.stopping import MAX_CRITERIA, STOPS, Stop
from bansac.maths.arrays import Floats, Ints, Words
from bansac.problems.contract import IN_LOOP, REALS, function_types
from bansac.problems.problem import Problem

_NUMBERS, _ODDS, _INDICES, _MASK = float64[::1], float32[::1], int64[::1], boolean[::1]

DRAW = types.FunctionType(
    void(uint64[::1], float64[:, ::1], _ODDS, _INDICES, PROGRESS_TYPE, _NUMBERS, _INDICES, _INDICES)
)
LEARN_FROM_FAILURE = types.FunctionType(void(uint64[::1], _NUMBERS, _INDICES, _INDICES))
UPDATE = types.FunctionType(void(_ODDS, float64[:, ::1], _MASK, float64, float64[:, ::1], int64, _NUMBERS))
REQUIRED_ITERATIONS = types.FunctionType(
    float64(_MASK, _INDICES, float64[:, ::1], PROGRESS_TYPE, _INDICES, int64, float64)
)
BLOCK_SCORE = {name: types.FunctionType(float64(real[::1], real[::1], real)) for name, real in REALS.items()}

_FIELDS = (*(row.name for row in IN_LOOP), "draw", "learn_from_failure", "block_score", "update", "criteria")
_KERNELS = FunctionStruct(__name__, "_Kernels", _FIELDS, {"criteria": MAX_CRITERIA})


def select_kernels(
    problem: Problem, sampler: Sampler, score: Score, criteria: tuple[Stop, ...], higher_order: bool, degeneracy: bool
) -> Any:
    """Return the struct of the functions of a run, compiled if necessary.

    ``criteria`` are the stopping criteria with a function. ``higher_order`` says whether the order of the Markov
    assumption is above 1, ``degeneracy`` whether degenerate samples are detected, if the problem supports it.
    """

    def select() -> Any:
        rows = criteria or (STOPS["ransac"],)
        stops = [_compile(row, "required_iterations", REQUIRED_ITERATIONS) for row in rows]
        stops += [stops[0]] * (MAX_CRITERIA - len(stops))  # not called
        precision = problem.precision
        functions = (
            *problem.compile_in_loop(degeneracy=degeneracy).values(),
            _compile(sampler, "draw", DRAW),
            _compile(sampler, "learn_from_failure", LEARN_FROM_FAILURE),
            _compile_block_score(score, precision),
            _compiled(update_higher_order if higher_order else update_first_order, UPDATE, False),
            tuple(stops),
        )
        roles = DRAW, LEARN_FROM_FAILURE, BLOCK_SCORE[precision], UPDATE
        stop_types = types.UniTuple(REQUIRED_ITERATIONS, MAX_CRITERIA)
        return _KERNELS.pack(functions, (*function_types(IN_LOOP, REALS[precision]), *roles, stop_types))

    return _KERNELS.find(problem, (sampler, score, criteria, higher_order, degeneracy), select)


def _compile_block_score(score: Score, precision: str) -> Any:
    """Compile the ``block_score`` of a score; a user's function is checked on a few residuals."""
    block_score = _compile(score, "block_score", BLOCK_SCORE[precision], fast=True)
    if score not in SCORES.values():
        check_block_score(score.name, score.block_score, precision)
    return block_score


def _compile(row: Any, name: str, function_type: Any, *, fast: bool = False) -> Any:
    """Compile a function of a registry's row for the struct; ``fast`` allows reordering of sums."""
    function = getattr(row, name) or learn_nothing
    try:
        if not callable(function):
            raise TypeError(f"{function!r} is not a function")
        return _compiled(function, function_type, fast)
    except (errors.NumbaError, errors.UnsupportedBytecodeError, TypeError) as error:  # TypeError: of the parameters
        raise TypeError(f"{row.name!r}: {name} does not compile for {function_type.signature}:\n{error}") from error


@functools.cache
def _compiled(function: Callable[..., Any], function_type: Any, fast: bool) -> Any:
    return compile_kernel(function, function_type.signature, fast=fast, inner=True, lean=True)


def learn_nothing(rng: Words, numbers: Floats, indices: Ints, sample: Ints) -> None:
    """Do nothing: ``learn_from_failure`` of a sampler without this function."""
