"""A result: unpacking, numbers and arrays, and files that load again."""

import copy
import dataclasses
import json
import pickle
import zipfile

import numpy as np
import pytest

import bansac
from bansac import RelativePose, Result
from bansac.synthetic import epipolar_matches
from tests.colmap.scenes import two_motions
from tests.results import assert_same


@pytest.fixture(scope="module")
def scene():
    return epipolar_matches(120, inlier_ratio=0.6, noise=0.1, seed=1)


UNKNOWN, OTHER = bansac.Camera.unknown_focal(640, 480), bansac.Camera.unknown_focal(640, 480)


def results(scene):
    """Return results of every form."""
    line = np.column_stack([np.arange(40.0), np.arange(40.0) * 2])
    motions, _ = two_motions((120, 90, 40))
    return {
        "homography": bansac.estimate_homography(scene.x1, scene.x1 + 3, trace=True),
        "pose": bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, threshold=1.0),
        "rival": bansac.estimate_relative_pose(motions.x1, motions.x2, UNKNOWN),
        "absolute pose": bansac.estimate_absolute_pose(scene.points[scene.inliers], scene.x1[scene.inliers], UNKNOWN),
        "no model": bansac.estimate_homography(scene.x1[:3], scene.x2[:3]),
        "no data": bansac.fit_line(np.empty((0, 2)), threshold=1.0),
        "no beliefs": bansac.fit_line(line, threshold=1.0, sampler="uniform", seed=2**64 - 1),
    }


def test_unpacks_and_is_indexed_alike(scene):
    result = bansac.estimate_fundamental(scene.x1, scene.x2)
    model, inliers = result
    assert result[0] is result.model is model
    assert result[1] is result[-1] is result.inliers is inliers
    assert len(result) == len(tuple(result)) == 2
    with pytest.raises(IndexError):
        result[2]


DISTORTED = bansac.Camera("SIMPLE_RADIAL", (800.0, 319.5, 239.5, 1e-3))
CAMERAS = [(DISTORTED,), (UNKNOWN,), (UNKNOWN, OTHER), (DISTORTED.K, UNKNOWN), (UNKNOWN, DISTORTED.K)]
CALLS = [(bansac.estimate_essential, (DISTORTED,)), *((bansac.estimate_relative_pose, pair) for pair in CAMERAS)]


@pytest.mark.parametrize(("estimate", "cameras"), CALLS)
def test_a_rival_has_the_form_of_the_model(estimate, cameras):
    matches, _ = two_motions((120, 90, 40))
    result = estimate(matches.x1, matches.x2, *cameras)
    assert (result.configuration, type(result.rival.model)) == ("ambiguous", type(result.model))
    assert np.shape(result.rival.model[0]) == np.shape(result.model[0])
    if isinstance(result.model, RelativePose):
        assert (result.rival.model.K1 is None) == (result.model.K1 is None)


def test_probabilities_are_the_same_whenever_they_are_asked_for(scene):
    asked_first, asked_last = (bansac.estimate_fundamental(scene.x1, scene.x2) for _ in range(2))
    p = asked_first.probabilities
    assert asked_first.probabilities is p
    assert not p.flags.writeable
    copies = [
        copy.copy(asked_last),
        pickle.loads(pickle.dumps(asked_last)),
        dataclasses.replace(asked_last, seconds=1.0),
    ]
    for other in (*copies, asked_last):
        np.testing.assert_array_equal(other.probabilities, p)
    with pytest.raises(AttributeError, match="no attribute 'probability'"):
        asked_last.probability  # noqa: B018


def test_arrays_are_read_only(scene):
    result = bansac.estimate_homography(scene.x1, scene.x1 + 3, trace=True)
    arrays = [result.model, result.inliers, result.residuals, result.probabilities, result.beliefs]
    arrays += [result.trace.best_score, result.trace.snapshots[0]]
    arrays += bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, threshold=1.0).model
    again = pickle.loads(pickle.dumps(result))
    arrays += [again.model, again.inliers, again.residuals, again.probabilities, again.beliefs, again.trace.best_score]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.inliers = None


def test_a_result_does_not_lock_the_arrays_that_it_is_made_of(scene):
    result = bansac.estimate_homography(scene.x1, scene.x2)
    mine = np.eye(3)
    changed = dataclasses.replace(result, model=mine)
    mine[0, 0] = 2.0
    assert changed.model[0, 0] == 2.0
    assert not changed.model.flags.writeable


