"""The public functions end to end: known geometry, results that agree with themselves."""

import numpy as np
import pytest

import bansac
from bansac import Network
from bansac.estimate.presets import PRESETS
from bansac.geometry import normalise_points
from bansac.synthetic import epipolar_matches, homography_matches
from bansac_lab.metrics import corner_error


@pytest.fixture(scope="module")
def plane():
    return homography_matches(400, inlier_ratio=0.4, noise=0.3, seed=3)


@pytest.fixture(scope="module")
def scene():
    return epipolar_matches(400, inlier_ratio=0.6, noise=0.2, seed=4)


def test_essential_matrix_in_pixels_and_in_normalised_units_is_the_same(scene):
    focal = (scene.K[0, 0] + scene.K[1, 1]) / 2
    pixels = bansac.estimate_essential(scene.x1, scene.x2, scene.K, scene.K, threshold=0.8)
    x1, x2 = (normalise_points(scene.K, x) for x in (scene.x1, scene.x2))
    rays = bansac.estimate_essential(x1, x2, threshold=0.8 / focal)
    assert pixels.model == pytest.approx(rays.model)
    assert np.array_equal(pixels.inliers, rays.inliers)
    assert pixels.residuals == pytest.approx(focal * rays.residuals)
    paper = bansac.estimate_essential(scene.x1, scene.x2, scene.K, preset="paper")
    assert paper.threshold == 1e-3
    assert np.linalg.svd(paper.model)[1] == pytest.approx([1, 1, 0])


def test_a_result_shows_itself(plane):
    result = bansac.estimate_homography(plane.x1, plane.x2, seed=5)
    assert result.num_inliers == result.inliers.sum()
    assert result.inlier_ratio == result.inliers.mean()
    assert "success" in repr(result)
    assert "seed 5" in repr(result)
    assert f"model =\n       {np.array2string(result.model, precision=6, prefix=' ' * 7)}" in repr(result)
    assert result.seconds > 0


def test_beliefs_tell_inliers_from_outliers(plane):
    result = bansac.estimate_homography(plane.x1, plane.x2, preset="paper", stopping="bansac", max_iterations=50_000)
    assert result.stop_reason == "bansac"
    assert np.mean(result.beliefs[plane.inliers] > 0.5) > 0.8
    assert np.mean(result.beliefs[~plane.inliers] < 0.01) > 0.9
    assert np.count_nonzero(result.beliefs < 0.01) >= len(plane.x1) - result.num_inliers - 20
    assert bansac.estimate_homography(plane.x1, plane.x2, sampler="uniform").beliefs is None


def test_a_good_prior_needs_fewer_iterations_and_a_wrong_one_is_unlearnt(plane):
    def iterations(priors):
        runs = [
            bansac.estimate_homography(plane.x1, plane.x2, preset="paper", priors=priors, seed=seed)
            for seed in range(20)
        ]
        assert all(run.success for run in runs)
        return np.mean([run.iterations for run in runs])

    good = np.where(plane.inliers, 0.8, 0.2)
    assert iterations(good) < iterations(None)
    wrong = bansac.estimate_homography(plane.x1, plane.x2, preset="paper", priors=1 - good, max_iterations=50_000)
    assert wrong.success
    assert corner_error(wrong.model, plane.H, plane.size) < 3


@pytest.mark.parametrize(
    ("sampler", "local"),
    [
        *((sampler, None) for sampler in ("bansac", "prosac", "p-napsac", "baysac", "ar")),
        # Not P-NAPSAC, whose bounds do not look at the order: with a model as good, it takes as many iterations.
        *((sampler, "inner+iterative") for sampler in ("bansac", "prosac")),
    ],
)
def test_samplers_that_go_by_scores_profit_from_good_ones(scene, sampler, local):
    rng = np.random.default_rng(5)
    noisy = np.where(scene.inliers, 0.7, 0.3) + rng.uniform(-0.3, 0.3, len(scene.x1))
    settings = {"preset": "paper", "sampler": sampler, "local_optimization": local}

    def runs(scores):
        results = [
            bansac.estimate_fundamental(scene.x1, scene.x2, scores=scores, seed=seed, **settings) for seed in range(8)
        ]
        assert all(result.success for result in results)
        return np.mean([result.iterations for result in results])

    assert runs(noisy) < 0.8 * runs(rng.permutation(noisy))


