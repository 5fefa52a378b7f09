"""Damaged files: every reader returns data, or raises an error that names the file."""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import pytest
from hypothesis import strategies as st

import bansac
from bansac.batch import features
from bansac.batch.journal import Journal, Unit
from bansac.batch.pair_selection import select_pairs
from bansac.batch.sources import find_sources
from bansac.matches import HlocPairs
from bansac.matches.images import read_image
from bansac.matches.match_files import read_calibration, read_data, read_matches
from bansac.matches.pair_folder import PairFolder
from bansac.problems.estimators import MODELS
from tests.colmap.conftest import synthetic as colmap_database  # noqa: F401  a fixture
from tests.fuzz.rounds import fuzz, no_hang

pytestmark = pytest.mark.fuzz

RNG = np.random.default_rng(0)
TABLE = RNG.uniform(0, 500, (12, 5)).round(3)
UNIT = Unit("pair 1")


class Format(NamedTuple):
    """A valid file is written, damaged and read; ``name`` is its name below the folder."""

    name: str
    write: Callable[[Path], Any]
    read: Callable[[Path], Any]


def write_arrays(path: Path) -> None:
    arrays = {"x1": TABLE[:, :2], "x2": TABLE[:, 2:4], "scores": TABLE[:, 4] / 500, "K": np.diag([500.0, 500, 1])}
    if path.suffix == ".npz":
        np.savez_compressed(path, **arrays)
        return
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, chunks=True, compression="gzip", shuffle=True)


def write_text(path: Path) -> None:
    np.savetxt(path, TABLE, "%.6g", delimiter="," if path.suffix == ".csv" else "\t", header="x1,y1,x2,y2,score")


def read_points(path: Path) -> None:
    read_data(path, MODELS["line"].data)


def write_result(path: Path) -> None:
    points = np.column_stack([TABLE[:, 0], 2 * TABLE[:, 0]])
    bansac.fit_line(points, threshold=1.0, trace=True, max_iterations=20).save(path)


def write_journal(path: Path) -> None:
    with Journal(path, "run") as journal:
        journal.add(UNIT, [{"a": 1, "seconds": 0.5}, {"a": 2, "b": "x"}])


def read_journal(path: Path) -> None:
    with Journal(path, "run") as journal:
        assert (len(journal), UNIT in journal) is not None
        journal.rows(UNIT)


def write_hloc(path: Path) -> None:
    with h5py.File(path.parent / "features.h5", "w") as file:
        file["a/keypoints"] = file["b/keypoints"] = TABLE[:, :2]
    with h5py.File(path.parent / "hloc.h5", "w") as file:
        file["a/b/matches0"] = np.arange(12)
        file["a/b/matching_scores0"] = np.linspace(0, 1, 12)


def read_hloc(path: Path) -> None:
    pairs = HlocPairs(path.parent / "features.h5", path.parent / "hloc.h5")
    for key in pairs.keys:
        pairs.pair(key)


def write_set(path: Path) -> None:
    for name, array in (("matches", TABLE[:, :4]), ("match_conf", TABLE[:, 4] / 500), ("size", np.array([500, 500]))):
        with h5py.File(path.parent / f"{name}.h5", "w") as file:
            file["a-b"] = array


def read_set(path: Path) -> None:
    folder = PairFolder(path.parent)
    for key in folder.keys:
        folder.pair(key)


def write_features(path: Path) -> None:
    descriptors = RNG.integers(0, 255, (12, 128)).astype(np.float32)
    np.savez(path, points=TABLE[:, :2], descriptors=descriptors, size=np.array([500, 500]))


def read_features(path: Path) -> None:
    features.load_features.cache_clear()
    features.load_features(path)


def write_image(path: Path) -> None:
    import cv2

    pixels = RNG.integers(0, 255, (24, 32, 3)).astype(np.uint16 if path.name == "deep.png" else np.uint8)
    cv2.imwrite(str(path), pixels)


def read_all(path: Path) -> None:
    for source in find_sources(path, path.with_name("out.npz")):
        assert source.unit


