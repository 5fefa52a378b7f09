"""``ransac`` as scikit-image has it: ``from bansac.compat.skimage import ransac``.

A model class of one's own, with ``estimate`` (or ``from_estimate``) and ``residuals``, runs in a loop of plain Python
with uniform samples, as in scikit-image, and no faster: what a trial costs is the class's two calls, and some tens of
microseconds of the loop. BANSAC's samples and the compiled loop are for a :class:`bansac.Problem`, which takes
microseconds a trial.

scikit-image's own ``LineModelND`` (of the plane), ``CircleModel``, ``ProjectiveTransform``, ``AffineTransform``,
``SimilarityTransform``, ``FundamentalMatrixTransform`` and ``EssentialMatrixTransform`` go to the compiled estimators,
unless an argument asks for what these do not have: the checks, ``stop_sample_num``, ``stop_residuals_sum`` or
``initial_inliers``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.estimate import (
    estimate_affine,
    estimate_essential,
    estimate_fundamental,
    estimate_homography,
    estimate_similarity,
    fit_circle,
    fit_line,
)
from bansac.numeric.arrays import as_floats
from bansac.result import Result

__all__ = ["ransac"]

_MAX_TRIALS = 100

# Estimator of a class, and whether the class takes the model as its matrix.
_COMPILED: dict[str, tuple[Callable[..., Result], bool]] = {
    "LineModelND": (fit_line, False),
    "CircleModel": (fit_circle, False),
    "ProjectiveTransform": (estimate_homography, True),
    "AffineTransform": (estimate_affine, True),
    "SimilarityTransform": (estimate_similarity, True),
    "FundamentalMatrixTransform": (estimate_fundamental, True),
    "EssentialMatrixTransform": (estimate_essential, True),
}


def ransac(
    data: Any,
    model_class: Any,
    min_samples: int,
    residual_threshold: float,
    is_data_valid: Callable[..., bool] | None = None,
    is_model_valid: Callable[..., bool] | None = None,
    max_trials: int | None = None,
    stop_sample_num: float = math.inf,
    stop_residuals_sum: float = 0.0,
    stop_probability: float = 1.0,
    rng: int | np.random.Generator | None = None,
    initial_inliers: ArrayLike | None = None,
) -> tuple[Any, NDArray[np.bool_] | None]:
    """Fit a model to data with outliers, as ``skimage.measure.ransac``.

    Parameters
    ----------
    data : (N, ...) array_like, or tuple or list of such
        The data; several arrays are arguments of their own of the model's functions.
    model_class : type
        With ``from_estimate(*data)``, or ``estimate(*data)`` that returns whether it succeeded, and
        ``residuals(*data)``.
    min_samples : int
        Number of data of a sample.
    residual_threshold : float
        Residuals of inliers are smaller.
    is_data_valid, is_model_valid : callable, optional
        ``is_data_valid(*sample)`` and ``is_model_valid(model, *sample)``.
    max_trials : int, optional
        Largest number of samples; 100 by default, for the compiled estimators their own.
    stop_sample_num, stop_residuals_sum : float
        Stop with at least so many inliers, or at most such a sum of the absolute residuals of all data.
    stop_probability : float
        Stop when a sample of inliers only has been drawn with this probability; 1 never stops before ``max_trials``.
        The compiled estimators have a stop of their own.
    rng : int or numpy.random.Generator, optional
        Seed; without it the answer is the same every time, too.
    initial_inliers : (N,) array_like of bool, optional
        The first sample.

    Returns
    -------
    model : object
        The model of the inliers; None, with a warning, if there is none.
    inliers : (N,) ndarray of bool
        Whose residuals to this very model are below the threshold; None without a model. In scikit-image it is the mask
        before the last fit.

    Raises
    ------
    ValueError
        If an argument is out of its range, or the arrays differ in length.

    Examples
    --------
    >>> import numpy as np
    >>> from bansac.compat.skimage import ransac
    >>> class Constant:
    ...     def estimate(self, x):
    ...         self.value = x.mean()
    ...         return True
    ...
    ...     def residuals(self, x):
    ...         return np.abs(x - self.value)
    >>> model, inliers = ransac(np.append(np.full(30, 7.0), np.arange(20) * 10), Constant, 1, 0.5)
    >>> float(model.value), int(inliers.sum())
    (7.0, 30)
    """
    arrays = tuple(np.asarray(part) for part in (data if isinstance(data, tuple | list) else (data,)))
    n = _check(arrays, min_samples, residual_threshold, stop_probability, max_trials)
    generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(0 if rng is None else rng)
    plain = is_data_valid is None and is_model_valid is None and initial_inliers is None
    if plain and stop_sample_num == math.inf and stop_residuals_sum == 0.0 and _is_compiled(model_class, arrays):
        settings: dict[str, Any] = {"seed": int(generator.integers(2**32))}
        if max_trials is not None:
            settings["max_iterations"] = max_trials
        if 0.0 < stop_probability < 1.0:
            settings["confidence"] = stop_probability
        return _run_compiled(model_class, arrays, residual_threshold, settings)

    first = None if initial_inliers is None else np.flatnonzero(_as_mask(initial_inliers, n))
    best = None
    best_key = (0, 0.0)
    needed: float = _MAX_TRIALS if max_trials is None else max_trials
    trial = 0
    while trial < needed:
        chosen = first if trial == 0 and first is not None else generator.choice(n, min_samples, replace=False)
        trial += 1
        model = _fit_valid(model_class, tuple(array[chosen] for array in arrays), is_data_valid, is_model_valid)
        if model is None:
            continue
        residuals = np.abs(model.residuals(*arrays))
        inliers = residuals < residual_threshold
        number, total = int(np.count_nonzero(inliers)), float(residuals.sum())
        if number > 0 and (number, -total) > best_key:
            best, best_key = (model, inliers), (number, -total)
            if number >= stop_sample_num or total <= stop_residuals_sum:
                break
            needed = min(needed, _required_trials(number, n, min_samples, stop_probability))
    if best is None:
        warnings.warn("no model has an inlier", stacklevel=2)
        return None, None
    final = _fit_valid(model_class, tuple(array[best[1]] for array in arrays), None, is_model_valid)
    if final is None:
        return best
    mask = np.abs(final.residuals(*arrays)) < residual_threshold
    return (final, mask) if np.count_nonzero(mask) >= min_samples else best


def _check(
    arrays: tuple[NDArray[Any], ...], min_samples: int, threshold: float, probability: float, max_trials: int | None
) -> int:
    """Check the arguments and return the number of data."""
    if not arrays or any(array.ndim == 0 for array in arrays) or len({len(array) for array in arrays}) != 1:
        raise ValueError(f"data must be arrays of equal lengths, got {[array.shape for array in arrays]}")
    n = len(arrays[0])
    if not 0 < min_samples <= n:
        raise ValueError(f"min_samples must be in 1 to {n}, the number of data, got {min_samples}")
    if not threshold > 0:
        raise ValueError(f"residual_threshold must be > 0, got {threshold}")
    if not 0 <= probability <= 1:
        raise ValueError(f"stop_probability must be in [0, 1], got {probability}")
    if max_trials is not None and max_trials < 1:
        raise ValueError(f"max_trials must be at least 1, got {max_trials}")
    return n


def _as_mask(initial_inliers: ArrayLike, n: int) -> NDArray[np.bool_]:
    mask = np.asarray(initial_inliers, dtype=np.bool_)
    if mask.shape != (n,):
        raise ValueError(f"initial_inliers must have shape ({n},), got {mask.shape}")
    return mask


def _is_compiled(model_class: Any, arrays: tuple[NDArray[Any], ...]) -> bool:
    """Tell whether a class is one of scikit-image's that have a compiled estimator, for data of the plane."""
    own = str(getattr(model_class, "__module__", "")).startswith("skimage.")
    name = getattr(model_class, "__name__", "")
    if not own or name not in _COMPILED:
        return False
    return len(arrays) == (2 if _COMPILED[name][1] else 1) and all(a.ndim == 2 and a.shape[1] == 2 for a in arrays)


