"""scikit-image's ransac: its shapes, what is handed on to it, and models of its own classes."""

import numpy as np
import pytest
from skimage import measure, transform

import bansac
from bansac.compat import DoubtWarning, strict
from bansac.compat.skimage import ransac
from bansac.geometry import apply_transform
from bansac.synthetic import epipolar_matches, homography_matches


class Line:
    """y = a x + b."""

    fits = 0

    @classmethod
    def from_estimate(cls, points):
        Line.fits += 1
        line = cls()
        line.params = np.polyfit(points[:, 0], points[:, 1], 1)
        return line

    def residuals(self, points):
        return np.polyval(self.params, points[:, 0]) - points[:, 1]


class Shift:
    """A translation between two arrays."""

    @classmethod
    def from_estimate(cls, x1, x2):
        shift = cls()
        shift.by = (x2 - x1).mean(axis=0)
        return shift

    def residuals(self, x1, x2):
        return np.linalg.norm(x1 + self.by - x2, axis=1)


def points(n=200, inlier_ratio=0.4, seed=0):
    """Return points near y = 2 x + 1, the first ones, and others anywhere."""
    rng = np.random.default_rng(seed)
    found = np.column_stack([rng.uniform(0, 10, n), rng.uniform(0, 20, n)])
    good = np.arange(n) < inlier_ratio * n
    found[good, 1] = 2 * found[good, 0] + 1 + rng.normal(0, 0.05, good.sum())
    return found, good


def test_the_line_of_a_class_of_ones_own_is_found():
    data, good = points()
    model, inliers = ransac(data, Line, 2, 0.25, max_trials=200)
    assert model.params == pytest.approx([2, 1], abs=0.05)
    assert inliers.dtype == np.bool_
    assert inliers[good].all()


def test_several_arrays_and_lines_of_space_are_handed_on():
    data = np.linspace(0, 1, 60)[:, None] * [1, 2, 3] + [0, 1, 0]
    data[::3] += 5
    np.testing.assert_array_equal(ransac(data, measure.LineModelND, 2, 0.05)[1], np.arange(60) % 3 > 0)
    x1, _ = points()
    x2 = x1 + np.array([3, 4])
    x2[150:] += 20
    model, inliers = ransac((x1, x2), Shift, 1, 0.5)
    np.testing.assert_allclose(model.by, [3, 4])
    np.testing.assert_array_equal(inliers, np.arange(200) < 150)


def test_the_same_seed_gives_the_same_answer():
    data, _ = points()
    for rng in (None, 5):
        first, second = (ransac(data, Line, 2, 0.25, rng=rng) for _ in range(2))
        np.testing.assert_array_equal(first[0].params, second[0].params)
    one, other = (ransac(data, Line, 2, 0.25, rng=np.random.default_rng(s), max_trials=2)[0].params for s in (1, 2))
    assert not np.array_equal(one, other)


def test_stops():
    data, _ = points()

    def count(**arguments):
        Line.fits = 0
        ransac(data, Line, 2, 0.25, max_trials=60, **arguments)
        return Line.fits - 1  # but for the last fit

    assert count() == 60
    assert count(stop_sample_num=3) < 60
    assert count(stop_residuals_sum=1e9) == 1
    assert count(stop_probability=0.99) < 60


def test_the_first_sample_and_the_checks():
    data, good = points()
    model, _ = ransac(data, Line, 2, 0.25, max_trials=1, initial_inliers=good)
    assert model.params == pytest.approx([2, 1], abs=0.05)
    seen = []

    def is_rising(model, *sample):
        seen.append(len(sample))
        return model.params[0] > 0

    with pytest.warns(UserWarning, match="No inliers found"):
        assert ransac(data, Line, 2, 0.25, is_data_valid=lambda x: False) == (None, None)
    model, _ = ransac(data, Line, 2, 0.25, is_data_valid=lambda x: np.ptp(x[:, 0]) > 1, is_model_valid=is_rising)
    assert model.params[0] > 0
    assert set(seen) == {1}


