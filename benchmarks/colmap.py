"""Compare COLMAP reconstructions from two-view geometries of this package and of COLMAP with ground truth.

    python benchmarks/colmap.py --data FOLDER [--json FILE] [--repeats 5]

Four databases contain the sets fountain-P11 and Herz-Jesus-P8 of ``FOLDER/EF``, with and without prior focal lengths:
mutual matches with an SNN ratio below .85, with keypoints merged for each image. Three synthetic databases come from
``pycolmap.synthesize_dataset``, with one pixel of noise and additional random matches. One has images that
``pycolmap.synthesize_images`` renders, COLMAP's SIFT and its exhaustive matching. Without a prior the focal length is
COLMAP's guess, 1.2 times the larger side of the image.

``bansac.colmap.verify_database`` and ``pycolmap.geometric_verification`` verify each database in turn, with the same
number of threads. ``pycolmap.incremental_mapping`` reconstructs with its default options on one thread. Each repeat has
its own seed for verification and mapping. Results are means over the repeats with their standard deviations; times are
minima. The error of the camera centres is computed after alignment by a similarity. Its unit is the mean distance of
the true centres from their mean. The error of the focal lengths is the median over the cameras.
The benchmark needs pycolmap: ``pip install "bansac[colmap,data]"``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bansac.colmap import VerificationOptions, verify_database
from bansac.colmap.database import import_pycolmap
from bansac.lab.provenance import circumstances
from bansac.lab.sets import PairSet
from bansac.matches import Matches
from bansac.matches.hdf5 import Reader

pycolmap = import_pycolmap()

Centers = dict[str, NDArray[np.float64]]
"""Centre of the camera of every image by its name."""


class Truth(NamedTuple):
    """Centre and focal length of the camera of every image by its name."""

    centers: Centers
    focals: dict[str, float]


# name -> set, whether focal lengths are known
REAL = {
    f"{name}{remark}": (name, known)
    for known, remark in ((True, ""), (False, ", focal lengths unknown"))
    for name in ("fountain-P11", "Herz-Jesus-P8")
}

# name -> images, points, share of correct matches, whether focal lengths are known
SYNTHETIC = {
    "synthetic, 80 % right": (12, 300, 0.8, True),
    "synthetic, 40 % right": (12, 300, 0.4, True),
    "synthetic, 25 % right, focal lengths unknown": (12, 300, 0.25, False),
}

RENDERED = "rendered images, focal lengths unknown"

# COLMAP's focal length of a camera without prior, in larger sides of the image.
GUESS = 1.2

MAX_RATIO = 0.85
NOISE = 1.0

# The centre of the first pixel is (.5, .5) for COLMAP and (0, 0) in the files of the sets.
HALF_PIXEL = 0.5


def write_real(path: Path, folder: Path, known: bool) -> Truth:
    """Write the pairs of a set into a new database, and return the truth."""
    pair_set = PairSet(folder)
    with Reader(folder / "mutual.h5") as file:
        pairs = [pair_set.pair(key) for key in pair_set.keys]
        pairs = [pair.select(file.array(pair.key, (-1,)) == 1).filtered(MAX_RATIO) for pair in pairs]
    points: dict[str, list[NDArray[np.float64]]] = {}
    cameras: dict[str, tuple[NDArray[np.float64], tuple[int, int]]] = {}
    for pair in pairs:
        for name, x, K, size in zip(names(pair), (pair.x1, pair.x2), (pair.K1, pair.K2), sizes(pair), strict=True):
            points.setdefault(name, []).append(x)
            cameras[name] = K, size
    keypoints = {name: np.unique(np.vstack(found), axis=0) for name, found in points.items()}
    with pycolmap.Database.open(path) as database:
        ids = {name: write_image(database, name, *cameras[name], keypoints[name], known) for name in sorted(keypoints)}
        for pair in pairs:
            first, second = names(pair)
            columns = [indices(keypoints[first], pair.x1), indices(keypoints[second], pair.x2)]
            matches = np.unique(np.column_stack(columns), axis=0).astype(np.uint32)
            database.write_matches(ids[first], ids[second], matches)
    with Reader(folder / "R.h5") as rotations, Reader(folder / "T.h5") as translations:
        centers = {name: -rotations.array(name, (3, 3)).T @ translations.array(name, (3,)) for name in keypoints}
    return Truth(centers, {name: float(np.mean([K[0, 0], K[1, 1]])) for name, (K, _) in cameras.items()})


def names(pair: Matches) -> list[str]:
    """Return the names of the images of a pair."""
    return pair.key.split("-")


def sizes(pair: Matches) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return height and width of both images."""
    assert pair.size1 is not None
    assert pair.size2 is not None
    return pair.size1, pair.size2


