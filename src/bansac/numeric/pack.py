"""The pack: a read-only file of compiled kernels, which binary wheels contain.

A pack begins with the name of the format, and the length and the checksum of the header. The header is a JSON document:
the target that the code is compiled for, the digest of the source, and the place and the checksum of each entry. The
entries follow. Each is compressed by itself, so that a process reads only the kernels that it calls.

Numba does not notice an edited callee in another file. Therefore one digest covers all files that hold kernels, and an
edit of any of them makes the pack invalid.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

__all__ = ["PACK_FILE", "Pack", "PackError", "holds_kernels", "write_pack"]

PACKAGE = Path(__file__).resolve().parents[1]

PACK_FILE = PACKAGE / "_kernels" / "kernels.pack"
"""The pack of an installation from a binary wheel."""

# The folders of the kernels of estimators. Some modules beside them have kernels, too.
_FOLDERS = ("engine", "estimate", "numeric", "problems", "significance", "solvers")

_MAGIC = b"bansac kernels 1\n"
_DIGEST_SIZE = 16
_START = struct.Struct(f"<{len(_MAGIC)}sI{_DIGEST_SIZE}s")


class PackError(Exception):
    """The pack cannot be used. The message continues the sentence "the kernels of the wheel"."""


class Pack:
    """A pack, open for reading.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    PackError
        If the file is damaged, cannot be read, or belongs to other source code.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        start = _read(path, 0, _START.size)
        magic, length, checksum = _START.unpack(start) if len(start) == _START.size else (b"", 0, b"")
        header = _read(path, _START.size, length)
        if magic != _MAGIC or checksum != _checksum(header):
            raise PackError("are damaged")
        document = json.loads(header)
        if document["source"] != _digest_source():
            raise PackError("do not belong to the source code, which was edited")
        self.target: dict[str, Any] = document["target"]
        self._places: dict[str, tuple[int, int, str]] = document["entries"]
        self._data = _START.size + length

    @property
    def keys(self) -> Collection[str]:
        """The keys of the entries."""
        return self._places.keys()

    def read(self, key: str) -> bytes:
        """Return an entry.

        Raises
        ------
        PackError
            If the entry is damaged or cannot be read.
        """
        return zlib.decompress(self.check(key))

    def check(self, key: str) -> bytes:
        """Return an entry as it is in the file, compressed; the errors are those of ``read``."""
        offset, size, checksum = self._places[key]
        content = _read(self.path, self._data + offset, size)
        if _checksum(content).hex() != checksum:
            raise PackError("are damaged")
        return content


def write_pack(path: Path, target: Mapping[str, Any], entries: Mapping[str, bytes]) -> None:
    """Write a pack of these entries for the source code of this package.

    Parameters
    ----------
    path : Path
        The file; its folder is created.
    target : mapping of str to values of JSON
        What the compiled code depends on, apart from the source code.
    entries : mapping of str to bytes
        The compiled kernels by their keys.
    """
    places, data = {}, bytearray()
    for key, entry in sorted(entries.items()):
        content = zlib.compress(entry, 9)
        places[key] = (len(data), len(content), _checksum(content).hex())
        data += content
    header = json.dumps({"source": _digest_source(), "target": dict(target), "entries": places}).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_START.pack(_MAGIC, len(header), _checksum(header)) + header + data)


def holds_kernels(file: str) -> bool:
    """Return whether a source file is one of those that the digest covers."""
    root = f"{PACKAGE}{os.sep}"
    folders = file.removeprefix(root).split(os.sep)[:-1]
    return file.startswith(root) and (not folders or folders[0] in _FOLDERS)


def _digest_source() -> str:
    """Return a digest of the names and the content of the files that hold kernels."""
    digest, start = hashlib.blake2b(digest_size=_DIGEST_SIZE), len(str(PACKAGE)) + 1
    for file in _source_files():
        with open(file, "rb") as opened:
            content = opened.read()
        digest.update(f"{file[start:]} {len(content)}\n".replace(os.sep, "/").encode() + content)
    return digest.hexdigest()


def _source_files() -> list[str]:
    found = [entry.path for entry in os.scandir(PACKAGE)]
    for folder in _FOLDERS:
        found += [os.path.join(parent, name) for parent, _, names in os.walk(PACKAGE / folder) for name in names]
    return sorted(file for file in found if file.endswith(".py"))


def _read(path: Path, offset: int, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(size)
    except OSError as error:
        raise PackError(f"cannot be read: {error}") from error


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_SIZE).digest()
