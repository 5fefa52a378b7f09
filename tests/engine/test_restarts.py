"""The plan of the next restart: a table of histories, and the plan that each of them must give."""

import dataclasses
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from bansac import Restarts
from bansac.engine.options import Options
from bansac.engine.restarts import History, Hypothesis, Purpose, RestartPlan, alternative_length, next_restart
from bansac.evidence.noise_scale import WIDE

N = 100
BUDGET = 10_000  # the first restart has 300 iterations
SUPPORTED = np.arange(N) < 60


def mask(*indices):
    marked = np.zeros(N, np.bool_)
    marked[[k for part in indices for k in part]] = True
    return marked


def hypothesis(inliers, near=None, *, threshold=1.0, is_significant=True, **more):
    """Return a hypothesis with these inliers, which are the data near it unless ``near`` are given."""
    is_inlier, distances = mask(inliers), np.where(mask(inliers if near is None else near), 0.0, np.inf)
    count = len(inliers)
    return Hypothesis(np.zeros(9), threshold, count, count, is_inlier, distances, count, is_significant, **more)


def lonely(inliers, **more):
    """Return a hypothesis that all data are near: there are none to search for an alternative."""
    return hypothesis(range(inliers), range(N), **more)


def history(*ranked, count=1, iterations=0, supported=None, settings=None, **more):
    options = Options(max_iterations=BUDGET, restarts=Restarts(agreement=2)).replace(**settings or {})
    traits = {"sample_size": 4, "majority_agrees": True, "max_models": 1}
    problem = SimpleNamespace(**{name: more.pop(name, value) for name, value in traits.items()})
    frame = SimpleNamespace(problem=problem, options=options, order=np.arange(N), supported=supported)
    frame.threshold, frame.is_estimated = more.pop("first", 1.0), more.pop("is_estimated", True)
    return History(frame, list(ranked), count, iterations, **more)


def plan_of(history):
    """Return the plan with the members as a list, and check that planning changes nothing."""
    names = [field.name for field in dataclasses.fields(history) if field.name != "frame"]
    before = [pickle.dumps(getattr(history, name)) for name in names]
    plans = [next_restart(history) for _ in range(2)]
    assert [pickle.dumps(getattr(history, name)) for name in names] == before
    first, second = (
        plan if plan is None or plan.members is None else plan._replace(members=np.flatnonzero(plan.members).tolist())
        for plan in plans
    )
    assert first == second
    return first


def best_plan(members=None, threshold=1.0, iterations=300, with_prior=True, learns=True):
    return RestartPlan(members, threshold, iterations, with_prior, learns)


# Restarts for the best model.


@pytest.mark.parametrize("supported", [None, SUPPORTED])
@pytest.mark.parametrize("is_estimated", [False, True])
def test_the_first_restart_is_on_all_data_from_the_prior_and_learns(supported, is_estimated):
    first = history(count=0, first=2.0, supported=supported, is_estimated=is_estimated)
    assert plan_of(first) == best_plan(threshold=2.0)


@pytest.mark.parametrize("ranked", [[], [lonely(12, is_significant=False)]])
def test_thresholds_alternate_until_a_model_is_significant(ranked):
    plans = [plan_of(history(*ranked, count=count)) for count in range(8)]
    assert [plan.threshold for plan in plans] == [1.0, WIDE] * 4
    assert [plan.learns for plan in plans] == [True, True, True, True, False, True, False, True]
    assert all(plan.members is None and plan.with_prior for plan in plans)
    given = [plan_of(history(*ranked, count=count, is_estimated=False)) for count in range(8)]
    assert [plan.threshold for plan in given] == [1.0] * 8


def test_restarts_leave_out_a_search_window_instead_of_a_wide_threshold():
    window = hypothesis(range(60), range(90), is_significant=False, is_window=True, restarts=9, threshold=8.0)
    ranked = [lonely(12, is_significant=False, restarts=9), window]
    plans = [plan_of(history(*ranked, count=count)) for count in range(4)]  # a window leaves hope
    assert [plan.members for plan in plans] == [None, [*range(60, N)]] * 2
    assert [plan.threshold for plan in plans] == [1.0] * 4
    assert plan_of(history(*reversed(ranked), count=1, supported=SUPPORTED)).members == [*range(60, N)]


@pytest.mark.parametrize("is_significant", [False, True])
def test_restarts_are_among_supported_matches_except_each_fourth(is_significant):
    ranked = [lonely(20, is_significant=is_significant)]
    plans = [plan_of(history(*ranked, count=count, supported=SUPPORTED)) for count in range(9)]
    complete = [plan.members is None for plan in plans]
    assert [count for count in range(9) if complete[count]] == ([0, 4, 8] if is_significant else [0, 4, 6, 8])
    assert all(plan.members in (None, [*range(60)]) for plan in plans)
    # Those on all data but the first start from equal odds, and learn only after a significant model.
    assert [plan.with_prior for plan in plans[1:]] == [not whole for whole in complete[1:]]
    assert [plan.learns for plan in plans[1:]] == [is_significant or not whole for whole in complete[1:]]