def test_the_order_of_scores_of_any_size_serves_prosac(scene):
    settings = {"preset": "paper", "sampler": "prosac"}
    scores = np.where(scene.inliers, 100.0, -3.0)
    result = bansac.estimate_fundamental(scene.x1, scene.x2, scores=scores, **settings)
    assert (result.success, result.stop_reason, result.beliefs) == (True, "prosac", None)
    assert result.iterations < 50
    scaled = bansac.estimate_fundamental(scene.x1, scene.x2, scores=np.exp(scores / 20), **settings)
    assert np.array_equal(result.model, scaled.model)


def test_scores_beside_priors_are_the_order_of_the_stop(plane):
    flat = np.full(len(plane.x1), 0.5)
    by_prior = np.where(plane.inliers, 0.8, 0.2)
    settings = {"preset": "paper", "stopping": "prosac", "max_iterations": 20_000}
    result = bansac.estimate_homography(plane.x1, plane.x2, scores=10 * by_prior, priors=flat, trace=True, **settings)
    assert result.stop_reason == "prosac"
    assert (result.trace.snapshots[0] == 0.5).all()
    blind = bansac.estimate_homography(plane.x1, plane.x2, scores=1 - by_prior, priors=flat, **settings)
    assert result.iterations < blind.iterations


def test_scores_in_unit_range_are_the_prior(plane):
    scores = np.random.default_rng(0).uniform(size=len(plane.x1))
    by_scores = bansac.estimate_homography(plane.x1, plane.x2, preset="paper", scores=scores)
    by_priors = bansac.estimate_homography(plane.x1, plane.x2, preset="paper", priors=scores)
    assert np.array_equal(by_scores.model, by_priors.model)
    assert by_scores.stop_reason == by_priors.stop_reason == "prosac"
    traced = bansac.estimate_homography(plane.x1, plane.x2, preset="paper", scores=scores, trace=True)
    assert traced.trace.snapshots[0] == pytest.approx(np.clip(scores, 1e-6, 1 - 1e-6))


def test_the_radius_of_a_neighbourhood_is_in_pixels(scene):
    def estimate(scale, radius):
        K = np.diag([scale, scale, 1.0]) @ scene.K
        return bansac.estimate_essential(
            scale * scene.x1,
            scale * scene.x2,
            K,
            threshold=scale,
            options=PRESETS["paper"].options,
            sampler=bansac.Napsac(neighbourhood_radius=radius),
            max_iterations=50,
        ).model

    assert estimate(2.0, 120.0) == pytest.approx(estimate(1.0, 60.0))
    assert not np.allclose(estimate(1.0, 1e6), estimate(1.0, 60.0))


def test_local_optimization_waits_for_support_that_is_not_random(scene, monkeypatch):
    from bansac.engine import local_optimization
    from bansac.engine.interruptible import InterruptibleLoop

    def run(max_iterations):
        """Return whether the best model is optimised in the loop, and how often after it."""
        in_the_loop, after_it = [], []

        def optimize(*arguments):
            after_it.append(True)
            original(*arguments)

        def iterate(loop, *arguments, **more):
            stop = iterate_all(loop, *arguments, **more)
            in_the_loop.append(not loop.state.progress["unoptimized"])
            return stop

        monkeypatch.setattr(local_optimization, "optimize", optimize)
        monkeypatch.setattr(InterruptibleLoop, "run", iterate)
        settings = {"preset": "paper", "local_optimization": "inner", "sampler": "uniform"}
        bansac.estimate_fundamental(scene.x1, scene.x2, max_iterations=max_iterations, **settings)
        return in_the_loop, len(after_it)

    original, iterate_all = local_optimization.optimize, InterruptibleLoop.run
    assert run(5) == ([False], 1)  # too short
    assert run(10_000) == ([True], 0)


def test_a_user_function_for_gamma_is_used(plane):
    def gamma(ratio):
        return np.where(ratio < 0.7143, 0.62 * ratio + 0.5, 0.2 * ratio + 0.8)

    own = bansac.estimate_homography(plane.x1, plane.x2, network=Network(gamma=gamma))
    named = bansac.estimate_homography(plane.x1, plane.x2, network=Network(gamma="gamma_1"))
    assert np.array_equal(own.beliefs, named.beliefs)