FORMATS = [
    *(Format(f"matches{suffix}", write_arrays, read_matches) for suffix in (".npz", ".h5")),
    *(Format(f"matches{suffix}", write_text, read_matches) for suffix in (".csv", ".tsv", ".txt")),
    Format("matches.npy", lambda path: np.save(path, TABLE), read_matches),
    Format("points.csv", lambda path: path.write_text("x,y,score\n1,2,.5\n3,4,.25\n"), read_points),
    Format("points.npz", lambda path: np.savez(path, points=TABLE[:, :2], scores=TABLE[:, 4]), read_points),
    Format(
        "K.json", lambda path: path.write_text('{"K": [[500, 0, 250], [0, 5e2, 250], [0, 0, 1]]}'), read_calibration
    ),
    Format("K.txt", lambda path: path.write_text("500 0 250\n0 500 250\n0 0 1\n"), read_calibration),
    Format("K.npz", write_arrays, read_calibration),
    Format("result.npz", write_result, bansac.Result.load),
    Format("journal.sqlite", write_journal, read_journal),
    Format("features.h5", write_hloc, read_hloc),
    Format("hloc.h5", write_hloc, read_hloc),
    *(Format(f"{name}.h5", write_set, read_set) for name in ("matches", "match_conf", "size")),
    Format("features.npz", write_features, read_features),
    *(Format(name, write_image, read_image) for name in ("deep.png", "a.png", "a.jpg", "a.tif", "a.bmp", "a.webp")),
    Format("list.txt", lambda path: path.write_text("a.csv\n# b\n\nc.npz\n"), read_all),
    Format("pairs.txt", lambda p: p.write_text("a b\na\tc\n"), lambda p: select_pairs(str(p), ["a", "b", "c"])),
]

SITES = st.floats(0, 1, exclude_max=True)
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), SITES, st.binary(min_size=1, max_size=8)),
        st.tuples(st.just("insert"), SITES, st.binary(min_size=1, max_size=8)),
        st.tuples(
            st.just("text"), SITES, st.sampled_from([b"nan", b"1e999", b"-1", b'"', b",", b"\n", b"null", b"{}"])
        ),
        st.tuples(st.just("delete"), SITES, st.integers(1, 64)),
        st.tuples(st.just("repeat"), SITES, st.integers(1, 64)),
        st.tuples(st.just("end"), SITES, st.none()),
    ),
    min_size=1,
    max_size=6,
)
DAMAGE = st.one_of(EDITS, EDITS, EDITS, st.binary(max_size=300))


def damaged(content: bytes, damage: Any) -> bytes:
    """Return random bytes, or a content after edits at relative positions."""
    if isinstance(damage, bytes):
        return damage
    for kind, where, value in damage:
        at = int(where * len(content))
        if kind == "set":
            content = content[:at] + value + content[at + len(value) :]
        elif kind in ("insert", "text"):
            content = content[:at] + value + content[at:]
        elif kind == "delete":
            content = content[:at] + content[at + value :]
        elif kind == "repeat":
            content = content[: at + value] + content[at:]
        else:
            content = content[:at]
    return content


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: f"{form.name}-{form.write.__name__.strip('<>')}")
def test_damaged_files_are_refused_by_name(form, tmp_path):
    path = tmp_path / form.name
    form.write(path)
    form.read(path)
    valid = path.read_bytes()

    def check(damage):
        for extra in tmp_path.glob(f"{form.name}-*"):
            extra.unlink()
        path.write_bytes(damaged(valid, damage))
        try:
            form.read(path)
        except (ValueError, OSError) as error:
            if path.name not in str(error) and str(tmp_path) not in str(error):
                raise AssertionError("the error does not name the file") from error
            return "refused"
        return "read"

    fuzz(f"file {form.name}, {form.read.__name__.strip('<>')}", 0.4 / len(FORMATS), DAMAGE, check)


def verify_or_refuse(path: Path) -> str:
    """Verify a database of COLMAP, in a worker process."""
    from bansac.colmap import verify_database

    try:
        with no_hang():
            verify_database(path, workers=1)
    except (OSError, ValueError) as error:
        if path.name not in str(error):
            raise AssertionError("the error does not name the file") from error
        return "refused"
    return "read"


def test_damaged_databases_of_colmap_do_no_harm(colmap_database, tmp_path):  # noqa: F811
    """pycolmap could end the process, so a worker verifies; it is no fork, which would copy the locks of threads."""
    path = tmp_path / "database.db"
    valid = colmap_database[0].read_bytes()
    workers = [new_worker()]

    def check(damage):
        for extra in tmp_path.iterdir():
            extra.unlink()
        path.write_bytes(damaged(valid, damage))
        try:
            return workers[0].submit(verify_or_refuse, path).result()
        except BrokenProcessPool:
            workers.pop().shutdown()
            workers.append(new_worker())
            raise

    try:
        assert check([]) == "read"
        fuzz("file database.db, verify_database", 0.05, DAMAGE, check)
    finally:
        workers[0].shutdown()


def new_worker() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
