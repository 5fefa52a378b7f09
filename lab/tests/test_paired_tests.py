"""Tests of paired differences are those of SciPy, and many cells are corrected."""

import numpy as np
import pytest
from scipy import stats

from bansac_lab.paired_tests import sign_flip_test, significant_cells


@pytest.mark.parametrize(("worse", "better"), [(9, 1), (1, 9), (20, 10), (3, 0)])
def test_the_test_of_flags_is_that_of_mcnemar(worse: int, better: int) -> None:
    flags = np.repeat([1.0, -1.0, 0.0], [worse, better, 5])
    expected = stats.binomtest(worse, worse + better, alternative="greater").pvalue
    assert sign_flip_test(flags) == pytest.approx(expected)


def test_without_differences_nothing_is_found() -> None:
    assert sign_flip_test(np.zeros(5)) == 1.0
    assert significant_cells({"a": np.zeros(5)}) == significant_cells({}) == {}


def test_only_cells_that_can_be_significant_are_corrected() -> None:
    losses = {"worse": np.ones(6), "no change": np.zeros(6), "one scene": np.array([1.0, 0, 0, 0, 0, 0])}
    assert significant_cells(losses) == {"worse": 2.0**-6}
    assert significant_cells({"better": -np.ones(6)}) == {}
    assert significant_cells({k: np.ones(6) for k in range(4)}) == {}  # of four, 2^-6 is too large
    assert significant_cells({k: np.ones(7) for k in range(4)}) == dict.fromkeys(range(4), 2.0**-7)


def test_the_second_cell_has_a_larger_limit() -> None:
    flags = np.repeat([1.0, -1.0], [7, 1])  # p = .035, above half of the level
    assert list(significant_cells({"second": flags, "first": np.ones(8)})) == ["first", "second"]
    assert significant_cells({"second": flags, "third": flags}) == {}
