"""The probability that a model is right: its evidence, the signs of the fit, and the results that carry it."""

import copy
import json
import math
import pickle

import numpy as np
import pytest

import bansac
from bansac.batch.records import as_record, as_row
from bansac.batch.result_files import write_npz
from bansac.estimate import model_confidence as module
from bansac.estimate.model_confidence import COEFFICIENTS, evidence, model_confidence, precision
from bansac.evidence.significance import MeasuredModel
from bansac.problems.essential import ESSENTIAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.synthetic import epipolar_matches, homography_matches

SCENE = epipolar_matches(400, 0.6, 0.5, 1)


def arguments_of(result):
    return vars(result)["_model_confidence"].args


@pytest.fixture(scope="module")
def result():
    return bansac.estimate_relative_pose(SCENE.x1, SCENE.x2, SCENE.K)


def test_right_models_have_a_high_confidence_and_shuffled_partners_a_low_one():
    x2 = np.random.default_rng(0).permutation(SCENE.x2)
    points = np.where(SCENE.inliers[:, None], SCENE.points, np.random.default_rng(0).uniform(2, 9, (400, 3)))
    plane = homography_matches(400, 0.6, 0.5, 1)
    shuffled = np.random.default_rng(0).permutation(plane.x2)
    for function, right, wrong in (
        (bansac.estimate_fundamental, (SCENE.x1, SCENE.x2), (SCENE.x1, x2)),
        (bansac.estimate_essential, (SCENE.x1, SCENE.x2, SCENE.K), (SCENE.x1, x2, SCENE.K)),
        (bansac.estimate_homography, (plane.x1, plane.x2), (plane.x1, shuffled)),
        (bansac.estimate_absolute_pose, (points, SCENE.x2, SCENE.K), (points, x2, SCENE.K)),
    ):
        assert function(*right).model_confidence > 0.7
        assert function(*wrong, max_iterations=600).model_confidence < 0.2


def test_evidence_of_a_known_run(result):
    solution, success, configuration = arguments_of(bansac.estimate_relative_pose(SCENE.x1, SCENE.x2, SCENE.K))
    numbers, n, count = evidence(solution, success, configuration), 400, result.num_inliers
    assert numbers["inliers"] == math.log10(1 + count)
    assert numbers["share"] == pytest.approx(math.log((count + 0.5) / (n - count + 0.5)))
    assert numbers["samples"] == -math.log10(1 + result.iterations)
    assert numbers["threshold"] == pytest.approx(-max(math.log2(result.threshold / result.first_threshold), 0.0))
    flags = ("agreement", "success", "unambiguous", "no_misfit", "no_plane")
    assert [numbers[name] for name in flags] == [1.0] * 5
    assert numbers["alternative"] == numbers["moving"] == 0.0
    few = arguments_of(bansac.estimate_relative_pose(SCENE.x1, SCENE.x2, SCENE.K, max_iterations=10))
    assert few[0].stop_reason == "max_iterations"  # few samples are no evidence if a limit ends the search
    assert evidence(*few)["samples"] == -math.log10(1 + ESSENTIAL.default_max_iterations)
    assert numbers["significance"] > 2
    against = evidence(solution, False, "ambiguous"), evidence(solution, True, "planar")
    assert (against[0]["success"], against[0]["unambiguous"], against[1]["no_plane"]) == (0.0, 0.0, 0.0)


def test_static_inliers_give_no_significance():
    rng = np.random.default_rng(0)
    x1, x2 = rng.uniform(0, 600, (2, 300, 2))
    x2[:120] = x1[:120] + rng.normal(0, 0.1, (120, 2))
    result = bansac.estimate_homography(x1, x2)
    assert result.success
    numbers = evidence(*arguments_of(result))
    assert numbers["moving"] == -numbers["significance"] < -2
    assert result.model_confidence < 0.1


def test_static_scene_with_few_wrong_matches_keeps_its_significance():
    rng = np.random.default_rng(0)
    x1, x2 = rng.uniform(0, 600, (2, 300, 2))
    x2[:285] = x1[:285] + rng.normal(0, 0.1, (285, 2))
    assert evidence(*arguments_of(bansac.estimate_homography(x1, x2)))["moving"] == 0.0


def test_precision_is_the_standard_deviation_of_simulated_estimates():
    """Least squares of many draws of the noise: the spread along the largest direction is that of one fit."""
    scene = epipolar_matches(300, 1.0, 0.5, 2)
    models, expected = [], []
    for seed in range(30):
        noise = np.random.default_rng(seed).normal(0, 0.5, (2, 300, 2))
        fitted = bansac.estimate_essential(scene.x1 + noise[0], scene.x2 + noise[1], scene.K)
        models.append(fitted.model.ravel() / np.linalg.norm(fitted.model))
        solution = arguments_of(fitted)[0]
        expected.append(10 ** -precision(ESSENTIAL, solution.request.data, solution.measured))
    spread = math.sqrt(np.linalg.eigvalsh(np.cov(np.array(models).T))[-1])
    assert 0.6 < np.mean(expected) / spread < 1.6


