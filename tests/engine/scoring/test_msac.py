"""MSAC against a literal version."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.engine.scoring import msac
from bansac.numeric.jit import kernel
from tests.engine.scoring.blocks import residual_lists
from tests.reference import loop_parts as reference

gain = kernel(msac.gain)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(values=residual_lists, threshold=st.floats(0.125, 5, width=32))
def test_blocks_are_scored(dtype, values, threshold):
    residuals = np.array(values, dtype)
    expected = reference.msac(residuals, dtype(threshold))
    assert gain(residuals, dtype(threshold)) == pytest.approx(expected, rel=1e-4, abs=1e-4)