@pytest.mark.parametrize(("supported", "members"), [(4, None), (5, [*range(5)]), (99, [*range(99)]), (N, None)])
def test_supported_matches_are_more_than_a_sample_and_fewer_than_all(supported, members):
    assert plan_of(history(supported=np.arange(N) < supported)).members == members


@pytest.mark.parametrize(
    ("best", "is_estimated", "threshold"),
    [
        (lonely(20, threshold=0.5), True, 0.5),
        (lonely(20, threshold=3.0), True, 3.0),
        (lonely(20, threshold=0.5, restarts=0, is_initial=True), True, 1.0),  # it may be wrong
        (lonely(20, threshold=3.0, restarts=0, is_initial=True), True, 3.0),
        (lonely(20, threshold=1.0), False, 1.0),
    ],
)
def test_a_significant_model_gives_the_threshold(best, is_estimated, threshold):
    assert plan_of(history(best, is_estimated=is_estimated)) == best_plan(threshold=threshold)


def test_data_near_hypotheses_that_lost_are_left_out_except_inliers_of_the_best():
    best = hypothesis(range(30), searched=1)
    lost = hypothesis(range(40, 55), range(25, 60)), hypothesis(range(70, 75), range(70, 80))
    kept = [*range(30), *range(60, 70), *range(80, N)]
    for count, supported in ((1, None), (2, None), (8, SUPPORTED)):  # the eighth is on all data
        assert plan_of(history(best, *lost, count=count, supported=supported, iterations=10 * count)).members == kept
    assert plan_of(history(best, *lost, supported=SUPPORTED)).members == [*range(30)]
    assert plan_of(history(lonely(30, is_significant=False), *lost)).members is None


# When the restarts end.


@pytest.mark.parametrize(
    ("inliers", "found", "more", "is_confirmed"),
    [
        (50, {"restarts": 1}, {}, False),
        (50, {"restarts": 2}, {}, True),
        (51, {"restarts": 1}, {}, True),  # no other model can have more inliers
        (51, {"restarts": 1}, {"majority_agrees": False}, False),
        (51, {"restarts": 2}, {"majority_agrees": False}, True),
        (50, {"restarts": 4}, {"settings": {"restarts": Restarts(agreement=5)}}, False),
        (50, {"restarts": 5}, {"settings": {"restarts": Restarts(agreement=5)}}, True),
        (51, {"restarts": 1}, {"settings": {"restarts": Restarts(agreement=5)}}, False),
        (51, {"restarts": 2}, {"settings": {"restarts": Restarts(agreement=5)}}, True),
        (50, {"restarts": 1}, {"settings": {"restarts": Restarts(agreement=1)}}, True),
        (50, {"restarts": 0, "is_initial": True}, {}, False),
        (51, {"restarts": 0, "is_initial": True}, {"settings": {"restarts": Restarts(agreement=1)}}, False),
        (50, {"restarts": 1, "is_initial": True}, {}, True),
        (50, {"restarts": 1, "is_initial": True}, {"settings": {"restarts": Restarts(agreement=3)}}, False),
        (50, {"restarts": 2, "is_initial": True}, {"settings": {"restarts": Restarts(agreement=3)}}, True),
    ],
)
def test_restarts_end_if_enough_led_to_the_best_model(inliers, found, more, is_confirmed):
    end = history(lonely(inliers, **found), **more)
    assert end.is_confirmed() == is_confirmed
    assert plan_of(end) == (None if is_confirmed else best_plan())


def test_a_model_that_chance_explains_is_not_confirmed():
    assert not history(lonely(60, is_significant=False, restarts=9)).is_confirmed()
    assert not history().is_confirmed()


@pytest.mark.parametrize("is_initial", [False, True])
def test_one_restart_alone_confirms_nothing_but_an_initial_model(is_initial):
    end = history(lonely(60, restarts=1, is_initial=is_initial), settings={"restarts": 1})
    assert end.is_confirmed() == is_initial
    assert plan_of(end) is None


@pytest.mark.parametrize(
    ("restarts", "agreement", "is_hopeless"),
    [([], 2, False), ([1], 2, False), ([2], 2, True), ([2, 1], 2, False), ([2, 3], 2, True), ([2, 2], 3, False)],
)
def test_restarts_end_if_all_lead_to_models_that_chance_explains(restarts, agreement, is_hopeless):
    ranked = [lonely(12, is_significant=False, restarts=times) for times in restarts]
    plan = plan_of(history(*ranked, count=3, settings={"restarts": Restarts(agreement=agreement)}))
    assert (plan is None) == is_hopeless


