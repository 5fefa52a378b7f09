"""Classification and MSAC against literal versions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.engine.scoring import classify_block, msac_gain
from tests.reference import loop_parts as reference

residual_lists = st.lists(st.floats(0, 10, width=32) | st.just(float("nan")) | st.just(float("inf")), max_size=300)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(values=residual_lists, threshold=st.floats(0.125, 5, width=32))
def test_blocks_are_classified_and_scored(dtype, values, threshold):
    residuals = np.array(values, dtype)
    is_inlier = np.empty(residuals.size, np.bool_)
    count = classify_block(residuals, dtype(threshold), is_inlier)
    assert is_inlier.tolist() == reference.classify(residuals, dtype(threshold)).tolist()
    assert count == np.count_nonzero(is_inlier)
    expected = reference.msac(residuals, dtype(threshold))
    assert msac_gain(residuals, dtype(threshold)) == pytest.approx(expected, rel=1e-4, abs=1e-4)