def test_a_trace_records_the_run(plane):
    settings = {"preset": "paper", "stopping": None, "max_iterations": 1500}
    result = bansac.estimate_homography(plane.x1, plane.x2, trace=True, **settings)
    trace = result.trace
    assert len(trace) == result.iterations == 1500
    assert set(trace.snapshots) == {0, 2, 4, 9, 10, 11, 14, 100, 1000, 1500}
    assert (trace.snapshots[0] == 0.5).all()
    assert np.array_equal(trace.snapshots[1500], result.beliefs)
    assert (np.diff(trace.best_inliers) >= 0).all()
    assert np.array_equal(trace.outliers, len(plane.x1) - trace.best_inliers)
    updated = ~np.isnan(trace.gamma)
    assert np.array_equal(updated, ~np.isnan(trace.inlier_ratio))
    ratio = trace.inlier_ratio[updated]
    assert trace.gamma[updated] == pytest.approx(np.where(ratio < 0.7143, 0.62 * ratio + 0.5, 0.2 * ratio + 0.8))
    # The network rejects on the strength of the updates: many iterations have none under SPRT.
    assert 0 < updated.sum() < 1500


@pytest.mark.parametrize("preset", [None, "paper"])
def test_an_interrupt_between_slices_gets_through(preset, plane, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    loop = "interruptible.run_iterations" if preset == "paper" else "local_optimization.iterate"
    monkeypatch.setattr(f"bansac.engine.{loop}", interrupt)
    with pytest.raises(KeyboardInterrupt):
        bansac.estimate_homography(plane.x1, plane.x2, preset=preset)


def test_homographies_end_in_one_unless_that_vanishes(plane):
    for settings in ({}, {"preset": "paper"}, {"refinement": None}):
        assert bansac.estimate_homography(plane.x1, plane.x2, **settings).model[2, 2] == 1.0
    x1 = np.random.default_rng(0).uniform(1, 2, (50, 2)) * 300
    to_infinity = np.array([[0.0, 300, 10], [300, 0, 20], [1, 1, 0]])
    mapped = np.column_stack([x1, np.ones(50)]) @ to_infinity.T
    result = bansac.estimate_homography(x1, mapped[:, :2] / mapped[:, 2:])
    assert result.num_inliers == 50
    np.testing.assert_allclose(result.model / result.model[2, 0], to_infinity, atol=1e-4)
    assert np.linalg.norm(result.model) == pytest.approx(1.0) or result.model[2, 2] == 1.0


def test_pixels_in_place_of_normalised_coordinates_are_noticed(scene):
    for estimate in (bansac.estimate_essential, bansac.estimate_relative_pose):
        assert "these look like pixels" in estimate(scene.x1, scene.x2, max_iterations=50).message
        assert "pixels" not in estimate(scene.x1, scene.x2, scene.K, max_iterations=50).message
        rays1, rays2 = (normalise_points(scene.K, x) for x in (scene.x1, scene.x2))
        rays1[:20] *= 1000.0  # a few wild ones
        assert "pixels" not in estimate(rays1, rays2, max_iterations=50).message
        assert "pixels" not in estimate(rays1[:0], rays2[:0]).message


def test_reversed_scores_are_named_as_the_reason_of_a_failure(plane):
    scores = np.where(plane.inliers, 0.1, 0.9)
    for name in ("scores", "priors"):
        result = bansac.estimate_homography(plane.x1, plane.x2, **{name: scores})
        assert not result.success
        assert "without scores and priors a model has" in result.message
        paper = bansac.estimate_homography(plane.x1, plane.x2, preset="paper", **{name: scores})
        assert not paper.success
        assert "without scores" not in paper.message, "the paper's method has no second run"
    noise = np.random.default_rng(0).uniform(0, 500, (60, 4))
    result = bansac.estimate_homography(noise[:, :2], noise[:, 2:], scores=np.linspace(0.1, 0.9, 60))
    assert not result.success
    assert "without scores" not in result.message