def test_one_restart_is_not_hopeless_before_the_wide_threshold_is_tried():
    ranked = lonely(12, is_significant=False)
    assert plan_of(history(ranked, count=1, settings={"restarts": Restarts(agreement=1)})) == best_plan(threshold=WIDE)
    assert plan_of(history(ranked, count=2, settings={"restarts": Restarts(agreement=1)})) is None
    assert plan_of(history(ranked, count=1, is_estimated=False, settings={"restarts": Restarts(agreement=1)})) is None


@pytest.mark.parametrize(
    ("count", "iterations", "settings", "length"),
    [
        (2, BUDGET - 1, {}, 1),
        (2, BUDGET, {}, None),
        (2, BUDGET, {"min_iterations": BUDGET}, None),
        (15, 5000, {}, 5000),
        (16, 5000, {}, None),
        (16, 5000, {"min_iterations": 5001}, 5000),
        (3, 5000, {"restarts": 3}, None),
    ],
)
def test_restarts_end_at_the_limits_of_the_options(count, iterations, settings, length):
    plan = plan_of(history(count=count, iterations=iterations, settings=settings))
    assert (None if plan is None else plan.iterations) == length


@pytest.mark.parametrize("best", [lonely(40, restarts=2), lonely(12, restarts=2, is_significant=False)])
@pytest.mark.parametrize(("iterations", "is_over"), [(999, False), (1000, True)])
def test_no_agreement_ends_the_restarts_before_the_smallest_number_of_iterations(best, iterations, is_over):
    plan = plan_of(history(best, count=2, iterations=iterations, settings={"min_iterations": 1000}))
    assert (plan is None) == is_over


@pytest.mark.parametrize(
    ("most", "restarts", "lengths"),
    [
        (100, Restarts(limit=9, iterations=40), [40, 40, 20]),
        (3000, 4, [500, 500, 1000, 1000]),
        (1001, 4, [300, 300, 401]),
        (200, 4, [200]),
        (3000, Restarts(limit=4, iterations=100), [100] * 4),
        (3000, 1, [3000]),
        (4000, 16, [300, 300, 600, 600, 1200, 1000]),
    ],
)
def test_restarts_grow_with_the_budget_and_share_it(most, restarts, lengths):
    growing, found = history(count=0, settings={"max_iterations": most, "restarts": restarts}), []
    while (plan := plan_of(growing)) is not None:
        found.append(plan.iterations)
        growing.count, growing.iterations = growing.count + 1, growing.iterations + plan.iterations
    assert found == lengths


# Alternatives of the best model.


def other_data(members, iterations, least, threshold=1.0):
    return RestartPlan(members, threshold, iterations, True, True, Purpose.OTHER_DATA, least)


def less_noise(threshold, iterations, least, members=None):
    members = [*range(N)] if members is None else members
    return RestartPlan(members, threshold, iterations, False, False, Purpose.LESS_NOISE, least)


@pytest.mark.parametrize(
    ("least", "others", "sample_size", "most", "length"),
    [
        # A sample of inliers of a structure with half of the others: log(.05) / log(1 - .5^4) = 46.4.
        (20, 40, 4, 600, 47),
        (20, 40, 4, 30, 30),
        (20, 40, 7, 600, 382),  # log(.05) / log(1 - .5^7) = 381.95
        (20, 60, 4, 600, 242),  # log(.05) / log(1 - 3^-4) = 241.2
        (20, 21, 4, 600, 2),  # log(.05) / log(1 - (20 / 21)^4) = 1.7
        (20, 20, 4, 600, 0),
        (20, 80, 4, 1500, 766),  # log(.05) / log(1 - .25^4) = 765.4
    ],
)
def test_a_search_for_an_alternative_is_as_long_as_this_is_rare(least, others, sample_size, most, length):
    assert alternative_length(least, others, sample_size, most) == length


CONFIRMED = hypothesis(range(40), range(70), restarts=2)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        # A quarter of 40 inliers, which are a third of the 30 others; one more than a sample at least.
        (history(CONFIRMED, count=2), other_data([*range(70, N)], 242, 10)),
        (history(CONFIRMED, count=2, is_estimated=False), other_data([*range(70, N)], 242, 10)),
        (history(CONFIRMED, count=2, sample_size=12), other_data([*range(70, N)], 600, 13)),
        # The threshold is that of the best one, or the first one if it is larger.
        (history(hypothesis(range(40), range(70), restarts=2, threshold=0.5)), other_data([*range(70, N)], 242, 10)),
        (
            history(hypothesis(range(40), range(70), restarts=2, threshold=3.0)),
            other_data([*range(70, N)], 242, 10, threshold=3.0),
        ),
        # No data near any hypothesis; 20 others are too few for 80 inliers.
        (history(CONFIRMED, hypothesis(range(90, N)), count=2), other_data([*range(70, 90)], 47, 10)),
        (history(hypothesis(range(80), restarts=2), count=2), None),
        # Not longer than the next restart, nor than the budget.
        (history(CONFIRMED, count=2, sample_size=12, settings={"restarts": Restarts(iterations=40)}),
         other_data([*range(70, N)], 40, 13)),
        (history(CONFIRMED, count=2, iterations=BUDGET - 7), other_data([*range(70, N)], 7, 10)),
        (history(CONFIRMED, count=2, iterations=BUDGET), None),
        # The restarts are over although the best one is not confirmed.
        (history(hypothesis(range(40), range(70)), count=16), other_data([*range(70, N)], 242, 10)),
    ],
)  # fmt: skip
def test_a_confirmed_model_is_challenged_by_the_data_that_are_not_near_it(state, expected):
    assert plan_of(state) == expected


