"""What the loop counts on of every score, and their values; the classification of the data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.compiled.jit import kernel
from bansac.engine.scoring import SCORES, check_block_score, magsac
from bansac.engine.verification import classify_block
from tests.reference import loop_parts as reference

BLOCK_SCORES = {name: score.block_score for name, score in SCORES.items()}
COMPILED = {name: kernel(block_score) for name, block_score in BLOCK_SCORES.items()}
# Squared residuals of a block, with those that are no number.
residual_lists = st.lists(st.floats(0, 10, width=32) | st.just(float("nan")) | st.just(float("inf")), max_size=300)
REFERENCES = {"inliers": reference.inliers, "msac": reference.msac, "magsac++": reference.magsac}


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", BLOCK_SCORES)
def test_a_gain_is_a_sum_over_the_data_of_at_most_their_weights(name, precision):
    block_score = COMPILED[name]
    check_block_score(name, BLOCK_SCORES[name], precision)
    one = np.dtype(precision).type(1)
    squared = np.append(np.linspace(0, 3, 61), [np.inf, np.nan]).astype(precision)
    ones = np.ones_like(squared)
    each = np.array([block_score(squared[i : i + 1], ones[:1], one) for i in range(squared.size)])
    assert ((each >= 0) & (each <= 1)).all()
    assert (each[~(squared <= 1)] == 0).all()
    assert (np.diff(each[:61]) <= 0).all()
    assert each[0] == 1
    assert block_score(squared, ones, one) == pytest.approx(each.sum(), rel=1e-6)
    weights = np.linspace(1, 0.01, squared.size).astype(precision)
    assert block_score(squared, weights, one) == pytest.approx((weights * each).sum(), rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SCORES)
@given(values=residual_lists, threshold=st.floats(0.125, 5, width=32), seed=st.integers(0, 1000))
def test_gains_agree_with_the_reference(name, dtype, values, threshold, seed):
    residuals = np.array(values, dtype)
    weights = np.random.default_rng(seed).uniform(0.01, 1, residuals.size).astype(dtype)
    expected = REFERENCES[name](residuals, weights, dtype(threshold))
    assert COMPILED[name](residuals, weights, dtype(threshold)) == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_magsac_by_the_incomplete_gamma_functions():
    # (r / t)^2 of 0.01, 0.1, 0.25, 0.5 and 0.9 by the formula with SciPy's gammainc and gammaincc.
    shares = np.array([0.01, 0.1, 0.25, 0.5, 0.9])
    found = [magsac(shares[i : i + 1], np.ones(1), 1.0) for i in range(shares.size)]
    assert found == pytest.approx([0.955209, 0.605837, 0.258212, 0.051452, 0.000708], abs=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(values=residual_lists, threshold=st.floats(0.125, 5, width=32))
def test_blocks_are_classified(dtype, values, threshold):
    residuals = np.array(values, dtype)
    is_inlier = np.empty(residuals.size, np.bool_)
    count = classify_block(residuals, dtype(threshold), is_inlier)
    assert is_inlier.tolist() == reference.classify(residuals, dtype(threshold)).tolist()
    assert count == np.count_nonzero(is_inlier)
