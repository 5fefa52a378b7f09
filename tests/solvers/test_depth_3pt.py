"""The solver of three matches with depths in one image."""

import numpy as np
import pytest

from bansac.geometry import homogeneous
from bansac.maths.quaternion import matrix_of
from bansac.problems.relative_depth import RELATIVE_DEPTH
from bansac.synthetic import epipolar_matches, with_depths
from tests.problems.in_loop import solve_sample


def draw(seed, scale):
    """Return three exact matches with depths (3 x 6), R, and t in the unit of the first depths."""
    scene = with_depths(epipolar_matches(3, 1.0, 0.0, seed), 0.0, seed=seed)
    x1, x2 = (np.linalg.solve(scene.K, homogeneous(x).T)[:2].T for x in (scene.x1, scene.x2))
    z1, z2 = scene.points[:, 2], (scene.points @ scene.R.T + scene.t)[:, 2]
    return np.column_stack([x1, x2, z1, scale * z2]), scene.R, scene.t


@pytest.mark.parametrize("known", ["both", "first", "second"])
def test_the_true_motion_and_scale_are_among_the_models(known):
    for seed in range(200):
        matches, R, t = draw(seed, scale=2.5)
        if known != "both":
            matches[:, 5 if known == "first" else 4] = 0.0
        models = solve_sample(RELATIVE_DEPTH, matches)
        truth = np.column_stack([R, t if known != "second" else 2.5 * t])
        errors = [np.abs(matrix_of(model) - truth).max() for model in models]
        assert min(errors) < 1e-5
        assert models[np.argmin(errors), 7] == pytest.approx(2.5 if known == "both" else 1.0, rel=1e-5)


def test_collinear_points_and_unknown_depths_give_no_model():
    matches, *_ = draw(0, 1.0)
    line = matches.copy()
    line[2] = 0.5 * (line[0] + line[1])
    unknown = matches.copy()
    unknown[0, 4], unknown[1, 5] = 0.0, 0.0
    assert len(solve_sample(RELATIVE_DEPTH, line)) == 0
    assert len(solve_sample(RELATIVE_DEPTH, unknown)) == 0
