"""Short forms of the measurements on cameras, several models, videos and COLMAP's databases."""

from pathlib import Path

import numpy as np
import pytest
from numba import config

from bansac.matches.array_files import Reader
from bansac.synthetic import homography_matches
from bansac_lab.measurements import colmap, focal_lengths, multiple
from lab.tests.measurements.short_form import run
from lab.tests.pair_sets import write_files, write_pose_set

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, the searches take minutes")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a set of two pairs whose matches are all mutual, with image sizes."""
    folder = tmp_path_factory.mktemp("data")
    room = write_pose_set(folder / "EF" / "room", pairs=2)
    with Reader(room / "matches.h5") as matches:
        mutual = {key: np.ones(len(matches.array(key, (-1, 4)))) for key in matches.keys()}  # noqa: SIM118
    sizes = dict.fromkeys(mutual, np.array([480, 640]))
    write_files(room, {"mutual": mutual, "size": sizes, "size2": sizes})
    return folder


def test_absolute_poses() -> None:
    document, _ = run("absolute-pose", "20", runs=1, points=100)
    figures = document["outliers"]["20"]["default"]
    assert figures["failed"] == 0
    assert figures["degrees_median"] < 0.1


def test_known_vertical() -> None:
    document, tables = run("known-vertical", "0.3/unknown", "0.3/0.3", runs=1)
    assert document["poses"]["0.3"]["0.3"]["auc10"] > 0.9
    assert tables["known-vertical"].startswith("| inliers | vertical unknown | known to 0.3 degrees |")


def test_depths() -> None:
    document, tables = run("depth", "200, 20 %", runs=2)
    cells = document["poses"]["200, 20 %"]
    assert cells["ours"]["within10"] == 1.0
    assert cells["ours"]["claimed"] == 2
    assert tables["depth"].startswith("| matches, inliers | without depths | ours | poselib 3.0 |")


def test_several_models(tmp_path: Path) -> None:
    plane = homography_matches(80, 0.7, 0.3)
    matches, labels = np.hstack([plane.x1, plane.x2]), plane.inliers.astype(int)
    pairs = write_files(tmp_path / "planes", {"matches": {"a": matches}, "labels": {"a": labels}})
    document, tables = run("multiple", "pair", "points/line/(2, 30)", data=pairs, runs=2, seeds=1, models=("line",))
    assert document["adelaide"][0]["found"] == 1
    assert "| estimate_multiple | " in tables["planes-of-pairs"]
    assert document["synthetic"]["line"] == [{"model": "line", "models": 2, "outliers": 30, "exact": 100.0}]
    truth = np.repeat([0, 1, -1], [60, 60, 180])
    assert multiple.misclassified(1 - np.where(truth < 0, 2, truth), truth) == 0


def test_distorted_images(data: Path) -> None:
    units = "synthetic pairs/none", "synthetic poses/fisheye, 165", "real pairs/OPENCV"
    document, tables = run("distortion", *units, data=data, runs=1)
    assert document["tables"]["real pairs"]["OPENCV"]["default"]["auc_10"] > 0.9
    assert "| synthetic poses | fisheye, 165 degrees | 0.99" in tables["distortion"]


def test_focal_lengths(data: Path) -> None:
    pytest.importorskip("poselib")
    units = "pairs/", "views/cloud/20"
    document, tables = run("focal-lengths", *units, data=data, sets=("room",), runs=1)
    assert document["pairs"]["both"]["room"]["ours"]["focal_median"] <= 0.1
    assert document["absolute"]["scenes"]["cloud"]["20"]["ours"]["right"] == 1
    assert "poselib" not in document["pairs"]["one"]["room"]
    assert tables["focal-absolute"].startswith("| method | cloud, 20 % |")
    with pytest.raises(ValueError, match="must be given for the modes shared"):
        run("focal-lengths", modes=("shared", "absolute"))


def test_a_decomposition_fails_without_a_model() -> None:
    assert focal_lengths._focal_error("ours", (), (700.0,)) == np.inf
    assert focal_lengths._focal_error("ours", (None,), (700.0,)) == np.inf


def test_videos() -> None:
    document, tables = run("video", videos=1, frames=12, tracks=150, repeats=1)
    assert all(len(row["errors"]) == 12 for row in document["rows"])
    assert "| absolute pose | warm, priors |" in tables["video"]


def test_databases_of_colmap(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pycolmap = pytest.importorskip("pycolmap")
    truth = colmap.write_real(tmp_path / "real.db", data / "EF" / "room", True)
    with pycolmap.Database.open(tmp_path / "real.db") as database:
        assert database.num_images() == len(truth.centers) == 4
        assert database.num_matches() > 150
    monkeypatch.setattr(colmap, "REAL", {"room": ("room", True)})
    monkeypatch.setattr(colmap, "SYNTHETIC", {"synthetic": (5, 80, 0.8, True)})
    document, tables = run("colmap", "synthetic", data=data, repeats=1)
    assert document["databases"]["synthetic"]["bansac"]["images"] == 5
    assert document["databases"]["synthetic"]["bansac"]["center_error"] < 0.01
    assert "| synthetic | COLMAP |" in tables["colmap"]
