"""``success`` is true for right models and false for everything else; a small part of ``bansac bench honesty``."""

import itertools

import numpy as np
import pytest

import bansac
from bansac_lab.families import awkward_scene
from bansac_lab.measurement import Setup
from bansac_lab.measurements import honesty
from tests.evidence.test_configuration import line_matches
from tests.space_scenes import seen_points

RUNS = 10
TWO_VIEWS = ("homography", "fundamental", "essential")
PROBLEMS = (*TWO_VIEWS, "line", "circle", "cubic")


def successes(runs):
    return sum(run["success"] for run in runs)


@pytest.mark.parametrize(
    ("problem", "size", "noise", "kind", "runs"),
    [
        *itertools.product(
            PROBLEMS, ["N = 200"], ["10 px"], ["uniform", "clustered", "many-to-one", "5 % duplicates", "grid"], [RUNS]
        ),
        *((problem, "N = 200", "10 px", "uniform", RUNS) for problem in honesty.PROBLEMS if problem not in PROBLEMS),
        *((problem, "N = 10000", "3 px", "uniform", 3) for problem in ("fundamental", "essential", "cubic")),
        *((problem, "N = 1000", "10 px", "matched clusters", RUNS) for problem in TWO_VIEWS),
    ],
)
def test_noise_is_no_success(problem, size, noise, kind, runs):
    assert successes(honesty.noise_runs(Setup(runs=runs), problem, size, noise, kind)) == 0


@pytest.mark.parametrize("data", [*honesty.POWER][:3])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_right_models_are_success(problem, data):
    assert successes(honesty.known_runs(Setup(runs=RUNS), problem, data)) >= 0.9 * RUNS


@pytest.mark.parametrize(
    "family",
    ["window 10", "turned window 10", "far 65535", "far 1e6", "duplicates", "grid 4", "true burst", "false burst"],
)
@pytest.mark.parametrize("problem", ["homography", "fundamental"])
def test_families_without_a_model_are_no_success(problem, family):
    assert successes(honesty.family_runs(Setup(runs=5), problem, "N = 300", family, inlier_ratio=0.0)) == 0


@pytest.mark.parametrize("problem", TWO_VIEWS)
def test_right_models_of_families_are_success(problem):
    runs = list(honesty.family_runs(Setup(runs=5), problem, "N = 300", "near 10"))
    assert runs == [dict.fromkeys(("right", "success", "configuration"), True)] * 5


def test_the_families_of_the_campaign_have_the_expected_answers():
    negative, positive = (
        [unit.key for unit in honesty.units(Setup(runs=3, only=(part,)))]
        for part in ("families without a model", "families")
    )
    assert len(negative) == 3 * 3 * len(honesty.WITHOUT_MODEL)
    assert not any("window" in name for name in positive)
    for family in honesty.WITHOUT_MODEL:
        assert awkward_scene(family, "F", 300, 0.0).success is False


def test_a_threshold_that_is_not_small_against_the_data_is_said():
    x1, x2 = np.random.default_rng(0).uniform(0, 1, (2, 200, 2))
    for estimate in (bansac.estimate_homography, bansac.estimate_fundamental):
        result = estimate(x1, x2, threshold=1.0)
        assert not result.success
        assert "threshold of 1 " in result.message
        assert "an extent of 0.99" in result.message or "an extent of 1" in result.message


def test_a_model_without_any_inlier_is_no_success():
    """Many matches onto few points: matrices of rank 1, of which nothing is left once the singular values are equal."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x2 = rng.uniform(0, 1, (4, 2))[rng.integers(0, 4, 200)]
        result = bansac.estimate_essential(rng.uniform(0, 1, (200, 2)), x2, threshold=0.01, seed=seed)
        assert not result.success


def test_a_support_on_a_line_is_said_where_it_is_no_success_either():
    named = 0
    for seed in range(10):
        scene = line_matches(seed, 60, 60, 0.1)
        result = bansac.estimate_fundamental(scene.x1, scene.x2, seed=seed)
        assert not result.success
        named += result.configuration == "collinear"
    assert named >= 9


@pytest.mark.parametrize(("n", "noise"), [(4, 0.0), (4, 1e-3), (5, 1e-3), (6, 0.1)])
def test_few_exact_points_of_a_pose_are_a_success(n, noise):
    K = np.array([[800.0, 0, 640], [0, 800, 480], [0, 0, 1]])
    points, pixels, *_ = seen_points(K, n, 1.0, noise, seed=n)
    assert bansac.estimate_absolute_pose(points, pixels, K).success
    random = np.random.default_rng(9).uniform(0, [1280, 960], (n, 2))
    assert not bansac.estimate_absolute_pose(points, random, K).success
