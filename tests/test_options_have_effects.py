"""Every option has the effect that its text says: two values of it, and a difference that the result shows."""

import dataclasses
from functools import partial
from typing import Any

import numpy as np
import pytest

import bansac
from bansac import Napsac, Network, Restarts
from bansac.synthetic import epipolar_matches, homography_matches, line_points
from bansac_lab.families import awkward_scene

N = 60
LINE = line_points(N, inlier_ratio=0.6, noise=0.005, seed=3)
EPIPOLAR = epipolar_matches(5 * N, inlier_ratio=0.5, noise=0.5, seed=3)
PLANE = homography_matches(N, inlier_ratio=0.5, noise=0.5, seed=3)
DOMINANT_PLANE = awkward_scene("plane and 20 %", "F", 4 * N, inlier_ratio=0.7)
# One restart that nothing but the number of iterations ends, without the parts that change its best model.
BARE: dict[str, Any] = {
    "restarts": 1,
    "stopping": None,
    "max_iterations": 100,
    "refinement": None,
    "local_optimization": None,
    "trace": True,
}


def line(**settings):
    return bansac.fit_line(LINE.points, **{"threshold": 0.02} | settings)


def bare_line(**settings):
    return line(**BARE | settings)


def plane(**settings):
    return bansac.estimate_homography(PLANE.x1, PLANE.x2, **settings)


def bare_plane(**settings):
    return plane(**BARE | settings)


def calibrated(**settings):
    scene = awkward_scene("plain", "E", N, inlier_ratio=0.6)
    return bansac.estimate_essential(*scene.arguments, threshold=2.0, **settings)


def with_dominant_plane(**settings):
    return bansac.estimate_fundamental(*DOMINANT_PLANE.arguments, threshold=0.5, **settings)


def epipolar(**settings):
    return bansac.estimate_fundamental(EPIPOLAR.x1, EPIPOLAR.x2, max_iterations=5, **settings)


def two_lines(**settings):
    """Fit a line to 36 points of low scores on y = 0 and 24 of high ones on x = 0."""
    t = np.linspace(-1, 1, N)
    first = np.arange(N) < 36
    points = np.where(first[:, None], np.column_stack([t, 0 * t]), np.column_stack([0 * t, t]))
    return bansac.fit_line(points, threshold=0.02, scores=np.where(first, 0.1, 0.9), **settings)


# --- What must differ between the results of the first and of the second value ---


def threshold(few, many):
    assert (few.threshold, many.threshold) == (0.5, 4.0)
    for result in (few, many):
        assert np.array_equal(result.inliers, result.residuals <= result.threshold)
    assert few.num_inliers < many.num_inliers


def confidence(low, high):
    assert low.stop_reason == high.stop_reason == "ransac"
    assert low.iterations < high.iterations


def max_iterations(few, many):
    assert (few.iterations, many.iterations) == (20, 70)
    assert few.stop_reason == many.stop_reason == "max_iterations"


def min_iterations(none, many):
    assert none.iterations < 900 <= many.iterations


def min_updates(none, many):
    assert none.iterations < 300 <= many.iterations


def max_seconds(short, none):
    assert short.stop_reason == "max_seconds"
    assert none.stop_reason == "max_iterations"
    assert short.iterations < none.iterations


def stopping(ransac, none):
    assert (ransac.stop_reason, none.stop_reason) == ("ransac", "max_iterations")
    assert ransac.iterations < none.iterations == 300


def sampler(bansac_, uniform):
    assert bansac_.beliefs is not None
    assert uniform.beliefs is None


def neighbourhood_radius(near, far):
    assert sample_length(near) < 0.3 < sample_length(far)


def sample_length(result):
    """Return the distance of the two points through which a line of one iteration passes."""
    first, second = LINE.points[np.argsort(result.residuals)[:2]]
    assert np.sort(result.residuals)[1] < 1e-6 < np.sort(result.residuals)[2]
    return np.hypot(*(first - second))


