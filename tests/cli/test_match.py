import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bansac import plotting
from bansac.batch.output_files import OutputFolder
from bansac.cli import answer as answer_module
from bansac.matches import load_demo
from bansac_lab.metrics import corner_error


def test_match_finds_the_known_homography(bansac: Any, tmp_path: Path) -> None:
    pair = load_demo()
    settings = ("--features", "1000", "--out", tmp_path / "out")
    document = bansac.json("match", pair.image1, pair.image2, "--model", "H", *settings)
    assert corner_error(document["parameters"], pair.H, pair.size1) < 5
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"result.json", "matches.npz", "matches.png"}
    with np.load(tmp_path / "out" / "matches.npz") as arrays:
        assert set(arrays) == {"x1", "x2", "scores", "inliers", "probabilities", "beliefs", "residuals"}
        assert len(arrays["x1"]) == document["num_data"]
        assert arrays["scores"].min() >= 0.15 - 1e-9


def test_size_and_number_of_features_are_bounded(bansac: Any) -> None:
    pair = load_demo()
    settings = ("--features", "500", "--max-size", "450")
    document = bansac.json("match", pair.image1, pair.image2, "--model", "H", *settings)
    assert 50 < document["num_data"] <= 500
    assert corner_error(document["parameters"], pair.H, pair.size1) < 10  # in the coordinates of the files
    for option, name in (("--features", "'--features': 0 is not in"), ("--max-size", "'--max-size': 0 is not in")):
        assert name in bansac.refused("match", pair.image1, pair.image2, "--model", "H", option, "0")


@pytest.mark.slow
def test_figures_of_large_images_have_scaled_coordinates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="this is about figures")
    pair, drawn, plot_matches = load_demo(), {}, plotting.plot_matches

    def listen(image1: Any, image2: Any, x1: Any, *others: Any, **more: Any) -> Any:
        drawn.update(size=image1.shape, x1=x1)
        return plot_matches(image1, image2, x1, *others, **more)

    monkeypatch.setattr(plotting, "plot_matches", listen)
    monkeypatch.setattr(answer_module, "MAX_SIZE", 320)
    answer = answer_module.estimate_two_view("H", pair, None, None, scores=pair.scores)
    folder = OutputFolder(tmp_path)
    answer_module.write_figure(folder, (pair.image1, pair.image2), pair, answer)
    assert set(folder.files) == {str(path) for path in tmp_path.iterdir()}
    assert drawn["size"] == (240, 320, 3)
    np.testing.assert_allclose(drawn["x1"], (pair.x1 + 0.5) / 2 - 0.5)


def test_a_report_has_the_images_and_the_settings(bansac: Any, tmp_path: Path) -> None:
    pair, page = load_demo(), tmp_path / "new" / "page.html"
    call = (
        "match",
        pair.image1,
        pair.image2,
        "--model",
        "H",
        "--features",
        "1000",
        "--restarts",
        "3",
        "--report",
        page,
    )
    document = bansac.json(*call)
    assert document["report"] == str(page)
    text = page.read_text(encoding="utf-8")
    assert "<h1>demo_1.jpg and demo_2.jpg</h1>" in text
    assert text.count("data:image/jpeg;base64,") == 2
    for row in ("features</th><td>1000", "scores</th><td>True", "restarts</th><td>3"):
        assert row in text
    assert '"frames":{"at":[0,' in text  # the run was traced
    assert "page.html is there already" in bansac.refused(*call)
    page.write_text("an earlier page")
    assert f"wrote {page}" in bansac(*call, "--overwrite").stdout
    assert len(page.read_text(encoding="utf-8")) > 1e5


def test_a_report_that_cannot_be_written_is_refused_before_the_work(bansac: Any, blocked: Path) -> None:
    call = ("match", "nowhere.jpg", "nowhere.jpg", "--model", "H", "--report")
    assert "--report must end in .html, got 'page.jpg'" in bansac.refused(*call, "page.jpg")
    assert "--report: cannot write" in bansac.refused(*call, blocked / "page.html")


def test_essential_matrix_goes_through_a_calibration(bansac: Any, tmp_path: Path) -> None:
    pair = load_demo()
    height, width = pair.size1
    calibration = tmp_path / "K.json"
    calibration.write_text(json.dumps({"K": [[width, 0, width / 2], [0, width, height / 2], [0, 0, 1]]}))
    images = pair.image1, pair.image2, "--max-size", "450"
    page = tmp_path / "page.html"
    shown = bansac("match", *images, "--model", "E", "--calib", calibration, "--report", page).stdout
    assert re.search(r'"epipolar":\[\[(-?[\d.e-]+,){8}', page.read_text(encoding="utf-8"))  # in pixels
    for name in ("E", "R", "t"):
        assert f"  {name} = [" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("{1} {2} --model E", "--calib must be given"),
        ("{1} {2} --model H --calib K.json", "--calib does not go with --model H"),
        ("{1} {2} --model H --ratio 1.5", "ratio"),
        ("{1} {2} --model E --calib nowhere.json", "nowhere.json: there is no such file"),
        ("{1} nowhere.jpg --model H", "nowhere.jpg"),
        ("{text} {2} --model H", "text.jpg"),
        ("{1} {2} --model H --out {text}/out", "--out: cannot write"),
    ],
)
def test_bad_argument_is_named(bansac: Any, write: Any, arguments: str, message: str) -> None:
    pair = load_demo()
    names = {"{1}": pair.image1, "{2}": pair.image2, "{text}": write("text.jpg", "no image")}
    words = [re.sub("{.*}", lambda name: str(names[name[0]]), word) for word in arguments.split()]
    assert message in bansac.refused("match", *words)
