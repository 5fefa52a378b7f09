"""Which data count: those that share no point, and do not lie on a line."""

import numpy as np
import pytest

from bansac.evidence.duplicate_points import (
    SAME_POINT,
    count_off_line,
    count_off_plane,
    first_of_equals,
    groups_of_equals,
    threshold_of_flat,
    wrap,
)
from bansac.problems.affine_3d import AFFINE_3D
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.line import LINE
from bansac.problems.polynomial import polynomial


def test_matches_that_share_a_point_on_either_side_are_one():
    rng = np.random.default_rng(0)
    data = rng.uniform(0, 1000, (4, 40))
    assert first_of_equals(HOMOGRAPHY, data, 1.0).tolist() == list(range(40))
    data[2:, 10:20] = data[2:, [10]]
    data[:2, 30:] = data[:2, [30]]
    assert first_of_equals(HOMOGRAPHY, data, 1.0).tolist() == [*range(11), *range(20, 31)]
    data[:2, 10] = data[:2, 0]  # match 10 counts as match 0, and match 11 is the first of the others
    groups = groups_of_equals(HOMOGRAPHY, data, 1.0)
    assert groups.tolist() == [*range(10), 0, *[11] * 9, *range(20, 30), *[30] * 10]


def test_points_within_a_fraction_of_the_threshold_are_one_wherever_they_lie():
    rng = np.random.default_rng(1)
    for _ in range(100):
        first = rng.uniform(0, 10, 2)
        near = first + rng.uniform(-1, 1, 2) * 0.99 * SAME_POINT
        far = first + 4 * SAME_POINT
        assert first_of_equals(LINE, np.column_stack([first, near, far]), 1.0).tolist() == [0, 2]


def first_of_equals_slowly(data, threshold):
    """Go through the four grids of each image and keep the first match of each cell."""
    kept = list(range(data.shape[1]))
    for point in (data[:2], data[2:]):
        for shift in ((0.0, 0.0), (0.0, 0.5), (0.5, 0.0), (0.5, 0.5)):
            cells: dict[tuple[float, ...], int] = {}
            for i in kept:
                cells.setdefault(tuple(np.floor(point[:, i] / (2 * SAME_POINT * threshold) + shift)), i)
            kept = list(cells.values())
    return kept


def test_every_grid_keeps_the_first_of_each_cell():
    rng = np.random.default_rng(2)
    for extent in (3, 30, 1e9):
        data = rng.uniform(-extent, extent, (4, 300))
        assert first_of_equals(HOMOGRAPHY, data, 1.0).tolist() == first_of_equals_slowly(data, 1.0)


def test_without_points_equal_data_are_one():
    data = np.array([[1.0, 2.0, 1.0, 1.0], [5.0, 5.0, 5.0, 6.0]])
    assert first_of_equals(polynomial(1), data, 100.0).tolist() == [0, 1, 3]


def test_points_off_the_line_are_counted():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1000, 50)
    line = np.stack([x, 0.3 * x + 5])
    assert count_off_line(line, 1.0) == 0
    line[1, [3, 17, 40]] += [50, -80, 200]
    assert count_off_line(line, 1.0) == 3
    assert count_off_line(np.zeros((2, 5)), 1.0) == 0
    assert count_off_line(rng.uniform(0, 1000, (2, 50)), 1.0) > 30


def test_points_off_a_line_of_space_are_counted():
    rng = np.random.default_rng(0)
    points = np.linspace(-5, 5, 40) * np.array([[1.0], [2.0], [-1.0]]) + 1e3
    assert count_off_line(points + rng.normal(0, 0.01, points.shape), 0.1) == 0
    points[:, :3] += [[1.0], [0.0], [1.0]]  # across the line
    assert count_off_line(points, 0.1) == 3


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_points_of_a_volume_are_off_a_line_and_off_a_plane_at_any_threshold(unit):
    rng = np.random.default_rng(0)
    points, exact = unit * rng.uniform(0, 1, (3, 60)), np.zeros(60)
    for threshold in (0.03 * unit, 0.5 * unit, 1e3 * unit):
        flat = threshold_of_flat(AFFINE_3D, points, exact, threshold)
        assert flat == pytest.approx(min(threshold, 0.05 * unit), rel=0.05)
        assert count_off_line(points, flat) > 50
        assert count_off_plane(points, flat) > 30


def test_the_noise_is_a_tolerance_of_a_short_line():
    rng = np.random.default_rng(0)
    points = np.stack([np.linspace(0, 10, 40), np.zeros(40)]) + rng.normal(0, 0.5, (2, 40))
    residuals = np.linalg.norm(rng.normal(0, 0.5, (2, 40)), axis=0)
    assert threshold_of_flat(HOMOGRAPHY, points, residuals, 3.0) == pytest.approx(1.5, rel=0.25)
    assert threshold_of_flat(HOMOGRAPHY, np.zeros((2, 0)), residuals, 3.0) == 3.0


def test_points_off_a_plane_are_counted():
    rng = np.random.default_rng(0)
    points = rng.uniform(-5, 5, (3, 40))
    points[2] = points[0] - points[1] + rng.normal(0, 0.01, 40) + 1e3
    assert count_off_plane(points, 0.1) == 0
    points[2, :3] += 1.0
    assert count_off_plane(points, 0.1) == 3
    assert count_off_plane(rng.uniform(-5, 5, (3, 40)), 0.1) > 20
    assert count_off_plane(np.zeros((3, 5)), 0.1) == 5


@pytest.mark.parametrize("period", [4.0, 65536.0])
def test_cells_are_wrapped_exactly(period):
    rng = np.random.default_rng(0)
    cells = np.floor(np.concatenate([rng.normal(0, 1e6, 500), rng.normal(0, 1e15, 500), [0.0, -1.0, period, -period]]))
    assert [wrap(cell, period) for cell in cells] == (cells % period).tolist()
