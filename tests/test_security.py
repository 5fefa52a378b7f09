"""The claims of ``SECURITY.md``: no input is unpickled, and few modules can run code at all."""

import ast
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import bansac
import bansac_lab
from bansac.batch.features import load_features
from bansac.matches.array_files import Reader
from bansac.matches.match_files import read_calibration, read_matches

SOURCES = [Path(package.__file__).parent for package in (bansac, bansac_lab)]

# Modules that import one of MODULES, or call one of FUNCTIONS, and what they use.
RUN_CODE = {
    "bansac/executors/__init__.py": {"pickle"},  # whether an exception can be sent to the caller
    "bansac_lab/pages.py": {"subprocess"},  # git, for the commits of reports
    "bansac_lab/measurements/cluster.py": {"pickle"},  # the bytes of what travels
    "bansac_lab/measurements/latency.py": {"subprocess"},  # waiting times of new processes
    "bansac/compiled/numba_private/cache.py": {"pickle"},  # kernels of a pack
    "bansac/compiled/numba_private/files.py": {"pickle"},  # cache of kernels
    "bansac/compiled/struct.py": {"compile", "exec"},  # writes functions from names in the source
}
MODULES = {
    "cloudpickle",
    "code",
    "ctypes",
    "dill",
    "joblib",
    "marshal",
    "pickle",
    "runpy",
    "shelve",
    "subprocess",
    "yaml",
}
FUNCTIONS = {"__import__", "compile", "eval", "exec", "read_pickle", "system", "popen"}


class Bomb:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.path,)


def write_npz(path: Path, bomb: Any, *names: str) -> Path:
    objects = np.full((8, 2), bomb, dtype=object)
    np.savez(path, allow_pickle=True, **dict.fromkeys(names, objects))
    return path


def write_npy(path: Path, bomb: Any) -> Path:
    np.save(path, np.full((8, 4), bomb, dtype=object), allow_pickle=True)
    return path


def write_h5(path: Path, bomb: Any, *names: str) -> Path:
    with h5py.File(path, "w") as file:
        for name in names:
            file[name] = np.array([np.void(pickle.dumps(bomb))])
    return path


READERS: dict[str, Callable[[Path, Any], object]] = {
    "matches.npy": lambda path, bomb: read_matches(write_npy(path, bomb)),
    "matches.npz": lambda path, bomb: read_matches(write_npz(path, bomb, "x1", "x2")),
    "matches.h5": lambda path, bomb: read_matches(write_h5(path, bomb, "x1", "x2")),
    "pickle.npz": lambda path, bomb: read_matches(write_pickle(path, bomb)),
    "pickle.npy": lambda path, bomb: read_matches(write_pickle(path, bomb)),
    "pickle.csv": lambda path, bomb: read_matches(write_pickle(path, bomb)),
    "pickle.json": lambda path, bomb: read_calibration(write_pickle(path, bomb)),
    "hloc.h5": lambda path, bomb: read_hloc(write_h5(path, bomb, "keypoints")),
    "result.npz": lambda path, bomb: bansac.Result.load(write_npz(path, bomb, "model", "inliers", "json")),
    "features.npz": lambda path, bomb: load_features(write_npz(path, bomb, "points", "descriptors", "size")),
}


def write_pickle(path: Path, bomb: Any) -> Path:
    path.write_bytes(pickle.dumps(bomb))
    return path


def read_hloc(path: Path) -> object:
    with Reader(path) as file:
        return file.array("keypoints", (-1, 2))


@pytest.mark.parametrize("name", READERS)
def test_no_input_is_unpickled(tmp_path: Path, name: str) -> None:
    witness = tmp_path / "unpickled"
    with pytest.raises((OSError, ValueError), match=name):
        READERS[name](tmp_path / name, Bomb(witness))
    assert not witness.exists()


def test_the_file_would_be_noticed(tmp_path: Path) -> None:
    with np.load(write_npz(tmp_path / "a.npz", Bomb(tmp_path / "unpickled"), "x1"), allow_pickle=True) as arrays:
        arrays["x1"]
    assert (tmp_path / "unpickled").exists()


def test_few_modules_can_run_code() -> None:
    files = ((root, path) for root in SOURCES for path in root.rglob("*.py"))
    found = {path.relative_to(root.parent).as_posix(): code_runners(path) for root, path in files}
    assert {name: used for name, used in found.items() if used} == RUN_CODE


def code_runners(path: Path) -> set[str]:
    """Return what a module uses to run code."""
    used = set()
    interesting = ast.Import, ast.ImportFrom, ast.Call, ast.keyword
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, interesting):
            continue
        match node:
            case ast.Import(names=names):
                used |= {name.name.split(".")[0] for name in names} & MODULES
            case ast.ImportFrom(module=str(module)):
                used |= {module.split(".")[0]} & MODULES
            case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
                used.add(name)
            case ast.Call(func=ast.Attribute(attr=name)) if name in FUNCTIONS - {"compile"}:  # not re.compile
                used.add(name)
            case ast.keyword(arg="allow_pickle", value=value) if ast.unparse(value) != "False":  # NumPy's default
                used.add("allow_pickle")
    return used
