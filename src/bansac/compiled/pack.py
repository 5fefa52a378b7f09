"""The pack: a read-only zip file of compiled kernels, which binary wheels contain.

``header.json`` has the target that the code is compiled for, the digest of the source, and the place of the LLVM code
of each kernel. The other members are:

* The machine code of each kernel, compressed by itself, so that a process decompresses only the kernels that it calls.
* ``llvm``: the LLVM code of all kernels, compressed together, because much of it is the same. It is decompressed only
  if a kernel that is not in the pack is compiled and calls others.

Numba does not notice an edited callee in another file. Therefore one digest covers all files that hold kernels, and an
edit of any of them makes the pack invalid.
"""

import json
import lzma
import zipfile
from collections.abc import Collection, Mapping
from functools import cache, cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from bansac.compiled.source import PACKAGE, source_digest
from bansac.compiled.target import find_mismatch

PACK_FILE = PACKAGE / "_kernels" / "kernels.pack"
"""The pack of an installation from a binary wheel."""

_HEADER, _LLVM = "header.json", "llvm"


class PackError(Exception):
    """The pack cannot be used. The message continues the sentence "the kernels of the wheel"."""


class Kernel(NamedTuple):
    """A compiled kernel: what a call needs, and what the compilation of a caller needs."""

    code: bytes
    llvm_code: bytes


class Pack:
    """A pack, open for reading; a ``PackError`` if it is damaged, cannot be read, or belongs to other source code."""

    def __init__(self, path: Path) -> None:
        try:
            content = path.read_bytes()  # a forked process would share the position in an open file
        except OSError as error:
            raise PackError(f"cannot be read: {error}") from error
        try:
            self._archive = zipfile.ZipFile(BytesIO(content))
            document = json.loads(self._archive.read(_HEADER))
            self._compressed = self._archive.read(_LLVM)  # damage is found now, and not during a compilation
        except Exception as error:  # damaged archives raise errors of zipfile, zlib, json and other modules
            raise PackError("are damaged") from error
        if document["source"] != source_digest():
            raise PackError("do not belong to the source code, which was edited")
        self.target: dict[str, Any] = document["target"]
        self._slices: dict[str, tuple[int, int]] = document["slices"]

    @property
    def keys(self) -> Collection[str]:
        """The keys of the kernels."""
        return self._slices.keys()

    def read(self, key: str) -> bytes:
        """Return what a call of a kernel needs; a ``PackError`` if it is damaged."""
        try:
            return self._archive.read(key)
        except Exception as error:
            raise PackError("are damaged") from error

    def read_llvm(self, key: str) -> bytes:
        """Return the LLVM code of a kernel."""
        start, end = self._slices[key]
        return self._llvm_code[start:end]

    @cached_property
    def _llvm_code(self) -> bytes:
        return lzma.decompress(self._compressed)


@cache
def open_pack() -> tuple[Pack | None, str]:
    """Return the pack of this installation; or None, and why it cannot be used, which is empty if there is none."""
    if not PACK_FILE.exists():
        return None, ""
    try:
        pack = Pack(PACK_FILE)
    except PackError as error:
        return None, str(error)
    mismatch = find_mismatch(pack.target)
    return (None, mismatch) if mismatch else (pack, "")


def write_pack(path: Path, target: Mapping[str, Any], kernels: Mapping[str, Kernel]) -> None:
    """Write a pack of kernels by their keys, for this source code and a target (values of JSON), in a new folder."""
    slices, llvm_code = {}, bytearray()
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for key, kernel in sorted(kernels.items()):
            archive.writestr(key, kernel.code)
            slices[key] = (len(llvm_code), len(llvm_code) + len(kernel.llvm_code))
            llvm_code += kernel.llvm_code
        header = {"source": source_digest(), "target": dict(target), "slices": slices}
        archive.writestr(_HEADER, json.dumps(header))
        # Compressed here: the checksum of a stored member is that of the compressed bytes, which are read faster.
        archive.writestr(_LLVM, lzma.compress(llvm_code, preset=3), zipfile.ZIP_STORED)
