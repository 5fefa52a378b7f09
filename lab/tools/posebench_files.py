"""Make files of posebench's format, on which ``bansac bench posebench`` runs where posebench's data cannot be had.

    python lab/tools/posebench_files.py --data EF --out FOLDER [--pairs 20]

``relative``: the sets of pairs with poses in EF, at most 20 pairs a set, matches with an SNN ratio below .85 in the
order of the file. ``absolute`` and ``homography``: 20 synthetic scenes each, with 500 points, 50 % outliers and .5 px
noise; the sets of the tutorial have neither 3D points nor poses of planes.
"""

import argparse
import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bansac.geometry.camera import Camera
from bansac.synthetic import planar_scene_matches
from bansac_lab.scenes import make_scene
from bansac_lab.sets import find_sets
from bansac_lab.sets.posebench import Instance, write_instances
from bansac_lab.sets.tutorial import MAX_RATIO

SCENES, POINTS, INLIERS, NOISE = 20, 500, 0.5, 0.5


def instance(pair: Any, points: np.ndarray | None = None) -> Instance:
    """Return the instance of a pair with a pose; with 3D points it is that of the second image."""
    cameras = []
    for K, (height, width) in ((pair.K1, pair.size1 or (None, None)), (pair.K2, pair.size2 or (None, None))):
        cameras.append(dataclasses.replace(Camera.from_matrix(K), height=height, width=width))
    if points is not None:
        return Instance((pair.x2, points), tuple(cameras[1:]), pair.R, pair.t)
    return Instance((pair.x1, pair.x2), tuple(cameras), pair.R, pair.t)


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with sets of pairs with poses")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--pairs", type=int, default=20, help="maximum number of pairs of a set")
    arguments = parser.parse_args()
    files: dict[str, Iterable[tuple[str, Instance]]] = {}
    for pairs in find_sets(arguments.data):
        if pairs.kind == "EF":
            chosen = pairs.pairs(arguments.pairs)
            files[f"relative/{pairs.name}"] = ((pair.key, instance(pair.filtered(MAX_RATIO))) for pair in chosen)
    scenes = [(f"{seed:02}", make_scene("pose", POINTS, INLIERS, NOISE, seed)) for seed in range(SCENES)]
    files["absolute/synthetic_points"] = ((key, instance(scene.truth, scene.data[0])) for key, scene in scenes)
    settings: Any = {"inlier_ratio": INLIERS, "plane_share": 1.0, "noise": NOISE}
    planes = [(f"{seed:02}", planar_scene_matches(POINTS, seed=seed, **settings)) for seed in range(SCENES)]
    files["homography/synthetic_planes"] = ((key, instance(plane)) for key, plane in planes)
    for name, instances in files.items():
        path = arguments.out / f"{name}.h5"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_instances(path, instances)


if __name__ == "__main__":
    main()