def indices(keypoints: NDArray[np.float64], x: NDArray[np.float64]) -> list[int]:
    """Return the indices of points among the keypoints."""
    places = {point: place for place, point in enumerate(map(tuple, keypoints.tolist()))}
    return [places[point] for point in map(tuple, x.tolist())]


def write_image(
    database: Any, name: str, K: NDArray[np.float64], size: tuple[int, int], x: NDArray[np.float64], known: bool
) -> int:
    """Write an image with its own camera and its keypoints, and return its number."""
    camera = pycolmap.Camera(model="PINHOLE", width=size[1], height=size[0], has_prior_focal_length=known)
    camera.params = [K[0, 0], K[1, 1], K[0, 2] + HALF_PIXEL, K[1, 2] + HALF_PIXEL]
    if not known:
        guess_focal(camera)
    camera.camera_id = database.write_camera(camera)
    rig = pycolmap.Rig()
    rig.add_ref_sensor(camera.sensor_id)
    image = pycolmap.Image(name=name, camera_id=camera.camera_id)
    image.image_id = database.write_image(image)
    frame = pycolmap.Frame(rig_id=database.write_rig(rig))
    frame.add_data_id(image.data_id)
    database.write_frame(frame)
    database.write_keypoints(image.image_id, (x + HALF_PIXEL).astype(np.float32))
    return int(image.image_id)


def guess_focal(camera: Any) -> None:
    """Replace the focal length of a camera by COLMAP's guess."""
    params = np.array(camera.params)
    params[camera.focal_length_idxs()] = GUESS * max(camera.width, camera.height)
    camera.params, camera.has_prior_focal_length = params, False


def forget_focals(database: Any) -> None:
    """Replace the focal lengths of a database by COLMAP's guess."""
    for camera in database.read_all_cameras():
        guess_focal(camera)
        database.update_camera(camera)


def truth_of(model: Any) -> Truth:
    """Return the centres and focal lengths of a reconstruction."""
    images = [image for image in model.images.values() if image.has_pose]
    focals = {image.name: model.cameras[image.camera_id].mean_focal_length() for image in images}
    return Truth({image.name: image.projection_center() for image in images}, focals)


def write_rendered(path: Path, folder: Path) -> Truth:
    """Write a database with features of images that pycolmap renders, and return the truth."""
    settings = pycolmap.SyntheticDatasetOptions(
        num_rigs=1, num_frames_per_rig=10, num_points3D=300, camera_has_prior_focal_length=False
    )
    pycolmap.set_random_seed(0)
    with pycolmap.Database.open(folder / "truth.db") as database:
        truth = pycolmap.synthesize_dataset(settings, database)
    (folder / "images").mkdir()
    pycolmap.synthesize_images(pycolmap.SyntheticImageOptions(), truth, folder / "images")
    options = pycolmap.FeatureExtractionOptions(num_threads=1, use_gpu=False)
    pycolmap.extract_features(
        path, folder / "images", camera_mode=pycolmap.CameraMode.SINGLE, extraction_options=options
    )
    pycolmap.match_exhaustive(path, matching_options=pycolmap.FeatureMatchingOptions(num_threads=1, use_gpu=False))
    with pycolmap.Database.open(path) as database:
        database.clear_two_view_geometries()
        forget_focals(database)
    return truth_of(truth)


def write_synthetic(path: Path, images: int, points: int, share: float, calibrated: bool) -> Truth:
    """Write a synthetic database with additional random matches, and return the truth."""
    wrong = round(points * (1 / share - 1))
    settings = pycolmap.SyntheticDatasetOptions(
        num_rigs=1,
        num_frames_per_rig=images,
        num_points3D=points,
        num_points2D_without_point3D=wrong,
        camera_has_prior_focal_length=calibrated,
    )
    pycolmap.set_random_seed(0)
    rng = np.random.default_rng(0)
    with pycolmap.Database.open(path) as database:
        truth = pycolmap.synthesize_dataset(settings, database)
        pycolmap.synthesize_noise(pycolmap.SyntheticNoiseOptions(point2D_stddev=NOISE), truth, database)
        database.clear_two_view_geometries()
        for pair_id, matches in zip(*database.read_all_matches(), strict=True):
            pair = pycolmap.pair_id_to_image_pair(pair_id)
            counts = [database.num_keypoints_for_image(image_id) for image_id in pair]
            random = np.column_stack([rng.permutation(count)[:wrong] for count in counts])
            database.delete_matches(*pair)
            database.write_matches(*pair, np.unique(np.vstack([matches, random]), axis=0).astype(np.uint32))
        if not calibrated:
            forget_focals(database)
    return truth_of(truth)


def verify_ours(path: Path, seed: int, threads: int) -> None:
    """Verify a database with this package."""
    verify_database(path, options=VerificationOptions(seed=seed), workers=threads)


