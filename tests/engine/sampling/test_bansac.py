"""Weighted samples: distinct indices, with the probabilities that the weights say."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.engine.sampling import bansac
from bansac.engine.sampling.bansac import ACTIVATION_CODES, activation
from tests.engine.sampling.helpers import compile_draw, draw_samples, fits

sample_weighted = compile_draw(bansac)


def draw_weighted(probabilities, size, draws, seed=1):
    odds = (np.asarray(probabilities) / (1 - np.asarray(probabilities))).astype(np.float32)
    memory = {"odds": odds, "numbers": np.ones(1), "indices": np.ones(1, np.int64), "largest_odds": odds.max()}
    return draw_samples(lambda rng, sample: sample_weighted(rng, sample, **memory), size, draws, seed)


@given(st.lists(st.floats(1e-9, 1 - 1e-9), min_size=5, max_size=40), st.integers(1, 5), st.integers(0, 2**32))
def test_weighted_samples_are_distinct_and_in_range(probabilities, size, seed):
    for sample in draw_weighted(probabilities, size, 3, seed=seed).tolist():
        assert fits(sample, set(), set(range(len(probabilities))))


@pytest.mark.parametrize(
    "probabilities",
    [
        [0.9, 0.5, 0.1, 0.05],
        [0.6, 0.6, 1e-9, 1e-9],
    ],
)
def test_weighted_samples_follow_the_weights_without_replacement(probabilities):
    weights = np.maximum(100 * np.array(probabilities), 1.0)
    draws = 20_000
    samples = draw_weighted(probabilities, 2, draws)
    for first, second in itertools.permutations(range(4), 2):
        expected = weights[first] / weights.sum() * weights[second] / (weights.sum() - weights[first])
        count = np.count_nonzero((samples[:, 0] == first) & (samples[:, 1] == second))
        deviation = np.sqrt(draws * expected * (1 - expected))
        assert abs(count - draws * expected) < 4.5 * deviation + 1


def test_one_inlier_in_a_hundred_thousand_does_not_hang_and_keeps_the_distribution():
    # Rejection accepts one candidate of a hundred here: the exact draw has to take over now and then.
    probabilities = np.full(1000, 1e-9)
    probabilities[7] = 1 - 1e-9
    samples = draw_weighted(probabilities, 1, 4000)
    expected = 100 / (100 + 999)
    count = np.count_nonzero(samples == 7)
    assert abs(count - 4000 * expected) < 4.5 * np.sqrt(4000 * expected)


@pytest.mark.parametrize(
    ("name", "p", "expected"),
    [
        ("rho_1", 0.25, 25.0),
        ("rho_2", 0.31, 31.0),
        ("rho_2", 0.3, 3.0),
        ("rho_3", 0.5, 50.0),
        ("rho_4", 1.0, 130 * np.tanh(1.0)),
    ],
)
def test_activations_as_printed(name, p, expected):
    @np.vectorize
    def rho(value):
        return getattr(activation, "py_func", activation)(ACTIVATION_CODES[name], value)

    assert rho(p) == pytest.approx(expected)
    assert np.all(np.diff(rho(np.linspace(0, 1, 101))) > 0)  # the heaviest datum is the most probable one
