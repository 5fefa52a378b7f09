"""Storage of results: conversion to JSON types, atomic writing, and files that can be loaded again."""

import contextlib
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

# Entry of an npz file with all fields that are not arrays, as JSON. Names of nested fields are joined by dots.
_REST = "fields"
_JOIN = "."


def to_plain(value: Any) -> Any:
    """Return a value in JSON types: arrays become lists, named tuples become dicts, NaN and infinity become None."""
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return to_plain(value._asdict())
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        items = value.tolist()
        return items if value.dtype.kind in "biuU" or np.isfinite(value).all() else to_plain(items)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def to_json(document: Mapping[str, Any]) -> str:
    """Return ``document`` as strict JSON."""
    return json.dumps(to_plain(document), indent=2, allow_nan=False)


@contextlib.contextmanager
def as_os_error(what: str, *kinds: type[Exception]) -> Iterator[None]:
    """Convert errors of these types, such as those of a damaged file, to OSErrors that begin with ``what``."""
    try:
        yield
    except kinds as error:
        raise OSError(f"{what}: {error}") from error


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Let ``write`` fill a temporary file beside ``path``, with the same suffix, then move it to ``path``."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        # mkstemp creates files that only the owner may read; set the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except OSError as error:
        if error.filename is None:  # as on a full disk
            raise OSError(f"{path}: cannot be written: {error.strerror or error}") from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def write_fields(path: str | os.PathLike[str], fields: Mapping[str, Any]) -> None:
    """Write the fields of a result to a ``.npz`` file."""
    flat = dict(_flatten(fields))
    arrays: dict[str, Any] = {name: value for name, value in flat.items() if isinstance(value, np.ndarray)}
    rest = json.dumps({name: value for name, value in flat.items() if name not in arrays})
    arrays[_REST] = np.array(rest)
    write_atomically(_as_npz(path), lambda file: np.savez_compressed(file, **arrays))


def read_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a file of :func:`write_fields`; an error names the file."""
    source = _as_npz(path)
    try:
        with source.open("rb") as file, np.load(file, allow_pickle=False) as archive:  # closed if it is damaged
            flat = json.loads(str(archive[_REST])) | {name: archive[name] for name in archive.files if name != _REST}
        return _unflatten(flat)
    except Exception as error:  # damaged files raise errors of zipfile, zlib, json, NumPy and other modules
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise ValueError(f"{source} holds no result: {error}") from None


def _as_npz(path: str | os.PathLike[str]) -> Path:
    if Path(path).suffix != ".npz":
        raise ValueError(f"path must end in .npz, got {os.fspath(path)!r}")
    return Path(path)


def _flatten(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in fields.items():
        nested = value._asdict() if hasattr(value, "_asdict") else value
        if isinstance(nested, Mapping):
            yield from _flatten(nested, f"{prefix}{key}{_JOIN}")
        else:
            yield f"{prefix}{key}", nested


def _unflatten(flat: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        *parents, key = name.split(_JOIN)
        place = nested
        for parent in parents:
            place = place.setdefault(parent, {})
        place[key] = value
    return nested
