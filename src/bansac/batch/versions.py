"""Versions on which results depend, for the fingerprint of a run in the journal."""

import functools
import platform
from collections.abc import Iterable
from importlib import metadata

# Reads the files of all installed packages.
_distributions = functools.cache(metadata.packages_distributions)


def installed_versions(packages: Iterable[str] = ()) -> dict[str, str]:
    """Return the versions of Python, bansac, NumPy and Numba, and of those ``packages`` that are installed."""
    versions = {
        "python": platform.python_version(),
        "bansac": metadata.version("bansac"),
        "numpy": metadata.version("numpy"),
        "numba": metadata.version("numba"),
    }
    others = sorted(set(packages) - versions.keys())
    distributions = _distributions() if others else {}
    return versions | {name: metadata.version(distributions[name][0]) for name in others if name in distributions}
