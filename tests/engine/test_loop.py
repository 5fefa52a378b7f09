"""What the loop does about degenerate samples, and when it stops; test_estimate looks at the rest from outside."""

import dataclasses

import numpy as np
import pytest

import bansac
from bansac import Network
from bansac.engine.state import CLASSIFICATIONS_FOR_UPDATE, FULL_MODELS
from tests.problems.number import CONSTANT


def is_not_seven(data, sample, model, squared_threshold, scratch):
    scratch[scratch.size - 1] = 0.0
    return model[0] != 7.0


def is_always_degenerate(data, sample, model, squared_threshold, scratch):
    return True


def repair_to_seven(data, sample, model, squared_threshold, rng, scratch):
    scratch[scratch.size - 1] = 0.0
    model[0] = 7.0
    return True


def repair_to_nothing(data, sample, model, squared_threshold, rng, scratch):
    """Replace the model by one without support."""
    model[0] = -1000.0
    return True


def spoil_and_decline(data, sample, model, squared_threshold, rng, scratch):
    model[0] = -1000.0
    return False


def problem(is_degenerate, repair_degenerate=None):
    return dataclasses.replace(CONSTANT, is_degenerate=is_degenerate, repair_degenerate=repair_degenerate)


# 30 data at 3, 40 at 7 and some far from all others.
DATA = np.concatenate([np.full(30, 3.0), np.full(40, 7.0), np.arange(30) * 100.0])[:, None]
MIN_UPDATES = 20

PAPER = {"threshold": 0.5, "preset": "paper"}
SETTINGS = PAPER | {"stopping": None, "max_iterations": 12, "verification": None, "trace": True}


@pytest.mark.parametrize("seed", range(10))
def test_a_degenerate_sample_is_repaired_and_teaches_nothing(seed):
    result = bansac.ransac(problem(is_not_seven, repair_to_seven), DATA, seed=seed, **SETTINGS)
    assert result.model[0] == 7.0
    assert result.trace.best_inliers[0] == 40
    # Samples of 7 teach, and no others.
    plain = bansac.ransac(CONSTANT, DATA, seed=seed, sampler="bansac", degeneracy=None, **SETTINGS)
    assert not np.isnan(plain.trace.gamma).any()
    taught = ~np.isnan(result.trace.gamma)
    assert (result.trace.inlier_ratio[taught] == 0.4).all()
    assert (result.trace.inlier_ratio[~taught] != 0.4).sum() + (not taught[0]) >= (~taught).sum()


@pytest.mark.parametrize("repair", [None, spoil_and_decline])
def test_a_degenerate_sample_that_is_not_repaired_counts_but_teaches_nothing(repair):
    result = bansac.ransac(problem(is_always_degenerate, repair), DATA, **SETTINGS)
    assert result.num_inliers == bansac.ransac(CONSTANT, DATA, **SETTINGS).num_inliers == 40
    assert np.isnan(result.trace.gamma).all()
    assert (result.beliefs == 0.5).all()


def test_a_repaired_model_counts_as_tested_and_is_not_taken_if_it_scores_less():
    declined = bansac.ransac(problem(is_always_degenerate, spoil_and_decline), DATA, **SETTINGS)
    repaired = bansac.ransac(problem(is_always_degenerate, repair_to_nothing), DATA, **SETTINGS)
    assert (repaired.success, repaired.num_inliers, repaired.model[0]) == (True, 40, 7.0)
    # Every new best model of the twelve has been repaired; all samples are degenerate, so the draws are the same.
    new_best = 1 + np.count_nonzero(np.diff(declined.trace.best_inliers))
    assert repaired.models_tested == declined.models_tested + new_best


def test_the_check_can_be_left_out():
    result = bansac.ransac(problem(is_always_degenerate), DATA, degeneracy=None, **SETTINGS)
    assert not np.isnan(result.trace.gamma).any()


# Sixty different outliers: when the network gives up, it gives up all of them at once.
CLEAR = np.concatenate([np.full(40, 7.0), 100.0 + 10.0 * np.arange(60)])[:, None]


