"""A test of user functions on a few points in interpreted Python, with bounds checks.

Compiled code has no bounds checks. A function that writes outside an array crashes the interpreter or corrupts results.
Here the functions, and the compiled functions that they call by name, run as plain Python. Their arrays have exactly
the sizes of the contract.
"""

import functools
import traceback
from collections.abc import Callable
from pathlib import Path
from types import CellType, FunctionType
from typing import Any

import numpy as np
from numba import types

from bansac.compiled.jit import is_ours
from bansac.maths.arrays import Floats, Ints, Reals
from bansac.maths.rng import seed_rng
from bansac.problems.contract import CONTRACT, repair_scratch
from bansac.problems.problem import Problem

_DATA = 40
_SAMPLES = 8
_UNTOUCHED = -7777.0

# Arrays that a function fills.
_FILLED = {"residuals": ("out",), "linearize": ("residuals", "jacobian"), "tangent": ("basis",)}


def try_once(problem: Problem, data: Floats) -> None:
    """Call ``try_functions`` for the first data with enough points, if a function of the problem is the user's."""
    functions = (getattr(problem, name) for name in CONTRACT)
    own = any(function is not None and not is_ours(function) for function in functions)
    if own and data.shape[1] >= problem.sample_size and "_tried" not in problem.__dict__:
        try_functions(problem, data)
        problem.__dict__["_tried"] = True


def try_functions(problem: Problem, data: Floats) -> None:
    """Call the functions of a problem as the loop does, on a few of at least ``sample_size`` points (channels x N).

    A function that reads or writes outside an array, or returns an invalid value, is a ValueError. Other exceptions are
    ignored. A division by zero, for example, raises an exception in plain Python but gives infinity in compiled code.
    """
    rng = np.random.default_rng(0)
    n = min(data.shape[1], max(_DATA, problem.sample_size))
    points = np.take(data, np.sort(rng.choice(data.shape[1], n, replace=False)), axis=1)
    transform = np.append(1.0, _unwritten(2 * problem.channels))
    call = functools.partial(_call, problem, {})
    with np.errstate(all="ignore"):
        call("normalise", data=points, transform=transform)
        for _ in range(_SAMPLES):
            sample = rng.choice(n, problem.sample_size, replace=False).astype(np.int64)
            _try_sample(call, problem, points, sample, transform)


def _try_sample(call: Callable[..., Any], problem: Problem, data: Floats, sample: Ints, transform: Floats) -> None:
    """Solve for one sample and call the other functions with the model."""
    n, size, k = data.shape[1], problem.model_size, problem.residual_size
    scratch, models, weights = _unwritten(problem.scratch_size), _unwritten(problem.max_models, size), np.ones(n)
    count = int(call("solve", data=data, sample=sample, models=models, scratch=scratch) or 0)
    if not 0 <= count <= problem.max_models:
        _refuse(problem, "solve", f"returns {count} for the number of models, but max_models is {problem.max_models}")
    if (models[:count] == _UNTOUCHED).any():
        _refuse(problem, "solve", f"returns {count}, but leaves models unwritten{_shapes({'models': models})}")
    model = models[0].copy()
    if count > 0:
        of_sample = {"data": data, "model": model, "sample": sample, "squared_threshold": 1e-2}
        call("is_valid", **of_sample)
        reals = {"data": data.astype(problem.precision), "model": model.astype(problem.precision)}
        for start in (0, n - max(n // 3, 1)):
            out = _unwritten(n - start).astype(problem.precision)
            ended = call("residuals", **reals, start=start, stop=n, out=out)
            if ended and (out < -1e-6 * np.abs(out).max()).any():  # below 0 by more than rounding
                _refuse(problem, "residuals", f"writes {out.min():g}, but out must have squared distances")
        moved, arrays = model.copy(), {"residuals": _unwritten(k, n), "jacobian": _unwritten(k * size, n)}
        call("linearize", data=data, model=moved, start=0, stop=n, **arrays)
        call("tangent", model=moved, basis=_unwritten(problem.parameters or size, size))
        call("project", model=moved, scratch=scratch)
        for_repair = _unwritten(repair_scratch(n))
        call("is_degenerate", **of_sample, scratch=for_repair)
        call("repair_degenerate", **of_sample, rng=seed_rng(0), scratch=for_repair)
        call("score_in_front", **of_sample, scores=weights)
    for everything in (1.0, 0.0):
        weights[:] = everything
        weights[sample] = 1.0
        call("fit", data=data, weights=weights, model=model, scratch=scratch)
    call("denormalise", model=model, transform=transform)
    call("canonical", model=model)


def _call(problem: Problem, interpreted: dict[Any, FunctionType], name: str, **values: Any) -> Any:
    """Return the value of a function, or True instead of None; None if it is not defined or does not finish."""
    function, role = getattr(problem, name), CONTRACT[name]
    if function is None:
        return None
    arrays = {key: value for key, value in values.items() if isinstance(value, np.ndarray)}
    try:
        value = interpret(function, interpreted)(*(values[key] for key in role.parameters))
    except Exception as error:
        if isinstance(error, IndexError) or (isinstance(error, ValueError) and "shape" in str(error)):
            reason = f"reads or writes outside an array: {error}{_place(error)}{_shapes(arrays)}"
            _refuse(problem, name, reason, error)
        return None
    wanted = role.returns
    if wanted not in (None, types.void) and not isinstance(value, int | float | np.number | np.bool_):
        _refuse(problem, name, f"returns {value!r}, not a value of type {wanted}")
    for key in _FILLED.get(name, ()):
        for place in np.argwhere(arrays[key] == _UNTOUCHED)[:1].tolist():
            _refuse(problem, name, f"leaves {key}{place} unwritten{_shapes(arrays)}")
    return True if value is None else value


def _refuse(problem: Problem, name: str, reason: str, cause: Exception | None = None) -> None:
    """Raise the ValueError for a function."""
    raise ValueError(f"problem {problem.name!r}: {name} {reason}") from cause


def _unwritten(*shape: int) -> Floats:
    """Return an array of a number that shows what was not written."""
    return np.full(shape, _UNTOUCHED)


def interpret(function: Any, done: dict[Any, FunctionType]) -> Callable[..., Any]:
    """Return the plain Python function; compiled functions that it refers to by name are replaced as well."""
    source: FunctionType = getattr(function, "py_func", function)
    if source not in done:
        scope = dict(source.__globals__)
        cells = tuple(CellType() for _ in source.__closure__ or ())
        done[source] = FunctionType(source.__code__, scope, source.__name__, source.__defaults__, cells or None)
        for cell, original in zip(cells, source.__closure__ or (), strict=True):
            value = original.cell_contents
            cell.cell_contents = interpret(value, done) if hasattr(value, "py_func") else value
        for name in source.__code__.co_names:
            if hasattr(scope.get(name), "py_func"):
                scope[name] = interpret(scope[name], done)
    return done[source]


def _place(error: Exception) -> str:
    """Return the line where an exception was raised, for messages."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f" in {frame.name}, line {frame.lineno} of {Path(frame.filename).name}: {frame.line}".rstrip(": ")


def _shapes(arrays: dict[str, Reals]) -> str:
    """Return the shapes of the arguments, for messages."""
    return " (shapes: " + ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) + ")"
