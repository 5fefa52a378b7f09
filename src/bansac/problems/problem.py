"""What the loop needs to know about a problem: a few small functions with fixed signatures.

One compiled loop serves every problem. The functions of a problem reach it as Numba first-class functions in the
fields of one struct, so the loop is compiled and cached once and not once a problem, and a model that a user writes in
Python runs as fast as the built-in ones.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numba import boolean, config, errors, float32, float64, int64, types, uint64, void
from numpy.typing import NDArray

from bansac.numeric.jit import compile_kernel

__all__ = ["Problem"]

POINTS = {"float32": float32, "float64": float64}

SOLVE = types.FunctionType(int64(float64[:, ::1], int64[::1], float64[:, ::1], float64[::1]))
FIT = types.FunctionType(boolean(float64[:, ::1], float64[::1], float64[::1], float64[::1]))
IS_VALID = types.FunctionType(boolean(float64[:, ::1], float64[::1], int64[::1]))
IS_DEGENERATE = types.FunctionType(boolean(float64[:, ::1], int64[::1], float64[::1], float64, float64[::1]))
REPAIR_DEGENERATE = types.FunctionType(
    boolean(float64[:, ::1], int64[::1], float64[::1], float64, uint64[::1], float64[::1])
)
RESIDUALS = {
    name: types.FunctionType(void(real[:, ::1], real[::1], int64, int64, real[::1])) for name, real in POINTS.items()
}


def always_valid(data: NDArray[np.float64], model: NDArray[np.float64], sample: NDArray[np.int64]) -> bool:
    """Accept every model: the check of a problem that has none."""
    return True


def never_fit(
    data: NDArray[np.float64], weights: NDArray[np.float64], model: NDArray[np.float64], scratch: NDArray[np.float64]
) -> bool:
    """Decline to fit: the non-minimal solver of a problem that has none."""
    return False


def repair_scratch(n: int) -> int:
    """Return the length of the scratch that ``is_degenerate`` and ``repair_degenerate`` get for ``n`` data."""
    return 4 * n + 128


def never_degenerate(
    data: NDArray[np.float64],
    sample: NDArray[np.int64],
    model: NDArray[np.float64],
    squared_threshold: float,
    scratch: NDArray[np.float64],
) -> bool:
    """Take no sample for degenerate."""
    return False


# What the functions of a problem are called with.
_PARAMETERS = {
    "solve": ("data", "sample", "models", "scratch"),
    "residuals": ("data", "model", "start", "stop", "out"),
    "fit": ("data", "weights", "model", "scratch"),
    "is_valid": ("data", "model", "sample"),
    "is_degenerate": ("data", "sample", "model", "squared_threshold", "scratch"),
    "repair_degenerate": ("data", "sample", "model", "squared_threshold", "rng", "scratch"),
    "normalize": ("data", "transform"),
    "denormalize": ("model", "transform"),
    "canonical": ("model",),
}


def _check_size(field: str, value: Any, smallest: int) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < smallest:
        raise ValueError(f"{field} must be an integer >= {smallest}, got {value!r}")


def _check_function(field: str, function: Any, parameters: tuple[str, ...]) -> None:
    wanted = f"{field} must be a function {field}({', '.join(parameters)})"
    python_function = getattr(function, "py_func", function)
    if not inspect.isfunction(python_function):
        raise TypeError(f"{wanted}, got {function!r}")
    found = inspect.signature(python_function)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if [p.kind in positional for p in found.parameters.values()] != [True] * len(parameters):
        raise TypeError(f"{wanted}, got {python_function.__name__}{found.replace(return_annotation=found.empty)}")


def _check_fields(problem: Any) -> None:
    if not isinstance(problem.name, str) or not problem.name:
        raise ValueError(f"name must be a string that is not empty, got {problem.name!r}")
    for field, smallest in (("channels", 1), ("sample_size", 1), ("max_models", 1), ("scratch_size", 0)):
        _check_size(field, getattr(problem, field), smallest)
    if not isinstance(problem.model_shape, tuple) or not problem.model_shape:
        raise ValueError(f"model_shape must be a tuple of sizes such as (3, 3) or (4,), got {problem.model_shape!r}")
    for size in problem.model_shape:
        _check_size("model_shape", size, 1)
    if not isinstance(problem.solver_cost, int | float | np.number) or not 0.0 < problem.solver_cost < np.inf:
        raise ValueError(f"solver_cost must be a number > 0, got {problem.solver_cost!r}")
    if problem.precision not in POINTS:
        raise ValueError(f"precision must be 'float64' or 'float32', got {problem.precision!r}")
    for field, parameters in _PARAMETERS.items():
        function = getattr(problem, field)
        if function is not None or field in ("solve", "residuals"):
            _check_function(field, function, parameters)


@dataclass(frozen=True, eq=False)
class Problem:
    """A geometric model that can be estimated from data with outliers.

    The functions are plain Python that Numba can compile. They get the data as ``channels x N`` float64 (structure of
    arrays: ``data[0]`` holds the first coordinate of every point), and models as flat float64 arrays.

    Parameters
    ----------
    name : str
        Shown in messages.
    channels : int
        Coordinates of one datum, for example 4 for a match of two image points.
    sample_size : int
        Number of data in a minimal sample.
    model_shape : tuple of int
        Shape in which a model is returned to the caller.
    solve : callable
        ``solve(data, sample, models, scratch) -> int``: compute the models through the data ``sample`` (indices), write
        them into the rows of ``models`` and return how many there are; 0 means a degenerate sample.
    residuals : callable
        ``residuals(data, model, start, stop, out)``: write the squared residuals of data ``start`` to ``stop`` into
        ``out[0]`` to ``out[stop - start - 1]``. Take row views first (``x = data[0, start:stop]``): that vectorises.
    fit : callable, optional
        ``fit(data, weights, model, scratch) -> bool``: weighted least-squares fit to all data with non-zero weight,
        written into ``model``; False where it is not determined. Without it no refinement takes place.
    is_valid : callable, optional
        ``is_valid(data, model, sample) -> bool``: a cheap check of a model before it is scored.
    is_degenerate : callable, optional
        ``is_degenerate(data, sample, model, squared_threshold, scratch) -> bool``:
        whether the sample does not determine
        ``model``; such samples do not change the probabilities. ``scratch`` has ``4 N + 128`` float64.
    repair_degenerate : callable, optional
        ``repair_degenerate(data, sample, model, squared_threshold, rng, scratch) -> bool``: called for a degenerate
        sample that gave a new best model: replace ``model`` by one with more support; False if there is none. ``rng``
        is the state of the run's random numbers. It needs ``is_degenerate``.
    max_models : int
        The most models that one sample can give.
    scratch_size : int
        Length of the float64 work array that ``solve`` and ``fit`` get.
    solver_cost : float
        Time of ``solve`` over the time of one residual, for the design of the sequential test (SPRT).
    precision : {"float64", "float32"}
        Number type in which the loop evaluates ``residuals``.
    normalize : callable, optional
        ``normalize(data, transform)``: bring ``data`` to a well-conditioned frame in place and write how into
        ``transform`` (``1 + 2 * channels`` float64): ``transform[0]`` is the factor by which residual distances change.
    denormalize : callable, optional
        ``denormalize(model, transform)``: take ``model`` back to the caller's coordinates in place.
    canonical : callable, optional
        ``canonical(model)``: fix the scale and sign of a model that has a free one, in place.

    Raises
    ------
    ValueError
        If a size or the precision is not allowed.
    TypeError
        If something that must be a function is none, takes other parameters, or does not compile (on first use).

    Examples
    --------
    >>> import numpy as np, bansac
    >>> def solve(data, sample, models, scratch):
    ...     models[0, 0] = data[0, sample[0]]
    ...     return 1
    >>> def residuals(data, model, start, stop, out):
    ...     for n in range(start, stop):
    ...         out[n - start] = (data[0, n] - model[0]) ** 2
    >>> constant = bansac.Problem("constant", 1, 1, (1,), solve, residuals)
    >>> data = np.append(np.full(30, 7.0), np.arange(20) * 10)[:, None]
    >>> model, inliers = bansac.ransac(constant, data, threshold=0.5)
    >>> float(model[0]), int(inliers.sum())
    (7.0, 30)
    """

    name: str
    channels: int
    sample_size: int
    model_shape: tuple[int, ...]
    solve: Callable[..., Any]
    residuals: Callable[..., Any]
    fit: Callable[..., Any] | None = None
    is_valid: Callable[..., Any] | None = None
    is_degenerate: Callable[..., Any] | None = None
    repair_degenerate: Callable[..., Any] | None = None
    max_models: int = 1
    scratch_size: int = 0
    solver_cost: float = 200.0
    precision: Literal["float64", "float32"] = "float64"
    normalize: Callable[..., Any] | None = None
    denormalize: Callable[..., Any] | None = None
    canonical: Callable[..., Any] | None = None
    default_threshold: float | None = None
    default_max_iterations: int = 3000

    def __post_init__(self) -> None:
        """Check every field, so that a slip is named here and not by the compiler."""
        _check_fields(self)

    @functools.cached_property
    def model_size(self) -> int:
        """Length of a model as a flat array."""
        return math.prod(self.model_shape)

    @functools.cached_property
    def packed(self) -> dict[Any, Any]:
        """The structs that the engine has made of these functions and others, by what the others are."""
        return {}

    def functions(self, *, repair: bool) -> tuple[Any, ...]:
        """Return the compiled functions in the order of the contract; ``repair`` says whether to detect degeneracy."""
        fit = self.fit or never_fit
        is_valid = self.is_valid or always_valid
        check = self.is_degenerate if repair and self.is_degenerate is not None else never_degenerate
        if config.DISABLE_JIT:
            return tuple(getattr(f, "py_func", f) for f in (self.solve, self.residuals, fit, is_valid, check))
        return (
            self._compile("solve", self.solve, SOLVE),
            self._compile("residuals", self.residuals, RESIDUALS[self.precision], fast=True),
            self._compile("fit", fit, FIT),
            self._compile("is_valid", is_valid, IS_VALID),
            self._compile("is_degenerate", check, IS_DEGENERATE),
        )

    @functools.cached_property
    def repair(self) -> Any:
        """The compiled ``repair_degenerate``, None if there is none; called from Python."""
        if self.repair_degenerate is None or config.DISABLE_JIT:
            return getattr(self.repair_degenerate, "py_func", self.repair_degenerate)
        return self._compile("repair_degenerate", self.repair_degenerate, REPAIR_DEGENERATE)

    @functools.cached_property
    def exact_residuals(self) -> Any:
        """The residuals compiled for float64, for the answer in the caller's coordinates."""
        if config.DISABLE_JIT:
            return getattr(self.residuals, "py_func", self.residuals)
        return self._compile("residuals", self.residuals, RESIDUALS["float64"], fast=True)

    def _compile(self, name: str, function: Callable[..., Any], function_type: Any, *, fast: bool = False) -> Any:
        """Compile one of the functions; an error says which one it is."""
        try:
            return compile_kernel(
                function, function_type.signature, fast=fast, inner=name not in ("residuals", "repair_degenerate")
            )
        except errors.NumbaError as error:
            raise TypeError(
                f"problem {self.name!r}: {name} does not compile for {function_type.signature}:\n{error}"
            ) from error
