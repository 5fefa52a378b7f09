"""``solve``, ``fit`` and ``residuals`` as the loop calls them: the same compiled code.

Functions that only kernels call are called through a pointer in a struct. A copy for the tests would be compiled, too.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, types

from bansac.compiled.jit import compile_kernel, kernel, plain
from bansac.compiled.struct import FunctionStruct
from bansac.problems.contract import CONTRACT, REALS
from bansac.problems.problem import Problem

_STRUCT = FunctionStruct(__name__, "_Function", ("function",))


@kernel
def _solve(packed: Any, data: Any, sample: Any, models: Any, scratch: Any) -> Any:
    return packed.function(data, sample, models, scratch)


@kernel
def _fit(packed: Any, data: Any, weights: Any, model: Any, scratch: Any) -> Any:
    return packed.function(data, weights, model, scratch)


def compile_residuals(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the ``residuals`` of a problem, which are compiled on the first call for the type of the data."""
    return lambda data, *arguments: _compile("residuals", function, data.dtype.name)(data, *arguments)


def solve_sample(problem: Problem, *columns: Any) -> Any:
    """Return the models (K, size) of a sample, given by arrays with a row for each datum."""
    data, models = _channels(columns), np.empty((problem.max_models, problem.model_size))
    packed, sample = _pack("solve", problem.solve), np.arange(data.shape[1])
    return models[: _solve(packed, data, sample, models, np.empty(problem.scratch_size))]


def fit_data(problem: Problem, weights: Any, *columns: Any) -> Any:
    """Return the model fitted to weighted arrays with a row for each datum; None if it is left alone."""
    model, weights = np.full(problem.model_size, np.nan), np.array(weights, float)
    if _fit(_pack("fit", problem.fit), _channels(columns), weights, model, np.empty(problem.scratch_size)):
        return model
    assert np.isnan(model).all()
    return None


def _channels(columns: Any) -> Any:
    return np.ascontiguousarray(np.hstack(columns).T, float)


@functools.cache
def _pack(name: str, function: Callable[..., Any]) -> Any:
    compiled = _compile(name, function, "float64")
    if config.DISABLE_JIT:
        return _STRUCT.pack((compiled,), ())
    return _STRUCT.pack((compiled,), [types.FunctionType(_signature(name, "float64"))])


@functools.cache
def _compile(name: str, function: Callable[..., Any], precision: str) -> Any:
    if config.DISABLE_JIT:
        return plain(function)
    fast = CONTRACT[name].fast
    return compile_kernel(function, _signature(name, precision), fast=fast, inner=not fast, lean=True)


def _signature(name: str, precision: str) -> Any:
    return CONTRACT[name].signature(REALS[precision])
