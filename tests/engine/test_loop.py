"""What the loop does about degenerate samples; the rest of it is looked at from outside, in test_estimate."""

from __future__ import annotations

import numpy as np
import pytest

import bansac
from bansac import Problem


def solve(data, sample, models, scratch):
    models[0, 0] = data[0, sample[0]]
    return 1


def residuals(data, model, start, stop, out):
    for n in range(start, stop):
        out[n - start] = (data[0, n] - model[0]) ** 2


def mend(data, sample, model, squared_threshold, repair, rng, work):
    """Take every sample for degenerate whose value is not 7, and mend it to 7."""
    work[work.size - 1] = 0.0
    if model[0] == 7.0:
        return 0
    if not repair:
        return 2
    model[0] = 7.0
    return 1


def spoil(data, sample, model, squared_threshold, repair, rng, work):
    """Take every sample for degenerate, and "mend" its model to one without support."""
    if not repair:
        return 2
    model[0] = -1000.0
    return 1


def lament(data, sample, model, squared_threshold, repair, rng, work):
    """Take every sample for degenerate."""
    return 2


def problem(recover):
    return Problem("constant", 1, 1, (1,), solve, residuals, repair_degenerate=recover)


# 30 data at 3, 40 at 7 and some far from all others.
DATA = np.concatenate([np.full(30, 3.0), np.full(40, 7.0), np.arange(30) * 100.0])[:, None]
SETTINGS = {"threshold": 0.5, "stopping": None, "max_iterations": 12, "verification": None, "trace": True}


@pytest.mark.parametrize("seed", range(10))
def test_a_degenerate_sample_is_mended_and_teaches_nothing(seed):
    result = bansac.ransac(problem(mend), DATA, seed=seed, **SETTINGS)
    assert result.model[0] == 7.0
    assert result.trace.best_inliers[0] == 40
    # Samples of 7 teach, and no others.
    plain = bansac.ransac(problem(None), DATA, seed=seed, sampler="bansac", degeneracy=None, **SETTINGS)
    assert not np.isnan(plain.trace.gamma).any()
    taught = ~np.isnan(result.trace.gamma)
    assert (result.trace.inlier_ratio[taught] == 0.4).all()
    assert (result.trace.inlier_ratio[~taught] != 0.4).sum() + (not taught[0]) >= (~taught).sum()


def test_a_degenerate_sample_that_nothing_mends_counts_but_teaches_nothing():
    result = bansac.ransac(problem(lament), DATA, **SETTINGS)
    assert result.num_inliers == bansac.ransac(problem(None), DATA, **SETTINGS).num_inliers == 40
    assert np.isnan(result.trace.gamma).all()
    assert (result.probabilities == 0.5).all()


def test_a_mended_model_that_scores_less_is_not_taken():
    result = bansac.ransac(problem(spoil), DATA, **SETTINGS)
    assert result.success
    assert result.num_inliers == 40
    assert result.model[0] == 7.0


def test_the_check_can_be_left_out():
    result = bansac.ransac(problem(lament), DATA, degeneracy=None, **SETTINGS)
    assert not np.isnan(result.trace.gamma).any()
