"""Adapter of scikit-image's ``ransac`` (0.26 or later): ``from bansac.compat.skimage import ransac``.

The compiled estimators are used for scikit-image's ``LineModelND`` (in 2D), ``CircleModel``, ``EllipseModel``,
``ProjectiveTransform``, ``AffineTransform``, ``SimilarityTransform``, ``FundamentalMatrixTransform`` and
``EssentialMatrixTransform``. All other calls, lines in 3D among them, go to ``skimage.measure.ransac``. So do calls
with arguments that the compiled estimators do not support: the validity checks, ``stop_sample_num``,
``stop_residuals_sum`` and ``initial_inliers``. To use BANSAC's sampler and the compiled loop with a custom model,
define a :class:`bansac.Problem`.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.compat.return_values import is_returned, naming, warn_of_doubt
from bansac.estimate.curves import fit_circle, fit_ellipse, fit_line
from bansac.estimate.result import Result
from bansac.estimate.transforms import estimate_affine, estimate_similarity
from bansac.estimate.two_views import estimate_essential, estimate_fundamental, estimate_homography
from bansac.maths.arrays import Bools, as_floats

# Estimator for each class, and whether the class is constructed from a matrix.
_COMPILED: dict[str, tuple[Callable[..., Result], bool]] = {
    "LineModelND": (fit_line, False),
    "CircleModel": (fit_circle, False),
    "EllipseModel": (fit_ellipse, False),
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
    model_kwargs: Mapping[str, Any] | None = None,
) -> tuple[Any, Bools | None]:
    """Fit a model to data with outliers, as ``skimage.measure.ransac``.

    Parameters
    ----------
    data, model_class, is_data_valid, stop_sample_num, stop_residuals_sum, initial_inliers
        As for ``skimage.measure.ransac``.
    min_samples : int
        Sample size; ignored by the compiled estimators.
    residual_threshold : float
        Residuals of inliers are smaller; 0 finds no inliers, with scikit-image's warning.
    is_model_valid : callable, optional
        If it refuses the last model, None is returned; scikit-image returns the model, with the same warning.
    max_trials : int, optional
        Largest number of samples; by default 100, or the default of the compiled estimator.
    stop_probability : float
        Probability of having drawn a sample of inliers only at which to stop; 1 never stops before ``max_trials``.
        The compiled estimators have their own stopping criterion.
    rng : int or numpy.random.Generator, optional
        Seed. Without it, results are still reproducible.
    model_kwargs : dict, optional
        Further arguments of ``from_estimate``, with scikit-image 0.27 or later.

    Returns
    -------
    model : object
        Model of the inliers. If there is none, None with a warning. A model of the compiled estimators in doubt comes
        with a :class:`bansac.compat.DoubtWarning`; in :func:`bansac.compat.strict` it is None.
    inliers : (N,) ndarray of bool
        Mask of residuals below the threshold; None without a model. The compiled estimators use the residuals of the
        returned model, scikit-image those of the model before the last fit. The residuals of an ellipse are then
        Sampson's distances, which are those from the ellipse to first order and thousands of times faster.

    Raises
    ------
    ValueError
        If an argument is out of range, or the arrays differ in length.
    ImportError
        If scikit-image is not installed.

    Examples
    --------
    >>> model, inliers = ransac(points, skimage.measure.LineModelND, 2, 0.5)  # doctest: +SKIP
    """
    arrays = tuple(np.asarray(part) for part in (data if isinstance(data, tuple | list) else (data,)))
    generator = np.random.default_rng(0 if rng is None else rng)
    plain = is_data_valid is None and is_model_valid is None and initial_inliers is None and not model_kwargs
    if (
        plain
        and residual_threshold != 0
        and stop_sample_num == math.inf
        and stop_residuals_sum == 0.0
        and _is_compiled(model_class, arrays)
    ):
        settings: dict[str, Any] = {"seed": int(generator.integers(2**32))}
        if max_trials is not None:
            settings["max_iterations"] = max_trials
        if stop_probability not in (0.0, 1.0):
            settings["confidence"] = stop_probability
        with naming(("max_trials", "residual_threshold", "stop_probability")):
            return _run_compiled(model_class, arrays, residual_threshold, settings)

    from skimage.measure import ransac as loop

    more = {"model_kwargs": model_kwargs} if model_kwargs else {}
    what = arrays, model_class, min_samples, residual_threshold, is_data_valid, is_model_valid
    limits = 100 if max_trials is None else max_trials, stop_sample_num, stop_residuals_sum, stop_probability
    model, inliers = loop(*what, *limits, generator, initial_inliers, **more)
    if model is None or is_model_valid is None or is_model_valid(model, *(array[inliers] for array in arrays)):
        return model, inliers
    return None, None  # scikit-image has warned


def _is_compiled(model_class: Any, arrays: tuple[NDArray[Any], ...]) -> bool:
    """Return whether a class of scikit-image has a compiled estimator for these 2D points."""
    own = str(getattr(model_class, "__module__", "")).startswith("skimage.")
    name = getattr(model_class, "__name__", "")
    if not own or name not in _COMPILED:
        return False
    return len(arrays) == (2 if _COMPILED[name][1] else 1) and all(a.ndim == 2 and a.shape[1] == 2 for a in arrays)


def _run_compiled(
    model_class: Any, arrays: tuple[NDArray[Any], ...], threshold: float, settings: dict[str, Any]
) -> tuple[Any, Bools | None]:
    """Run a compiled estimator and return its model as an instance of the class."""
    estimate, as_matrix = _COMPILED[model_class.__name__]
    result = estimate(*(as_floats("data", array) for array in arrays), threshold=threshold, **settings)
    if not is_returned(result, 1):  # scikit-image returns any model with an inlier
        return None, None
    if as_matrix:
        matrix = result.model if result.model.shape == (3, 3) else np.vstack([result.model, [0.0, 0.0, 1.0]])
        return model_class(matrix=matrix.copy()), result.inliers.copy()
    # Another fit to the inliers of a curve would lose the result of the robust one.
    if model_class.__name__ == "CircleModel":
        return model_class(result.model[:2].copy(), float(result.model[2])), result.inliers.copy()
    if model_class.__name__ == "EllipseModel":
        x, y, a, b, angle = result.model.tolist()
        return model_class(np.array([x, y]), np.array([a, b]), angle), result.inliers.copy()
    model = model_class.from_estimate(*(array[result.inliers] for array in arrays))
    if not model:
        warn_of_doubt(f"no model: {model_class.__name__} does not fit the inliers")
        return None, None
    return model, np.asarray(np.abs(model.residuals(*arrays)) < threshold)
