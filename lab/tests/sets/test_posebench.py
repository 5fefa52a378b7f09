"""Files in posebench's format, written here by h5py alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bansac.geometry.camera import Camera
from bansac_lab.sets.posebench import Instance, find_posebench_files, write_instances

h5py = pytest.importorskip("h5py", reason="reading HDF5 files needs h5py")

CAMERA = {"model": ["SIMPLE_RADIAL"], "width": [640], "height": [480], "params": [500.0, 320.0, 240.0, -0.1]}
POSE = {"R": np.eye(3), "t": np.array([1.0, 0.0, 0.0])}


def write(path: Path, instances: dict[str, dict[str, Any]]) -> Path:
    """Write a file; nested dictionaries are groups."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        for key, entries in instances.items():
            for name, value in entries.items():
                for inner, content in value.items() if isinstance(value, dict) else [("", value)]:
                    file[f"{key}/{name}/{inner}".rstrip("/")] = content
    return path


def test_instances_are_read(tmp_path: Path) -> None:
    points = np.arange(12.0).reshape(6, 2)
    pair = {"x1": points, "x2": points + 1, "camera1": CAMERA, "camera2": CAMERA, **POSE}
    view = {"p2d": points, "p3d": np.ones((6, 3)), "camera": CAMERA, **POSE}
    write(tmp_path / "relative" / "museum.h5", {"b": pair, "a": pair})
    write(tmp_path / "absolute" / "heads.h5", {"0": view})
    relative, absolute = find_posebench_files(tmp_path)
    assert (relative.problem, relative.name, relative.keys()) == ("relative", "museum", ["a", "b"])
    found = relative.read("a")
    np.testing.assert_array_equal(found.points[1], points + 1)
    assert found.cameras == (Camera("SIMPLE_RADIAL", (500, 320, 240, -0.1), 640, 480),) * 2
    np.testing.assert_array_equal(found.t, [1, 0, 0])
    assert [part.shape for part in absolute.read("0").points] == [(6, 2), (6, 3)]
    assert len(absolute.read("0").cameras) == 1


def test_instances_come_back(tmp_path: Path) -> None:
    folder = tmp_path / "homography"
    folder.mkdir()
    points = np.arange(8.0).reshape(4, 2)
    camera = Camera("PINHOLE", (500, 510, 320, 240), 640, 480)
    write_instances(
        folder / "wall.h5", [("a", Instance((points, 2 * points), (camera, camera), np.eye(3), np.ones(3)))]
    )
    found = find_posebench_files(tmp_path)[0].read("a")
    assert found.cameras == (camera, camera)
    np.testing.assert_array_equal(found.points, (points, 2 * points))
    np.testing.assert_array_equal(found.R, np.eye(3))


def test_missing_and_damaged_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is none of relative/\*\.h5, absolute/\*\.h5"):
        find_posebench_files(tmp_path)
    file = find_posebench_files(write(tmp_path / "relative" / "a.h5", {"0": {"x1": [1.0]}}).parent.parent)[0]
    with pytest.raises(OSError, match=r"a\.h5 lacks 'no such/x1'"):
        file.read("no such")
    points = np.arange(12.0).reshape(6, 2)
    pair = {"x1": points, "x2": points, "camera1": CAMERA, "camera2": CAMERA, **POSE}
    for change, message in (
        ({"x1": np.ones((6, 3))}, r"'0/x1' of .*a\.h5 must have shape \(N, 2\), got \(6, 3\)"),
        ({"x2": np.full((6, 2), np.nan)}, r"a\.h5: 0/x2 must be finite"),
        ({"x2": points[1:]}, r"a\.h5: 0/x1 and x2 must have equal lengths, got 6 and 5"),
        ({"R": 2 * np.eye(3)}, r"a\.h5: 0/R must be a rotation"),
        ({"R": np.full((3, 3), np.nan)}, r"a\.h5: 0/R must be finite"),
        ({"R": -np.eye(3)}, r"a\.h5: 0/R must be a rotation"),
        ({"t": np.full(3, np.nan)}, r"a\.h5: 0/t must be finite"),
        ({"t": np.zeros(3)}, r"a\.h5: 0/t must not be zero"),
        ({"camera1": CAMERA | {"model": ["NO MODEL"]}}, r"a\.h5: .*NO MODEL"),
        ({"camera2": {"model": CAMERA["model"]}}, r"a\.h5 lacks '0/camera2/width'"),
    ):
        write(file.files()[0], {"0": pair | change})
        with pytest.raises(OSError, match=message):
            file.read("0")
    file.files()[0].write_bytes(b"no file of HDF5")
    with pytest.raises(OSError, match=r"cannot read .*a\.h5"):
        file.keys()
