"""The problem of the homography: residuals, and the way to normalised coordinates and back."""

import numpy as np
import pytest

from bansac.problems.homography import HOMOGRAPHY
from tests.problems.in_loop import compile_residuals, compile_solve
from tests.reference import homography as reference

solve = compile_solve(HOMOGRAPHY.solve)
residuals = compile_residuals(HOMOGRAPHY.residuals)


def errors(H, x1, x2, dtype=np.float64):
    """Return squared residuals of all matches."""
    out = np.empty(len(x1), dtype)
    residuals(reference.columns(x1, x2).astype(dtype), H.ravel().astype(dtype), 0, len(x1), out)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_point_at_infinity_is_no_inlier(dtype):
    H = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    with np.errstate(all="ignore"):
        out = errors(H, np.array([[0.0, 0.0], [0.0, 1.0]]), np.zeros((2, 2)), dtype)
    assert not (out <= 1e30).any()