def test_precision_is_that_of_a_larger_image_and_finite_without_information():
    plane = homography_matches(100, 1.0, 0.5, 1)
    data = np.ascontiguousarray(np.hstack([plane.x1, plane.x2]).T)

    def measured(data, H):
        distances = HOMOGRAPHY.distances(data, H)
        return MeasuredModel(H, 3.0, distances, distances <= np.inf, data.shape[1])

    S = np.diag([10.0, 10.0, 1.0])
    larger = (S @ plane.H @ np.linalg.inv(S)).ravel()
    first = precision(HOMOGRAPHY, data, measured(data, plane.H.ravel()))
    assert first == pytest.approx(precision(HOMOGRAPHY, 10 * data, measured(10 * data, larger)), abs=1e-6)
    same = np.repeat(data[:, :1], 100, axis=1)
    assert 0.0 <= precision(HOMOGRAPHY, same, measured(same, plane.H.ravel())) <= 6.0


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_more_evidence_never_lowers_the_confidence(name):
    assert all(value >= 0.0 for number, value in COEFFICIENTS[name].items() if number != "constant")
    solution, success, configuration = arguments_of(bansac.estimate_relative_pose(SCENE.x1, SCENE.x2, SCENE.K))
    assert COEFFICIENTS[name].keys() - {"constant"} <= evidence(solution, success, configuration).keys()


def test_confidence_is_the_logistic_function_of_the_sum(monkeypatch):
    arguments = arguments_of(bansac.estimate_relative_pose(SCENE.x1, SCENE.x2, SCENE.K))
    monkeypatch.setitem(module.COEFFICIENTS, "essential matrix", {"constant": -2.0, "success": 2.0})
    assert model_confidence(*arguments) == 0.5
    assert model_confidence(arguments[0], False, None) == pytest.approx(1 / (1 + math.exp(2)))


def test_no_confidence_where_no_data_cover_the_call():
    points = [[x, 2.0 * x] for x in range(30)]
    assert bansac.fit_line(points, threshold=0.1).model_confidence is None
    assert bansac.estimate_affine(SCENE.x1, SCENE.x2).model_confidence is None
    assert bansac.estimate_fundamental(SCENE.x1, SCENE.x2, preset="paper").model_confidence is None
    assert bansac.estimate_fundamental(SCENE.x1[:3], SCENE.x2[:3]).model_confidence is None
    down = np.array([0.0, 1.0, 0.0])
    upright = bansac.estimate_relative_pose(SCENE.x1, SCENE.x2, SCENE.K, gravity1=down, gravity2=SCENE.R @ down)
    assert upright.model_confidence is None
    several = bansac.estimate_multiple("H", np.hstack([SCENE.x1, SCENE.x2]))
    assert all(part.model_confidence is None for part in several.results)


def test_it_is_computed_on_access_and_survives_copies_and_files(result, tmp_path):
    fresh = bansac.estimate_relative_pose(SCENE.x1, SCENE.x2, SCENE.K)
    assert "model_confidence" not in vars(fresh)
    expected = fresh.model_confidence
    assert "_model_confidence" not in vars(fresh)
    assert 0.0 < expected < 1.0
    assert pickle.loads(pickle.dumps(result)).model_confidence == expected
    assert copy.deepcopy(fresh).model_confidence == expected
    assert json.loads(json.dumps(fresh.to_dict()))["model_confidence"] == expected
    fresh.save(tmp_path / "result.npz")
    assert bansac.Result.load(tmp_path / "result.npz").model_confidence == expected
    assert f"model confidence {expected:.2f})" in repr(fresh)


def test_processes_and_tables_of_pairs_carry_it(tmp_path):
    pairs = [(SCENE.x1, SCENE.x2), (SCENE.x1[:3], SCENE.x2[:3])]
    first, second = bansac.estimate_many("fundamental", pairs, workers=1)
    records = [as_record(str(k), None, json.loads(json.dumps(as_row(r, None)))) for k, r in enumerate((first, second))]
    assert records[0]["model_confidence"] == first.model_confidence > 0.5
    write_npz(tmp_path / "pairs.npz", records)
    with np.load(tmp_path / "pairs.npz") as table:
        assert table["model_confidence"].dtype == np.float64
        np.testing.assert_array_equal(table["model_confidence"], [first.model_confidence, np.nan])
