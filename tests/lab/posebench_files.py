"""Synthetic instances of posebench's problems, and a folder of its files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bansac.geometry.camera import Camera
from bansac.lab.scenes import make_scene
from bansac.lab.sets.posebench import POSEBENCH_PROBLEMS, Instance, write_instances
from bansac.synthetic import epipolar_matches, planar_scene_matches


def make_instance(problem: str, seed: int) -> Instance:
    """Return 200 points of a synthetic scene, 70 % inliers; a plane for homographies."""
    if problem == "homography":
        scene = planar_scene_matches(200, inlier_ratio=0.7, plane_share=1.0, noise=0.2, seed=seed)
    else:
        scene = epipolar_matches(200, inlier_ratio=0.7, noise=0.2, seed=seed)
    (height, width), K = scene.size, scene.K
    camera = Camera("PINHOLE", (K[0, 0], K[1, 1], K[0, 2], K[1, 2]), width, height)
    if problem == "absolute":
        points = make_scene("pose", 200, 0.7, 0.2, seed).data[0]
        return Instance((scene.x2, points), (camera,), scene.R, scene.t)
    return Instance((scene.x1, scene.x2), (camera, camera), scene.R, scene.t)


def write_folder(root: Path, instances: int) -> Path:
    """Write one set for each problem."""
    for problem in POSEBENCH_PROBLEMS:
        (root / problem).mkdir(parents=True)
        made = [(f"{seed}", make_instance(problem, seed)) for seed in range(instances)]
        write_instances(root / problem / f"synthetic_{problem}.h5", made)
    return root


def turned(degrees: float) -> np.ndarray:
    """Return a rotation about the z axis."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
