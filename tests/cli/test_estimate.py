import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bansac as library
from bansac.batch.result_files import WRITERS
from bansac.cli.arguments import uses_scores
from bansac.cli.estimate import MANY
from bansac.engine.sampling import SAMPLERS
from bansac.geometry import normalise_points
from bansac.problems.estimators import MODELS
from bansac.problems.line import LINE
from bansac.synthetic import depth_matches
from bansac_lab.known_scenes import known_scene
from bansac_lab.metrics import corner_error, rotation_error, translation_error
from lab.tests.pair_sets import write_pose_set
from tests.arrays import write_arrays


@pytest.mark.parametrize("name", ["matches.csv", "matches.npz", "matches.h5", "x1_x2.npz", "x1_x2.h5"])
def test_homography_of_a_file_is_the_librarys(
    bansac: Any, tmp_path: Path, matches_csv: Path, plane: Any, name: str
) -> None:
    if name != matches_csv.name:
        both = {"x1": plane.x1, "x2": plane.x2}
        write_arrays(tmp_path / name, **both if "x1" in name else {"matches": np.hstack([plane.x1, plane.x2])})
    document = bansac.json("estimate", tmp_path / name, "--model", "H", "--seed", "4")
    expected = library.estimate_homography(plane.x1, plane.x2, seed=4)
    np.testing.assert_allclose(document["parameters"], expected.model, rtol=1e-12)
    assert document["num_inliers"] == expected.num_inliers
    assert document["seed"] == 4
    assert document["success"] is True
    assert sum(document["posterior"].values()) == 150
    assert document["parameters"][2][2] == 1.0
    assert corner_error(document["parameters"], plane.H, plane.size) < 1


def test_header_puts_columns_in_any_order_and_scores_are_the_prior(bansac: Any, tmp_path: Path, plane: Any) -> None:
    scores = np.where(plane.inliers, 0.8, 0.2)
    table = np.column_stack([scores, plane.x2, plane.x1])
    path = tmp_path / "matches.txt"
    np.savetxt(path, table, header="score x2 y2 x1 y1", comments="", fmt="%.17g")
    document = bansac.json("estimate", path, "--model", "F")
    assert document["parameters"] == library.estimate_fundamental(plane.x1, plane.x2, scores=scores).model.tolist()
    without = bansac.json("estimate", path, "--model", "F", "--no-scores")
    assert without["parameters"] == library.estimate_fundamental(plane.x1, plane.x2).model.tolist()
    uniform = bansac.json("estimate", path, "--model", "F", "--sampler", "uniform")
    weighted = library.estimate_fundamental(plane.x1, plane.x2, sampler="uniform", scores=scores)
    assert uniform["score"] == weighted.score
    assert uniform["configuration"] == "planar"
    assert sum(uniform["posterior"].values()) == 150


@pytest.mark.parametrize("more", [{}, {"stopping": "prosac"}, {"weighting": "scores"}], ids=str)
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("model", MODELS)
def test_the_command_line_uses_scores_if_the_library_takes_them(model: str, sampler: str, more: dict[str, str]) -> None:
    row, settings = MODELS[model], {"sampler": sampler, "threshold": 0.1, **more}
    points = [np.random.default_rng(k).uniform(0, 1, (3, len(row.data[name]))) for k, name in enumerate(row.data)]
    try:
        row.load_function()(*points, *([2] if "degree" in row.arguments else []), scores=[0.5, 0.4, 0.6], **settings)
        taken = True
    except ValueError as error:
        taken = "scores have no effect" not in str(error)
    assert uses_scores(model, settings, no_scores=False) == taken
    assert not uses_scores(model, settings, no_scores=True)


@pytest.mark.parametrize("calibration", ["json", "npz", "txt", "two.txt", "in the file"])
def test_essential_matrix_with_motion(bansac: Any, tmp_path: Path, scene: Any, calibration: str) -> None:
    path = tmp_path / "matches.npz"
    cameras = {"K1": scene.K, "K2": scene.K}
    np.savez(path, x1=scene.x1, x2=scene.x2, **(cameras if calibration == "in the file" else {}))
    arguments = []
    if calibration != "in the file":
        calib = tmp_path / f"calib.{calibration}"
        if calibration == "json":
            calib.write_text(json.dumps({"K": scene.K.tolist()}))
        elif calibration == "npz":
            np.savez(calib, **cameras)
        else:
            np.savetxt(calib, np.vstack([scene.K] * (2 if calibration == "two.txt" else 1)), header="cameras")
        arguments = ["--calib", calib]
    document = bansac.json("estimate", path, "--model", "E", "--threshold", "1", *arguments)
    assert rotation_error(document["R"], scene.R) < 0.5
    assert translation_error(document["t"], scene.t) < 2
    np.testing.assert_allclose(np.linalg.svd(np.array(document["parameters"]))[1], [1, 1, 0], atol=1e-9)


