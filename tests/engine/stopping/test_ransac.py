"""RANSAC's bound on the number of samples."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.engine.stopping.ransac import ransac_iterations
from tests.reference import loop_parts as reference


@given(st.integers(1, 8), st.integers(0, 300), st.integers(0, 300), st.floats(0.5, 0.9999))
def test_ransac_bound_is_the_exact_product(m, inliers, outliers, confidence):
    n = inliers + outliers
    if n < m:
        return
    expected = reference.ransac_iterations(inliers, n, m, confidence)
    assert ransac_iterations(inliers, n, m, confidence) == pytest.approx(expected, rel=1e-9)


def test_ransac_bound_worked_by_hand():
    # 5 inliers of 10, sample of 2: P = 5/10 * 4/9 = 2/9; log .01 / log(7/9) = 18.324...
    assert ransac_iterations(5, 10, 2, 0.99) == pytest.approx(math.log(0.01) / math.log(7 / 9))
    assert ransac_iterations(1, 10, 2, 0.99) == math.inf
    assert ransac_iterations(10, 10, 2, 0.99) == 1.0
    assert ransac_iterations(10, 11, 1, 0.9) == 1.0  # .96 by the formula
