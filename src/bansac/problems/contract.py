"""The functions of a problem: their parameters, their compiled types, and the defaults of the optional ones.

To add an optional function, add one row to ``CONTRACT`` and one field to ``Problem``. Checks, messages, compilation and
the struct follow from the table.
"""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from numba import boolean, float32, float64, int64, types, uint64, void

from bansac.maths.arrays import Floats, Ints


def repair_scratch(n: int) -> int:
    """Return the scratch length of ``is_degenerate`` and ``repair_degenerate`` for ``n`` points."""
    return 4 * n + 128


def never_fit(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Report that there is no fit."""
    return False


def always_valid(data: Floats, model: Floats, sample: Ints) -> bool:
    """Accept every model."""
    return True


def never_degenerate(data: Floats, sample: Ints, model: Floats, squared_threshold: float, scratch: Floats) -> bool:
    """Treat every sample as non-degenerate."""
    return False


def span_everything(model: Floats, basis: Floats) -> None:
    """Write the standard basis, so that every parameter of the model is free."""
    for k in range(basis.shape[0]):
        for i in range(basis.shape[1]):
            basis[k, i] = 1.0 if i == k else 0.0


def keep(model: Floats, scratch: Floats) -> bool:
    """Leave the model unchanged."""
    return True


REALS = {"float64": float64, "float32": float32}
# The types of parameters; those of ``residuals`` with real numbers have the precision of the problem.
_TYPES = {
    **dict.fromkeys(("data", "models", "residuals", "jacobian", "basis"), float64[:, ::1]),
    **dict.fromkeys(("model", "weights", "scores", "scratch", "out"), float64[::1]),
    "sample": int64[::1],
    "rng": uint64[::1],
    "start": int64,
    "stop": int64,
    "squared_threshold": float64,
}


class Function(NamedTuple):
    """The role of a function of a problem."""

    name: str
    parameters: tuple[str, ...]
    returns: Any = None  # its type; None for a function called from Python, once per run
    # Replaces an optional function that the problem does not define.
    default: Callable[..., Any] | None = None
    fast: bool = False  # compiled with FAST_MATH
    in_loop: bool = False  # called by the loop through the struct; otherwise by the runner or a refiner

    @property
    def required(self) -> bool:
        """Whether every problem must define the function."""
        return self.in_loop and self.default is None

    def signature(self, real: Any = float64) -> Any:
        """Return the Numba signature for a number type of the residuals."""
        kinds = [_TYPES[name] for name in self.parameters]
        if self.name == "residuals":
            kinds = [kind.copy(dtype=real) if isinstance(kind, types.Array) else kind for kind in kinds]
        return self.returns(*kinds)

    def __str__(self) -> str:
        """Return the name and the parameters, for messages."""
        return f"{self.name}({', '.join(self.parameters)})"

    def check(self, function: Any) -> None:
        """Raise a TypeError if an object is no function of these parameters."""
        python_function = getattr(function, "py_func", function)
        if not inspect.isfunction(python_function):
            raise TypeError(f"{self.name} must be a function {self}, got {function!r}")
        signature = inspect.signature(python_function)
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        if [p.kind in positional for p in signature.parameters.values()] != [True] * len(self.parameters):
            got = f"{python_function.__name__}{signature.replace(return_annotation=signature.empty)}"
            raise TypeError(f"{self.name} must be a function {self}, got {got}")


def function_types(roles: Iterable[Function], real: Any = float64) -> list[Any]:
    """Return Numba's types of the functions of roles, for a number type of the residuals."""
    return [types.FunctionType(role.signature(real)) for role in roles]


_OF_SAMPLE = "data", "sample", "model", "squared_threshold"
_ROLES = (
    Function("solve", ("data", "sample", "models", "scratch"), int64, in_loop=True),
    Function("residuals", ("data", "model", "start", "stop", "out"), void, fast=True, in_loop=True),
    Function("fit", ("data", "weights", "model", "scratch"), boolean, never_fit, in_loop=True),
    Function("is_valid", ("data", "model", "sample"), boolean, always_valid, in_loop=True),
    Function("is_degenerate", (*_OF_SAMPLE, "scratch"), boolean, never_degenerate, in_loop=True),
    Function("repair_degenerate", (*_OF_SAMPLE, "rng", "scratch"), boolean),
    Function("score_in_front", ("data", "model", "scores", "squared_threshold"), float64),
    Function("linearize", ("data", "model", "start", "stop", "residuals", "jacobian"), void, fast=True),
    Function("tangent", ("model", "basis"), void, span_everything),
    Function("project", ("model", "scratch"), boolean, keep),
    Function("normalise", ("data", "transform")),
    Function("denormalise", ("model", "transform")),
    Function("normalise_model", ("model", "transform")),
    Function("canonical", ("model",)),
    Function("significance_form", ("data", "model")),
)
CONTRACT = {role.name: role for role in _ROLES}
IN_LOOP = tuple(role for role in _ROLES if role.in_loop)
MANIFOLD = tuple(CONTRACT[name] for name in ("linearize", "tangent", "project"))
