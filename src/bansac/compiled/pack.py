"""The pack: a read-only file of compiled kernels, which binary wheels contain.

A pack begins with the name of the format, and the length and the checksum of the header. The header is a JSON document:
the target that the code is compiled for, the digest of the source, and the place and the checksum of each part. Two
kinds of parts follow:

* The machine code of each kernel, compressed by itself, so that a process reads only the kernels that it calls.
* The LLVM code of all kernels, compressed together, because much of it is the same. It is read only if a kernel that is
  not in the pack is compiled and calls others.

Numba does not notice an edited callee in another file. Therefore one digest covers all files that hold kernels, and an
edit of any of them makes the pack invalid.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import struct
import zlib
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["PACK_FILE", "Kernel", "Pack", "PackError", "holds_kernels", "write_pack"]

PACKAGE = Path(__file__).resolve().parents[1]

PACK_FILE = PACKAGE / "_kernels" / "kernels.pack"
"""The pack of an installation from a binary wheel."""

# The folders of the kernels of estimators. Some modules beside them have kernels, too.
_FOLDERS = ("compiled", "engine", "estimate", "geometry", "maths", "problems", "significance", "solvers")

_MAGIC = b"bansac kernels 1\n"
_DIGEST_SIZE = 16
_START = struct.Struct(f"<{len(_MAGIC)}sI{_DIGEST_SIZE}s")


# Offset, size and checksum of a part.
_Place = tuple[int, int, str]


class PackError(Exception):
    """The pack cannot be used. The message continues the sentence "the kernels of the wheel"."""


class Kernel(NamedTuple):
    """A compiled kernel.

    Parameters
    ----------
    code : bytes
        What a call needs.
    llvm_code : bytes
        What the compilation of a caller needs.
    """

    code: bytes
    llvm_code: bytes


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
        self._data = _START.size + length
        self._kernels: dict[str, _Place] = document["kernels"]
        self._slices: dict[str, tuple[int, int]] = document["slices"]
        self._llvm_place: _Place = document["llvm"]
        self._part(self._llvm_place)  # damage is found now, and not during a compilation

    @property
    def keys(self) -> Collection[str]:
        """The keys of the kernels."""
        return self._kernels.keys()

    def read(self, key: str) -> bytes:
        """Return what a call of a kernel needs.

        Raises
        ------
        PackError
            If it is damaged or cannot be read.
        """
        return zlib.decompress(self._part(self._kernels[key]))

    def read_llvm(self, key: str) -> bytes:
        """Return the LLVM code of a kernel; the errors are those of ``read``."""
        start, end = self._slices[key]
        return self._llvm_code[start:end]

    @cached_property
    def _llvm_code(self) -> bytes:
        return lzma.decompress(self._part(self._llvm_place))

    def _part(self, place: _Place) -> bytes:
        offset, size, checksum = place
        content = _read(self.path, self._data + offset, size)
        if _checksum(content).hex() != checksum:
            raise PackError("are damaged")
        return content


def write_pack(path: Path, target: Mapping[str, Any], kernels: Mapping[str, Kernel]) -> None:
    """Write a pack of these kernels for the source code of this package.

    Parameters
    ----------
    path : Path
        The file; its folder is created.
    target : mapping of str to values of JSON
        What the compiled code depends on, apart from the source code.
    kernels : mapping of str to Kernel
        The compiled kernels by their keys.
    """
    data, llvm_code = bytearray(), bytearray()
    places: dict[str, _Place] = {}
    slices = {}

    def append(part: bytes) -> _Place:
        place = (len(data), len(part), _checksum(part).hex())
        data.extend(part)
        return place

    for key, kernel in sorted(kernels.items()):
        places[key] = append(zlib.compress(kernel.code, 9))
        slices[key] = (len(llvm_code), len(llvm_code) + len(kernel.llvm_code))
        llvm_code += kernel.llvm_code
    parts = {"kernels": places, "slices": slices, "llvm": append(lzma.compress(llvm_code, preset=9))}
    header = json.dumps({"source": _digest_source(), "target": dict(target)} | parts).encode()
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
