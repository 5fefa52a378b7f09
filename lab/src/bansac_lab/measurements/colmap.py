"""Compare COLMAP reconstructions from two-view geometries of this package and of COLMAP with ground truth.

Four databases contain the sets fountain-P11 and Herz-Jesus-P8 in EF below ``--data``, with and without prior focal
lengths: mutual matches with an SNN ratio below .85, with keypoints merged for each image. Three synthetic databases
come from ``pycolmap.synthesize_dataset``, with one pixel of noise and additional random matches. One has images that
``pycolmap.synthesize_images`` renders, COLMAP's SIFT and its exhaustive matching. Without a prior the focal length is
COLMAP's guess, 1.2 times the larger side of the image.

``bansac.colmap.verify_database`` and ``pycolmap.geometric_verification`` verify each database in turn, with the same
number of threads. ``pycolmap.incremental_mapping`` reconstructs with its default options on one thread. Each repeat has
its own seed for verification and mapping. Results are means over the repeats with their standard deviations; times are
minima. The error of the camera centres is computed after alignment by a similarity. Its unit is the mean distance of
the true centres from their mean. The error of the focal lengths is the median over the cameras.
"""

import dataclasses
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bansac.colmap import VerificationOptions, verify_database
from bansac.colmap.database import import_pycolmap
from bansac.executors.threads import count_workers
from bansac.geometry.camera import Camera
from bansac.matches.array_files import Reader
from bansac.solvers.umeyama import umeyama
from bansac_lab.measurement import NEEDED_DATA, Document, Option, Report, Row, Setup, Unit, each, nested, of_module
from bansac_lab.pairs import mutual_matches
from bansac_lab.peers.library import Array
from bansac_lab.peers.pycolmap import GUESS, HALF_PIXEL, pixel_camera
from bansac_lab.sets import PairSet
from bansac_lab.tables import Table, plain_table


class Truth(NamedTuple):
    """Centre and focal length of the camera of every image by its name."""

    centers: dict[str, Array]
    focals: dict[str, float]


REAL = {
    f"{name}{remark}": (name, known)
    for known, remark in ((True, ""), (False, ", focal lengths unknown"))
    for name in ("fountain-P11", "Herz-Jesus-P8")
}
"""Set, and whether focal lengths are known."""

RENDERED = "rendered images, focal lengths unknown"

SYNTHETIC = {
    "synthetic, 80 % right": (12, 300, 0.8, True),
    "synthetic, 40 % right": (12, 300, 0.4, True),
    "synthetic, 25 % right, focal lengths unknown": (12, 300, 0.25, False),
}
"""Images, points, share of correct matches, and whether focal lengths are known."""

NOISE = 1.0


def write_real(path: Path, folder: Path, known: bool) -> Truth:
    """Write the pairs of a set into a new database, and return the truth."""
    import pycolmap

    pair_set = PairSet(folder)
    pairs: list[Any] = [mutual_matches(pair_set, key) for key in pair_set.keys]
    points: dict[str, list[Array]] = {}
    cameras: dict[str, Camera] = {}
    for pair in pairs:
        sides = ((pair.x1, pair.K1, pair.size1), (pair.x2, pair.K2, pair.size2))
        for name, (x, K, (height, width)) in zip(pair.key.split("-"), sides, strict=True):
            points.setdefault(name, []).append(x)
            cameras[name] = dataclasses.replace(Camera.from_matrix(K), width=width, height=height)
    with pycolmap.Database.open(path) as database:
        ids, indices = {}, {}
        for name, found in sorted(points.items()):
            keypoints, places = np.unique(np.vstack(found), axis=0, return_inverse=True)
            ids[name] = _write_image(database, name, cameras[name], keypoints)
            indices[name] = iter(np.split(places.ravel(), np.cumsum([len(x) for x in found])[:-1]))
        for pair in pairs:
            images = pair.key.split("-")
            matches = np.unique(np.column_stack([next(indices[name]) for name in images]), axis=0)
            database.write_matches(*(ids[name] for name in images), matches.astype(np.uint32))
        if not known:
            _forget_focals(database)
    with Reader(folder / "R.h5") as rotations, Reader(folder / "T.h5") as translations:
        centers = {name: -rotations.array(name, (3, 3)).T @ translations.array(name, (3,)) for name in points}
    return Truth(centers, {name: float(np.mean(camera.params[:2])) for name, camera in cameras.items()})


