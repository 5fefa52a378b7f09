"""Small sets of synthetic pairs on disk; ``python -m lab.tests.pair_sets FOLDER`` writes one of each kind."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from bansac.synthetic import epipolar_matches, homography_matches


def write_pose_set(folder: Path, *, pairs: int = 3, matches: int = 120, noise: float = 0.1) -> Path:
    """Write a set of pairs with poses: camera matrices, rotations and translations."""
    files: dict[str, dict[str, Any]] = {name: {} for name in ("matches", "match_conf", "K1_K2", "R", "T")}
    for index in range(pairs):
        scene = epipolar_matches(matches, inlier_ratio=0.7, noise=noise, seed=index)
        key = f"{index}a-{index}b"
        files["matches"][key] = np.hstack([scene.x1, scene.x2])
        files["match_conf"][key] = ratios(scene.inliers)
        files["K1_K2"][key] = np.stack([scene.K, scene.K])[None]
        files["R"] |= {f"{index}a": np.eye(3), f"{index}b": scene.R}
        files["T"] |= {f"{index}a": np.zeros((3, 1)), f"{index}b": scene.t[:, None]}
    return write_files(folder, files)


def write_homography_set(folder: Path, *, pairs: int = 3, matches: int = 120, noise: float = 0.1) -> Path:
    """Write a set of pairs with homographies."""
    files: dict[str, dict[str, Any]] = {name: {} for name in ("matches", "match_conf", "Hgt", "size", "size2")}
    for index in range(pairs):
        scene = homography_matches(matches, inlier_ratio=0.7, noise=noise, seed=index)
        key = f"{index}a-{index}b"
        files["matches"][key] = np.hstack([scene.x1, scene.x2])
        files["match_conf"][key] = ratios(scene.inliers)
        files["Hgt"][key] = scene.H
        files["size"][key] = files["size2"][key] = np.array(scene.size)
    return write_files(folder, files)


def ratios(inliers: np.ndarray) -> np.ndarray:
    """Return SNN ratios that say something, but not all, of which matches are inliers."""
    return np.where(inliers, np.linspace(0.2, 0.55, len(inliers)), np.linspace(0.35, 0.58, len(inliers)))


def write_files(folder: Path, files: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write one h5 file for each name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, entries in files.items():
        with h5py.File(folder / f"{name}.h5", "w") as file:
            for key, value in entries.items():
                file[key] = value
    return folder


def write_ppm(path: Path, size: tuple[int, int]) -> None:
    """Write a black image; the format needs no library."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"P6\n%d %d\n255\n" % size[::-1] + bytes(int(np.prod(size)) * 3))


def remove_entry(path: Path, key: str) -> Any:
    """Remove an entry of an h5 file, and return its value."""
    with h5py.File(path, "a") as file:
        value = file[key][()]
        del file[key]
    return value


def replace_entry(path: Path, key: str, value: Any) -> None:
    """Replace an entry of an h5 file by a value of any shape."""
    remove_entry(path, key)
    with h5py.File(path, "a") as file:
        file[key] = value


if __name__ == "__main__":
    root = Path(sys.argv[1])
    write_pose_set(root / "poses" / "room")
    write_homography_set(root / "homographies" / "wall")
