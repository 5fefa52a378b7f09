"""The probability that data without structure agree with a model: known areas, clusters, grids."""

import numpy as np
import pytest

from bansac.evidence.null_model import NullModel, _neighbours, add_neighbours, cell_sizes, measure_far
from bansac.problems.circle import CIRCLE
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.line import LINE
from bansac.problems.polynomial import polynomial
from tests.problems.number import CONSTANT

IDENTITY = np.eye(3).ravel()


def measure_null_model(problem, data, model, threshold):
    return add_neighbours(measure_far(problem, data, model), problem, data, model, threshold)


def probability(problem, data, model, threshold):
    background = measure_null_model(problem, np.ascontiguousarray(data), np.asarray(model, float), threshold)
    return background.probability(np.array([threshold]))[0]


def test_area_of_a_disc_and_of_a_strip():
    rng = np.random.default_rng(0)
    matches = rng.uniform(0, 100, (4, 20_000))
    assert probability(HOMOGRAPHY, matches, IDENTITY, 5.0) == pytest.approx(np.pi * 25 / 100**2, rel=0.4)
    points = rng.uniform(0, 100, (2, 20_000))
    assert probability(LINE, points, [0, 1, -50], 1.0) == pytest.approx(0.02, rel=0.4)
    assert probability(CIRCLE, points, [50, 50, 30], 1.0) == pytest.approx(2 * np.pi * 30 * 2 / 100**2, rel=0.4)


def test_matches_onto_one_point_agree_with_a_singular_homography():
    rng = np.random.default_rng(0)
    matches = rng.uniform(0, 1000, (4, 100))
    matches[2:, :40] = 500.0
    singular = np.array([0, 0, 500, 0, 0, 500, 0, 0, 1.0])
    assert probability(HOMOGRAPHY, matches, singular, 1.0) == pytest.approx(0.4, abs=0.05)


def test_clusters_of_matches_agree_when_neighbours_are_exchanged():
    rng = np.random.default_rng(0)
    centres = rng.uniform(0, 1000, (2, 50))[:, rng.integers(0, 50, 500)]
    first, second = (centres + rng.normal(0, 2, (2, 500)) for _ in range(2))
    background = measure_null_model(HOMOGRAPHY, np.concatenate([first, second]), IDENTITY, 6.0)
    far = np.searchsorted(background.far, 6.0) / background.far.size
    assert far < 0.05  # one other datum in 50 is of the same cluster
    assert background.probability(np.array([6.0]))[0] > 0.5


@pytest.mark.parametrize("spread", [1.0, 30.0, 1e4])
def test_neighbours_are_pairs_of_one_cell_and_raise_the_probability(spread):
    rng = np.random.default_rng(1)
    data = rng.uniform(0, spread, (4, 300))
    data[:, 250:] = data[:, 200:250]  # the same points, which are no neighbours of each other
    earlier, later = _neighbours(HOMOGRAPHY, data, 1.0)
    own, other = data[:, earlier], data[:, later]
    cell = cell_sizes(HOMOGRAPHY, data, 1.0)[0]
    corner = data[:2].min(axis=1, keepdims=True)
    np.testing.assert_array_equal((own[:2] - corner) // cell, (other[:2] - corner) // cell)
    cells = np.unique((data[:2] - corner) // cell, axis=1).shape[1]
    assert own.shape[1] <= 300 - cells
    assert np.unique(later).size == later.size
    assert own.shape[1] > 0 or spread == 1e4
    distances = np.array([0.1, 1.0, 10.0])
    far = measure_far(HOMOGRAPHY, data, IDENTITY)
    whole = add_neighbours(far, HOMOGRAPHY, data, IDENTITY, 1.0)
    assert np.all(far.probability(distances) <= whole.probability(distances))


def test_points_of_a_line_do_not_agree_with_it_when_rearranged():
    x = np.linspace(0, 1000, 400)
    assert probability(LINE, np.stack([x, 0 * x]), [0, 1, 0], 1.0) < 0.1
    assert probability(LINE, np.stack([x, x]), np.array([1, -1, 0]) / np.sqrt(2), 1.0) < 0.1


def test_rows_of_a_grid_are_no_lines():
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(20.0), np.arange(20.0)))
    background = measure_null_model(LINE, np.stack([x, y]), np.array([0, 1, -7.0]), 0.1)
    assert background.probability(np.array([1e-9]))[0] == pytest.approx(1 / 20)


def residuals_of(far, near=(), moved=(), n=100):
    return NullModel(np.array(far), np.array(near), np.array(moved), n, resolution=0.0, decay=1)


def test_below_the_smallest_residual_it_falls_linearly_and_never_to_zero():
    found = residuals_of([1.0, 2.0, 4.0]).probability(np.array([0.0, 0.5, 1.0, 3.0, 9.0]))
    np.testing.assert_allclose(found, [0.25e-3, 0.125, 0.5, 0.75, 1.0])


def test_neighbours_count_by_their_share_and_displacements_for_all():
    null_model, distance = residuals_of([5.0] * 99, [0.5] * 20), np.array([1.0])
    assert null_model.probability(distance)[0] == pytest.approx(0.8 / 100 / 5 + 0.2)
    moved = residuals_of([5.0] * 99, [4.0] * 20, [0.5] * 30 + [4.0] * 69)
    assert moved.probability(distance)[0] == pytest.approx(0.31)


def test_matches_of_a_window_agree_when_their_displacements_are_exchanged():
    rng = np.random.default_rng(0)
    x1 = rng.uniform(0, 1000, (2, 2000))
    window = np.concatenate([x1, x1 + rng.uniform(-20, 20, (2, 2000))])
    assert 0.5 < probability(HOMOGRAPHY, window, IDENTITY, 2.0) / (np.pi * 4 / 40**2) < 2
    turn = np.array([[0.94, -0.34, 0], [0.34, 0.94, 0], [0, 0, 1]])
    window[2:] += turn[:2, :2] @ x1 - x1
    assert 0.5 < probability(HOMOGRAPHY, window, turn.ravel(), 2.0) / (np.pi * 4 / 40**2) < 2
    shift = np.concatenate([x1, x1 + rng.normal(0, 0.3, (2, 2000))])
    assert probability(HOMOGRAPHY, shift, IDENTITY, 2.0) < 1e-2


def test_problems_without_points_and_with_one_channel():
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (2, 5000))
    assert 0.015 < probability(polynomial(1), points, [0.0, 0.0], 0.02) < 0.03
    assert probability(CONSTANT, rng.uniform(0, 100, (1, 500)), [50.0], 5.0) == pytest.approx(0.1, abs=0.02)