def test_numbers_are_those_of_python(scene):
    settings = {"seed": np.uint8(3), "threshold": np.float32(1.5), "max_iterations": 1e3, "confidence": np.float64(0.9)}
    result = bansac.estimate_homography(scene.x1, scene.x2, **settings)
    assert (result.seed, result.threshold) == (3, 1.5)
    scalars = [getattr(result, name) for name in ("seed", "threshold", "score", "iterations", "success", "seconds")]
    assert [type(value) for value in scalars] == [int, float, float, int, bool, float]
    changed = dataclasses.replace(result, seed=np.int64(5), score=np.float32(2))
    assert (type(changed.seed), type(changed.score)) == (int, float)


def test_a_random_seed_is_reported_and_gives_the_same_again(scene):
    first, second = (bansac.estimate_fundamental(scene.x1, scene.x2, seed=None) for _ in range(2))
    assert first.seed != second.seed
    again = bansac.estimate_fundamental(scene.x1, scene.x2, seed=first.seed)
    assert_same(first, again)
    options = bansac.Options(seed=None, threshold=1.0)
    assert len({bansac.estimate_homography(scene.x1, scene.x2, options=options).seed for _ in range(3)}) == 3


def test_a_result_is_saved_and_loaded(scene, tmp_path):
    made = results(scene)
    assert made["rival"].rival.model.K1 is not None
    for name, result in made.items():
        path = tmp_path / f"{name}.npz"
        result.save(path)
        assert_same(result, Result.load(str(path)), timed=True)
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_json_takes_a_result(scene):
    for result in results(scene).values():
        document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        assert document["message"] == result.message
        assert document["inliers"] == result.inliers.tolist()
        assert list(document) == [field.name for field in dataclasses.fields(Result)]
    assert document["beliefs"] is None
    failed = results(scene)["no model"].to_dict()
    assert failed["model"] is None
    assert failed["probabilities"] is None
    assert failed["residuals"] == [None] * 3


def test_saving_replaces_a_file_as_a_whole_or_leaves_it(scene, tmp_path, monkeypatch):
    result = bansac.estimate_homography(scene.x1, scene.x2)
    path = tmp_path / "result.npz"
    result.save(path)
    before = path.read_bytes()

    def fails(file, **arrays):
        file.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fails)
    with pytest.raises(OSError, match="disk full"):
        result.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["result.npz"]


def test_files_that_are_no_results_are_refused(scene, tmp_path):
    result = bansac.estimate_homography(scene.x1, scene.x2)
    with pytest.raises(ValueError, match=r"path must end in \.npz, got 'result\.txt'"):
        result.save("result.txt")
    with pytest.raises(ValueError, match="path must end in"):
        Result.load(tmp_path / "result")
    with pytest.raises(OSError, match=r"nowhere\.npz"):
        Result.load(tmp_path / "nowhere.npz")
    (tmp_path / "text.npz").write_text("not npz")
    np.savez(tmp_path / "arrays.npz", x=np.ones(3))
    result.save(tmp_path / "locked.npz")
    content = bytearray((tmp_path / "locked.npz").read_bytes())
    content[content.find(b"PK\x01\x02") + 8] |= 1  # the first array is encrypted
    (tmp_path / "locked.npz").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "names.npz", "w") as archive:
        for name, array in (("fields", np.array('{"a": 1}')), ("a.b", np.ones(2))):
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, array)
    (tmp_path / "end.npz").write_bytes(content[:-9])
    for name in ("text.npz", "arrays.npz", "locked.npz", "end.npz", "names.npz"):
        with pytest.raises(ValueError, match=f"{name} holds no result"):
            Result.load(tmp_path / name)


def test_the_time_of_the_run_is_told_apart_from_loading(scene):
    result = bansac.estimate_homography(scene.x1, scene.x2)
    loaded = dataclasses.replace(result, seconds=0.002, loading_seconds=0.5)
    assert "2.00 ms (and 0.50 s to load or compile kernels), seed 0" in repr(loaded)
    assert "2.00 ms, seed 0" in repr(dataclasses.replace(result, seconds=0.002, loading_seconds=0.0))
