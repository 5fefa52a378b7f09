"""The scores of the matches in front of both cameras, against triangulated points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.compiled.jit import kernel
from bansac.geometry import decompose_essential
from bansac.geometry.cheirality import score_in_front
from tests.reference import epipolar as reference

seeds = st.integers(0, 2**32)
compiled = kernel(score_in_front)


@given(seeds, st.floats(-3, 3).filter(lambda scale: abs(scale) > 1e-3))
def test_matches_in_front_count_and_those_behind_do_not(seed, scale):
    rng = np.random.default_rng(seed)
    data, R, t = reference.random_scene(rng, 30)
    E = scale * reference.cross_matrix(t) @ R
    scores = rng.uniform(0.1, 1, 30)
    assert compiled(data, E.ravel(), scores, 0.0) == pytest.approx(scores.sum())
    # The same points with the depth of some of them turned around: their rays fit E, and they lie behind a camera.
    X = reference.triangulate(data, R, t)
    X[:, :10] *= -1
    Y = R @ X + t[:, None]
    data = np.ascontiguousarray(np.vstack([X[:2] / X[2], Y[:2] / Y[2]]))
    expected = max(
        scores[reference.in_front(data, rotation, direction)].sum()
        for rotation in decompose_essential(E)[:2]
        for direction in (t, -t)
    )
    assert expected < scores.sum()
    assert compiled(data, E.ravel(), scores, 0.0) == pytest.approx(expected)


def test_far_matches_count_on_any_side():
    """Noise moves a far match behind the cameras. It counts if the rotation alone explains it within the threshold."""
    data, R, t = reference.random_scene(np.random.default_rng(3), 30)
    X = reference.triangulate(data, R, t)
    X[:, :10] *= -1e4 / X[2, :10]
    Y = R @ X + t[:, None]
    data = np.ascontiguousarray(np.vstack([X[:2] / X[2], Y[:2] / Y[2]]))
    E, ones = (reference.cross_matrix(t) @ R).ravel(), np.ones(30)
    assert compiled(data, E, ones, 1e-12) == 20
    assert compiled(data, E, ones, 1e-6) == 30
    assert compiled(data, (reference.cross_matrix(t) @ -R).ravel(), ones, 1e-6) == 30  # the other sign of E


@pytest.mark.parametrize("model", [np.zeros(9), np.full(9, np.nan), np.ones(9)])
def test_what_is_no_essential_matrix_sees_nothing_or_less_than_all(model):
    data, _, _ = reference.random_scene(np.random.default_rng(0), 5)
    assert 0 <= compiled(data, model, np.ones(5), 0.0) <= 5
