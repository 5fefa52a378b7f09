"""The source of the estimators, its digest and the versions: kernels and journals are valid for one state of them."""

import hashlib
import os
import platform
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]

FOLDERS = ("compiled", "engine", "estimate", "evidence", "geometry", "maths", "problems", "solvers")
"""Folders whose source determines the estimates. They and the modules beside them contain all kernels."""


def holds_kernels(file: str) -> bool:
    """Return whether a source file is one of those that the digest covers."""
    root = f"{PACKAGE}{os.sep}"
    folders = file.removeprefix(root).split(os.sep)[:-1]
    return file.startswith(root) and (not folders or folders[0] in FOLDERS)


def source_digest() -> str:
    """Return a digest of the files that determine the estimates."""
    files = [entry.path for entry in os.scandir(PACKAGE)]
    for folder in FOLDERS:
        files += [os.path.join(parent, name) for parent, _, names in os.walk(PACKAGE / folder) for name in names]
    return digest_files(file for file in files if file.endswith(".py"))


def digest_files(files: Iterable[str | Path]) -> str:
    """Return the SHA-256 digest of the names and the content of files, in the order of their paths."""
    digest = hashlib.sha256()
    for file in sorted(map(str, files)):
        with open(file, "rb") as opened:
            content = opened.read()
        digest.update(f"{os.path.basename(file)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def installed_versions() -> dict[str, str]:
    """Return the versions of Python, bansac, NumPy and Numba, on which results depend."""
    packages = {name: metadata.version(name) for name in ("bansac", "numpy", "numba")}
    return {"python": platform.python_version()} | packages