def verify_colmap(path: Path, seed: int, threads: int) -> None:
    """Verify a database with COLMAP and its default settings."""
    settings = pycolmap.TwoViewGeometryOptions()
    settings.ransac.random_seed = seed
    workers = pycolmap.GeometricVerifierOptions(num_threads=threads)
    pycolmap.geometric_verification(path, verifier_options=workers, two_view_geometry_options=settings)


METHODS: dict[str, Callable[[Path, int, int], None]] = {"bansac": verify_ours, "COLMAP": verify_colmap}


def reconstruct(path: Path, truth: Truth, seed: int) -> dict[str, float]:
    """Reconstruct from a verified database, and return the figures of the largest model."""
    settings = pycolmap.IncrementalPipelineOptions(num_threads=1, random_seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        models = pycolmap.incremental_mapping(path, folder, folder, settings)
    if not models:
        return {"images": 0, "points": 0} | dict.fromkeys(("reprojection_error", "center_error", "focal_error"), np.nan)
    model = max(models.values(), key=lambda model: model.num_reg_images())
    found = truth_of(model)
    return {
        "images": model.num_reg_images(),
        "points": model.num_points3D(),
        "reprojection_error": model.compute_mean_reprojection_error(),
        "center_error": center_error(found.centers, truth.centers),
        "focal_error": float(np.median([abs(focal / truth.focals[name] - 1) for name, focal in found.focals.items()])),
    }


def center_error(found: Centers, truth: Centers) -> float:
    """Return the root mean square error of the aligned centres, divided by the extent of the true ones."""
    x = np.array([found[name] for name in sorted(found)])
    y = np.array([truth[name] for name in sorted(found)])
    extent = np.linalg.norm(y - y.mean(axis=0), axis=1).mean()
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    U, stretch, Vt = np.linalg.svd(y.T @ x)  # Umeyama, 1991
    signs = np.array([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))])
    aligned = (stretch @ signs) / np.sum(x**2) * x @ (U * signs @ Vt).T
    return float(np.sqrt(np.mean(np.sum((aligned - y) ** 2, axis=1))) / extent)


def measure(database: Path, truth: Truth, repeats: int, threads: int) -> dict[str, dict[str, float]]:
    """Verify copies of a database with each method and reconstruct; return the figures by method."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in METHODS}
    for seed in range(repeats):
        order = list(METHODS.items())
        for name, verify in order if seed % 2 == 0 else order[::-1]:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "database.db")
                shutil.copy(database, path)
                started, cpu = time.perf_counter(), time.process_time()
                verify(path, seed, threads)
                seconds = {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - cpu}
                with pycolmap.Database.open(path) as verified:
                    seconds["inlier_matches"] = verified.num_inlier_matches()
                runs[name].append(seconds | reconstruct(path, truth, seed))
    return {name: summarize(found) for name, found in runs.items()}


def summarize(runs: list[dict[str, float]]) -> dict[str, float]:
    """Return the least times, and the means and standard deviations of all other figures."""
    columns = {key: [run[key] for run in runs] for key in runs[0]}
    times = {key: min(values) for key, values in columns.items() if "seconds" in key}
    others = {key: values for key, values in columns.items() if key not in times}
    spreads = {f"{key}_spread": float(np.std(values)) for key, values in others.items()}
    return {key: float(np.mean(values)) for key, values in others.items()} | spreads | times


def databases(folder: Path, data: Path) -> Mapping[str, tuple[Path, Truth]]:
    """Write all databases, and return them with the truth."""
    found = {}
    for name, (real, known) in REAL.items():
        path = folder / f"{name}.db"
        found[name] = path, write_real(path, data / "EF" / real, known)
    path = folder / "rendered.db"
    found[RENDERED] = path, write_rendered(path, folder)
    for number, (name, settings) in enumerate(SYNTHETIC.items()):
        path = folder / f"synthetic{number}.db"
        found[name] = path, write_synthetic(path, *settings)
    return found


def warm_up(path: Path) -> None:
    """Load all kernels."""
    write_synthetic(path, 3, 200, 0.5, True)
    verify_ours(path, 0, 1)


def main() -> None:
    """Measure and print, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the sets in EF")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    pycolmap.logging.minloglevel = pycolmap.logging.Level.ERROR.value
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        warm_up(Path(folder, "warm.db"))
        for name, (path, truth) in databases(Path(folder), arguments.data).items():
            table[name] = measure(path, truth, arguments.repeats, threads)
            for method, figures in table[name].items():
                print(f"{name:45} {method:7}", {key: round(value, 5) for key, value in figures.items()}, flush=True)
    if arguments.json is not None:
        document = {
            **circumstances(("pycolmap",)),
            "threads": threads,
            "repeats": arguments.repeats,
            "databases": table,
        }
        arguments.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
