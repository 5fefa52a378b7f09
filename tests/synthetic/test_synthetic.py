"""Synthetic data agree with their ground truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bansac.geometry import apply_transform, homogeneous
from bansac.synthetic import (
    circle_points,
    epipolar_matches,
    homography_matches,
    line_points,
    planar_scene_matches,
    polynomial_points,
    rotation_matches,
)
from tests.reference import curves

seeds = st.integers(0, 2**32 - 1)
GENERATORS = [
    homography_matches,
    epipolar_matches,
    planar_scene_matches,
    rotation_matches,
    line_points,
    circle_points,
    polynomial_points,
]


DISTANCES = {
    line_points: curves.line_distances,
    circle_points: curves.circle_distances,
    polynomial_points: curves.polynomial_distances,
}


def transfer(H, matches):
    """Return the distances of the second points from the mapped first ones."""
    return np.hypot(*(apply_transform(H, matches.x1) - matches.x2).T)


@settings(max_examples=20)
@given(seeds)
def test_noise_free_homography_matches_are_exact_and_seen(seed):
    data = homography_matches(60, inlier_ratio=0.5, noise=0.0, seed=seed, size=(300, 500))
    error = transfer(data.H, data)
    assert (error[data.inliers] < 1e-9).all()
    assert (homogeneous(data.x1)[data.inliers] @ data.H[2] > 0).all()
    assert np.median(error[~data.inliers]) > 30
    for x in (data.x1, data.x2):
        assert (x >= 0).all()
        assert (x <= [499, 299]).all()


def assert_projected(data):
    """The inliers are projections of points in front of both cameras."""
    X1 = data.points[data.inliers]
    for X, x in ((X1, data.x1), (X1 @ data.R.T + data.t, data.x2)):
        assert (X[:, 2] > 0).all()
        projected = X @ data.K.T
        np.testing.assert_allclose(projected[:, :2] / projected[:, 2:], x[data.inliers], atol=1e-8)


@settings(max_examples=20)
@given(seeds)
def test_noise_free_epipolar_matches_are_projections_of_points_in_front(seed):
    data = epipolar_matches(60, inlier_ratio=0.5, noise=0.0, seed=seed)
    assert_projected(data)
    assert np.isnan(data.points[~data.inliers]).all()
    np.testing.assert_allclose(data.R @ data.R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(data.R) == pytest.approx(1)
    assert np.linalg.norm(data.t) == pytest.approx(1)


@settings(max_examples=20)
@given(seeds)
def test_noise_free_planar_scenes_have_a_plane_and_parallax(seed):
    data = planar_scene_matches(100, inlier_ratio=0.6, plane_share=0.7, noise=0.0, seed=seed)
    off_plane = data.inliers & ~data.on_plane
    assert (int(data.on_plane.sum()), int(off_plane.sum())) == (42, 18)
    assert_projected(data)
    # The plane's points lie in a plane of space and obey H; no other point of the scene lies in it.
    plane = np.linalg.lstsq(data.points[data.on_plane], np.ones(42), rcond=None)[0]
    distance = np.abs(data.points @ plane - 1)
    assert distance[data.on_plane].max() < 1e-9
    assert distance[off_plane].min() > 0.15
    assert transfer(data.H, data)[data.on_plane].max() < 1e-8


@settings(max_examples=20)
@given(seeds)
def test_essential_and_fundamental_matrix_follow_from_the_motion(seed):
    data = epipolar_matches(0, seed=seed)
    v = np.array([0.3, -1.2, 2.0])
    np.testing.assert_allclose(data.E @ v * np.sqrt(2), np.cross(data.t, data.R @ v), atol=1e-12)
    np.testing.assert_allclose(np.linalg.svd(data.E)[1], [np.sqrt(0.5), np.sqrt(0.5), 0], atol=1e-12)
    E = data.K.T @ data.F @ data.K
    np.testing.assert_allclose(E / np.linalg.norm(E), data.E, atol=1e-9)
    assert np.linalg.norm(data.F) == pytest.approx(1)


@pytest.mark.parametrize("make", DISTANCES)
@settings(max_examples=20)
@given(seed=seeds)
def test_noise_free_curve_points_lie_on_the_curve_in_the_square(make, seed):
    curve = make(60, inlier_ratio=0.5, noise=0.0, seed=seed)
    distance = DISTANCES[make](curve.model, curve.points)
    assert (distance[curve.inliers] < 1e-12).all()
    assert np.median(distance[~curve.inliers]) > 0.01
    assert (np.abs(curve.points) <= 1).all()


@pytest.mark.parametrize("make", DISTANCES)
def test_noise_has_the_asked_deviation_along_curves(make):
    curve = make(20000, inlier_ratio=1.0, noise=0.05)
    distances = DISTANCES[make](curve.model, curve.points)
    assert np.sqrt(np.mean(distances**2)) == pytest.approx(0.05, rel=0.03)


def test_noise_has_the_asked_deviation_in_images():
    clean, noisy = (homography_matches(20000, inlier_ratio=1.0, noise=noise) for noise in (0.0, 2.0))
    assert (noisy.x2 - clean.x2).std() == pytest.approx(2, rel=0.03)
    np.testing.assert_array_equal(noisy.x1, clean.x1)
    clean, noisy = (epipolar_matches(20000, inlier_ratio=1.0, noise=noise) for noise in (0.0, 2.0))
    assert (noisy.x1 - clean.x1).std() == pytest.approx(2, rel=0.03)
    assert (noisy.x2 - clean.x2).std() == pytest.approx(2, rel=0.03)


@pytest.mark.parametrize("degree", [0, 1, 5])
def test_polynomial_has_the_asked_degree(degree):
    curve = polynomial_points(degree=degree)
    assert curve.model.shape == (degree + 1,)
    assert (np.abs(curve.model) > 0).all()


@pytest.mark.parametrize("make", GENERATORS)
def test_counts_and_reproducibility(make):
    first, again, other = (make(101, inlier_ratio=0.25, **seed) for seed in ({}, {}, {"seed": 1}))
    assert first.inliers.shape == (101,)
    assert first.inliers.sum() == 25
    name = "points" if hasattr(first, "model") else "x2"
    np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert not np.array_equal(getattr(first, name), getattr(other, name))
    assert make(50, inlier_ratio=0.0).inliers.sum() == 0
    assert make(50, inlier_ratio=1.0).inliers.all()
    assert len(make(0).inliers) == 0


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize(
    ("argument", "value"),
    [("n", -1), ("inlier_ratio", 1.1), ("inlier_ratio", np.nan), ("noise", -1.0), ("noise", np.inf)],
)
def test_bad_arguments_are_named(make, argument, value):
    with pytest.raises(ValueError, match=f"^{argument} must"):
        make(**{argument: value})


def test_bad_sizes_and_degrees_are_named():
    with pytest.raises(ValueError, match=r"^size must be"):
        homography_matches(size=(1, 640))
    with pytest.raises(ValueError, match=r"^size must be"):
        epipolar_matches(size=(480, 0))
    with pytest.raises(ValueError, match="plane_share must lie in"):
        planar_scene_matches(plane_share=1.1)
    with pytest.raises(ValueError, match=r"^degree must be an integer >= 0, got -1"):
        polynomial_points(degree=-1)


@given(seeds)
def test_a_turned_camera_has_the_homography_of_its_rotation(seed):
    scene = rotation_matches(60, inlier_ratio=0.7, noise=0.0, seed=seed)
    true = scene.inliers
    H = scene.K @ scene.R @ np.linalg.inv(scene.K)
    assert transfer(H, scene)[true].max() < 1e-8
    assert np.linalg.det(scene.R) == pytest.approx(1)
    np.testing.assert_allclose(scene.H, H / H[2, 2], atol=1e-9)
