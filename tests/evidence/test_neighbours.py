"""Prior probabilities from the neighbours of matches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bansac import estimate_essential, estimate_fundamental, estimate_homography
from bansac.engine.frame import Frame
from bansac.evidence.neighbours import has_support, neighbour_priors
from bansac.synthetic import epipolar_matches
from bansac_lab.families import awkward_scene
from tests.reference import neighbours as reference


def smooth(n, wrong, seed=0):
    """Return matches (4 x N) of a smooth motion, with random matches at the end."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1000, (2, n))
    y = 0.8 * x[::-1] * [[1], [-1]] + 0.0002 * x**2 + rng.normal(0, 1, x.shape)
    y[:, n - wrong :] = rng.uniform(y.min(axis=1), y.max(axis=1), (wrong, 2)).T
    return np.vstack([x, y])


@hypothesis_settings(deadline=None, max_examples=25)
@given(st.integers(50, 300), st.floats(0, 1), st.integers(0, 10**6))
def test_the_kernel_equals_its_twin(n, share, seed):
    data = smooth(n, int(share * n), seed)
    np.testing.assert_allclose(neighbour_priors(data), reference.priors(data), atol=1e-12)


def test_right_matches_have_larger_priors():
    priors = neighbour_priors(smooth(1000, 500))
    assert np.median(priors[:500]) > 0.5
    assert np.median(priors[500:]) < 0.05


def test_random_matches_have_the_lowest_prior_nearly_all():
    assert np.mean(neighbour_priors(smooth(1000, 1000)) < 0.2) > 0.95


def test_the_unit_and_the_order_do_not_matter():
    data, order = smooth(300, 100), np.random.default_rng(1).permutation(300)
    priors = neighbour_priors(data)
    np.testing.assert_array_equal(neighbour_priors(data * 2.0**-10), priors)
    np.testing.assert_array_equal(neighbour_priors(np.ascontiguousarray(data[:, order])), priors[order])


def test_repeated_and_one_to_many_matches_are_no_evidence():
    match = np.random.default_rng(0).uniform(0, 1000, (4, 60))
    data = np.hstack([match, np.repeat(match[:, :1], 40, axis=1)])
    many = data.copy()
    many[2:, 60:] = np.random.default_rng(1).uniform(0, 1000, (2, 40))
    assert np.all(neighbour_priors(data)[60:] < 0.3)
    assert np.mean(neighbour_priors(many)[60:]) < 0.1


def test_far_outliers_do_not_coarsen_the_grid():
    data = smooth(1000, 500)
    data[:, -1] = [1e9, -1e9, 1e12, 1e12]
    priors = neighbour_priors(data)
    assert np.median(priors[:500]) > 0.5


@pytest.mark.parametrize(
    "data",
    [
        np.zeros((4, 100)),
        np.tile(np.arange(100.0), (4, 1)),
        np.full((4, 60), 1e150),
        1e-320 * np.tile(np.arange(100.0), (4, 1)),  # the cells of this unit are too small for a number
    ],
)
def test_degenerate_data_give_finite_priors(data):
    priors = neighbour_priors(data)
    assert np.all((priors >= 0.02) & (priors <= 0.72))


def test_a_dense_cluster_has_bounded_counts():
    data = np.hstack([np.random.default_rng(0).uniform(0, 1, (4, 3000)), smooth(500, 250) + 5.0])
    assert np.isfinite(neighbour_priors(data)).all()


def test_a_single_match_has_no_priors():
    assert neighbour_priors(smooth(1, 0)) is None
    assert np.isfinite(neighbour_priors(smooth(2, 0))).all()


def test_support_is_more_neighbours_than_by_chance():
    priors = neighbour_priors(smooth(1000, 500))
    supported = has_support(priors)
    assert supported[:500].mean() > 0.95 > 0.6 > supported[500:].mean()
    assert priors[~supported] == pytest.approx(0.02)
    assert has_support(None) is None


FUNCTIONS = estimate_homography, estimate_fundamental, estimate_essential


@pytest.mark.parametrize("function", FUNCTIONS)
def test_most_restarts_are_among_matches_with_support(function):
    scene = epipolar_matches(400, 0.0, 0.5, 0)
    cameras = (scene.K1, scene.K2) if function is estimate_essential else ()
    matches = np.vstack([scene.x1.T, scene.x2.T])
    for scores in (None, np.linspace(0.1, 0.9, 400)):
        trace = function(scene.x1, scene.x2, *cameras, scores=scores, seed=0, max_iterations=6000, trace=True).trace
        sizes = (trace.outliers + trace.best_inliers)[np.flatnonzero(np.diff(trace.restart, append=99))]
        few = np.count_nonzero(has_support(neighbour_priors(matches)))
        assert sizes.tolist() == [few if k % (4 if k <= 4 else 2) else 400 for k in range(sizes.size)]
        assert few < 300
        assert sizes.size > 4


@pytest.mark.parametrize("function", FUNCTIONS)
def test_priors_of_the_caller_are_used_alone(function):
    scene = epipolar_matches(400, 0.2, 0.5, 0)
    cameras = (scene.K1, scene.K2) if function is estimate_essential else ()
    known = np.linspace(0.1, 0.9, 400)
    on, off = (
        function(scene.x1, scene.x2, *cameras, priors=known, seed=0, neighbours=value) for value in (True, False)
    )
    assert np.array_equal(on.beliefs, off.beliefs)
    assert on.iterations == off.iterations


def test_few_inliers_are_found_among_matches_with_support():
    scene = epipolar_matches(4000, 0.06, 0.5, 0)
    on, off = (estimate_fundamental(scene.x1, scene.x2, seed=0, neighbours=value) for value in (True, False))
    assert on.success
    assert on.inliers[scene.inliers].mean() > 0.8
    assert not off.success


def test_a_burst_of_wrong_matches_does_not_hide_the_model():
    scene = awkward_scene("false burst", "F", 3000, 0.4, seed=16)
    matches = scene.matches
    result = estimate_fundamental(matches.x1, matches.x2)
    assert result.success
    assert result.inliers[matches.inliers].mean() > 0.9
    assert result.iterations < 10_000


@pytest.mark.parametrize(("neighbours", "kept"), [(False, {True}), (True, {True, False})])
def test_restarts_keep_the_prior_of_the_scores_where_neighbours_say_nothing(neighbours, kept, monkeypatch):
    scene, with_prior, restrict = epipolar_matches(400, 0.0, 0.5, 0), [], Frame.restrict

    def spy(frame, members, **options):
        with_prior.append(options["with_prior"])
        return restrict(frame, members, **options)

    monkeypatch.setattr(Frame, "restrict", spy)
    scores = np.linspace(0.1, 0.9, 400)
    estimate_fundamental(scene.x1, scene.x2, scores=scores, neighbours=neighbours, seed=0)
    assert len(with_prior) > 4
    assert set(with_prior) == kept
