"""What the loop counts on of every score."""

from __future__ import annotations

import numpy as np
import pytest

from bansac.engine.kernels import find_function
from bansac.engine.scoring import SCORES, check_gain
from bansac.numeric.jit import kernel

GAINS = {name: find_function(score, "gain") for name, score in SCORES.items() if score.module is not None}


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", GAINS)
def test_a_gain_is_a_sum_over_the_data_of_at_most_one_each(name, precision):
    gain = kernel(GAINS[name])
    check_gain(name, GAINS[name], precision)
    one = np.dtype(precision).type(1)
    squared = np.append(np.linspace(0, 3, 61), [np.inf, np.nan]).astype(precision)
    each = np.array([gain(squared[i : i + 1], one) for i in range(squared.size)])
    assert ((each >= 0) & (each <= 1)).all()
    assert (each[~(squared <= 1)] == 0).all()
    assert (np.diff(each[:61]) <= 0).all()
    assert gain(squared, one) == pytest.approx(each.sum(), rel=1e-6)
