"""Errors of outliers in a search window are uniform on both axes."""

import numpy as np
import pytest

from bansac.evidence.search_window import fits_window, has_peak
from bansac.evidence.significance import MeasuredModel, Reason, judge
from bansac.problems.essential import ESSENTIAL
from bansac.problems.homography import HOMOGRAPHY

IDENTITY = np.eye(3).ravel()
UNIFORM = np.random.default_rng(0).uniform(-5.0, 5.0, (2, 300))
NORMAL = np.random.default_rng(1).normal(0.0, 3.0, (2, 300))


def matches(errors, step=0.0):
    """Return matches that differ by the errors; their second points are rounded to multiples of the step."""
    x = np.random.default_rng(2).uniform(0.0, 500.0, errors.shape)
    second = x + errors
    return np.vstack([x, np.round(second / step) * step if step else second])


def is_of_window(errors, threshold=9.0, noise=4.0, problem=HOMOGRAPHY, **more):
    return fits_window(problem, matches(errors, **more), IDENTITY, threshold, noise)


@pytest.mark.parametrize("size", [1.0, 3.0])
def test_uniform_errors_are_those_of_a_window_of_any_size(size):
    assert is_of_window(size * UNIFORM, 9.0 * size)
    far = np.random.default_rng(3).uniform(-200, 200, (2, 300))
    assert is_of_window(np.hstack([size * UNIFORM, far]), 9.0 * size)


@pytest.mark.parametrize("errors", [NORMAL, np.vstack([UNIFORM[0], NORMAL[0]]), UNIFORM[:, :99]])
def test_normal_errors_of_an_axis_and_few_errors_are_not_those_of_a_window(errors):
    assert not is_of_window(errors)


def test_a_small_threshold_is_that_of_noise():
    assert not is_of_window(UNIFORM, noise=9.0)
    assert not is_of_window(UNIFORM, noise=np.inf)


@pytest.mark.parametrize(("step", "expected"), [(10.0, False), (1.0, True)])
def test_coordinates_on_a_grid_have_uniform_errors(step, expected):
    errors = np.zeros((2, 300)) if step == 10.0 else UNIFORM
    assert is_of_window(errors, step=step) == expected


def test_errors_with_one_component_are_not_those_of_a_window():
    E = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0])
    assert not fits_window(ESSENTIAL, matches(UNIFORM), E, 9.0, 4.0)


def test_right_models_with_large_noise_are_seldom_those_of_a_window():
    rng = np.random.default_rng(4)
    assert sum(is_of_window(rng.normal(0.0, 3.0, (2, 100))) for _ in range(500)) <= 5


def test_a_structure_within_a_window_is_a_peak():
    rng = np.random.default_rng(5)
    for _ in range(50):
        errors = rng.uniform(-5.0, 5.0, (2, 300))
        assert not has_peak(HOMOGRAPHY, matches(errors), IDENTITY, 9.0)
        errors[:, :90] = rng.normal(0.0, 0.5, (2, 90))
        assert has_peak(HOMOGRAPHY, matches(errors), IDENTITY, 9.0)


def test_a_model_of_a_window_is_not_significant():
    data = matches(UNIFORM)
    distances = HOMOGRAPHY.distances(data, IDENTITY)
    measured = MeasuredModel(IDENTITY, 9.0, distances, distances <= 9.0, int(np.sum(distances <= 9.0)), noise=4.0)
    assert judge(HOMOGRAPHY, data, measured).reason is Reason.WINDOW