def test_threshold_that_is_estimated(bansac: Any, tmp_path: Path, scene: Any) -> None:
    np.savez(tmp_path / "matches.npz", x1=scene.x1, x2=scene.x2)
    document = bansac.json("estimate", tmp_path / "matches.npz", "--model", "F", "--threshold", "auto")
    assert document["success"] is True
    assert 0.05 <= document["threshold"] <= 3
    refused = bansac.refused("estimate", tmp_path / "matches.npz", "--model", "F", "--threshold", "wide")
    assert "'wide' is neither a number nor 'auto'" in refused


def test_pair_of_a_set(bansac: Any, tmp_path: Path) -> None:
    folder = write_pose_set(tmp_path / "room")
    document = bansac.json("estimate", folder, "--pair", "1a-1b", "--model", "E", "--threshold", "1")
    assert document["success"] is True
    assert document["num_data"] == 120
    assert "1a-2b" in bansac.refused("estimate", folder, "--pair", "1a-2b", "--model", "E")


@pytest.mark.parametrize("suffix", ["csv", "npz"])
@pytest.mark.parametrize("model", [name for name, row in MODELS.items() if not row.cameras])
def test_the_answer_of_every_model_is_the_librarys(bansac: Any, tmp_path: Path, model: str, suffix: str) -> None:
    row, path = MODELS[model], tmp_path / f"data.{suffix}"
    *data, last = known_scene(row.name, 80, 0.8, 0.1, seed=1).arguments
    arrays, degree = (data, last) if "degree" in row.arguments else ([*data, last], None)
    if suffix == "npz":
        np.savez(path, **dict(zip(row.data, arrays, strict=True)))
    else:
        header = ",".join(name for columns in row.data.values() for name in columns)
        np.savetxt(path, np.hstack(arrays), "%.17g", ",", header=header, comments="")
    threshold = 0.5 if degree is None else 0.001
    command = ("estimate", path, "--model", model, "--threshold", str(threshold))
    if degree is not None:
        assert "--degree must be given" in bansac.refused(*command)
        command += ("--degree", str(degree))
    expected = row.load_function()(*arrays, *([] if degree is None else [degree]), threshold=threshold)
    assert bansac.json(*command)["parameters"] == expected.model.tolist()
    shown = bansac(*command).stdout
    assert row.equation in shown
    assert all(f"{name} = " in shown for name in row.coefficients)
    assert f"threshold {threshold}" in shown


