"""Whole databases: what is written, what a second run does, runs that are killed, files that are no databases."""

import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pycolmap
import pytest

from bansac.colmap import VerificationOptions, verify_database
from bansac.geometry import essential_from_pose
from tests.colmap.conftest import as_set
from tests.colmap.scenes import two_motions


@pytest.fixture
def database(tmp_path, synthetic) -> Path:
    return Path(shutil.copy(synthetic[0], tmp_path / "a base.db"))


def content(path: Path) -> list[tuple]:
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return connection.execute("SELECT * FROM two_view_geometries ORDER BY pair_id").fetchall()
    finally:
        connection.close()


def test_the_right_matches_are_found_and_colmap_reads_the_geometries(database, synthetic):
    calls = []
    summary = verify_database(database, workers=2, batch_size=4, progress=lambda *numbers: calls.append(numbers))
    assert (summary.pairs, summary.new, summary.configurations) == (15, 15, {"calibrated": 15})
    assert calls == [(0, 15), (4, 15), (8, 15), (12, 15), (15, 15)]
    with pycolmap.Database.open(database) as opened:
        assert summary.inlier_matches == opened.num_inlier_matches()
        cameras = {image.image_id: opened.read_camera(image.camera_id) for image in opened.read_all_images()}
        for pair, right in synthetic[1].items():
            geometry = opened.read_two_view_geometry(*pair)
            found = as_set(geometry.inlier_matches)
            assert found <= as_set(opened.read_matches(*pair))
            assert len(found & right) >= 0.98 * len(right)
            assert len(found - right) <= 0.1 * len(right)
            assert geometry.config == pycolmap.TwoViewGeometryConfiguration.CALIBRATED
            pose = geometry.cam2_from_cam1
            E = essential_from_pose(pose.rotation.matrix(), pose.translation)
            rays, keypoints = [], []
            for image_id, column in zip(pair, np.array(sorted(right)).T, strict=True):
                x = opened.read_keypoints(image_id)[column, :2].astype(float)
                rays.append(np.column_stack([cameras[image_id].cam_from_img(x), np.ones(len(x))]))
                keypoints.append(np.column_stack([x, np.ones(len(x))]))
            for matrix, (x1, x2), tolerance in ((E, rays, 4e-3), (geometry.E, rays, 4e-3), (geometry.F, keypoints, 4)):
                lines = x1 @ (matrix / np.linalg.norm(matrix)).T
                distances = np.abs(np.sum(x2 * lines, axis=1)) / np.hypot(lines[:, 0], lines[:, 1])
                assert np.median(distances) < tolerance / 4


def test_pairs_with_two_motions_are_written_as_colmap_writes_them(tmp_path):
    scene, labels = two_motions()
    height, width = scene.size
    path = tmp_path / "motions.db"
    with pycolmap.Database.open(path) as opened:
        camera = pycolmap.Camera.create_from_model_id(1, pycolmap.CameraModelId.PINHOLE, scene.K[0, 0], width, height)
        opened.write_camera(camera)
        for image_id, x in ((1, scene.x1), (2, scene.x2)):
            opened.write_image(pycolmap.Image(name=f"{image_id}.png", camera_id=1, image_id=image_id), True)
            opened.write_keypoints(image_id, x.astype(np.float32) + 0.5)
        opened.write_matches(1, 2, np.column_stack([np.arange(len(labels))] * 2).astype(np.uint32))
    summary = verify_database(path, options=VerificationOptions(multiple_models=True), workers=1)
    assert summary.configurations == {"multiple": 1}
    with pycolmap.Database.open(path) as opened:
        geometry = opened.read_two_view_geometry(1, 2)
    assert geometry.config == pycolmap.TwoViewGeometryConfiguration.MULTIPLE
    assert geometry.E is geometry.F is geometry.H is geometry.cam2_from_cam1 is None
    found = np.asarray(geometry.inlier_matches)[:, 0]
    assert len(found) == summary.inlier_matches
    assert np.isin(np.flatnonzero(labels >= 0), found).mean() > 0.95


def test_the_geometries_do_not_depend_on_workers_and_batches(database, tmp_path):
    other = Path(shutil.copy(database, tmp_path / "other.db"))
    verify_database(database, workers=1, batch_size=100)
    verify_database(other, workers=3, batch_size=2)
    assert content(database) == content(other)
    verify_database(other, overwrite=True, options=VerificationOptions(max_error=1.0))
    assert content(database) != content(other)


def test_a_second_run_does_what_is_missing(database):
    verify_database(database, workers=1)
    before = content(database)
    with pycolmap.Database.open(database) as opened:
        opened.delete_two_view_geometry(1, 2)
        opened.delete_two_view_geometry(2, 5)
        opened.update_two_view_geometry(3, 4, pycolmap.TwoViewGeometry(config=7))
    calls = []
    summary = verify_database(database, workers=1, progress=lambda *numbers: calls.append(numbers))
    assert (summary.pairs, summary.new, calls) == (15, 2, [(13, 15), (15, 15)])
    after = content(database)
    assert [one == other for one, other in zip(before, after, strict=True)].count(False) == 1  # that of 3 and 4
    assert verify_database(database, workers=1, overwrite=True).new == 15
    assert content(database) == before


