"""The vanishing point: contract, known answers, noise, covariance, several points, and segments that determine none."""

import numpy as np
import pytest
from numba import config

import bansac
from tests.problems.of_scene import check


def distances(model, segments):
    middles = np.column_stack([(segments[:, :2] + segments[:, 2:]) / 2, np.ones(len(segments))])
    lines = np.cross(middles, model)
    ends = np.column_stack([segments[:, :2], np.ones(len(segments))])
    return np.abs((lines * ends).sum(axis=1)) / np.linalg.norm(lines[:, :2], axis=1)


def test_it_fulfils_the_contract_of_a_problem():
    check("vanishing_point", distances)


def random_segments(rng, n, longest):
    angle, middles = rng.uniform(0, 2 * np.pi, n), rng.uniform(0, 1000, (n, 2))
    halves = np.column_stack([np.cos(angle), np.sin(angle)]) * rng.uniform(2, longest, (n, 1))
    return np.hstack([middles - halves, middles + halves])


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="a minute as plain Python: whole searches")
@pytest.mark.parametrize("longest", [5.0, 30.0])
def test_short_segments_of_random_directions_have_none(longest):
    results = [
        bansac.estimate_vanishing_point(random_segments(np.random.default_rng(seed), 200, longest), max_iterations=500)
        for seed in range(20)
    ]
    assert not any(result.success for result in results)


def test_parallel_segments_meet_at_infinity():
    rng = np.random.default_rng(0)
    starts = np.linspace(0, 500, 60)[:, None] * [0.8, 0.6]  # the steps of a ladder, whose middles are on a line
    steps = np.hstack([starts, starts + np.array([-30.0, 40.0])]) + rng.normal(0, 0.1, (60, 4))
    result = bansac.estimate_vanishing_point(steps)
    assert result.success
    assert result.configuration is None
    np.testing.assert_allclose(np.abs(result.model), [0.6, 0.8, 0.0], atol=2e-3)


def test_the_pieces_of_one_edge_do_not_determine_it():
    rng = np.random.default_rng(0)
    along, off = np.array([0.8, 0.6]), np.array([-0.6, 0.8])
    starts = rng.uniform(0, 1000, (80, 1))
    ends = [at * along + rng.normal(0, 0.3, (80, 1)) * off for at in (starts, starts + rng.uniform(20, 60, (80, 1)))]
    result = bansac.estimate_vanishing_point(np.hstack(ends))
    assert result.configuration == "undetermined_curvature"
    assert "a line fits as well" in result.message


def test_points_instead_of_segments_have_none():
    points = np.random.default_rng(0).uniform(0, 100, (20, 2))
    result = bansac.estimate_vanishing_point(np.hstack([points, points]))
    assert not result.success
    assert result.model is None
