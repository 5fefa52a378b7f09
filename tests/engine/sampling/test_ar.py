"""AR: the posterior of the Beta prior, and priorities that follow it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.compiled.jit import kernel
from bansac.engine.sampling import most_probable
from bansac.engine.sampling.most_probable import PERTURBATION, VARIANCE, sample_most_probable, start_priority
from bansac.maths.rng import seed_rng
from tests.reference import sampling as reference

learn = kernel(most_probable.fail_ar)


def posterior_probabilities(prior, draws):
    return most_probable.probabilities_ar(np.append(prior, prior), draws)


def start(prior, seed=1):
    rng = seed_rng(seed)
    priority = np.empty(len(prior))
    start_priority(rng, np.asarray(prior), priority)
    return rng, priority


def test_posterior_by_hand():
    # Mean .5 and variance .01: a + b = .25 / .01 - 1 = 24. After 6 failures 12 / 30.
    assert posterior_probabilities(np.array([0.5]), np.array([6])) == pytest.approx([0.4])


@pytest.mark.parametrize("mean", [0.2, 0.5, 0.85])
@pytest.mark.parametrize("draws", [0, 1, 9])
def test_posterior_is_that_of_a_beta_prior_of_fixed_variance(mean, draws):
    both = mean * (1 - mean) / VARIANCE - 1
    a, b = mean * both, (1 - mean) * both
    assert reference.beta_moments((a, b)) == pytest.approx((mean, VARIANCE), rel=1e-6)
    expected = reference.beta_moments((a, b + draws))[0]
    assert posterior_probabilities(np.array([mean]), np.array([draws])) == pytest.approx([expected], rel=1e-6)


@given(st.floats(0, 1), st.integers(0, 1000))
def test_posterior_is_proper_and_falls(prior, draws):
    before, after = posterior_probabilities(np.array([prior, prior]), np.array([draws, draws + 1]))
    assert 0 < after < before < 1


def test_priorities_start_near_the_prior():
    prior = np.linspace(0, 1, 2000)
    _, priority = start(prior)
    noise = priority - prior
    assert np.abs(noise).max() <= PERTURBATION + 1e-15
    assert abs(noise.mean()) < 4.5 * PERTURBATION / np.sqrt(3 * 2000)
    assert noise.std() == pytest.approx(PERTURBATION / np.sqrt(3), rel=0.1)
    assert len(set(start([0.5] * 100)[1].tolist())) == 100  # ties are broken


@given(st.lists(st.floats(0, 1), min_size=3, max_size=12), st.integers(0, 2**32))
def test_priorities_of_the_sample_follow_the_posterior(prior, seed):
    prior = np.array(prior)
    rng, priority = start(prior, seed)
    draws = np.zeros(len(prior), np.int64)
    chooser = np.random.default_rng(seed)
    for _ in range(5):
        sample = chooser.permutation(len(prior))[:2]
        priority_before, draws_before = priority.copy(), draws.copy()
        numbers = np.append(priority, prior)
        learn(rng, numbers, draws, sample)
        priority = numbers[: len(prior)]
        others = np.setdiff1d(np.arange(len(prior)), sample)
        assert np.array_equal(priority[others], priority_before[others])
        assert np.array_equal(draws[others], draws_before[others])
        assert np.array_equal(draws[sample], draws_before[sample] + 1)
        noise = priority[sample] - posterior_probabilities(prior, draws)[sample]
        assert np.all(np.abs(noise) <= PERTURBATION + 1e-12)


def test_data_that_fail_make_room_for_others():
    prior = np.full(40, 0.5)
    rng, priority = start(prior)
    draws, sample, numbers = np.zeros(40, np.int64), np.empty(4, np.int64), np.append(priority, prior)
    for _ in range(40):
        sample_most_probable(rng, numbers[:40], sample)
        learn(rng, numbers, draws, sample)
    assert draws.sum() == 160
    assert draws.min() >= 2
    assert draws.max() <= 6
