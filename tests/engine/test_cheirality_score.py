"""The score over the data that a model can see."""

import numpy as np
import pytest

from bansac.engine.scoring import SCORES
from bansac.engine.state import BLOCK, pack_run
from bansac.engine.verification import cheirality_score, evaluate
from bansac.problems.essential import ESSENTIAL
from bansac.problems.line import LINE
from tests.engine.builder import build_run
from tests.reference import epipolar as reference

N = 2 * BLOCK + 9


def full_score(state, model):
    mask = np.empty(state.data.shape[1], np.bool_)
    return evaluate(pack_run(state), model, mask, -1.0, np.inf, np.int64(0))[0]


@pytest.mark.parametrize("scoring", SCORES)
@pytest.mark.parametrize("weighted", [False, True])
def test_without_a_test_of_sight_it_is_the_score(scoring, weighted):
    rng = np.random.default_rng(0)
    points = np.array([rng.uniform(-1, 1, N), rng.uniform(0, 0.02, N)])
    weights = np.ceil(rng.uniform(0.01, 1, N) * 1024) / 1024 if weighted else None
    state = build_run(LINE, points, scoring=scoring, threshold=0.01, weights=weights)
    axis = np.array([0.0, 1.0, 0.0])
    score = full_score(state, axis)
    assert 0 < score < N
    assert cheirality_score(LINE, state, pack_run(state), axis, np.empty(N, np.bool_)) == pytest.approx(
        score, rel=1e-6
    )  # float32


@pytest.mark.parametrize("scoring", SCORES)
def test_points_behind_the_cameras_do_not_count(scoring):
    rng = np.random.default_rng(1)
    mask = np.empty(N, np.bool_)
    data, R, t = reference.random_scene(rng, N)
    E = (reference.cross_matrix(t) @ R).ravel()
    state = build_run(ESSENTIAL, data, scoring=scoring, threshold=1e-2)
    assert cheirality_score(ESSENTIAL, state, pack_run(state), E, mask) == pytest.approx(full_score(state, E), rel=1e-6)
    X = reference.triangulate(data, R, t)
    X[:, : N // 3] *= -1
    Y = R @ X + t[:, None]
    state = build_run(ESSENTIAL, np.vstack([X[:2] / X[2], Y[:2] / Y[2]]), scoring=scoring, threshold=1e-2)
    visible = cheirality_score(ESSENTIAL, state, pack_run(state), E, mask)
    assert visible < 0.9 * full_score(state, E)
    assert visible >= 0.5 * (N - N // 3)
    assert mask.all()
