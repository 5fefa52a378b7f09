"""Provenance of the rows of a run: the fingerprint of their dependencies, and the circumstances for the report."""

import dataclasses
import datetime
import functools
import hashlib
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from bansac.compiled import source
from bansac_lab.measurement import Measurement, Setup
from bansac_lab.sets import PairSet
from bansac_lab.sets.labelled import LabelledSet

_LABORATORY = Path(__file__).parent

# The digest of a file covers at most three blocks, the first, the middle and the last: a file may have gigabytes.
_BLOCK = 1 << 20

# Reads the files of all installed packages.
_distributions = functools.cache(metadata.packages_distributions)


def fingerprint(measurement: Measurement, setup: Setup, data: Mapping[str, Any]) -> str:
    """Compute a digest of everything that the rows of a run depend on.

    That is the settings, the content of the data (not its path), ``measurement.values``, the versions of Python, NumPy,
    Numba and other packages, and the source of both packages.
    """
    settings = setup.plain() | {"data": data.get("sha256")}
    code = source.digest_files(file for folder in (_LABORATORY, source.PACKAGE) for file in folder.rglob("*.py"))
    parts = [measurement.name, settings, measurement.values, code, installed_versions(measurement.packages)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=_by_value).encode()).hexdigest()


def _by_value(value: Any) -> Any:
    """Convert a value for JSON; a function becomes its name."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if callable(value):
        return [value.__module__, value.__qualname__]
    raise TypeError(f"the fingerprint needs plain values and functions, got {value!r}")


def data_fingerprint(folder: Path | None, sets: Sequence[PairSet | LabelledSet]) -> dict[str, Any]:
    """Return the folder's name, the number of files, their bytes, and a SHA-256 of names, sizes and blocks."""
    if folder is None:
        return {}
    digest, sizes = hashlib.sha256(), []
    paths = ((chosen, path) for chosen in sets for path in chosen.files())
    for chosen, path in paths:
        sizes.append(path.stat().st_size)
        name = os.path.relpath(path, chosen.folder.resolve()).replace(os.sep, "/")
        digest.update(f"{chosen.name}/{name}:{sizes[-1]}\n".encode())
        starts = (0,) if sizes[-1] <= 3 * _BLOCK else (0, (sizes[-1] - _BLOCK) // 2, sizes[-1] - _BLOCK)
        with path.open("rb") as file:
            for start in starts:
                file.seek(start)
                digest.update(file.read(3 * _BLOCK // len(starts)))
    return {"folder": folder.resolve().name, "files": len(sizes), "bytes": sum(sizes), "sha256": digest.hexdigest()}


def installed_versions(packages: Iterable[str] = ()) -> dict[str, str]:
    """Return the versions of Python, bansac, NumPy and Numba, and of those ``packages`` that are installed."""
    versions = source.installed_versions()
    others = sorted(set(packages) - versions.keys())
    distributions = _distributions() if others else {}
    return versions | {name: metadata.version(distributions[name][0]) for name in others if name in distributions}


def circumstances(packages: Iterable[str] = ()) -> dict[str, Any]:
    """Return ``date``, ``versions`` (see :func:`installed_versions`) and ``machine`` for a report."""
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    machine = {"platform": platform.platform(), "processor": processor(), "cores": os.cpu_count()}
    return {"date": date, "versions": installed_versions(packages), "machine": machine}


def processor() -> str:
    """Return the processor's model name; on Linux platform.processor() does not provide it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
