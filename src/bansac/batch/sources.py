"""Sources of the pairs of a run: files of matches, h5 sets, and lists of files."""

import functools
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bansac.batch.journal import Stream, Unit
from bansac.batch.output_files import check_unread
from bansac.matches import HlocPairs, Matches
from bansac.matches.match_files import HDF5, find_groups, read_matches
from bansac.matches.pair_folder import PairFolder, find_pair_folders
from bansac.matches.text_tables import read_text
from bansac.maths.arrays import Ints

# Suffixes of files that are pairs; a .txt file is a list.
SUFFIXES = (".csv", ".npz", ".h5", ".hdf5")


class Pair(NamedTuple):
    """Matches of a pair and, for images, the indices (N, 2) of their features."""

    matches: Matches
    indices: Ints | None = None


class ImagePair(NamedTuple):
    """Names of the images of a pair, and file names of their features; "" if an image has none."""

    image1: str
    image2: str
    features1: str
    features2: str


@dataclass(frozen=True)
class Source:
    """Source of a pair: its name, a stamp that changes with its files, and a picklable function that reads it."""

    name: str
    stamp: str
    read: Callable[[], Pair]
    images: ImagePair | None = None

    def __str__(self) -> str:
        """Return the name of the pair in error messages."""
        return f"pair {self.name}"

    @property
    def unit(self) -> Unit:
        """Unit of the pair in the journal."""
        return Unit(f"{self.name}\n{self.stamp}")


Sources = list[Source] | Stream[Source]


def find_sources(path: Path, out: Path) -> list[Source]:
    """Return the pairs of a folder (h5 sets or files), a list (.txt), or a file; groups of an h5 file are pairs.

    The results ``out`` of an earlier run, which has a journal, are no pair. If ``out`` is read, a ValueError is raised.
    """
    earlier = os.path.realpath(out) if out.with_suffix(".sqlite").exists() else None
    if not path.is_dir():
        if not path.is_file():
            raise FileNotFoundError(f"{path}: there is no such file or folder")
        groups = find_groups(path) if path.suffix.lower() in HDF5 else []
        names = read_list(path) if path.suffix == ".txt" else [path.name]
        files = [path.parent / name for name in names]
        sources = [_file_source(name, file) for name, file in zip(names, files, strict=True)]
        if groups:
            sources = [_file_source(group, path, group) for group in groups]
        files.append(path)
    else:
        files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES)
        files = [file for file in files if os.path.realpath(file) != earlier]
        if folders := {file.parent for file in files if file.name == "matches.h5"}:
            parts = [file for file in files if file.parent in folders and file.suffix == ".h5"]
            if ignored := sorted({*files} - {*parts}):
                text = f"so {len(ignored)} other files are ignored, such as {ignored[0]}"
                warnings.warn(f"{path} holds sets of pairs (matches.h5), {text}", stacklevel=2)
            files = parts
            sources = [_set_source(pair_set, key) for pair_set in find_pair_folders(path) for key in pair_set.keys]
        else:
            # Reading a named pipe would wait for a writer. A missing target of a link is a failure of its pair.
            files = [file for file in files if file.is_file() or not file.exists()]
            sources = [_file_source(name_below(path, file), file) for file in files]
    if not sources:
        raise ValueError(
            f"{path}: holds no pairs; expected a folder of sets or of files {', '.join(SUFFIXES)}, or a .txt with names"
        )
    check_unread(out, [file for file in files if file.exists()])
    return sources


def hloc_sources(pairs: HlocPairs) -> list[Source]:
    """Return the pairs of hloc files."""
    files = pairs.features.absolute(), pairs.matches.absolute()
    stamp = " ".join(map(_stamp, files))
    return [Source(key, stamp, functools.partial(_read_key, HlocPairs, files, stamp, key)) for key in pairs.keys]


def read_list(path: Path) -> list[str]:
    """Return the lines of a list without blank lines and comments."""
    lines = read_text(path).splitlines()
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def name_below(folder: Path, file: Path) -> str:
    r"""Return the path of a file relative to a folder; bytes that are not UTF-8 become ``\udc80`` to ``\udcff``."""
    return file.relative_to(folder).as_posix().encode("utf-8", "backslashreplace").decode()


def _file_source(name: str, file: Path, group: str | None = None) -> Source:
    return Source(name, _stamp(file), functools.partial(_read_file, file.absolute(), group))


def _read_file(file: Path, group: str | None) -> Pair:
    return Pair(read_matches(file, group))


def _set_source(pair_set: PairFolder, key: str) -> Source:
    stamp = _stamp(pair_set.folder / "matches.h5")
    read = functools.partial(_read_key, PairFolder, (pair_set.folder.absolute(),), stamp, key)
    return Source(f"{pair_set.name}/{key}", stamp, read)


_Set = Callable[..., HlocPairs | PairFolder]


def _read_key(kind: _Set, paths: tuple[Path, ...], stamp: str, key: str) -> Pair:
    return Pair(_open(kind, paths, stamp).pair(key))


@functools.lru_cache(maxsize=8)
def _open(kind: _Set, paths: tuple[Path, ...], stamp: str) -> HlocPairs | PairFolder:
    """Open a set once per process; a source that is sent to a worker contains only its path."""
    return kind(*paths)


def _stamp(file: Path) -> str:
    """Return the size and modification time of a file, which change with its content; "" if it is missing."""
    try:
        status = file.stat()
    except (OSError, ValueError):  # a ValueError if the name holds a null character
        return ""
    return f"{status.st_size} {status.st_mtime_ns}"
