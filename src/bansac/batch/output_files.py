"""Output files that are written completely or not at all, in a folder that is checked before the work starts."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bansac.matches.storage import to_json, write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class OutputFolder:
    """Folder of ``--out``; it is created if it is missing. An OSError is raised if it is not writable."""

    def __init__(self, path: Path) -> None:
        check_writable(path, f"into {str(path)!r}")
        self.path = path
        self.files: list[str] = []

    def write_json(self, name: str, document: Mapping[str, Any]) -> None:
        """Write ``document`` as JSON."""
        self.write_text(name, to_json(dict(document)) + "\n")

    def write_text(self, name: str, text: str) -> None:
        """Write ``text`` as UTF-8."""
        self.write(name, lambda path: path.write_text(text, encoding="utf-8"))

    def write_npz(self, name: str, arrays: Mapping[str, Any]) -> None:
        """Write ``arrays`` as a compressed NumPy archive."""
        self.write(name, lambda path: np.savez_compressed(path, **arrays))

    def write_figure(self, name: str, figure: Figure) -> None:
        """Write ``figure`` as an image."""
        self.write(name, lambda path: figure.savefig(path, dpi=150))

    def write(self, name: str, write: Callable[[Path], Any]) -> None:
        """Let ``write`` write the file."""
        write_atomically(self.path / name, write)
        self.files.append(str(self.path / name))


def check_writable(folder: Path, what: str, option: str = "--out") -> None:
    """Create a folder if it is missing; if it is not writable, raise an OSError that contains ``what``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OSError(f"{option}: cannot write {what}: {error.strerror or error}") from None


def check_file(path: Path, option: str = "--out") -> None:
    """Create the folder of a file if it is missing; if the file is not writable, raise an OSError with the option."""
    check_writable(path.parent, repr(str(path)), option)
    try:
        path.stat()
    except FileNotFoundError:
        return
    except OSError as error:  # such as a link to itself
        raise OSError(f"{option}: cannot write {str(path)!r}: {error.strerror}") from None
    if path.is_dir():
        raise IsADirectoryError(f"{option}: cannot write {str(path)!r}: is a folder")


def check_replaceable(what: str, overwrite: bool, option: str = "--out") -> None:
    """Raise a ValueError that contains ``what`` unless existing output may be replaced."""
    if not overwrite:
        raise ValueError(f"{option}: {what}; name another place, or replace it with --overwrite")


def check_unread(path: Path, inputs: Iterable[Path | None]) -> None:
    """Raise a ValueError if the file of ``--out`` is one of the inputs, which nothing replaces."""
    if os.path.realpath(path) in {os.path.realpath(file) for file in inputs if file is not None}:
        raise ValueError(f"--out: {path} is read, and the results would replace it; name another place")