def _write_image(database: Any, name: str, camera: Camera, x: Array) -> int:
    """Write an image with its own camera and its keypoints, and return its number."""
    import pycolmap

    own = pixel_camera(0, camera)
    own.camera_id = database.write_camera(own)
    rig = pycolmap.Rig()
    rig.add_ref_sensor(own.sensor_id)
    image = pycolmap.Image(name=name, camera_id=own.camera_id)
    image.image_id = database.write_image(image)
    frame = pycolmap.Frame(rig_id=database.write_rig(rig))
    frame.add_data_id(image.data_id)
    database.write_frame(frame)
    database.write_keypoints(image.image_id, (x + HALF_PIXEL).astype(np.float32))
    return int(image.image_id)


def _forget_focals(database: Any) -> None:
    """Replace the focal lengths of a database by COLMAP's guess."""
    for camera in database.read_all_cameras():
        params = np.array(camera.params)
        params[camera.focal_length_idxs()] = GUESS * max(camera.width, camera.height)
        camera.params, camera.has_prior_focal_length = params, False
        database.update_camera(camera)


def _truth_of(model: Any) -> Truth:
    """Return the centres and focal lengths of a reconstruction."""
    images = [image for image in model.images.values() if image.has_pose]
    focals = {image.name: model.cameras[image.camera_id].mean_focal_length() for image in images}
    return Truth({image.name: image.projection_center() for image in images}, focals)


def _synthesize(database: Any, images: int, points: int, calibrated: bool, **settings: Any) -> Any:
    """Synthesise a reconstruction and its database."""
    import pycolmap

    pycolmap.set_random_seed(0)
    counts = {"num_rigs": 1, "num_frames_per_rig": images, "num_points3D": points}
    options = pycolmap.SyntheticDatasetOptions(camera_has_prior_focal_length=calibrated, **counts, **settings)
    return pycolmap.synthesize_dataset(options, database)


def write_rendered(path: Path, folder: Path) -> Truth:
    """Write a database with features of images that pycolmap renders, and return the truth."""
    import pycolmap

    with pycolmap.Database.open(folder / "truth.db") as database:
        truth = _synthesize(database, 10, 300, False)
    (folder / "images").mkdir()
    pycolmap.synthesize_images(pycolmap.SyntheticImageOptions(), truth, folder / "images")
    settings, one = {"num_threads": 1, "use_gpu": False}, pycolmap.CameraMode.SINGLE
    options = pycolmap.FeatureExtractionOptions(**settings)
    pycolmap.extract_features(path, folder / "images", camera_mode=one, extraction_options=options)
    pycolmap.match_exhaustive(path, matching_options=pycolmap.FeatureMatchingOptions(**settings))
    with pycolmap.Database.open(path) as database:
        database.clear_two_view_geometries()
        _forget_focals(database)
    return _truth_of(truth)


def write_synthetic(path: Path, images: int, points: int, share: float, calibrated: bool) -> Truth:
    """Write a synthetic database with additional random matches, and return the truth."""
    import pycolmap

    wrong = round(points * (1 / share - 1))
    rng = np.random.default_rng(0)
    with pycolmap.Database.open(path) as database:
        truth = _synthesize(database, images, points, calibrated, num_points2D_without_point3D=wrong)
        pycolmap.synthesize_noise(pycolmap.SyntheticNoiseOptions(point2D_stddev=NOISE), truth, database)
        database.clear_two_view_geometries()
        for pair_id, matches in zip(*database.read_all_matches(), strict=True):
            pair = pycolmap.pair_id_to_image_pair(pair_id)
            counts = [database.num_keypoints_for_image(image_id) for image_id in pair]
            random = np.column_stack([rng.permutation(count)[:wrong] for count in counts])
            database.delete_matches(*pair)
            database.write_matches(*pair, np.unique(np.vstack([matches, random]), axis=0).astype(np.uint32))
        if not calibrated:
            _forget_focals(database)
    return _truth_of(truth)


def verify_ours(path: Path, seed: int, threads: int) -> None:
    """Verify a database with this package."""
    verify_database(path, options=VerificationOptions(seed=seed), workers=threads)


def verify_colmap(path: Path, seed: int, threads: int) -> None:
    """Verify a database with COLMAP and its default settings."""
    import pycolmap

    settings = pycolmap.TwoViewGeometryOptions()
    settings.ransac.random_seed = seed
    workers = pycolmap.GeometricVerifierOptions(num_threads=threads)
    pycolmap.geometric_verification(path, verifier_options=workers, two_view_geometry_options=settings)


METHODS: dict[str, Callable[[Path, int, int], None]] = {"bansac": verify_ours, "COLMAP": verify_colmap}


