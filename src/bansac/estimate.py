"""The public functions: check the input, run the loop, build the result."""

from __future__ import annotations

import time
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.engine.runner import Outcome, chance_supports, run
from bansac.engine.sampling import SAMPLERS, Sampler
from bansac.engine.significance import IN_DOUBT, SIGNIFICANT, log_chance
from bansac.options import Options, Settings, find_preset, resolve_options
from bansac.problems.problem import Problem
from bansac.result import RelativePose, Result
from bansac.validate import as_camera, as_points, as_probabilities, as_scores, check_same_length

__all__ = [
    "estimate_essential",
    "estimate_fundamental",
    "estimate_homography",
    "estimate_relative_pose",
    "fit_circle",
    "fit_line",
    "fit_polynomial",
    "ransac",
]


def estimate_homography(
    x1: ArrayLike,
    x2: ArrayLike,
    *,
    threshold: float | None = None,
    scores: ArrayLike | None = None,
    priors: ArrayLike | None = None,
    preset: str | None = None,
    options: Options | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Estimate the homography between two images from matches with outliers.

    Parameters
    ----------
    x1, x2 : (N, 2) array_like
        Matched points in the first and the second image, in pixels; (N, 1, 2) works too.
    threshold : float, optional
        Largest transfer error ``|x2 - H x1|`` of an inlier, in pixels; 1 by default.
    scores : (N,) array_like, optional
        Quality of the matches, larger is better: the order of PROSAC and P-NAPSAC, and of PROSAC's stop. Samplers that
        start from probabilities (BANSAC, BaySAC, AR) take scores for prior inlier probabilities, which have to lie in
        [0, 1], unless ``priors`` are given too.
    priors : (N,) array_like, optional
        Prior inlier probabilities in [0, 1].
    preset : {"paper"}, optional
        ``"paper"`` is the paper's pipeline and settings.
    options : Options, optional
        All options at once.
    **settings
        Single options, see :class:`bansac.Options`; they go before ``options``. ``max_iterations`` is 1000 by default.

    Returns
    -------
    Result
        ``model`` is H (3 x 3, unit norm) with ``x2 ~ H x1``.

    Raises
    ------
    ValueError
        If an argument has the wrong shape, holds NaN or infinity, or is out of its range.
    TypeError
        If an option does not exist.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> x1 = np.random.default_rng(0).uniform(0, 500, (100, 2))
    >>> H, inliers = bansac.estimate_homography(x1, x1 + [10.0, 20.0])
    >>> np.round(H / H[2, 2], 6) + 0.0
    array([[ 1.,  0., 10.],
           [ 0.,  1., 20.],
           [ 0.,  0.,  1.]])
    """
    from bansac.problems.homography import HOMOGRAPHY

    started = time.perf_counter()
    resolved = resolve_options(HOMOGRAPHY, options, preset, threshold, settings)
    return _solve(HOMOGRAPHY, _as_matches(x1, x2), resolved, scores, priors, started)


def estimate_fundamental(
    x1: ArrayLike,
    x2: ArrayLike,
    *,
    threshold: float | None = None,
    scores: ArrayLike | None = None,
    priors: ArrayLike | None = None,
    preset: str | None = None,
    options: Options | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Estimate the fundamental matrix of two images from matches with outliers.

    Parameters
    ----------
    x1, x2 : (N, 2) array_like
        Matched points in the first and the second image, in pixels; (N, 1, 2) works too.
    threshold : float, optional
        Largest Sampson distance of an inlier, in pixels; 0.5 by default.
    scores, priors, preset, options
        As in :func:`bansac.estimate_homography`.
    **settings
        Single options, see :class:`bansac.Options`. ``max_iterations`` is 10000 by default.

    Returns
    -------
    Result
        ``model`` is F (3 x 3, unit norm, rank 2) with ``x2^T F x1 = 0``.

    Raises
    ------
    ValueError
        If an argument has the wrong shape, holds NaN or infinity, or is out of its range.
    TypeError
        If an option does not exist.

    Examples
    --------
    >>> import bansac
    >>> from bansac.datasets.synthetic import epipolar_matches
    >>> scene = epipolar_matches(200, inlier_ratio=0.6, noise=0.1, seed=1)
    >>> result = bansac.estimate_fundamental(scene.x1, scene.x2)
    >>> result.success
    True
    """
    from bansac.problems.fundamental import FUNDAMENTAL

    started = time.perf_counter()
    resolved = resolve_options(FUNDAMENTAL, options, preset, threshold, settings)
    return _solve(FUNDAMENTAL, _as_matches(x1, x2), resolved, scores, priors, started)


def estimate_essential(
    x1: ArrayLike,
    x2: ArrayLike,
    K1: ArrayLike | None = None,
    K2: ArrayLike | None = None,
    *,
    threshold: float | None = None,
    scores: ArrayLike | None = None,
    priors: ArrayLike | None = None,
    preset: str | None = None,
    options: Options | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Estimate the essential matrix of two calibrated images from matches with outliers.

    Parameters
    ----------
    x1, x2 : (N, 2) array_like
        Matched points: in pixels where ``K1`` is given, else in normalised units (``K^-1`` applied).
    K1, K2 : (3, 3) array_like, optional
        Camera matrices; ``K2`` is ``K1`` where it is not given.
    threshold : float, optional
        Largest Sampson distance of an inlier: in pixels where ``K1`` is given and ``preset`` is not (it is divided by
        the mean focal length), else in normalised units. By default it is 1e-3 in normalised units.
    scores, priors, preset, options
        As in :func:`bansac.estimate_homography`.
    **settings
        Single options, see :class:`bansac.Options`. ``max_iterations`` is 1000 by default.

    Returns
    -------
    Result
        ``model`` is E (3 x 3, singular values 1, 1, 0) with ``x2^T K2^-T E K1^-1 x1 = 0``; ``residuals`` have the unit
        of the threshold.

    Raises
    ------
    ValueError
        If an argument has the wrong shape, holds NaN or infinity, or is out of its range.
    TypeError
        If an option does not exist.

    Examples
    --------
    >>> import bansac
    >>> from bansac.datasets.synthetic import epipolar_matches
    >>> scene = epipolar_matches(200, inlier_ratio=0.6, noise=0.1, seed=1)
    >>> result = bansac.estimate_essential(scene.x1, scene.x2, scene.K, threshold=1.0)
    >>> result.success
    True
    """
    from bansac.problems.essential import ESSENTIAL

    started = time.perf_counter()
    data, unit = _as_rays(x1, x2, K1, K2, preset)
    resolved = resolve_options(ESSENTIAL, options, preset, threshold, settings, unit)
    return _solve(ESSENTIAL, data, resolved, scores, priors, started, unit)


def estimate_relative_pose(
    x1: ArrayLike,
    x2: ArrayLike,
    K1: ArrayLike | None = None,
    K2: ArrayLike | None = None,
    *,
    threshold: float | None = None,
    scores: ArrayLike | None = None,
    priors: ArrayLike | None = None,
    preset: str | None = None,
    options: Options | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Estimate the motion between two calibrated cameras from matches with outliers.

    The essential matrix of :func:`bansac.estimate_essential`, taken apart; of its four motions the one that puts most
    of the inliers in front of both cameras is returned.

    Parameters
    ----------
    x1, x2, K1, K2, threshold, scores, priors, preset, options, **settings
        As in :func:`bansac.estimate_essential`.

    Returns
    -------
    Result
        ``model`` is a :class:`bansac.RelativePose` with the rotation ``R`` and the direction ``t`` of the translation:
        ``X2 = R X1 + t``.

    Raises
    ------
    ValueError
        If an argument has the wrong shape, holds NaN or infinity, or is out of its range.
    TypeError
        If an option does not exist.

    Examples
    --------
    >>> import bansac
    >>> from bansac.datasets.synthetic import epipolar_matches
    >>> scene = epipolar_matches(200, inlier_ratio=0.6, noise=0.1, seed=1)
    >>> (R, t), inliers = bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, threshold=1.0)
    >>> R.shape, t.shape
    ((3, 3), (3,))
    """
    from dataclasses import replace

    from bansac.geometry import recover_pose
    from bansac.problems.essential import ESSENTIAL

    started = time.perf_counter()
    rays, unit = _as_rays(x1, x2, K1, K2, preset)
    resolved = resolve_options(ESSENTIAL, options, preset, threshold, settings, unit)
    result = _solve(ESSENTIAL, rays, resolved, scores, priors, started, unit)
    if result.model is None:
        return result
    R, t, _ = recover_pose(result.model, rays[:2].T, rays[2:].T, result.inliers)
    return replace(result, model=RelativePose(R, t), seconds=time.perf_counter() - started)


def fit_line(
    points: ArrayLike,
    *,
    threshold: float | None = None,
    scores: ArrayLike | None = None,
    priors: ArrayLike | None = None,
    preset: str | None = None,
    options: Options | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Fit a line to points of the plane with outliers.

    Parameters
    ----------
    points : (N, 2) array_like
        The points.
    threshold : float
        Largest orthogonal distance of an inlier; it has to be given, here or in ``options``.
    scores, priors, preset, options, **settings
        As in :func:`bansac.estimate_homography`; ``max_iterations`` is 3000 by default.

    Returns
    -------
    Result
        ``model`` is (a, b, c) with ``a x + b y + c = 0`` and ``a^2 + b^2 = 1``.

    Raises
    ------
    ValueError
        If an argument has the wrong shape, holds NaN or infinity, or is out of its range.
    TypeError
        If an option does not exist.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> x = np.linspace(0, 1, 50)
    >>> line, inliers = bansac.fit_line(np.column_stack([x, 2 * x + 1]), threshold=0.01)
    >>> bool(abs(-line[0] / line[1] - 2) < 1e-9)
    True
    """
    from bansac.problems.line import LINE

    return ransac(
        LINE, points, threshold=threshold, scores=scores, priors=priors, preset=preset, options=options, **settings
    )


def fit_circle(
    points: ArrayLike,
    *,
    threshold: float | None = None,
    scores: ArrayLike | None = None,
    priors: ArrayLike | None = None,
    preset: str | None = None,
    options: Options | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Fit a circle to points of the plane with outliers.

    Parameters
    ----------
    points : (N, 2) array_like
        The points.
    threshold : float
        Largest distance of an inlier to the circle; it has to be given, here or in ``options``.
    scores, priors, preset, options, **settings
        As in :func:`bansac.estimate_homography`; ``max_iterations`` is 3000 by default.

    Returns
    -------
    Result
        ``model`` is (x, y, r): centre and radius.

    Raises
    ------
    ValueError
        If an argument has the wrong shape, holds NaN or infinity, or is out of its range.
    TypeError
        If an option does not exist.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> angle = np.linspace(0, 6, 50)
    >>> circle, inliers = bansac.fit_circle(np.column_stack([3 + np.cos(angle), np.sin(angle)]), threshold=0.01)
    >>> bool(np.allclose(circle, [3, 0, 1]))
    True
    """
    from bansac.problems.circle import CIRCLE

    return ransac(
        CIRCLE, points, threshold=threshold, scores=scores, priors=priors, preset=preset, options=options, **settings
    )


def fit_polynomial(
    points: ArrayLike,
    degree: int,
    *,
    threshold: float | None = None,
    scores: ArrayLike | None = None,
    priors: ArrayLike | None = None,
    preset: str | None = None,
    options: Options | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Fit a polynomial curve y = c0 + c1 x + ... + cd x^d to points of the plane with outliers.

    Parameters
    ----------
    points : (N, 2) array_like
        The points.
    degree : int
        Degree d of the polynomial, 1 to 8.
    threshold : float
        Largest vertical distance of an inlier; it has to be given, here or in ``options``.
    scores, priors, preset, options, **settings
        As in :func:`bansac.estimate_homography`; ``max_iterations`` is 3000 by default.

    Returns
    -------
    Result
        ``model`` is (c0, ..., cd), the order of :mod:`numpy.polynomial`.

    Raises
    ------
    ValueError
        If an argument has the wrong shape, holds NaN or infinity, or is out of its range.
    TypeError
        If an option does not exist.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> x = np.linspace(-1, 1, 50)
    >>> curve, inliers = bansac.fit_polynomial(np.column_stack([x, 1 + x**2]), 2, threshold=0.01)
    >>> bool(np.allclose(curve, [1, 0, 1]))
    True
    """
    from bansac.problems.polynomial import polynomial

    return ransac(
        polynomial(degree),
        points,
        threshold=threshold,
        scores=scores,
        priors=priors,
        preset=preset,
        options=options,
        **settings,
    )


def ransac(
    problem: Problem,
    data: ArrayLike,
    *,
    threshold: float | None = None,
    scores: ArrayLike | None = None,
    priors: ArrayLike | None = None,
    preset: str | None = None,
    options: Options | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Estimate any model, built in or the user's, from data with outliers.

    Parameters
    ----------
    problem : Problem
        The model: see :class:`bansac.Problem`.
    data : (N, channels) array_like
        One row a datum.
    threshold : float
        Largest residual of an inlier, a distance; it has to be given, here or in ``options``.
    scores, priors, preset, options
        As in :func:`bansac.estimate_homography`.
    **settings
        Single options, see :class:`bansac.Options`. ``max_iterations`` is 3000 by default.

    Returns
    -------
    Result
        ``model`` has the problem's ``model_shape``.

    Raises
    ------
    ValueError
        If an argument has the wrong shape, holds NaN or infinity, or is out of its range.
    TypeError
        If an option does not exist.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> from bansac.problems.line import LINE
    >>> x = np.linspace(0, 1, 50)
    >>> bansac.ransac(LINE, np.column_stack([x, x]), threshold=0.01).num_inliers
    50
    """
    started = time.perf_counter()
    if not isinstance(problem, Problem):
        raise ValueError(f"problem must be a bansac.Problem, got {type(problem).__name__}")
    resolved = resolve_options(problem, options, preset, threshold, settings)
    rows = as_points("data", data, problem.channels)
    return _solve(problem, np.ascontiguousarray(rows.T), resolved, scores, priors, started)


def _as_matches(x1: ArrayLike, x2: ArrayLike) -> NDArray[np.float64]:
    """Check matched points and lay them out as 4 x N."""
    first = as_points("x1", x1, 2)
    second = as_points("x2", x2, 2)
    check_same_length("x1", first, "x2", second)
    data = np.empty((4, len(first)))
    data[:2] = first.T
    data[2:] = second.T
    return data


def _as_rays(
    x1: ArrayLike, x2: ArrayLike, K1: ArrayLike | None, K2: ArrayLike | None, preset: str | None
) -> tuple[NDArray[np.float64], float]:
    """Check matched points and bring them to normalised units (4 x N); return them and the unit of the threshold."""
    data = _as_matches(x1, x2)
    if K1 is None:
        if K2 is not None:
            raise ValueError("K1 must be given where K2 is")
        return data, 1.0
    camera1 = as_camera("K1", K1)
    camera2 = camera1 if K2 is None else as_camera("K2", K2)
    _apply_inverse(camera1, data[:2])
    _apply_inverse(camera2, data[2:])
    focal = (camera1[0, 0] + camera1[1, 1] + camera2[0, 0] + camera2[1, 1]) / 4
    return data, 1.0 if find_preset(preset).normalised_threshold else float(focal)


def _apply_inverse(K: NDArray[np.float64], x: NDArray[np.float64]) -> None:
    """Replace pixels by normalised coordinates, K^-1 (x, y, 1), in place."""
    y = (x[1] - K[1, 2]) / K[1, 1]
    x[0] = (x[0] - K[0, 2] - K[0, 1] * y) / K[0, 0]
    x[1] = y


def _solve(
    problem: Problem,
    data: NDArray[np.float64],
    options: Options,
    scores: ArrayLike | None,
    priors: ArrayLike | None,
    started: float,
    unit: float = 1.0,
) -> Result:
    """Run the loop on checked data (channels x N); a residual of the problem times ``unit`` is the caller's."""
    n = data.shape[1]
    threshold = options.threshold
    assert threshold is not None
    prior, quality = _prior_and_quality(scores, priors, n, options)
    _check_abilities(problem, options)
    if n < problem.sample_size:
        outcome = _no_data(prior, n, options)
        message = f"{problem.name} needs at least {problem.sample_size} data, got {n}"
    else:
        outcome = run(problem, data, options, unit=unit, prior=prior, quality=quality)
        message = ""
    residuals = np.full(n, np.inf)
    if outcome.model is not None:
        problem.exact_residuals(data, outcome.model, 0, n, residuals)
        residuals = np.sqrt(residuals) * unit
        residuals[np.isnan(residuals)] = np.inf
    inliers = residuals <= threshold
    success, message = _judge(problem, data, threshold / unit, outcome, inliers, options.sampler_row, message)
    return Result(
        model=None if outcome.model is None else outcome.model.reshape(problem.model_shape),
        inliers=inliers,
        residuals=residuals,
        probabilities=outcome.probabilities,
        score=outcome.score,
        threshold=threshold,
        iterations=outcome.iterations,
        models_tested=outcome.models_tested,
        stop_reason=outcome.stop_reason,
        success=success,
        message=message,
        seed=int(options.seed),
        seconds=time.perf_counter() - started,
        trace=outcome.trace,
    )


def _prior_and_quality(
    scores: ArrayLike | None, priors: ArrayLike | None, n: int, options: Options
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return the prior inlier probabilities P^0, and the quality by which the data are ordered; None where unknown."""
    sampler = options.sampler_row
    ordered_stops = [stop.name for stop in options.stops(informed=False) if stop.order]
    needs_order = sampler.order or bool(ordered_stops)
    if priors is not None and not sampler.prior:
        names = ", ".join(row.name for row in SAMPLERS.values() if row.prior)
        raise ValueError(f"priors need one of the samplers {names}; the sampler is {sampler.name!r}")
    if scores is not None and not sampler.prior and not needs_order:
        raise ValueError(f"scores are of no use to sampler={sampler.name!r} without the stop 'prosac'")
    prior = None if priors is None else as_probabilities("priors", priors, n, "")
    quality = None if scores is None else as_scores("scores", scores, n)
    if sampler.prior and prior is None and scores is not None:
        advice = "; bring them there, for example by 1 - SNN ratio, or give priors"
        prior = as_probabilities("scores", scores, n, advice)
    if quality is None and prior is not None and n > 0 and prior.min() < prior.max():
        quality = prior
    if needs_order and quality is None:
        what = f"sampler={sampler.name!r}" if sampler.order else f"stopping={options.stopping!r}"
        raise ValueError(f"{what} needs scores, which order the data")
    return prior, quality


def _check_abilities(problem: Problem, options: Options) -> None:
    """Refuse what the problem has no function for."""
    if options.degeneracy == "degensac" and problem.is_degenerate is None:
        raise ValueError(f"degeneracy='degensac' is for the fundamental matrix, not for a {problem.name}")
    if options.local_optimization is not None and problem.fit is None:
        raise ValueError(f"local_optimization needs a non-minimal solver, and problem {problem.name!r} has no fit")


def _no_data(prior: NDArray[np.float64] | None, n: int, options: Options) -> Outcome:
    start = np.full(n, 0.5) if prior is None else prior
    probabilities = start if options.sampler_row.prior else None
    return Outcome(None, 0.0, probabilities, 0, 0, "no_data", np.empty(0, np.int64), None)


def _judge(
    problem: Problem,
    data: NDArray[np.float64],
    threshold: float,
    outcome: Outcome,
    inliers: NDArray[np.bool_],
    sampler: Sampler,
    message: str,
) -> tuple[bool, str]:
    """Say whether the model has more support than chance, and in words what happened.

    The first models of the run tell how much support chance gives. Where they make the model look like chance they may
    have been good themselves, drawn by a good prior; then models of the data that disagree with the result decide. So
    they do in doubt where the first samples were alike: the best matches, or neighbours.
    """
    support, n = int(np.count_nonzero(inliers)), inliers.size
    if message:
        return False, message
    if outcome.model is None:
        if outcome.models_tested == 0:
            reason = f"all {outcome.iterations} samples were degenerate (coincident or collinear data?)"
        else:
            reason = f"none of the {outcome.models_tested} models tested has an inlier"
        return False, f"no {problem.name} found: {reason}"
    facts = (support, n, problem.sample_size, outcome.models_tested)
    chance = log_chance(*facts, n, outcome.first_supports)
    if chance >= (IN_DOUBT if sampler.alike else SIGNIFICANT):
        outliers = np.ascontiguousarray(data[:, ~inliers])
        chance = log_chance(*facts, outliers.shape[1], chance_supports(problem, outliers, threshold))
    if chance >= SIGNIFICANT:
        return False, (
            f"the best {problem.name} has {support} of {n} inliers, no more than chance gives the best of "
            f"{outcome.models_tested} models"
        )
    return True, f"{problem.name} with {support} of {n} inliers"
