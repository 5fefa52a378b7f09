"""``Problem``: a geometric model as a few small functions with fixed signatures (``bansac.problems.contract``).

One compiled loop serves every problem. It calls the functions of a problem as Numba first-class functions, which are
the fields of one struct. The loop is therefore compiled and cached only once. User models written in Python run nearly
as fast as the built-in ones.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numba import config, errors

from bansac.compiled.jit import compile_kernel, is_ours, kernel
from bansac.compiled.struct import FunctionStruct
from bansac.maths.arrays import Floats
from bansac.maths.normalisation import apply_inverse
from bansac.maths.validate import as_integer, check_name
from bansac.problems.contract import CONTRACT, IN_LOOP, MANIFOLD, REALS, Function, function_types
from bansac.problems.traits import Traits

# A struct of the float64 residuals for kernels, of the same type for all problems.
_FLOAT64 = FunctionStruct(__name__, "_Float64", ("residuals",))
# The same of the functions that find and measure the models of samples.
_SAMPLE_ROLES = [CONTRACT[name] for name in ("solve", "is_valid", "residuals")]
_OF_SAMPLES = FunctionStruct(__name__, "_OfSamples", [role.name for role in _SAMPLE_ROLES])

# Values of the options ``weighting`` and ``local_optimization``, also for the defaults of a problem.
WEIGHTINGS = ("density", "scores", "density+scores")
LOCAL_OPTIMIZATIONS = ("inner", "iterative", "inner+iterative", "lm")


def _check_fields(problem: Any) -> None:
    """Raise a ValueError or TypeError that names the first wrong field of a problem."""
    if not isinstance(problem.name, str) or not problem.name:
        raise ValueError(f"name must be a string that is not empty, got {problem.name!r}")
    sizes = ("channels", "sample_size", "max_models", "residual_size")
    for field in (*sizes, "default_max_iterations"):
        as_integer(field, getattr(problem, field), 1)
    as_integer("scratch_size", problem.scratch_size, 0)
    if not isinstance(problem.model_shape, tuple) or not problem.model_shape:
        raise ValueError(f"model_shape must be a tuple of sizes such as (3, 3) or (4,), got {problem.model_shape!r}")
    for size in problem.model_shape:
        as_integer("model_shape", size, 1)
    for field in ("solver_cost", "default_threshold"):
        value = getattr(problem, field)
        optional = field == "default_threshold" and value is None
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not optional and not (number and 0.0 < value < np.inf):
            raise ValueError(f"{field} must be a number > 0, got {value!r}")
    check_name("precision", problem.precision, REALS)
    for field, names in (("default_local_optimization", LOCAL_OPTIMIZATIONS), ("default_weighting", WEIGHTINGS)):
        check_name(field, getattr(problem, field), names, optional=True)
    if not isinstance(problem.majority_agrees, bool):
        raise ValueError(f"majority_agrees must be True or False, got {problem.majority_agrees!r}")
    problem.traits.check(problem.channels)
    for role in CONTRACT.values():
        function = getattr(problem, role.name)
        if function is not None or role.required:
            role.check(function)
    if problem.repair_degenerate is not None and problem.is_degenerate is None:
        raise ValueError("repair_degenerate needs is_degenerate, which is None")
    if problem.normalise is not None and problem.denormalise is None:
        raise ValueError("normalise needs denormalise, which is None: models would stay in its frame")
    as_integer("parameters", 1 if problem.parameters is None else problem.parameters, 1)
    if (problem.tangent is None) != (problem.parameters is None):
        raise ValueError("tangent and parameters belong together: give both or neither")


@dataclass(frozen=True, eq=False)
class Problem:
    """A geometric model that can be estimated from data with outliers.

    The functions are plain Python that Numba can compile. The data are a float64 array of shape ``(channels, N)``:
    ``data[0]`` holds the first coordinate of every point. Models are flat float64 arrays. The guide on problems of your
    own has an example, and more on the optional parts.

    Parameters
    ----------
    name : str
        Name of the model, shown in messages.
    channels : int
        Number of coordinates of a point, for example 4 for a match of two image points.
    sample_size : int
        Number of points in a minimal sample.
    model_shape : tuple of int
        Shape in which a model is returned to the caller.
    solve : callable
        ``solve(data, sample, models, scratch) -> int``: compute the models from the points with the indices ``sample``.
        Write them into the rows of ``models`` and return their number; 0 means a degenerate sample.
    residuals : callable
        ``residuals(data, model, start, stop, out)``: write the squared residuals of the points ``start`` to
        ``stop - 1`` into ``out[0]`` to ``out[stop - start - 1]``. Row views such as ``x = data[0, start:stop]`` let the
        compiler vectorise the loop.
    fit : callable, optional
        ``fit(data, weights, model, scratch) -> bool``: write the weighted least-squares fit to all points with non-zero
        weight into ``model``. Return False if the points do not determine a model.
    is_valid : callable, optional
        ``is_valid(data, model, sample) -> bool``: check a model cheaply before it is scored.
    is_degenerate : callable, optional
        ``is_degenerate(data, sample, model, squared_threshold, scratch) -> bool``: return True if the sample does not
        determine ``model``. ``scratch`` has ``4 N + 128`` float64.
    repair_degenerate : callable, optional
        ``repair_degenerate(data, sample, model, squared_threshold, rng, scratch) -> bool``: replace the ``model`` of a
        degenerate sample by one with more support; return False if there is none. ``rng`` is the state of the random
        number generator of the run.
    score_in_front : callable, optional
        ``score_in_front(data, model, scores, squared_threshold) -> float``: return the cheirality score, the sum of
        ``scores``, one for each point, over the points in front of the cameras, or too far to tell.
    linearize : callable, optional
        ``linearize(data, model, start, stop, residuals, jacobian)``: write the signed residuals, not squared, of the
        points ``start`` to ``stop - 1`` into ``residuals[k, 0]`` to ``residuals[k, stop - start - 1]`` for every
        component ``k``. Write their derivatives with respect to ``model[j]`` into the row ``k * model_size + j`` of
        ``jacobian``. Without ``linearize`` there is no Levenberg-Marquardt refinement.
    tangent : callable, optional
        ``tangent(model, basis)``: write a basis of the tangent space at ``model``, ``parameters`` rows of
        ``model_size`` numbers. Without it all numbers of a model are free.
    project : callable, optional
        ``project(model, scratch) -> bool``: replace a model that has moved in its tangent space by the nearest model
        that satisfies the constraints, in place. Return False if there is none.
    parameters : int, optional
        Dimension of the tangent space; required with ``tangent`` and only allowed with it.
    residual_size : int
        Number of components of the residual of a point in ``linearize``. Their squares add up to ``residuals``.
    max_models : int
        Largest number of models from one sample.
    scratch_size : int
        Length of the float64 array ``scratch`` of ``solve``, ``fit`` and ``project``.
    solver_cost : float
        Time of ``solve`` divided by the time of one residual, for the design of the sequential test (SPRT).
    precision : {"float64", "float32"}
        Number type in which the loop evaluates ``residuals``.
    normalise, denormalise, normalise_model : callable, optional
        ``normalise(data, transform)``: transform ``data`` to a well-conditioned frame in place. Write the
        transformation into ``transform`` (``1 + 2 * channels`` float64). ``transform[0]`` is the factor by which
        residual distances change. ``denormalise(model, transform)`` transforms a model back to the caller's
        coordinates, ``normalise_model(model, transform)`` one of the caller to the frame, for ``initial_model``.
    canonical : callable, optional
        ``canonical(model)``: fix the free scale and sign of a model in place.
    significance_form : callable, optional
        ``significance_form(data, model) -> (problem, data, model)``: return the problem, data and model for the
        significance test, instead of the problem's own. It is for data with points in another unit than the threshold.
    default_threshold : float, optional
        First threshold of the estimate if the caller gives none. By default it is a share of the extent of the data. If
        the unit is pixels, but the extent of the second points is not one of an image, it is scaled to the extent.
    default_max_iterations, default_local_optimization, default_weighting : optional
        Meaning of ``max_iterations=None``, ``local_optimization="default"`` and ``weighting="default"`` for this
        problem, see :class:`bansac.Options`. The local optimisation needs ``fit``, or for ``"lm"`` ``linearize``.
    majority_agrees : bool
        Whether half of the agreeing restarts are enough if most points are inliers. False if different models may have
        nearly the same inliers. Restarts then agree only if their scores are nearly the same, too.
    traits : Traits
        What the data are, and what leaves the model undetermined, see :class:`bansac.Traits`.

    Raises
    ------
    ValueError
        If a size, a default, a trait or the precision is not allowed.
    TypeError
        If a function is missing, takes other parameters, or does not compile (on first use).

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
    score_in_front: Callable[..., Any] | None = None
    linearize: Callable[..., Any] | None = None
    tangent: Callable[..., Any] | None = None
    project: Callable[..., Any] | None = None
    parameters: int | None = None
    residual_size: int = 1
    max_models: int = 1
    scratch_size: int = 0
    solver_cost: float = 200.0
    precision: Literal["float64", "float32"] = "float64"
    normalise: Callable[..., Any] | None = None
    denormalise: Callable[..., Any] | None = None
    normalise_model: Callable[..., Any] | None = None
    canonical: Callable[..., Any] | None = None
    significance_form: Callable[..., Any] | None = None
    default_threshold: float | None = None
    default_max_iterations: int = 3000
    default_local_optimization: str | None = "inner+iterative"
    default_weighting: str | None = None
    majority_agrees: bool = True
    traits: Traits = dataclasses.field(default_factory=Traits)

    def __post_init__(self) -> None:
        """Check every field, so that mistakes are reported here and not by the compiler."""
        _check_fields(self)

    @classmethod
    def of(cls, module: Mapping[str, Any], /, **fields: Any) -> Self:
        """Make a problem of other fields and the functions that a module, its ``globals()``, has under their names."""
        return cls(**{name: module[name] for name in CONTRACT if name in module} | fields)

    @functools.cached_property
    def model_size(self) -> int:
        """Length of a model as a flat array."""
        return math.prod(self.model_shape)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for copies and pickles, without compiled functions."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @functools.cached_property
    def _compiled(self) -> dict[Any, Any]:
        """The compiled functions by their names, number types, and whether they are defaults."""
        return {}

    def compiled(self, name: str, precision: str = "float64", *, default: bool = False) -> Any:
        """Return a function, or its default, compiled for a number type of the residuals; None if there is neither."""
        key = name, precision if name == "residuals" else "float64", default
        if key not in self._compiled:
            role = CONTRACT[name]
            function = (None if default else getattr(self, name)) or role.default
            self._compiled[key] = function and self._compile(role, function, role.signature(REALS[key[1]]))
        return self._compiled[key]

    def compile_in_loop(self, *, degeneracy: bool) -> dict[str, Any]:
        """Return the compiled functions that the loop calls, with or without the detection of degenerate samples."""
        left_out = () if degeneracy else ("is_degenerate",)
        names = [role.name for role in IN_LOOP]
        return {name: self.compiled(name, self.precision, default=name in left_out) for name in names}

    @functools.cached_property
    def manifold(self) -> tuple[Any, ...]:
        """The compiled ``linearize``, ``tangent`` and ``project``; the problem must define ``linearize``."""
        return tuple(self.compiled(role.name) for role in MANIFOLD)

    def linearized(self, data: Floats, model: Floats) -> tuple[Floats, Floats]:
        """Return signed residuals (c, N) of a flat model of m numbers, and their derivatives (c, m, N) by them."""
        c, n = self.residual_size, data.shape[1]
        residuals, derivatives = np.empty((c, n)), np.empty((c * model.size, n))
        self.manifold[0](data, model, 0, n, residuals, derivatives)
        return residuals, derivatives.reshape(c, model.size, n)

    def tangent_basis(self, model: Floats) -> Floats:
        """Return the basis of the tangent space at a flat model, in rows."""
        basis = np.empty((self.parameters or model.size, model.size))
        self.manifold[1](model, basis)
        return basis

    def to_frame(self, model: Floats, transform: Floats) -> Floats | None:
        """Return a flat model in the frame of ``normalise``; None if the problem cannot convert models."""
        model = model.copy()
        if self.normalise_model is not None:
            self.normalise_model(model, transform)
        elif self.normalise is not None and self.denormalise is not None:
            if not is_ours(self.normalise):
                return None
            apply_inverse(self.denormalise, model, transform)
        return model

    def from_frame(self, model: Floats, transform: Floats) -> Floats:
        """Return a flat model of the frame of ``normalise`` in the coordinates of the data, in its canonical form."""
        model = model.copy()
        if self.denormalise is not None:
            self.denormalise(model, transform)
        if self.canonical is not None and np.isfinite(model).all():
            self.canonical(model)
        return model

    def distances(self, data: Floats, model: Floats, unit: float = 1.0) -> Floats:
        """Return the residual distances (N) of data (channels x N) times ``unit``; inf where one is undefined."""
        distances = np.empty(data.shape[1])
        _write_distances(self.float64, data, model, unit, distances)
        return distances

    @functools.cached_property
    def float64(self) -> Any:
        """A struct for kernels with the residuals for float64 as the field ``residuals``."""
        return _FLOAT64.pack((self.compiled("residuals"),), function_types([CONTRACT["residuals"]]))

    @functools.cached_property
    def of_samples(self) -> Any:
        """A struct for kernels with the functions ``solve``, ``is_valid`` and ``residuals`` for float64."""
        return _OF_SAMPLES.pack([self.compiled(role.name) for role in _SAMPLE_ROLES], function_types(_SAMPLE_ROLES))

    def _compile(self, role: Function, function: Any, signature: Any) -> Any:
        """Compile one of the functions; error messages name it."""
        if config.DISABLE_JIT:
            return getattr(function, "py_func", function)
        try:
            kernel = compile_kernel(
                function, signature, fast=role.fast, inner=role.in_loop and not role.fast, lean=True
            )
        except (errors.NumbaError, errors.UnsupportedBytecodeError) as error:
            plain = "Cannot determine Numba type of <class 'function'>" in str(error)
            hint = ": it calls a function that is not decorated with bansac.compiled.jit.kernel" if plain else ""
            message = f"problem {self.name!r}: {role.name} does not compile for {signature}{hint}:\n{error}"
            raise TypeError(message) from error
        if kernel.nopython_signatures[0].return_type != signature.return_type:
            raise TypeError(f"problem {self.name!r}: {role.name} always raises an error, where it returns {signature}")
        return kernel


@kernel
def _write_distances(float64: Any, data: Floats, model: Floats, unit: float, distances: Floats) -> None:
    """Write the square roots of the residuals times ``unit``; inf for NaN."""
    float64.residuals(data, model, 0, distances.size, distances)
    for n in range(distances.size):
        root = np.sqrt(distances[n]) * unit
        distances[n] = root if root >= 0.0 else np.inf
