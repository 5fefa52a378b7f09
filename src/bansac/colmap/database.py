"""Read and write COLMAP's database through pycolmap.

Keypoints keep COLMAP's convention: the centre of the first pixel is (.5, .5), also for the principal points of cameras.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sqlite3
import threading
import zlib  # noqa: F401  before pycolmap: its wheels bring another zlib, and Python's, loaded later, crashes with it
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bansac.colmap.pairs import PairFailure, PairGeometry, PairMatches
from bansac.matches.storage import as_os_error
from bansac.maths.arrays import Floats
from bansac.maths.optional import import_optional

if TYPE_CHECKING:
    import pycolmap

_TABLES = {"cameras", "images", "keypoints", "matches", "two_view_geometries"}


def import_pycolmap() -> Any:
    """Return the module pycolmap; its import replaces the handlers of signals, so Python's are set again."""
    module = import_optional("pycolmap", "COLMAP's databases need pycolmap", "pycolmap")
    if threading.current_thread() is threading.main_thread():  # only that can set them
        for number in (signal.SIGINT, signal.SIGTERM):
            if (handler := signal.getsignal(number)) is not None:
                signal.signal(number, handler)
    return module


def _check_database(path: str | os.PathLike[str]) -> None:
    """Raise an OSError if a file is not a COLMAP database, or is locked, which would make pycolmap end the process."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    try:
        uri = f"{Path(path).resolve().as_uri()}?mode=rw"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=1.0, isolation_level=None)) as connection:
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            if missing := _TABLES - names:
                raise OSError(f"{path}: is no database of COLMAP: it has no table {', '.join(sorted(missing))}")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise OSError(f"{path}: cannot be used as a database: {error}") from None


@contextlib.contextmanager
def only_run(path: str | os.PathLike[str]) -> Iterator[None]:
    """Check a database and lock it against other runs; raise an OSError if it is not usable or another run has it.

    The lock is on an empty database beside COLMAP's. It ends with the process, however the process ends.
    """
    _check_database(path)
    lock = Path(f"{os.fspath(path)}-bansac")
    with contextlib.closing(sqlite3.connect(lock, timeout=0.0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            busy = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
            reason = (
                "the database is busy: another run verifies its matches" if busy else f"cannot lock {lock}: {error}"
            )
            raise OSError(f"{path}: {reason}") from None
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # Windows keeps open files
                lock.unlink()


class _View(NamedTuple):
    """Keypoints of an image, its size, its keypoints as rays, and the size of a pixel in normalised units."""

    x: Floats
    size: tuple[int, int]
    rays: Floats | None
    pixel: float


class MatchDatabase(contextlib.AbstractContextManager["MatchDatabase"]):
    """Open COLMAP database, used in a ``with`` statement within a context of :func:`only_run`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._pycolmap = import_pycolmap()
        self._reading = functools.partial(as_os_error, f"{path}: cannot be read or written", RuntimeError)
        self._errors = functools.partial(self._reading, ValueError, MemoryError)
        with self._errors():
            self._database = self._pycolmap.Database.open(path)
            self._cameras = {camera.camera_id: camera for camera in self._database.read_all_cameras()}
            self._images = {image.image_id: image for image in self._database.read_all_images()}
        # Pairs are read in the order of their first image, so few images have to stay in memory.
        self._view = functools.lru_cache(maxsize=256)(self._read_view)

    def __exit__(self, *exception: object) -> None:
        """Close the database."""
        self._database.close()

    def missing_pairs(self) -> tuple[list[int], int]:
        """Return the sorted ids of the pairs with matches and no geometry, and the number of all pairs with matches."""
        has_geometry, images_of = self._database.exists_two_view_geometry, self._pycolmap.pair_id_to_image_pair
        with self._errors():
            pairs = sorted(self._database.read_num_matches()[0])
            return [pair for pair in pairs if not has_geometry(*images_of(pair))], len(pairs)

    def clear_geometries(self) -> None:
        """Delete the geometries of all pairs."""
        with self._errors():
            self._database.clear_two_view_geometries()

    def pair_name(self, image_id1: int, image_id2: int) -> str:
        """Return the names of two images, joined."""
        return " - ".join(map(self._image_name, (image_id1, image_id2)))

    def read(self, pair_id: int) -> PairMatches | PairFailure:
        """Read the matches of a pair; invalid matches are returned as a failure."""
        first, second = self._pycolmap.pair_id_to_image_pair(pair_id)
        try:
            with self._reading():
                view1, view2 = self._view(first), self._view(second)
                matches = self._database.read_matches(first, second)
            for column, view, image_id in zip(matches.T, (view1, view2), (first, second), strict=True):
                if column.size and column.max() >= (size := len(view.x)):
                    raise ValueError(f"a match names a keypoint that image {image_id} does not have: it has {size}")
        except ValueError as error:
            return PairFailure(first, second, str(error))
        except MemoryError:
            return PairFailure(first, second, "the keypoints or matches are damaged, or too many for the memory")
        x1, x2 = view1.x[matches[:, 0]], view2.x[matches[:, 1]]
        both = PairMatches(first, second, pair_id, matches, x1, x2, view1.size, view2.size)
        if view1.rays is None or view2.rays is None:
            return both
        rays = np.hstack([view1.rays[matches[:, 0]], view2.rays[matches[:, 1]]])
        return replace(both, rays=rays, pixel=(view1.pixel + view2.pixel) / 2)

    def write(self, geometries: Iterable[PairGeometry]) -> None:
        """Write the geometries of pairs without geometries in one transaction."""
        rows = [(g.image_id1, g.image_id2, self._as_row(g)) for g in geometries]
        with self._errors(), self._pycolmap.DatabaseTransaction(self._database):
            for first, second, row in rows:
                self._database.write_two_view_geometry(first, second, row)

    def _image_name(self, image_id: int) -> str:
        try:
            return str(self._images[image_id].name)
        except (KeyError, UnicodeDecodeError):
            return f"image {image_id}"

    def _read_view(self, image_id: int) -> _View:
        if image_id not in self._images:
            raise ValueError(f"there is no image {image_id}")
        camera = self._cameras.get(self._images[image_id].camera_id)
        if camera is None:
            raise ValueError(f"image {image_id} has no camera")
        x = np.asarray(self._database.read_keypoints(image_id)[:, :2], np.float64).reshape(-1, 2)
        if not np.isfinite(x).all():
            raise ValueError(f"image {image_id} has keypoints that are NaN or infinite")
        if camera.is_spherical():
            raise ValueError(f"the camera model {camera.model_name} has no image plane")
        focal_lengths = camera.params[camera.focal_length_idxs()]
        if camera.has_prior_focal_length and not (np.isfinite(focal_lengths) & (focal_lengths > 0)).all():
            raise ValueError(f"camera {camera.camera_id} has a focal length of {focal_lengths[0]:g}; it must be > 0")
        rays = _undistort(camera, x) if camera.has_prior_focal_length else None
        return _View(x, (camera.height, camera.width), rays, camera.cam_from_img_threshold(1.0))

    def _as_row(self, geometry: PairGeometry) -> pycolmap.TwoViewGeometry:
        row: pycolmap.TwoViewGeometry = self._pycolmap.TwoViewGeometry()
        row.config = int(getattr(self._pycolmap.TwoViewGeometryConfiguration, geometry.configuration.upper()))
        row.inlier_matches = geometry.inlier_matches
        row.E, row.F, row.H = geometry.E, geometry.F, geometry.H
        if geometry.pose is not None:
            rotation = self._pycolmap.Rotation3d(geometry.pose.R)
            row.cam2_from_cam1 = self._pycolmap.Rigid3d(rotation, geometry.pose.t)
        return row


def _undistort(camera: pycolmap.Camera, x: Floats) -> Floats:
    """Return keypoints in normalised units, or NaN where the camera model cannot undistort them."""
    rays = np.array(camera.cam_from_img(x))
    again = camera.img_from_cam(np.column_stack([rays, np.ones(len(rays))]))
    rays[~(np.hypot(*(again - x).T) < 1.0)] = np.nan  # a larger error in pixels marks a failed inversion
    return rays