@pytest.mark.parametrize("arguments", [{"residual_threshold": -1}, {"stop_probability": 1.5}, {"max_trials": -1}])
@pytest.mark.parametrize("model_class", [Line, measure.LineModelND])
def test_bad_arguments_are_refused(arguments, model_class):
    call = {"data": points()[0], "min_samples": 2, "residual_threshold": 0.25} | arguments
    with pytest.raises(ValueError, match=f"^`?{next(iter(arguments))}`? must be"):
        ransac(model_class=model_class, **call)


def test_classes_of_scikit_image_are_compiled():
    plane = homography_matches(200, inlier_ratio=0.5, noise=0.2, seed=1)
    model, inliers = ransac((plane.x1, plane.x2), transform.ProjectiveTransform, 4, 2.0)
    assert type(model) is transform.ProjectiveTransform
    assert np.abs(apply_transform(model.params, plane.x1) - apply_transform(plane.H, plane.x1)).max() < 2
    np.testing.assert_array_equal(inliers, model.residuals(plane.x1, plane.x2) <= 2.0)
    scene = epipolar_matches(200, inlier_ratio=0.6, noise=0.2, seed=1)
    model, inliers = ransac((scene.x1, scene.x2), transform.FundamentalMatrixTransform, 8, 1.0)
    np.testing.assert_array_equal(inliers, model.residuals(scene.x1, scene.x2) <= 1.0)
    assert inliers[scene.inliers].mean() > 0.9
    for name in ("AffineTransform", "SimilarityTransform"):
        x2 = 2 * plane.x1 + 5
        model, inliers = ransac((plane.x1, x2), getattr(transform, name), 3, 1.0)
        np.testing.assert_allclose(model.params, [[2, 0, 5], [0, 2, 5], [0, 0, 1]], atol=1e-6)
        assert inliers.all()
    angles = np.linspace(0, 6, 100)
    data = np.column_stack([5 + 4 * np.cos(angles), 3 + 2 * np.sin(angles)])
    data[::4] += 30
    model, inliers = ransac(data, measure.EllipseModel, 5, 0.1)
    assert type(model) is measure.EllipseModel
    np.testing.assert_allclose(model.residuals(data[inliers]), 0, atol=1e-6)
    np.testing.assert_array_equal(inliers, np.arange(100) % 4 > 0)
    data, good = points()
    model, inliers = ransac(data, measure.LineModelND, 2, 0.2)
    assert type(model) is measure.LineModelND
    assert inliers[good].all()
    with pytest.warns(DoubtWarning, match="no model: .*line"):
        assert ransac(np.ones((5, 2)), measure.LineModelND, 2, 0.2) == (None, None)


def test_circles_have_the_parameters_of_the_robust_fit():
    # Of a short arc the algebraic fit has a radius that is much too small.
    rng = np.random.default_rng(2)
    angles = rng.uniform(0.0, 0.7, 80)
    data = 49.0 * np.column_stack([np.cos(angles), np.sin(angles)]) + rng.normal(0.0, 0.5, (80, 2))
    model, inliers = ransac(data, measure.CircleModel, 3, 1.5)
    expected = bansac.fit_circle(data, threshold=1.5, seed=int(np.random.default_rng(0).integers(2**32)))
    assert type(model) is measure.CircleModel
    np.testing.assert_array_equal([*model.center, model.radius], expected.model)
    np.testing.assert_array_equal(inliers, np.abs(model.residuals(data)) <= 1.5)
    assert abs(model.radius - 49) < abs(measure.CircleModel.from_estimate(data[inliers]).radius - 49)


def test_a_threshold_of_0_is_the_warning_of_scikit_image():
    data, _ = points()
    for loop in (ransac, measure.ransac):
        with pytest.warns(UserWarning, match="No inliers found"):
            assert loop(data, measure.LineModelND, 2, 0) == (None, None)


def test_models_in_doubt_come_with_a_warning_and_are_none_if_strict():
    data = measure.CircleModel((10, 12), 3).predict_xy(np.linspace(0, 6, 100))
    with pytest.warns(DoubtWarning, match="in doubt: .* the threshold of 5 is too large") as warned:
        model, inliers = ransac(data, measure.CircleModel, 3, 5)
    assert model.radius == pytest.approx(3)
    assert inliers.all()
    assert warned[0].filename == __file__
    with strict():
        assert ransac(data, measure.CircleModel, 3, 5) == (None, None)