def _run_compiled(
    model_class: Any, arrays: tuple[NDArray[Any], ...], threshold: float, settings: dict[str, Any]
) -> tuple[Any, NDArray[np.bool_] | None]:
    """Estimate by a compiled estimator and return the model as the class."""
    estimate, as_matrix = _COMPILED[model_class.__name__]
    result = estimate(*(as_floats("data", array) for array in arrays), threshold=threshold, **settings)
    if result.model is None:
        warnings.warn(result.message, stacklevel=3)
        return None, None
    if as_matrix:
        matrix = result.model if result.model.shape == (3, 3) else np.vstack([result.model, [0.0, 0.0, 1.0]])
        return model_class(matrix=matrix.copy()), result.inliers.copy()
    model = _fit(model_class, tuple(array[result.inliers] for array in arrays))
    if model is None:
        warnings.warn(f"{model_class.__name__} does not fit the inliers", stacklevel=3)
        return None, None
    return model, np.asarray(np.abs(model.residuals(*arrays)) < threshold)


def _fit(model_class: Any, sample: tuple[NDArray[Any], ...]) -> Any:
    """Return the model of some data, None if the class finds none."""
    if hasattr(model_class, "from_estimate"):
        return model_class.from_estimate(*sample) or None
    model = model_class()
    success = model.estimate(*sample)
    return model if success is None or success else None


def _fit_valid(
    model_class: Any,
    sample: tuple[NDArray[Any], ...],
    is_data_valid: Callable[..., bool] | None,
    is_model_valid: Callable[..., bool] | None,
) -> Any:
    """Return the model of some data, None if there is none or a check fails."""
    if is_data_valid is not None and not is_data_valid(*sample):
        return None
    model = _fit(model_class, sample)
    return None if model is None or (is_model_valid is not None and not is_model_valid(model, *sample)) else model


def _required_trials(inliers: int, n: int, sample_size: int, probability: float) -> float:
    """Return how many samples contain one of inliers only, with a probability (Fischler and Bolles, 1981)."""
    clean = math.prod(max(inliers - i, 0) / (n - i) for i in range(sample_size))
    if clean >= 1.0:
        return 1
    if clean <= 0.0 or probability >= 1.0:
        return math.inf
    return math.ceil(math.log1p(-probability) / math.log1p(-clean))
