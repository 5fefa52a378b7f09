"""The classification against a literal version."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.engine.scoring.classification import classify_block
from tests.engine.scoring.blocks import residual_lists
from tests.reference import loop_parts as reference


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(values=residual_lists, threshold=st.floats(0.125, 5, width=32))
def test_blocks_are_classified(dtype, values, threshold):
    residuals = np.array(values, dtype)
    is_inlier = np.empty(residuals.size, np.bool_)
    count = classify_block(residuals, dtype(threshold), is_inlier)
    assert is_inlier.tolist() == reference.classify(residuals, dtype(threshold)).tolist()
    assert count == np.count_nonzero(is_inlier)
