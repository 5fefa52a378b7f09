"""Synthetic instances of posebench's problems, and a folder of its files."""

from pathlib import Path

import numpy as np
from posebench_files import instance

from bansac.geometry import rotation_matrix
from bansac.synthetic import epipolar_matches, planar_scene_matches
from bansac_lab.scenes import make_scene
from bansac_lab.sets.posebench import POSEBENCH_PROBLEMS, Instance, write_instances


def make_instance(problem: str, seed: int) -> Instance:
    """Return 200 points of a synthetic scene, 70 % inliers; a plane for homographies."""
    if problem == "homography":
        return instance(planar_scene_matches(200, inlier_ratio=0.7, plane_share=1.0, noise=0.2, seed=seed))
    points = make_scene("pose", 200, 0.7, 0.2, seed).data[0] if problem == "absolute" else None
    return instance(epipolar_matches(200, inlier_ratio=0.7, noise=0.2, seed=seed), points)


def write_folder(root: Path, instances: int) -> Path:
    """Write one set for each problem."""
    for problem in POSEBENCH_PROBLEMS:
        (root / problem).mkdir(parents=True)
        made = [(f"{seed}", make_instance(problem, seed)) for seed in range(instances)]
        write_instances(root / problem / f"synthetic_{problem}.h5", made)
    return root


def turned(degrees: float, axis: int = 2) -> np.ndarray:
    """Return a rotation about an axis, by default z."""
    return rotation_matrix(np.radians(degrees) * np.eye(3)[axis])