def reconstruct(path: Path, truth: Truth, seed: int) -> dict[str, float]:
    """Reconstruct from a verified database, and return the figures of the largest model."""
    import pycolmap

    settings = pycolmap.IncrementalPipelineOptions(num_threads=1, random_seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        models = pycolmap.incremental_mapping(path, folder, folder, settings)
    if not models:
        return {"images": 0, "points": 0} | dict.fromkeys(("reprojection_error", "center_error", "focal_error"), np.nan)
    model = max(models.values(), key=lambda model: model.num_reg_images())
    found = _truth_of(model)
    return {
        "images": model.num_reg_images(),
        "points": model.num_points3D(),
        "reprojection_error": model.compute_mean_reprojection_error(),
        "center_error": center_error(found.centers, truth.centers),
        "focal_error": float(np.median([abs(focal / truth.focals[name] - 1) for name, focal in found.focals.items()])),
    }


def center_error(found: dict[str, Array], truth: dict[str, Array]) -> float:
    """Return the root mean square error of the aligned centres in the extent of the true ones; NaN if degenerate."""
    x, y = (np.array([centers[name] for name in sorted(found)]) for centers in (found, truth))
    motion = umeyama(x, y) if len(x) > 2 else None
    if motion is None:
        return np.nan
    extent = np.linalg.norm(y - y.mean(axis=0), axis=1).mean()
    return float(np.sqrt(np.mean(np.sum((x @ motion[:, :3].T + motion[:, 3] - y) ** 2, axis=1))) / extent)


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each database."""
    import_pycolmap()
    return each((*REAL, RENDERED, *SYNTHETIC))


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Verify copies of a database with each method and reconstruct; return the figures by method."""
    import pycolmap

    pycolmap.logging.minloglevel = pycolmap.logging.Level.ERROR.value
    (name,) = unit.payload
    runs: dict[str, list[dict[str, float]]] = {method: [] for method in METHODS}
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "database.db")
        if name in REAL:
            truth = write_real(database, setup.data / "EF" / REAL[name][0], REAL[name][1])
        else:
            made = SYNTHETIC.get(name)
            truth = write_rendered(database, Path(folder)) if made is None else write_synthetic(database, *made)
        for seed in range(setup.repeats):
            order = list(METHODS.items())
            for method, verify in order if seed % 2 == 0 else order[::-1]:
                path = Path(folder, f"{method}{seed}.db")
                shutil.copy(database, path)
                started, cpu = time.perf_counter(), time.process_time()
                verify(path, seed, count_workers(None))
                seconds = {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - cpu}
                with pycolmap.Database.open(path) as verified:
                    inliers = verified.num_inlier_matches()
                runs[method].append({**seconds, "inlier_matches": inliers, **reconstruct(path, truth, seed)})
    return [{"database": name, "method": method, **_summary(found)} for method, found in runs.items()]


def _summary(runs: list[dict[str, float]]) -> dict[str, float]:
    """Return the least times, and the means and standard deviations of all other figures."""
    figures: dict[str, float] = {}
    for key in runs[0]:
        values = [run[key] for run in runs]
        averages = {key: float(np.mean(values)), f"{key}_spread": float(np.std(values))}
        figures |= {key: min(values)} if "seconds" in key else averages
    return figures


def warm_up(setup: Setup, units: Sequence[Unit]) -> None:
    """Load all kernels."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "warm.db")
        write_synthetic(path, 3, 200, 0.5, True)
        verify_ours(path, 0, 1)


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the figures by database and method."""
    databases = nested(rows, "database", "method")
    return Report(records={"threads": count_workers(None), "repeats": setup.repeats, "databases": databases})


# Column -> figure, digits, and factor.
_COLUMNS = {
    "inlier matches": ("inlier_matches", 0, 1.0),
    "center error, 1e-3": ("center_error", 2, 1e3),
    "focal error, %": ("focal_error", 2, 100.0),
}


def table(document: Document) -> Table:
    """Return the table of the reconstructions from our geometries and from COLMAP's."""

    def cells(figures: Row) -> Iterable[str]:
        """Return means with their standard deviations between the repeats, and times."""
        for key, digits, factor in _COLUMNS.values():
            mean, spread = figures[key], figures[f"{key}_spread"]
            yield "-" if mean is None else f"{factor * mean:.{digits}f} ± {factor * spread:.{digits}f}"
        yield f"{figures['seconds']:.2f}"

    rows = []
    for name, methods in document["databases"].items():
        rows += [[name, method, *cells(figures)] for method, figures in methods.items()]
    note = f"Means of {document['repeats']} repeats, least times, {document['threads']} threads."
    return plain_table(["database", "verified by", *_COLUMNS, "verification, s"], rows, note)


MEASUREMENT = of_module(
    __name__,
    title="Reconstructions of COLMAP from verified databases",
    options=(NEEDED_DATA, Option("repeats", int, 5, "Verifications and reconstructions of a database.", least=1)),
    tables={"colmap": table},
    sets=lambda setup: [PairSet(setup.data / "EF" / name) for name, known in REAL.values() if known],
    packages=("pycolmap",),
)
