"""The affine motion of most matches: outliers, far matches, offsets, few matches."""

import numpy as np
import pytest

from bansac.evidence.common_motion import _median, fit_motion

MOTION = np.array([[1.2, -0.4, 30.0], [0.5, 1.1, -20.0]])


def matches(n, outliers=0.0, offset=0.0, far=1.0):
    """Return matches of ``MOTION`` and random ones, 4 x N, whose coordinates all have an offset."""
    rng = np.random.default_rng(n)
    data = rng.uniform(0, 1000, (4, n))
    data[2:] = MOTION[:, :2] @ data[:2] + MOTION[:, 2:] + rng.uniform(-3, 3, (2, n))
    wrong = rng.random(n) < outliers
    data[:, wrong] = far * rng.uniform(0, 1000, (4, wrong.sum()))
    return data + offset


@pytest.mark.parametrize(("outliers", "far"), [(0.0, 1.0), (0.3, 1.0), (0.3, 1e6)])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_outliers_and_offsets_do_not_change_it(outliers, far, offset):
    motion = fit_motion(matches(500, outliers, offset, far)).reshape(2, 3)
    right = matches(500, offset=offset)
    distances = np.hypot(*(motion[:, :2] @ right[:2] + motion[:, 2:] - right[2:]))
    assert np.median(distances) < 3.0
    assert distances.max() < 9.0


def test_matches_of_a_line_or_a_point_have_their_median_displacement():
    for data in (matches(1), np.repeat(matches(1), 9, axis=1)):
        shift = data[2:, 0] - data[:2, 0]
        np.testing.assert_array_equal(fit_motion(data), [1, 0, shift[0], 0, 1, shift[1]])


def test_the_median_is_that_of_sorted_numbers():
    rng = np.random.default_rng(0)
    for n in range(1, 40):
        values = rng.integers(0, 9, n).astype(float)
        before = values.copy()
        assert _median(values, np.empty(n)) == np.sort(values)[n // 2]
        np.testing.assert_array_equal(values, before)
