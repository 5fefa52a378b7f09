"""``ransac`` as scikit-image has it: ``from bansac.compat.skimage import ransac``.

scikit-image's own ``LineModelND`` (of the plane), ``CircleModel``, ``ProjectiveTransform``, ``AffineTransform``,
``SimilarityTransform``, ``FundamentalMatrixTransform`` and ``EssentialMatrixTransform`` go to the compiled estimators,
unless an argument asks for what these do not have: the checks, ``stop_sample_num``, ``stop_residuals_sum`` or
``initial_inliers``. Every other call goes to ``skimage.measure.ransac``. BANSAC's samples and the compiled loop for a
model of one's own need a :class:`bansac.Problem`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.estimate.curves import fit_circle, fit_line
from bansac.estimate.transforms import estimate_affine, estimate_similarity
from bansac.estimate.two_views import estimate_essential, estimate_fundamental, estimate_homography
from bansac.numeric.arrays import as_floats
from bansac.result import Result

__all__ = ["ransac"]

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
        A class of scikit-image, or one with its ``from_estimate(*data)``, or ``estimate(*data)``, and
        ``residuals(*data)``.
    min_samples : int
        Number of data of a sample; the compiled estimators have their own.
    residual_threshold : float
        Residuals of inliers are smaller.
    is_data_valid, is_model_valid, stop_sample_num, stop_residuals_sum, initial_inliers
        As for ``skimage.measure.ransac``.
    max_trials : int, optional
        Largest number of samples; 100 by default, for the compiled estimators their own.
    stop_probability : float
        Stop when a sample of inliers only has been drawn with this probability; 1 never stops before ``max_trials``.
        The compiled estimators have a stop of their own.
    rng : int or numpy.random.Generator, optional
        Seed; without it the answer is the same every time, too.

    Returns
    -------
    model : object
        The model of the inliers; None, with a warning, if there is none.
    inliers : (N,) ndarray of bool
        Whose residuals are below the threshold; None without a model. The compiled estimators measure to this very
        model, scikit-image to the one before the last fit.

    Raises
    ------
    ValueError
        If an argument is out of its range, or the arrays differ in length.
    ImportError
        If scikit-image is not installed.

    Examples
    --------
    >>> model, inliers = ransac(points, skimage.measure.LineModelND, 2, 0.5)  # doctest: +SKIP
    """
    arrays = tuple(np.asarray(part) for part in (data if isinstance(data, tuple | list) else (data,)))
    generator = np.random.default_rng(0 if rng is None else rng)
    plain = is_data_valid is None and is_model_valid is None and initial_inliers is None
    if plain and stop_sample_num == math.inf and stop_residuals_sum == 0.0 and _is_compiled(model_class, arrays):
        settings: dict[str, Any] = {"seed": int(generator.integers(2**32))}
        if max_trials is not None:
            settings["max_iterations"] = max_trials
        if stop_probability not in (0.0, 1.0):
            settings["confidence"] = stop_probability
        return _run_compiled(model_class, arrays, residual_threshold, settings)

    from skimage.measure import ransac as loop

    model, inliers = loop(
        arrays,
        model_class,
        min_samples,
        residual_threshold,
        is_data_valid,
        is_model_valid,
        100 if max_trials is None else max_trials,
        stop_sample_num,
        stop_residuals_sum,
        stop_probability,
        generator,
        initial_inliers,
    )
    return model, inliers


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
    sample = [array[result.inliers] for array in arrays]
    if hasattr(model_class, "from_estimate"):
        model = model_class.from_estimate(*sample)
    else:  # before scikit-image 0.26
        model = model_class()
        model = model if model.estimate(*sample) else None
    if not model:
        warnings.warn(f"{model_class.__name__} does not fit the inliers", stacklevel=3)
        return None, None
    return model, np.asarray(np.abs(model.residuals(*arrays)) < threshold)
