"""The order of the data in a run."""

import numpy as np

from bansac.engine.frame import _rank


def test_the_best_quality_comes_first_and_equal_ones_keep_their_order():
    assert _rank(np.array([0.5, 0.9, 0.5, 0.1])).tolist() == [1, 0, 2, 3]