def test_absolute_pose(bansac: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    K = np.array([[800.0, 0, 320], [0, 800, 240], [0, 0, 1]])
    X = rng.uniform([-2, -2, 4], [2, 2, 8], (60, 3))
    x = (X @ K.T)[:, :2] / X[:, 2:]
    x[:15] = rng.uniform(0, 480, (15, 2))
    (tmp_path / "K.json").write_text(json.dumps({"K": K.tolist()}))
    np.savetxt(tmp_path / "a.csv", np.hstack([x, X - [0, 0, 6]]), delimiter=",", header="x,y,X,Y,Z", comments="")
    command = ("estimate", tmp_path / "a.csv", "--model", "absolute-pose", "--threshold", "2")
    found = bansac.json(*command, "--calib", tmp_path / "K.json", "--out", tmp_path / "out")
    np.testing.assert_allclose(found["R"], np.eye(3), atol=1e-6)
    np.testing.assert_allclose(np.array(found["parameters"])[:, 3], found["t"])
    np.testing.assert_allclose(found["t"], [0, 0, 6], atol=1e-5)
    assert found["num_inliers"] == 45
    again = bansac("estimate", tmp_path / "out" / "data.npz", "--model", "absolute-pose", "--threshold", "2").stdout
    assert "45 of 60 inliers" in again
    assert "threshold 2 px" in again
    assert "X Y Z x y for absolute-pose" in " ".join(bansac("estimate", "--help").stdout.split())
    assert "--multiple does not go with" in bansac.refused(*command, "--multiple")
    polynomial = ("estimate", tmp_path / "a.csv", "--model", "polynomial", "--degree", "2", "--multiple")
    assert "--multiple does not go with --model polynomial" in bansac.refused(*polynomial)
    two = tmp_path / "two.npz"
    np.savez(two, K1=K, K2=np.diag([2, 2, 1]) @ K)
    assert "must hold one camera matrix" in bansac.refused(*command, "--calib", two)


def test_cameras_with_distortion(bansac: Any, tmp_path: Path, scene: Any) -> None:
    distortion = [-0.2, 0.05, 0.001, -0.001]
    camera = library.Camera.from_matrix(scene.K, distortion)
    x1, x2 = (camera.project(normalise_points(scene.K, x)) for x in (scene.x1, scene.x2))
    np.savez(tmp_path / "matches.npz", x1=x1, x2=x2)
    (tmp_path / "cameras.json").write_text(json.dumps({"K": scene.K.tolist(), "distortion": distortion}))
    command = ("estimate", tmp_path / "matches.npz", "--model", "E", "--threshold", "1")
    found = bansac.json(*command, "--calib", tmp_path / "cameras.json", "--out", tmp_path / "out")
    expected = library.estimate_relative_pose(x1, x2, camera, camera, threshold=1.0)
    np.testing.assert_allclose(found["R"], expected.model.R)
    assert found["num_inliers"] == expected.num_inliers
    with np.load(tmp_path / "out" / "data.npz") as data:
        assert "K1" not in data, "it would be read without the distortion"
    two = tmp_path / "two.npz"
    np.savez(two, K1=scene.K, K2=scene.K, distortion1=distortion, distortion2=distortion)
    assert bansac.json(*command, "--calib", two)["R"] == found["R"]
    np.savez(two, K1=scene.K, K2=scene.K, distortion=distortion)
    assert "two.npz: distortion has no camera matrix of its own" in bansac.refused(*command, "--calib", two)
    np.savez(two, K=scene.K, distortion=distortion[:3])
    assert "two.npz: distortion: distortion must be" in bansac.refused(*command, "--calib", two)


def test_depths_of_a_file_are_used_for_poses(bansac: Any, tmp_path: Path) -> None:
    scene = depth_matches(80, 0.6, 0.5, 1)
    depths = {"depth1": np.where(np.arange(80) % 9, scene.depth1, np.nan), "depth2": scene.depth2}
    path, calibration = tmp_path / "depths.csv", tmp_path / "K.npz"
    table = np.column_stack([scene.x1, scene.x2, *depths.values()])
    np.savetxt(path, table, "%.17g", ",", header="x1,y1,x2,y2,depth1,depth2", comments="")
    np.savez(calibration, K=scene.K)
    command = ("estimate", path, "--model", "E", "--calib", calibration)
    expected = library.estimate_relative_pose(scene.x1, scene.x2, scene.K, **depths)
    found = bansac.json(*command, "--out", tmp_path / "out")
    assert (found["scale"], found["t"]) == (expected.model.scale, expected.model.t.tolist())
    assert bansac.json("estimate", tmp_path / "out" / "data.npz", "--model", "E")["scale"] == found["scale"]
    assert f"scale = {expected.model.scale:16.10g}" in bansac(*command).stdout
    without = library.estimate_relative_pose(scene.x1, scene.x2, scene.K)
    for other in (bansac.json(*command, "--no-depths"), bansac.json("estimate", path, "--model", "F")):
        assert "scale" not in other
    assert bansac.json(*command, "--no-depths")["t"] == without.model.t.tolist()
    assert "depth1 and depth2 need" in bansac.refused(*command, "--preset", "paper")
    np.savetxt(path, -table, "%.17g", ",", header="x1,y1,x2,y2,depth1,depth2", comments="")
    assert "depth1 must be positive, or NaN if unknown" in bansac.refused(*command)


def test_out_holds_the_answer_and_feeds_the_next_run(bansac: Any, tmp_path: Path, matches_csv: Path) -> None:
    out = tmp_path / "deep" / "out"
    document = bansac.json("estimate", matches_csv, "--model", "H", "--out", out)
    assert json.loads((out / "result.json").read_text()) == document
    assert sorted(path.name for path in out.iterdir()) == ["data.npz", "result.json"]
    with np.load(out / "data.npz") as data:
        assert int(data["inliers"].sum()) == document["num_inliers"]
        assert data["probabilities"].shape == data["residuals"].shape == (150,)
        np.testing.assert_array_equal(data["inliers"], data["residuals"] <= document["threshold"])
    again = bansac.json("estimate", out / "data.npz", "--model", "H")
    assert again["parameters"] == document["parameters"]


def test_threshold_says_its_unit(bansac: Any, tmp_path: Path, scene: Any, matches_csv: Path) -> None:
    path = tmp_path / "scene.npz"
    np.savez(path, x1=scene.x1, x2=scene.x2, K=scene.K)
    assert "threshold 2 px, " in bansac("estimate", path, "--model", "E", "--threshold", "2").stdout
    assert "threshold 1 px, " in bansac("estimate", matches_csv, "--model", "H", "--threshold", "1").stdout
    rays1, rays2 = (normalise_points(scene.K, x) for x in (scene.x1, scene.x2))
    np.savez(path, x1=rays1, x2=rays2)
    shown = bansac("estimate", path, "--model", "E", "--threshold", "1e-3").stdout
    assert "threshold 0.001 normalised units, " in shown
    metres = 0.5 * scene.x1 + [500_000, 4_649_776.123]
    np.savez(path, x1=scene.x1, x2=metres)
    shown = bansac("estimate", path, "--model", "affine", "--threshold", "1").stdout
    assert "threshold 1, " in shown
    assert "4649776.123]" in shown
    assert "in pixels for H and F, and for E with --calib" in " ".join(bansac("estimate", "--help").stdout.split())


def test_help_states_the_default_of_max_iterations(bansac: Any) -> None:
    most = {model: MODELS[model].load_problem().default_max_iterations for model in ("H", "F", "E", "line")}
    assert most == {"H": 20_000, "F": 20_000, "E": 12_000, "line": 3000}
    assert "Default: 20000 for H and F, 12000 for E, 3000 for curves." in " ".join(
        bansac("estimate", "--help").stdout.split()
    )


def test_all_suffixes_of_results_of_many_pairs_are_known() -> None:
    assert set(MANY) == set(WRITERS)


def test_both_commands_have_the_flags_of_the_options_that_declare_one(bansac: Any) -> None:
    flags = [field for field in dataclasses.fields(library.Options) if field.metadata["flag"]]
    for command in ("estimate", "match"):
        shown = bansac(command, "--help").stdout
        for field in flags:
            assert f"--{field.name.replace('_', '-')} " in shown
    assert {"threshold", "scoring", "restarts", "seed"} <= {field.name for field in flags}


def test_preset_and_flags_that_override_it(
    bansac: Any, tmp_path: Path, plane: Any, scene: Any, matches_csv: Path
) -> None:
    fast = bansac.json("estimate", matches_csv, "--model", "H", "--preset", "fast")
    assert fast["restarts"] == 1
    more = ("--preset", "fast", "--restarts", "2", "--scoring", "inliers", "--seed", "3")
    document = bansac.json("estimate", matches_csv, "--model", "H", *more)
    settings = {"preset": "fast", "restarts": 2, "scoring": "inliers", "seed": 3}
    result = library.estimate_homography(plane.x1, plane.x2, **settings)
    assert document["parameters"] == result.model.tolist()
    assert "scoring must be one of" in bansac.refused("estimate", matches_csv, "--model", "H", "--scoring", "best")
    assert "preset must be one of" in bansac.refused("estimate", matches_csv, "--model", "H", "--preset", "best")
    np.savez(tmp_path / "scene.npz", x1=scene.x1, x2=scene.x2, K=scene.K)
    paper = bansac("estimate", tmp_path / "scene.npz", "--model", "E", "--preset", "paper").stdout
    assert "threshold 0.001 normalised units, " in paper


def test_without_a_model_the_exit_code_is_1_and_the_document_is_strict_json(bansac: Any, tmp_path: Path) -> None:
    path = tmp_path / "noise.csv"
    np.savetxt(path, np.random.default_rng(0).uniform(0, 500, (60, 4)), delimiter=",")
    document = bansac.json("estimate", path, "--model", "H", code=1)
    assert document["success"] is False
    assert "chance" in document["message"]
    path.write_text("1,2,3,4\n5,6,7,8\n")
    document = bansac.json("estimate", path, "--model", "H", code=1)
    assert (document["parameters"], document["num_data"]) == (None, 2)


def test_missing_and_truncated_files_are_named(bansac: Any, tmp_path: Path) -> None:
    refused = bansac.refused("estimate", tmp_path / "nowhere.csv", "--model", "H")
    assert "nowhere.csv: there is no such file" in refused
    path = write_arrays(tmp_path / "cut.h5", matches=np.random.default_rng(0).uniform(size=(5000, 4)))
    path.write_bytes(path.read_bytes()[:10000])
    assert "cut.h5: cannot be read" in bansac.refused("estimate", path, "--model", "H")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": np.zeros(3)}, "has no array 'x1'; it has y"),
        ({"x1": np.zeros((5, 2))}, "has no array 'x2'"),
        ({"x1": np.zeros((5, 3)), "x2": np.zeros((5, 2))}, "x1 must have shape (N, 2), got (5, 3)"),
        ({"x1": np.zeros((5, 2)), "x2": np.zeros((4, 2))}, "x2 must have shape (5, 2), got (4, 2)"),
        ({"matches": np.full((5, 4), np.inf)}, "matches must be finite, got inf at [0, 0]"),
        ({"matches": np.array([["a"] * 4])}, "matches must be an array of real numbers, got text"),
        ({"matches": np.zeros((5, 4)), "scores": np.zeros(4)}, "scores must have shape (5,), got (4,)"),
        ({"matches": np.zeros((5, 4)), "K1": np.eye(3)}, "must hold K, or K1 and K2"),
    ],
)
def test_bad_array_is_named(bansac: Any, tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "bad.npz", **arrays)
    found = bansac.refused("estimate", tmp_path / "bad.npz", "--model", "H")
    assert "bad.npz" in found
    assert message in found


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.json", "{", "c.json: not JSON"),
        ("c.json", "9" * 5000, "c.json: not JSON"),
        ("c.json", "[1]", "c.json: must hold an object"),
        ("c.json", '{"K2": 1}', "c.json: must hold K, or K1 and K2; it has K2"),
        ("c.json", '{"K": [[1, 0], [0, 1]]}', "c.json: K must have shape (3, 3), got (2, 2)"),
        ("c.json", '{"K": [[0, 0, 0], [0, 1, 0], [0, 0, 1]]}', "c.json: K must have positive focal lengths"),
        ("c.txt", "1 0 0\n0 1 0\n", "c.txt: must hold 3 rows of 3 numbers (K) or 6 (K1, then K2), or 1 or 2 rows"),
        ("c.txt", "a b c\n" * 3, "c.txt: K1 must be an array of real numbers"),
    ],
)
def test_bad_calibration_is_named(
    bansac: Any, matches_csv: Path, write: Any, name: str, text: str, message: str
) -> None:
    assert message in bansac.refused("estimate", matches_csv, "--model", "E", "--calib", write(name, text))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "H", "--threshold", "-1"], "threshold"),
        (["--model", "H", "--confidence", "2"], "confidence"),
        (["--model", "H", "--degree", "2"], "--degree does not go with --model H"),
        (["--model", "Q"], "--model"),
        (["--model", "H", "--no-such-option"], "--no-such-option"),
        *((["--model", name, "--calib", "K.txt"], f"--calib does not go with --model {name}") for name in "HF"),
        (["--model", "line", "--calib", "K.txt"], "--calib does not go with --model line"),
        (["--model", "H", "--out", ""], "out must name a file or a folder, got ''"),
        ([], "--model"),
    ],
)
def test_bad_argument_is_named(bansac: Any, matches_csv: Path, arguments: list[str], message: str) -> None:
    assert message in bansac.refused("estimate", matches_csv, *arguments)


