"""Make files of posebench's format, on which ``bansac bench posebench`` runs where posebench's data cannot be had.

    python tools/posebench_files.py --data EF --out FOLDER [--pairs 20]

``relative``: the sets of pairs with poses in EF, at most 20 pairs a set, matches with an SNN ratio below .85 in the
order of the file. ``absolute`` and ``homography``: 20 synthetic scenes each, with 500 points, 50 % outliers and .5 px
noise; the sets of the tutorial have neither 3D points nor poses of planes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bansac.geometry.camera import Camera
from bansac.lab.scenes import make_scene
from bansac.lab.sets import PairSet, find_sets
from bansac.lab.sets.posebench import Instance, write_instances
from bansac.lab.sets.tutorial import MAX_RATIO
from bansac.matches import Matches
from bansac.matches.pair_folder import evenly_spaced
from bansac.synthetic import planar_scene_matches

SCENES, POINTS, INLIERS, NOISE = 20, 500, 0.5, 0.5


def camera(K: np.ndarray, size: tuple[int, int] | None) -> Camera:
    """Return the camera of a matrix without skew."""
    height, width = (None, None) if size is None else size
    return Camera("PINHOLE", (K[0, 0], K[1, 1], K[0, 2], K[1, 2]), width, height)


def cameras(pair: Matches) -> tuple[Camera, Camera]:
    """Return the cameras of both images."""
    return camera(pair.K1, pair.size1), camera(pair.K2, pair.size2)


def real(pairs: PairSet, limit: int) -> Iterator[tuple[str, Instance]]:
    """Yield the pairs of a set."""
    for key in evenly_spaced(pairs.keys, limit):
        pair = pairs.pair(key).filtered(MAX_RATIO)
        yield key, Instance((pair.x1, pair.x2), cameras(pair), pair.R, pair.t)


def absolute() -> Iterator[tuple[str, Instance]]:
    """Yield 3D points and their images."""
    for seed in range(SCENES):
        scene = make_scene("pose", POINTS, INLIERS, NOISE, seed)
        (points, x, _), truth = scene.data, scene.truth
        yield f"{seed:02}", Instance((x, points), cameras(truth)[1:], truth.R, truth.t)


def homography() -> Iterator[tuple[str, Instance]]:
    """Yield matches of a plane."""
    for seed in range(SCENES):
        scene = planar_scene_matches(POINTS, inlier_ratio=INLIERS, plane_share=1.0, noise=NOISE, seed=seed)
        yield f"{seed:02}", Instance((scene.x1, scene.x2), cameras(scene), scene.R, scene.t)


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with sets of pairs with poses")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--pairs", type=int, default=20, help="maximum number of pairs of a set")
    arguments = parser.parse_args()
    for problem in ("relative", "absolute", "homography"):
        (arguments.out / problem).mkdir(parents=True, exist_ok=True)
    for pairs in find_sets(arguments.data):
        if pairs.kind == "EF":
            write_instances(arguments.out / "relative" / f"{pairs.name}.h5", real(pairs, arguments.pairs))
    write_instances(arguments.out / "absolute" / "synthetic_points.h5", absolute())
    write_instances(arguments.out / "homography" / "synthetic_planes.h5", homography())


if __name__ == "__main__":
    main()
