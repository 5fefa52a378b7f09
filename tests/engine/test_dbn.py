"""The dynamic Bayesian network against the paper's sums and numbers worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.engine import dbn
from tests.reference.dbn import INLIER, OUTLIER, PAPER_TABLES, infer, tables_from_arrays


def run_kernel(priors, votes, gammas, order, cpt="default"):
    """Return the probabilities after each update; ``votes`` is updates x N."""
    odds, _ = dbn.initial_odds(np.asarray(priors, dtype=np.float64))
    packed = dbn.pack_cpt(cpt, order)
    belief = np.full((2**order, odds.size), np.nan)
    dbn.start_belief(belief, odds)
    work = np.empty(2 ** (order + 1))
    history = []
    for updates, (vote, gamma) in enumerate(zip(votes, gammas, strict=True)):
        update = dbn.update_first_order if order == 1 else dbn.update_higher_order
        update(odds, belief, np.asarray(vote), gamma, packed, updates, work)
        history.append(dbn.probabilities_from_odds(odds))
    return np.array(history)


def test_the_first_odds_are_those_of_the_clipped_priors():
    odds, differ = dbn.initial_odds(np.array([0.0, 1e-9, 0.3, 0.5, 1.0]))
    assert odds == pytest.approx([1e-6, 1e-6, 3 / 7, 1.0, 1e6], rel=2e-6)
    assert differ
    assert not dbn.initial_odds(np.full(3, 0.7))[1]


def named(votes):
    return [INLIER if vote else OUTLIER for vote in votes]


probability = st.floats(0, 1)
gamma_values = st.floats(1e-6, 1 - 1e-6)


def cpts(order):
    def table(j):
        return st.lists(probability, min_size=2 ** (j + 1), max_size=2 ** (j + 1)).map(
            lambda values: np.array(values).reshape((2,) * (j + 1))
        )

    return st.tuples(*(table(j) for j in range(1, order + 1)))


@st.composite
def cases(draw):
    order = draw(st.integers(1, 3))
    steps = draw(st.integers(1, 12))
    n = draw(st.integers(1, 4))
    priors = draw(st.lists(st.floats(0.001, 0.999), min_size=n, max_size=n))
    votes = draw(st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=steps, max_size=steps))
    gammas = draw(st.lists(gamma_values, min_size=steps, max_size=steps))
    cpt = draw(st.one_of(st.just("default"), cpts(order)))
    return order, priors, np.array(votes, dtype=np.bool_), gammas, cpt


@given(cases())
def test_kernels_agree_with_the_literal_recursion_to_single_precision(case):
    order, priors, votes, gammas, cpt = case
    tables = tables_from_arrays(dbn.PAPER_CPT[:order] if cpt == "default" else cpt)
    history = run_kernel(priors, votes, gammas, order, cpt)
    for n, prior in enumerate(priors):
        for k in range(1, len(gammas) + 1):
            expected = infer(prior, named(votes[:k, n]), gammas[:k], order, tables)
            assert history[k - 1, n] == pytest.approx(expected, abs=1e-6)


def test_rounding_of_a_thousand_updates_stays_small():
    rng = np.random.default_rng(0)
    votes, gammas = rng.uniform(size=(1000, 20)) < 0.45, np.full(1000, 0.55)
    history = run_kernel(np.linspace(0.05, 0.95, 20), votes, gammas, 1)
    tables = tables_from_arrays(dbn.PAPER_CPT[:1])
    for n, prior in enumerate(np.linspace(0.05, 0.95, 20)):
        assert history[-1, n] == pytest.approx(infer(prior, named(votes[:, n]), gammas, 1, tables), rel=2e-4)


def test_votes_of_bad_models_lower_the_probability_of_inliers():
    """tab:prob_C by hand, from P = .5 and a model with 6 % inliers: gamma_1 = .62 * .06 + .5 = .5372.

    Inside of the model P becomes gamma + .2 (1 - gamma) = .62976, outside 1 - gamma = .4628. Of true inliers hardly
    more than 6 % lie inside of so bad a model, so that the mean falls: .06 * .62976 + .94 * .4628 = .4728.
    """
    gamma = float(dbn.gamma_1(np.array(0.06)))
    assert gamma == pytest.approx(0.5372)
    inside, outside = run_kernel([0.5, 0.5], [[True, False]], [gamma], order=1)[0]
    assert inside == pytest.approx(0.62976)
    assert outside == pytest.approx(0.4628)
    votes = np.zeros((14, 100), dtype=np.bool_)
    votes[:, :6] = True
    mean = run_kernel(np.full(100, 0.5), votes[:1], [gamma], order=1)[-1].mean()
    assert mean == pytest.approx(0.4728, abs=1e-4)
    # Fourteen of them that contain a point by chance: it is the votes as outlier that add up.
    votes = np.random.default_rng(0).uniform(size=(14, 10000)) < 0.06
    assert run_kernel(np.full(10000, 0.5), votes, [gamma] * 14, order=1)[-1].mean() < 0.3


def test_two_steps_worked_by_hand_order_2():
    # gamma = .8, P^0 = .5. Step 1 uses the table of order 1. c^1 = I:
    # (I, I) = 1 * .8 * .5 = .4, (I, O) = .2 * .2 * .5 = .02, (O, I) = 0, (O, O) = .8 * .2 * .5 = .08; sum .5.
    # Normalised: .8, .04, 0, .16, hence P(x^1 = I) = .84.
    # Step 2, c^2 = O, the table of order 2, P(c = O | x^1 = I) = .2, P(c = O | x^1 = O) = .8:
    # x^2 = I: .8 * .2 * .8 + .7 * .2 * .04 + .1 * .8 * 0 + 0 * .8 * .16 = .128 + .0056 = .1336
    # x^2 = O: .2 * .2 * .8 + .3 * .2 * .04 + .9 * .8 * 0 + 1 * .8 * .16 = .032 + .0024 + .128 = .1624
    history = run_kernel([0.5], np.array([[True], [False]]), [0.8, 0.8], 2)
    assert history[0, 0] == pytest.approx(0.84)
    assert history[1, 0] == pytest.approx(0.1336 / 0.296)


def test_the_tables_are_the_printed_ones():
    assert tables_from_arrays(dbn.PAPER_CPT) == PAPER_TABLES


def test_odds_do_not_stick_at_certainty():
    # 30 votes for, then 60 against, at eps = .5: a state kept as a probability stays at 1.
    votes = np.array([[True]] * 30 + [[False]] * 60)
    history = run_kernel([0.5], votes, [0.81] * 90, 1)
    assert history[29, 0] > 1 - 1e-9
    assert history[-1, 0] < 1e-12


def test_a_run_of_ten_thousand_updates_stays_finite():
    rng = np.random.default_rng(0)
    for order in (1, 2, 3):
        history = run_kernel([0.5, 0.5], rng.uniform(size=(10_000, 2)) < 0.3, [0.52] * 10_000, order)
        assert np.all(np.isfinite(history))
        assert np.all((history >= 0) & (history <= 1))


@pytest.mark.parametrize(
    ("function", "ratio", "expected"),
    [
        (dbn.gamma_1, 0.0, 0.5),
        (dbn.gamma_1, 0.7143, 0.94286),
        (dbn.gamma_1, 1.0, 1.0),
        (dbn.gamma_2, 0.0, 0.5 / (0.5 + np.exp(3.0))),
        (dbn.gamma_2, 0.3, 1 / 3),
        (dbn.gamma_3, 0.5, np.tanh(1.5)),
    ],
)
def test_gamma_functions_as_printed(function, ratio, expected):
    assert function(np.array([ratio]))[0] == pytest.approx(expected)


@pytest.mark.parametrize("function", [dbn.gamma_1, dbn.gamma_2, dbn.gamma_3])
def test_gamma_of_an_array_is_that_of_its_numbers_and_leaves_it(function):
    ratios = np.linspace(0.0, 1.0, 6).reshape(2, 3)
    for array in (ratios, np.asfortranarray(ratios), ratios[:, ::2], np.array(0.8)):
        before = array.copy()
        assert function(array) == pytest.approx(np.vectorize(lambda r: float(function(np.array([r]))[0]))(before))
        assert np.array_equal(array, before)


def test_gamma_is_tabulated_and_clamped():
    assert dbn.tabulate_gamma("gamma_1", 4) == pytest.approx([0.5, 0.655, 0.81, 0.95, 1 - 1e-6])
    assert dbn.tabulate_gamma("gamma_3", 2)[0] == 1e-6
    assert dbn.tabulate_gamma(lambda ratio: 0.5 + 0.5 * ratio, 2) == pytest.approx([0.5, 0.75, 1 - 1e-6])


@given(st.lists(st.floats(1e-30, 1e30), min_size=1, max_size=50), st.floats(0.001, 0.5))
def test_summary_of_the_odds(values, tau):
    odds = np.array(values, np.float32)
    largest, below = dbn.summarize(odds, odds.view(np.int32), tau)
    assert largest == odds.max()
    assert below == np.count_nonzero(odds < np.float32(tau / (1 - tau)))
