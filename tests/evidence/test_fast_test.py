"""The test of significance in short: it passes clear models and nothing that the test in full would not."""

import numpy as np
import pytest

from bansac.compiled.jit import kernel
from bansac.evidence import fast_test
from bansac.evidence.duplicate_points import SAME_POINT, first_of_equals
from bansac.evidence.fast_test import _Lengths, _sample_rearranged, is_significant_fast
from bansac.problems.circle import CIRCLE
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.line import LINE
from bansac.synthetic import circle_points, epipolar_matches, homography_matches, line_points

IDENTITY = np.eye(3).ravel()


def test_right_models_are_clear():
    scene = homography_matches(500, 0.5, 0.5, seed=1)
    data = np.ascontiguousarray(np.column_stack([scene.x1, scene.x2]).T)
    assert is_significant_fast(HOMOGRAPHY, data, scene.H.ravel(), 2.0, scene.inliers)
    for problem, curve in ((LINE, line_points(500, 0.5, 0.001)), (CIRCLE, circle_points(500, 0.5, 0.001))):
        assert is_significant_fast(problem, np.ascontiguousarray(curve.points.T), curve.model, 0.005, curve.inliers)


def test_of_few_data_each_is_exchanged_with_several(monkeypatch):
    scene = epipolar_matches(40, inlier_ratio=0.6, noise=0.2, seed=0)
    data, F = np.ascontiguousarray(np.column_stack([scene.x1, scene.x2]).T), scene.F.ravel()
    assert is_significant_fast(FUNDAMENTAL, data, F, 0.5, scene.inliers)
    few = np.zeros(40, np.bool_)
    few[np.flatnonzero(scene.inliers)[:9]] = True
    assert not is_significant_fast(FUNDAMENTAL, data, F, 0.5, few)
    monkeypatch.setattr(fast_test, "_SAMPLE", 40)
    assert not is_significant_fast(FUNDAMENTAL, data, F, 0.5, scene.inliers)


@pytest.mark.parametrize("n", [501, 1000, 3000, 200_000])
def test_of_many_data_a_part_decides(n):
    scene = homography_matches(n, 0.3, 0.5, seed=2)
    data = np.ascontiguousarray(np.column_stack([scene.x1, scene.x2]).T)
    assert is_significant_fast(HOMOGRAPHY, data, scene.H.ravel(), 2.0, scene.inliers)
    few = np.zeros(n, np.bool_)
    step = max(n // 1000, 1)
    few[::step] = np.arange(few[::step].size) < 8
    assert not is_significant_fast(HOMOGRAPHY, data, scene.H.ravel(), 2.0, few)


def data_of(kind):
    """Return 200 matches, of which the first 40 agree with the identity."""
    rng = np.random.default_rng(0)
    data = rng.uniform(0, 1000, (4, 200))
    if kind == "collinear":
        data[:2, :40] = np.linspace(0, 900, 40) * np.array([[1.0], [0.5]])
    if kind == "repeated":
        data[:2, :40] = data[:2, [0]]
    if kind == "cluster":
        data[:2, :40] = 500 + rng.normal(0, 1.0, (2, 40))
    data[2:, :40] = data[:2, :40]
    if kind == "cluster":
        data[2:, :40] += rng.normal(0, 1.0, (2, 40))
    return data


@pytest.mark.parametrize("kind", ["collinear", "repeated", "cluster", "noise"])
def test_doubtful_supports_are_not(kind):
    data = data_of(kind)
    inliers = np.hypot(*(data[:2] - data[2:])) <= 3.0
    assert is_significant_fast(HOMOGRAPHY, data_of("spread"), IDENTITY, 3.0, np.arange(200) < 40)
    assert not is_significant_fast(HOMOGRAPHY, data, IDENTITY, 3.0, inliers if kind != "noise" else np.arange(200) < 4)


def test_rows_of_a_grid_are_not():
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(20.0), np.arange(20.0)))
    assert not is_significant_fast(LINE, np.stack([x, y]), np.array([0, 1, -7.0]), 0.1, y == 7)


@kernel
def sample_rearranged(data, support, lengths, motion, off_line, others, rearranged):
    """Call the kernel from another one, because a call from Python takes 4 s to compile."""
    return _sample_rearranged(data, support, lengths, motion, off_line, others, rearranged)


def test_it_counts_no_more_than_the_merged_support():
    rng = np.random.default_rng(3)
    for _ in range(20):
        data = np.round(rng.uniform(0, 30, (4, 300)))
        support = rng.random(300) < 0.5
        rearranged = np.empty((4, 1500))
        motion, lengths = np.array([1.0, 0, 0, 0, 1, 0]), _Lengths(1.0, 8.0, SAME_POINT, 6.0)
        distinct, tested, near, moved = sample_rearranged(data, support, lengths, motion, 3, 2, rearranged)
        assert 0 < distinct <= first_of_equals(HOMOGRAPHY, data[:, support], 1.0).size
        assert (tested, moved) == (300, 600)
        assert np.array_equal(rearranged[:2, 600:1200], np.repeat(data[:2], 2, axis=1))
        own = {tuple(point) for point in data[:2].T}
        assert {tuple(point) for point in rearranged[:2, :600].T} == own
        exchanged = rearranged[:, 1200 : 1200 + near]
        mates = [data[:2, np.all(data[2:] == column[2:, None], axis=0)] for column in exchanged.T]
        for column, candidates in zip(exchanged.T, mates, strict=True):
            assert np.any(np.all(candidates // 8 == column[:2, None] // 8, axis=0))