def test_a_long_search_for_an_alternative_is_among_supported_matches_where_it_has_three_quarters_of_its_inliers():
    best, more = hypothesis(range(80), range(70), restarts=2), {"count": 2, "sample_size": 14}
    assert plan_of(history(best, **more)) == other_data([*range(70, N)], 600, 20)
    assert plan_of(history(best, **more | {"sample_size": 9})) == other_data([*range(70, N)], 114, 20)  # short
    best = hypothesis(range(40), range(60), restarts=2)
    supported = np.arange(N) < 75  # 7 of 15: log(.05) / log(1 - (7 / 15)^4) = 61.7
    assert plan_of(history(best, count=2, supported=supported)) == other_data([*range(60, 75)], 62, 10)
    few = np.arange(N) < 67
    assert plan_of(history(best, count=2, supported=few)) is None  # 7 supported ones are no rival


def test_a_significant_model_is_challenged_after_a_round_although_it_is_not_confirmed():
    best = hypothesis(range(40), range(70))
    assert plan_of(history(best, count=3)) == best_plan(iterations=600)
    assert plan_of(history(best, count=4)) == other_data([*range(70, N)], 242, 10)
    assert plan_of(history(hypothesis(range(40), range(70), searched=1), count=4)) == best_plan(iterations=1200)
    assert plan_of(history(hypothesis(range(48), range(90)), count=4)) == best_plan(iterations=1200)  # 10 others


@pytest.mark.parametrize(
    ("best", "settings"),
    [
        (hypothesis(range(40), restarts=2, searched=1), {}),  # only once
        (hypothesis(range(40), restarts=2, is_significant=False), {}),
        (hypothesis(range(40), restarts=2), {"restarts": 1}),
        (hypothesis(range(40), restarts=2), {"sampler": "uniform"}),
        (hypothesis(range(40), range(N), restarts=2, threshold=9.0), {"sampler": "uniform"}),
    ],
)
def test_these_models_are_not_challenged(best, settings):
    assert plan_of(history(best, count=2, settings=settings)) is None


@pytest.mark.parametrize(
    ("threshold", "searched", "finer"),
    [
        (4.0, 1, None),
        (4.1, 0, 2.0),
        (4.1, 1, 2.0),
        (4.1, 2, None),
        (8.0, 2, None),
        (8.1, 1, 2.0),
        (8.1, 2, 4.0),
        (16.1, 3, 8.0),
        (16.1, 4, None),
    ],
)
def test_structures_of_less_noise_are_searched_at_doubling_thresholds(threshold, searched, finer):
    best = lonely(80, threshold=threshold, searched=searched, restarts=2)
    # A quarter of 80 inliers among 100 data: log(.05) / log(1 - .2^4) = 1870.9, but 1500 at most.
    assert plan_of(history(best)) == (None if finer is None else less_noise(finer, 1500, 20))


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        # First the other data, then less noise, in all data that are not near hypotheses that have lost.
        (history(hypothesis(range(60), restarts=2, threshold=9.0)), other_data([*range(60, N)], 150, 15, 9.0)),
        (history(hypothesis(range(60), restarts=2, threshold=9.0, searched=1), hypothesis(range(90, N))),
         less_noise(2.0, 1500, 15, [*range(90)])),
        (history(lonely(80, threshold=9.0, restarts=2), iterations=BUDGET - 9), less_noise(2.0, 9, 20)),
        (history(lonely(80, threshold=9.0, restarts=2), iterations=BUDGET), None),
        (history(lonely(80, threshold=9.0, restarts=2), sample_size=2), less_noise(2.0, 74, 20)),
        (history(lonely(80, threshold=9.0, restarts=2), first=4.0, sample_size=2), None),
        (history(lonely(80, threshold=9.0, restarts=1), count=4), less_noise(2.0, 1500, 20)),
    ],
)  # fmt: skip
def test_less_noise_is_searched_after_the_other_data(state, expected):
    assert plan_of(state) == expected
