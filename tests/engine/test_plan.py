"""Plans: one for all runs with the same options, whatever the seed."""

import copy
import pickle

from bansac.engine.plan import find_plan
from bansac.problems.line import LINE
from tests.engine.builder import BASE


def test_runs_with_the_same_options_share_a_plan():
    plan = find_plan(LINE, BASE, informed=False)
    assert find_plan(LINE, BASE.with_seed(7), informed=False) is plan
    informed = find_plan(LINE, BASE, informed=True)
    assert [stop.name for stop in plan.criteria] == ["sprt"]
    assert [stop.name for stop in informed.criteria] == ["prosac"]
    other = find_plan(LINE, BASE.replace(min_iterations=3), informed=False)
    assert other is not plan
    assert other.kernels is plan.kernels


def test_copies_and_pickles_of_options_have_no_plans():
    find_plan(LINE, BASE, informed=False)
    for other in (copy.deepcopy(BASE), pickle.loads(pickle.dumps(BASE))):
        assert other == BASE
        assert other.plans == {}