def order(one, three):
    assert np.array_equal(one.trace.snapshots[0], three.trace.snapshots[0])
    assert not np.array_equal(one.trace.snapshots[14], three.trace.snapshots[14])


def gamma(first, other):
    at = np.flatnonzero(np.isfinite(first.trace.gamma))[0]
    assert first.trace.inlier_ratio[at] == other.trace.inlier_ratio[at]
    assert first.trace.gamma[at] != other.trace.gamma[at]


def activation(first, other):
    assert np.array_equal(first.trace.snapshots[0], other.trace.snapshots[0])
    assert not np.array_equal(first.trace.inlier_ratio, other.trace.inlier_ratio, equal_nan=True)


def weight_floor(low, high):
    """With a large smallest weight the samples are nearly uniform, and fewer of them are good."""
    assert np.nanmean(low.trace.inlier_ratio[50:]) > 1.2 * np.nanmean(high.trace.inlier_ratio[50:])


def cpt(paper, even):
    assert np.ptp(paper.beliefs) > 0.5
    assert even.beliefs == pytest.approx(np.full(N, 0.5))


def tau(low, high):
    both = min(low.iterations, high.iterations)
    assert (low.trace.low_probability[:both] <= high.trace.low_probability[:both]).all()
    assert low.trace.low_probability[:both].sum() < high.trace.low_probability[:both].sum()
    assert high.iterations < low.iterations


def neighbours(without, with_them):
    def gap(result):
        return np.median(result.beliefs[EPIPOLAR.inliers]) - np.median(result.beliefs[~EPIPOLAR.inliers])

    assert gap(with_them) > gap(without)


def restarts(two, five):
    assert (two.restarts, five.restarts) == (2, 5)
    assert two.stop_reason == five.stop_reason == "restarts"


def restart_iterations(short, long):
    assert np.bincount(short.trace.restart)[1:].tolist() == [10, 10, 10, 10]  # the last one is a challenge
    assert np.bincount(long.trace.restart)[1:].tolist() == [25, 25, 25, 25]


def agreement(two, five):
    assert (two.restarts, five.restarts) == (2, 5)
    assert two.stop_reason == five.stop_reason == "agreement"


def scoring(inliers, msac):
    assert inliers.score == inliers.num_inliers
    close = msac.residuals[msac.inliers] / msac.threshold
    assert msac.score == pytest.approx((1 - close**2).sum(), rel=1e-3)


def weighting(none, scores):
    assert np.abs(none.model[:2]) == pytest.approx([0, 1], abs=1e-6)
    assert np.abs(scores.model[:2]) == pytest.approx([1, 0], abs=1e-6)


def verification(sprt, none):
    """The test rejects models, which then have no inlier ratio."""
    rejected, kept = (np.isnan(result.trace.inlier_ratio).sum() for result in (sprt, none))
    assert kept < rejected


def local_optimization(none, inner):
    assert inner.score > none.score


def degeneracy(none, degensac):
    true = DOMINANT_PLANE.matches.inliers
    assert degensac.inliers[true].mean() > none.inliers[true].mean() + 0.05


def refinement(none, least_squares):
    assert np.sort(none.residuals)[1] < 1e-6
    both = none.inliers & least_squares.inliers
    assert (least_squares.residuals[both] ** 2).sum() < (none.residuals[both] ** 2).sum()


def seed(first, other):
    assert (first.seed, other.seed) == (0, 9)
    assert not np.array_equal(first.trace.inlier_ratio, other.trace.inlier_ratio, equal_nan=True)


def trace(without, with_trace):
    assert without.trace is None
    assert len(with_trace.trace) == with_trace.iterations