@pytest.mark.parametrize("seed", range(5))
def test_bansac_stops_as_soon_as_there_are_as_many_improbable_data_as_outliers_and_it_has_learnt(seed):
    result = bansac.ransac(
        CONSTANT,
        CLEAR,
        **PAPER,
        stopping="bansac",
        max_iterations=500,
        verification=None,
        trace=True,
        network=Network(min_updates=MIN_UPDATES),
        seed=seed,
    )
    assert result.stop_reason == "bansac"
    assert result.trace.low_probability[-1] == result.trace.outliers[-1] == 60
    reached = (result.trace.low_probability >= result.trace.outliers) & (result.trace.best_inliers > 0)
    reached &= np.cumsum(~np.isnan(result.trace.gamma)) >= MIN_UPDATES
    assert reached.tolist() == [False] * (result.iterations - 1) + [True]


def test_no_criterion_is_asked_before_the_fewest_iterations():
    settings = PAPER | {"max_iterations": 500, "verification": None}
    for stopping in ("bansac", "ransac"):
        free = bansac.ransac(CONSTANT, CLEAR, stopping=stopping, **settings)
        assert free.iterations < 300
        held = bansac.ransac(CONSTANT, CLEAR, stopping=stopping, min_iterations=300, **settings)
        assert (held.iterations, held.stop_reason) == (300, stopping)


@pytest.mark.parametrize("stopping", ["bansac", "ransac", "bansac+sprt"])
def test_perfect_data_do_not_stop_a_run_before_the_network_has_learnt(stopping):
    # No outliers, hence none improbable, and every sample is good: the criteria hold from the start.
    perfect = np.full((30, 1), 7.0)
    settings = PAPER | {"stopping": stopping, "network": Network(min_updates=MIN_UPDATES)}
    result = bansac.ransac(CONSTANT, perfect, max_iterations=500, **settings)
    assert (result.iterations, result.stop_reason) == (MIN_UPDATES, stopping.split("+")[0])
    result = bansac.ransac(CONSTANT, perfect, max_iterations=MIN_UPDATES - 1, **settings)
    assert (result.iterations, result.stop_reason) == (MIN_UPDATES - 1, "max_iterations")


def test_to_the_letter_of_the_paper_perfect_data_stop_a_run_at_once():
    result = bansac.ransac(CONSTANT, np.full((30, 1), 7.0), max_iterations=500, **PAPER, network=Network(min_updates=0))
    assert result.iterations == 1


def test_samplers_without_a_network_do_not_wait():
    result = bansac.ransac(CONSTANT, np.full((30, 1), 7.0), sampler="uniform", max_iterations=500, **PAPER)
    assert (result.iterations, result.stop_reason) == (1, "sprt")


@pytest.mark.parametrize("verification", [None, "sprt"])
def test_only_the_first_models_are_scored_in_full(verification):
    settings = PAPER | {"verification": verification, "stopping": None, "max_iterations": 100}
    trace = bansac.ransac(CONSTANT, CLEAR, sampler="uniform", trace=True, **settings).trace
    scored = ~np.isnan(trace.inlier_ratio)
    assert scored[:FULL_MODELS].all()
    assert set(trace.inlier_ratio[:FULL_MODELS]) == {0.01, 0.4}
    np.testing.assert_array_equal(scored[FULL_MODELS:], np.diff(trace.best_score[FULL_MODELS - 1 :]) > 0.0)


def test_degenerate_samples_alone_let_the_bounds_end_a_run_but_not_bansac():
    perfect, degenerate = np.full((30, 1), 7.0), problem(is_always_degenerate)
    result = bansac.ransac(
        degenerate,
        perfect,
        stopping="bansac+ransac",
        max_iterations=500,
        network=Network(min_updates=MIN_UPDATES),
        **PAPER,
    )
    assert (result.iterations, result.stop_reason) == (CLASSIFICATIONS_FOR_UPDATE * MIN_UPDATES, "ransac")
    result = bansac.ransac(
        degenerate, perfect, stopping="bansac", max_iterations=500, network=Network(min_updates=MIN_UPDATES), **PAPER
    )
    assert (result.iterations, result.stop_reason) == (500, "max_iterations")
