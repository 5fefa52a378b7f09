"""BaySAC: the most probable sample, ties drawn at random, and Bayes' rule after a failure."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.compiled.jit import kernel
from bansac.engine.dbn import MIN_PRIOR
from bansac.engine.sampling.most_probable import fail_baysac, sample_most_probable
from bansac.maths.rng import seed_rng
from tests.engine.sampling.helpers import draw_samples, equally_frequent, fits, subsets
from tests.reference import sampling as reference

learn = kernel(fail_baysac)


def draw(priority, m, count=1, seed=1):
    priority = np.asarray(priority, dtype=np.float64)
    return draw_samples(lambda rng, sample: sample_most_probable(rng, priority, sample), m, count, seed)


def fail(priority, sample):
    updated = np.array(priority, dtype=np.float64)
    learn(seed_rng(0), updated, np.empty(0, np.int64), np.asarray(sample))
    return updated


# Few values, so that there are ties, or any.
priorities = st.one_of(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=6, max_size=40),
    st.lists(st.floats(-1, 2), min_size=6, max_size=40),
)


@given(priorities, st.integers(1, 6), st.integers(0, 2**32))
def test_samples_are_the_largest_priorities(priority, m, seed):
    for sample in draw(priority, m, 3, seed).tolist():
        assert fits(sample, *reference.most_probable_choice(priority, m))


def test_ties_are_drawn_uniformly():
    samples = draw([0.5, 0.9, 0.5, 0.1, 0.5, 0.5, 0.7], 4, 3000)
    assert np.all(samples[:, :2] == [1, 6])
    assert equally_frequent([frozenset(sample[2:]) for sample in samples.tolist()], subsets([0, 2, 4, 5], 2))


def test_without_ties_nothing_is_random():
    rng = seed_rng(1)
    before = rng.copy()
    sample = np.empty(3, np.int64)
    sample_most_probable(rng, np.array([0.1, 0.5, 0.2, 0.5, 0.9]), sample)
    assert sorted(sample.tolist()) == [1, 3, 4]
    assert np.array_equal(rng, before)


def test_failure_by_hand():
    # Q = .8 * .5 = .4: (.8 - .4) / .6 = 2/3 and (.5 - .4) / .6 = 1/6; the other datum is as before.
    assert fail([0.8, 0.9, 0.5], [0, 2]) == pytest.approx([2 / 3, 0.9, 1 / 6])


@given(st.lists(st.floats(0.001, 0.999), min_size=2, max_size=7))
def test_failure_is_bayes_rule_for_independent_data(probabilities):
    # 0.3 is not in the sample; a posterior below the floor is raised to it.
    updated = fail([0.3, *probabilities], np.arange(1, len(probabilities) + 1))
    assert updated[0] == 0.3
    expected = np.maximum(reference.failure_posteriors(probabilities), MIN_PRIOR)
    assert updated[1:] == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.sampled_from([0.0, 1e-300, 1e-6, 0.5, 1 - 1e-6, 1 - 1e-16, 1.0]), min_size=1, max_size=7))
def test_probabilities_stay_off_0_and_1(probabilities):
    updated = probabilities
    for _ in range(50):
        updated = fail(updated, np.arange(len(probabilities)))
        assert np.all((updated >= MIN_PRIOR) & (updated <= 1 - MIN_PRIOR))


def test_sure_data_share_the_blame():
    # As P goes to 1, (P - P^m) / (1 - P^m) goes to 1 - 1 / m.
    assert fail([1.0] * 5, np.arange(5)) == pytest.approx(0.8, abs=1e-5)


def test_a_lone_datum_takes_all_the_blame():
    assert fail([0.9], [0])[0] == MIN_PRIOR