def test_default_threshold_of_a_problem_is_used(bansac: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bansac.problems.line.LINE", dataclasses.replace(LINE, default_threshold=0.05))
    points = np.column_stack([np.linspace(0, 1, 50), np.linspace(1, 3, 50)])
    np.savez(tmp_path / "line.npz", points=points)
    threshold = bansac.json("estimate", tmp_path / "line.npz", "--model", "line")["threshold"]
    assert threshold == pytest.approx(0.005)  # a tenth, since the points are exact


def test_unwritable_out_is_found_before_the_work(
    bansac: Any, matches_csv: Path, blocked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bansac.estimate.two_views.estimate_homography", None)  # calling it would be a TypeError
    found = bansac.refused("estimate", matches_csv, "--model", "H", "--out", blocked)
    assert "--out: cannot write into" in found
    found = bansac.refused("estimate", matches_csv, "--model", "H", "--out", blocked.parent)
    assert f"--out must name a folder, got '{blocked.parent}'" in found


def test_an_empty_archive_is_named(bansac: Any, tmp_path: Path) -> None:
    np.savez(tmp_path / "none.npz")
    assert "none.npz: is empty" in bansac.refused("estimate", tmp_path / "none.npz", "--model", "F")


def test_the_threshold_of_a_failure_is_no_estimate(bansac: Any, tmp_path: Path) -> None:
    np.savez(tmp_path / "random.npz", points=np.random.default_rng(0).uniform(0, 1, (60, 2)))
    shown = bansac("estimate", tmp_path / "random.npz", "--model", "line", code=1).stdout
    assert " (the first guess, because none was estimated), " in " ".join(shown.split())
