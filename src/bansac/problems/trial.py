"""A test of user functions on a few points in interpreted Python, with bounds checks.

Compiled code has no bounds checks. A function that writes outside an array crashes the interpreter or corrupts results.
Here the functions, and the compiled functions that they call, run as plain Python. Their arrays have exactly the sizes
of the contract. Each array lies inside a larger buffer, whose margins reveal out-of-bounds writes of functions that
remain compiled.
"""

import traceback
from collections.abc import Callable
from pathlib import Path
from types import CellType, FunctionType
from typing import Any

import numpy as np
from numba import float64, types

from bansac.compiled.jit import is_ours
from bansac.maths.arrays import Floats, Ints, Reals
from bansac.maths.rng import seed_rng
from bansac.problems.contract import CONTRACT, repair_scratch
from bansac.problems.problem import Problem

_DATA = 40
_SAMPLES = 8
_MARGIN = 256
_UNTOUCHED = -7777.0


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
    points = np.sort(rng.choice(data.shape[1], n, replace=False))
    with np.errstate(all="ignore"):
        trial = _Trial(problem, data[:, points])
        for _ in range(_SAMPLES):
            trial.run(rng.choice(n, problem.sample_size, replace=False).astype(np.int64))


class _Trial:
    """Calls the functions of a problem; arguments are given by the parameter names of the contract."""

    def __init__(self, problem: Problem, data: Floats) -> None:
        self._problem = problem
        self._interpreted: dict[Any, FunctionType] = {}
        self._data = _padded(data.shape)
        self._data[:] = data
        self._transform = _padded((1 + 2 * problem.channels,))
        self._transform[0] = 1.0
        self._call("normalise", data=self._data, transform=self._transform)
        self._points = _padded(data.shape, problem.precision)
        self._points[:] = self._data

    def run(self, sample: Ints) -> None:
        """Solve for one sample and call the other functions with the model."""
        problem, data = self._problem, self._data
        scratch, model = _padded((problem.scratch_size,)), _padded((problem.model_size,))
        models = _padded((problem.max_models, problem.model_size))
        _, value = self._call("solve", data=data, sample=sample, models=models, scratch=scratch)
        count = 0 if value is None else int(value)
        if not 0 <= count <= problem.max_models:
            self._refuse("solve", f"returns {count} for the number of models, but max_models is {problem.max_models}")
        for k in range(count):
            if (models[k] == _UNTOUCHED).any():
                self._refuse("solve", f"returns {count}, but leaves models[{k}] unwritten (shape: {models.shape})")
        if count > 0:
            model[:] = models[0]
            self._call("is_valid", data=data, model=model, sample=sample)
            self._try_residuals(model)
            self._try_manifold(model.copy(), scratch)
            self._try_repair(sample, model)
            scores = _padded((data.shape[1],))
            self._call("score_in_front", data=data, model=model, scores=scores, squared_threshold=1.0)
        weights = _padded((data.shape[1],))
        for everything in (True, False):
            weights[:] = 1.0 if everything else 0.0
            weights[sample] = 1.0
            self._call("fit", data=data, weights=weights, model=model, scratch=scratch)
        self._call("denormalise", model=model, transform=self._transform)
        self._call("canonical", model=model)

    def _try_residuals(self, model: Floats) -> None:
        """Call ``residuals`` on all points and on the last third."""
        n = self._points.shape[1]
        rounded = _padded(model.shape, self._problem.precision)
        rounded[:] = model
        for start, stop in ((0, n), (n - max(n // 3, 1), n)):
            out = _padded((stop - start,), self._problem.precision)
            ended, _ = self._call("residuals", data=self._points, model=rounded, start=start, stop=stop, out=out)
            if ended and (out == _UNTOUCHED).any():
                self._refuse("residuals", f"leaves out[{np.argmax(out == _UNTOUCHED)}] unwritten for {start=}, {stop=}")
            if ended and (out < -1e-6 * np.abs(out).max()).any():  # below 0 by more than rounding
                self._refuse("residuals", f"writes {out.min():g}, but out must have squared distances")

    def _try_manifold(self, start: Floats, scratch: Floats) -> None:
        """Call the functions of the refinement, and check that they fill their arrays."""
        problem, n = self._problem, self._data.shape[1]
        model = _padded(start.shape)
        model[:] = start
        residuals = _padded((problem.residual_size, n))
        jacobian = _padded((problem.residual_size * problem.model_size, n))
        ended, _ = self._call(
            "linearize", data=self._data, model=model, start=0, stop=n, residuals=residuals, jacobian=jacobian
        )
        basis = _padded((problem.parameters or problem.model_size, problem.model_size))
        spanned, _ = self._call("tangent", model=model, basis=basis)
        self._call("project", model=model, scratch=scratch)
        written = (("linearize", "residuals", residuals, ended), ("linearize", "jacobian", jacobian, ended),
                   ("tangent", "basis", basis, spanned))  # fmt: skip
        for name, key, array, done in written:
            if done and (array == _UNTOUCHED).any():
                row = int(np.argmax((array == _UNTOUCHED).any(axis=1)))
                self._refuse(name, f"leaves row {row} of {key} unwritten (shape: {array.shape})")

    def _try_repair(self, sample: Ints, model: Floats) -> None:
        """Call the functions for degenerate samples."""
        scratch = _padded((repair_scratch(self._data.shape[1]),))
        threshold = 1e-2
        arguments = {"data": self._data, "sample": sample, "model": model, "squared_threshold": threshold}
        self._call("is_degenerate", **arguments, scratch=scratch)
        self._call("repair_degenerate", **arguments, rng=seed_rng(0), scratch=scratch)

    def _call(self, name: str, **values: Any) -> tuple[bool, Any]:
        """Call a function if the problem defines it; return whether it finished, and its return value."""
        function = getattr(self._problem, name)
        if function is None:
            return False, None
        arrays = {key: value for key, value in values.items() if isinstance(value, np.ndarray)}
        try:
            value = interpret(function, self._interpreted)(*(values[key] for key in CONTRACT[name].parameters))
        except Exception as error:
            if isinstance(error, IndexError) or (isinstance(error, ValueError) and "shape" in str(error)):
                self._refuse(name, f"reads or writes outside an array: {error}{_place(error)}{_shapes(arrays)}", error)
            return False, None
        for key, array in arrays.items():
            if not _margins_untouched(array):
                self._refuse(name, f"writes outside {key}{_shapes(arrays)}")
        signature = CONTRACT[name].signature
        wanted = types.none if signature is None else signature(float64).return_type
        if wanted != types.none and not isinstance(value, int | float | np.number | np.bool_):
            self._refuse(name, f"returns {value!r}, not a value of type {wanted}")
        return True, value

    def _refuse(self, name: str, reason: str, cause: Exception | None = None) -> None:
        """Raise the ValueError for a function."""
        raise ValueError(f"problem {self._problem.name!r}: {name} {reason}") from cause


def _padded(shape: tuple[int, ...], dtype: str = "float64") -> Reals:
    """Return an array inside a buffer with a margin on both sides."""
    buffer = np.full(int(np.prod(shape)) + 2 * _MARGIN, _UNTOUCHED, dtype)
    return buffer[_MARGIN : buffer.size - _MARGIN].reshape(shape)


def _margins_untouched(array: Reals) -> bool:
    """Return whether nothing was written outside an array of ``_padded``."""
    buffer = array.base
    if buffer is None:  # not made by _padded
        return True
    return bool((buffer[:_MARGIN] == _UNTOUCHED).all() and (buffer[-_MARGIN:] == _UNTOUCHED).all())


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
