"""The sequential test and the bail-out."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.compiled.jit import kernel
from bansac.engine.state import BLOCK, HISTORY, PROGRESS, SPRT, pack_run
from bansac.engine.verification import (
    Unscored,
    decision_threshold,
    design_test,
    evaluate,
    learn_from_rejection,
)
from bansac.problems.line import LINE
from tests.engine.builder import build_run, make_record, records_of
from tests.reference import loop_parts as reference

call_decision_threshold, call_learn_from_rejection = kernel(decision_threshold), kernel(learn_from_rejection)


def run_evaluate(inside, *, log_decision=math.inf, to_beat=-1.0, msac=False, first_block=0, epsilon=0.5, delta=0.05):
    # Points on the x axis are inside, the others are far from it.
    points = np.array([np.linspace(-1, 1, len(inside)), np.where(inside, 0.0, 5.0)], dtype=np.float32)
    run = build_run(LINE, points, scoring="msac" if msac else "inliers", threshold=0.01)
    sprt = records_of(run)["sprt"]
    sprt["log_ratio_inlier"] = math.log(delta / epsilon)
    sprt["log_ratio_outlier"] = math.log((1 - delta) / (1 - epsilon))
    mask = np.zeros(len(inside), np.bool_)
    axis = np.array([0.0, 1.0, 0.0])
    score, inliers = evaluate(pack_run(run), axis, mask, to_beat, log_decision, np.int64(first_block))
    return score, inliers, mask, sprt[0]


inside_lists = st.lists(st.booleans(), min_size=2, max_size=3 * BLOCK + 7)


@given(inside_lists, st.booleans(), st.integers(0, 10))
def test_without_a_test_every_point_is_scored(inside, msac, block):
    first = block % ((len(inside) + BLOCK - 1) // BLOCK)
    score, inliers, mask, _ = run_evaluate(inside, msac=msac, first_block=first)
    assert mask.tolist() == inside
    assert inliers == sum(inside)
    assert score == pytest.approx(sum(inside))  # exact inliers are worth 1 in either measure


@given(inside_lists, st.integers(0, 400))
def test_bail_out_is_exact(inside, to_beat):
    score, inliers, _, _ = run_evaluate(inside, to_beat=float(to_beat))
    if sum(inside) <= to_beat:
        assert inliers == Unscored.ABANDONED
    else:
        assert inliers == score == sum(inside)


@given(inside_lists, st.floats(0.5, 20), st.integers(0, 10))
def test_rejection_follows_the_likelihood_ratio_at_the_ends_of_blocks(inside, log_decision, block):
    blocks = (len(inside) + BLOCK - 1) // BLOCK
    first = block % blocks
    order = np.concatenate(
        [np.arange(len(inside))[b * BLOCK : (b + 1) * BLOCK] for b in np.roll(range(blocks), -first)]
    )
    course = reference.likelihood_ratio(np.array(inside)[order], 0.5, 0.05)
    lengths = [min(BLOCK, len(inside) - ((first + b) % blocks) * BLOCK) for b in range(blocks)]
    ends = np.cumsum(lengths) - 1
    expected = [end for end in ends if math.log(max(course[end], 1e-300)) > log_decision]
    _, inliers, _, sprt = run_evaluate(inside, log_decision=log_decision, first_block=first)
    if expected:
        assert inliers == Unscored.REJECTED
        assert sprt["rejected_points"] == expected[0] + 1
        assert sprt["rejected_inliers"] == np.count_nonzero(np.array(inside)[order][: expected[0] + 1])
    else:
        assert inliers == sum(inside)


@given(st.floats(0.05, 0.95), st.floats(0.01, 0.9), st.floats(50, 4000), st.floats(0.5, 5))
def test_decision_threshold_solves_its_equation(epsilon, share, solver_cost, models):
    delta = share * epsilon
    expected = reference.decision_threshold(epsilon, delta, solver_cost, models)
    assert math.exp(call_decision_threshold(epsilon, delta, solver_cost, models)) == pytest.approx(expected, rel=1e-2)


def designed(epsilon, delta):
    sprt, history = make_record(SPRT), np.full((3, HISTORY), np.nan)
    design_test(sprt, make_record(PROGRESS), history, 200.0, epsilon, delta)
    assert history[0, 3] == 0.0  # samples tested
    return sprt, history


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_design_always_separates_good_from_bad(epsilon, delta):
    epsilon = max(epsilon, 1e-3)
    sprt, _ = designed(epsilon, delta)
    assert 0 < sprt["delta"] < sprt["epsilon"] < 1
    assert sprt["log_ratio_inlier"] < 0 < sprt["log_ratio_outlier"]
    assert math.isfinite(sprt["log_decision"])


def test_delta_is_learnt_from_rejections_and_small_changes_keep_the_test():
    sprt, history = designed(0.5, 0.1)
    sprt["rejected_points"], sprt["rejected_inliers"] = 1000, 104
    call_learn_from_rejection(sprt, make_record(PROGRESS), history, 200.0)
    assert sprt["tests"] == 1
    sprt["rejected_inliers"] = 200
    call_learn_from_rejection(sprt, make_record(PROGRESS), history, 200.0)
    assert sprt["tests"] == 2
    assert sprt["delta"] == pytest.approx(0.2)
    assert history[1, :2] == pytest.approx([0.5, 0.2])


def test_a_full_history_overwrites_its_last_row():
    sprt, history = designed(0.5, 0.1)
    for delta in (0.2, 0.05, 0.15, 0.02):
        design_test(sprt, make_record(PROGRESS), history, 200.0, 0.5, delta)
    assert sprt["tests"] == 3
    assert history[2, 1] == pytest.approx(0.02)


def test_msac_weighs_what_is_counted():
    # MSAC gives the points half a threshold away 3 / 4 each, in another block order too.
    points = np.array([np.linspace(-1, 1, 300), np.full(300, 0.005)])
    run = build_run(LINE, points, scoring="msac", threshold=0.01)
    mask = np.zeros(300, np.bool_)
    score, inliers = evaluate(pack_run(run), np.array([0.0, 1.0, 0.0]), mask, -1.0, math.inf, np.int64(2))
    assert inliers == mask.sum() == 300
    assert score == pytest.approx(225, rel=1e-5)