# Prints a line when kernels are loaded, and waits a little after every batch.
PROGRAM = """
import sys, time
from pathlib import Path
from bansac.colmap import verify_database

def progress(done, total):
    print(done, flush=True)
    time.sleep(0.1)

verify_database(Path(sys.argv[1]), workers=2, batch_size=1, progress=progress)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_runs_that_are_killed_leave_a_valid_file_and_change_nothing(database, tmp_path):
    undisturbed = Path(shutil.copy(database, tmp_path / "undisturbed.db"))
    verify_database(undisturbed, workers=1)
    expected = content(undisturbed)
    for delay in (0.0, 0.13):
        done = len(content(database))
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(database)], stdout=subprocess.PIPE, text=True)
        for line in process.stdout:
            if int(line) >= done + 4:
                break
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        rows = content(database)
        assert min(done + 4, 15) <= len(rows)
        assert set(rows) <= set(expected)
    verify_database(database, workers=1)
    assert content(database) == expected


def test_pairs_that_cannot_be_read_are_named_by_the_reason(database):
    with pycolmap.Database.open(database) as opened:
        opened.delete_matches(1, 2)
        opened.write_matches(1, 2, np.array([[0, 99999]], np.uint32))
        opened.write_matches(1, 77, np.array([[0, 0]], np.uint32))
        opened.update_keypoints(3, np.empty((0, 6), np.float32))
        keypoints = opened.read_keypoints(6)
        keypoints[0, 0] = np.nan
        opened.update_keypoints(6, keypoints)
    summary = verify_database(database, workers=1)
    names = {reason: len(pairs) for reason, pairs in summary.failures.items()}
    missing = "a match names a keypoint that image 2 does not have: it has 300"
    assert names == {
        missing: 1,
        missing.replace("image 2 does not have: it has 300", "image 3 does not have: it has 0"): 4,
        "there is no image 77": 1,
        "image 6 has keypoints that are NaN or infinite": 5,
    }
    assert summary.failures[missing] == ["camera000001_frame000000.png - camera000001_frame000001.png"]
    assert (summary.pairs, summary.new) == (16, 5)
    assert verify_database(database, workers=1).new == 0


@pytest.mark.parametrize(
    ("model", "parameters", "configuration"),
    [
        ("OPENCV_FISHEYE", [500.0, 500.0, 512.0, 384.0, 0.01, 0.0, 0.0, 0.0], "calibrated"),
        ("EQUIRECTANGULAR", [1024.0, 768.0], None),
        ("SIMPLE_RADIAL", None, "uncalibrated"),
    ],
)
def test_camera_models(tmp_path, model, parameters, configuration):
    path = tmp_path / "database.db"
    settings = pycolmap.SyntheticDatasetOptions(num_rigs=1, num_frames_per_rig=2, num_points3D=100)
    settings.camera_has_prior_focal_length = parameters is not None
    settings.camera_model_id = getattr(pycolmap.CameraModelId, model)
    if parameters is not None:
        settings.camera_params = parameters
    pycolmap.set_random_seed(1)
    with pycolmap.Database.open(path) as opened:
        pycolmap.synthesize_dataset(settings, opened)
        opened.clear_two_view_geometries()
    summary = verify_database(path, workers=1)
    if configuration is None:
        assert list(summary.failures) == ["the camera model EQUIRECTANGULAR has no image plane"]
    else:
        assert summary.configurations == {configuration: 1}
        assert summary.inlier_matches >= 99


def test_a_point_beyond_the_model_of_a_fisheye_has_no_ray():
    from bansac.colmap.database import _undistort

    camera = pycolmap.Camera.create_from_model_id(1, pycolmap.CameraModelId.OPENCV_FISHEYE, 500.0, 1000, 800)
    rays = _undistort(camera, np.array([[600.0, 400.0], [500.0 + 500 * 1.6, 400.0]]))
    np.testing.assert_allclose(rays[0], [np.tan(0.2), 0.0], atol=1e-9)
    assert np.isnan(rays[1]).all()


def test_files_that_are_no_databases(database, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.db: there is no such file"):
        verify_database(tmp_path / "nothing.db")
    assert not (tmp_path / "nothing.db").exists()
    text = tmp_path / "text.db"
    text.write_text("no database" * 1000)
    with pytest.raises(OSError, match=r"text\.db: cannot be used as a database: file is not a database"):
        verify_database(text)
    empty = tmp_path / "other.db"
    sqlite3.connect(empty).close()
    empty.touch()
    with pytest.raises(OSError, match="is no database of COLMAP: it has no table cameras, "):
        verify_database(empty)
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(OSError, match="database is locked"):
            verify_database(database)
    finally:
        connection.close()


def test_a_damaged_database_is_named(database):
    content = database.read_bytes()
    middle = len(content) // 2
    database.write_bytes(content[:middle] + b"\0" + content[middle:])
    with pytest.raises(OSError, match=r"a base\.db: cannot be read or written: .*malformed"):
        verify_database(database)
    database.write_bytes(content.replace(b"sqlite_autoindex", b"sqlite_autoinde\x80"))
    with pytest.raises(OSError, match=r"a base\.db: cannot be used as a database"):
        verify_database(database)


def test_a_second_run_says_at_once_that_the_database_is_busy(database):
    def again(done, total):
        with pytest.raises(OSError, match=r"a base\.db: the database is busy: another run"):
            verify_database(database)

    assert verify_database(database, workers=1, progress=again).new == 15
    assert verify_database(database, workers=1).new == 0
    assert [path.name for path in database.parent.iterdir()] == [database.name]


@pytest.mark.parametrize("argument", ["workers", "batch_size", "options"])
def test_bad_arguments_are_named(database, argument):
    expected = "a VerificationOptions, got int" if argument == "options" else "an integer >= 1, got 0"
    with pytest.raises(ValueError, match=f"{argument} must be {expected}"):
        verify_database(database, **{argument: 0})


def test_without_pycolmap_the_extra_is_named(database, monkeypatch):
    monkeypatch.setitem(sys.modules, "pycolmap", None)
    with pytest.raises(ImportError, match=r"pip install pycolmap"):
        verify_database(database)