# For every option: the run, its other settings, the two values, and the check of the two results.
_RANSAC = BARE | {"stopping": "ransac", "sampler": "uniform", "max_iterations": 5000}
EFFECTS: dict[str, tuple[Any, dict[str, Any], Any, Any, Any]] = {
    "threshold": (plane, {}, 0.5, 4.0, threshold),
    "confidence": (plane, _RANSAC, 0.5, 0.999999, confidence),
    "max_iterations": (bare_plane, {}, 20, 70, max_iterations),
    "min_iterations": (plane, {}, 0, 900, min_iterations),
    "max_seconds": (plane, BARE | {"max_iterations": 50_000}, 1e-6, None, max_seconds),
    "stopping": (plane, _RANSAC | {"max_iterations": 300}, "ransac", None, stopping),
    "sampler": (plane, {}, "bansac", "uniform", sampler),
    "neighbours": (epipolar, {}, False, True, neighbours),
    "network": (bare_plane, {}, Network(), Network(order=3), order),
    "restarts": (plane, {}, Restarts(limit=2, agreement=100), Restarts(limit=5, agreement=100), restarts),
    "scoring": (plane, {}, "inliers", "msac", scoring),
    "weighting": (two_lines, {"restarts": Restarts(agreement=100)}, None, "scores", weighting),
    "verification": (bare_plane, {}, "sprt", None, verification),
    "local_optimization": (bare_plane, {"max_iterations": 60, "threshold": 2.0}, None, "inner", local_optimization),
    "degeneracy": (with_dominant_plane, {"preset": "paper", "max_iterations": 200}, None, "degensac", degeneracy),
    "refinement": (bare_line, {}, None, "least_squares", refinement),
    "seed": (bare_plane, {}, 0, 9, seed),
    "trace": (plane, {}, False, True, trace),
}


# For every field of a group and of a sampler: the option, how its value is made, and as above.
_NAPSAC = {"max_iterations": 1, "verification": None}
_THREE = partial(Restarts, limit=3, agreement=100)
_TAU = {"stopping": "bansac", "max_iterations": 20_000}
IN_GROUPS = {
    "order": ("network", Network, bare_plane, {}, 1, 3, order),
    "gamma": ("network", Network, bare_plane, {}, "gamma_1", "gamma_3", gamma),
    "activation": ("network", Network, bare_plane, {}, "rho_1", "rho_3", activation),
    "weight_floor": ("network", Network, bare_plane, {"max_iterations": 400}, 0.01, 100.0, weight_floor),
    "cpt": ("network", Network, bare_plane, {}, "default", [[[0.5, 0.5], [0.5, 0.5]]], cpt),
    "tau": ("network", Network, bare_plane, _TAU, 1e-4, 0.4, tau),
    "min_updates": ("network", Network, plane, {"preset": "paper"}, "default", 300, min_updates),
    "limit": ("restarts", partial(Restarts, agreement=100), plane, {}, 2, 5, restarts),
    "agreement": ("restarts", Restarts, plane, {}, 2, 5, agreement),
    "iterations": ("restarts", _THREE, bare_plane, {"max_iterations": 1000}, 10, 25, restart_iterations),
    "neighbourhood_radius": ("sampler", Napsac, bare_line, _NAPSAC, 0.2, 10.0, neighbourhood_radius),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_every_option_has_its_effect(name):
    run, settings, first, second, check = EFFECTS[name]
    check(run(**settings | {name: first}), run(**settings | {name: second}))


@pytest.mark.parametrize("name", IN_GROUPS)
def test_every_field_of_a_group_has_its_effect(name):
    option, kind, run, settings, *values, check = IN_GROUPS[name]
    check(*(run(**settings | {option: kind(**{name: value})}) for value in values))


def test_every_option_has_a_case():
    assert list(EFFECTS) == [field.name for field in dataclasses.fields(bansac.Options)]
    in_groups = [field.name for kind in (Network, Restarts) for field in dataclasses.fields(kind)]
    assert list(IN_GROUPS) == [*in_groups, "neighbourhood_radius"]
