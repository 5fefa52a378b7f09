"""Estimators of other libraries, one module for each library.

A module has a tuple ``METHODS``. It imports its library when a method is called. To add a library, add its module
here, its name to ``PEERS``, and its package to the extra ``peers`` of ``pyproject.toml``.
"""

from __future__ import annotations

import importlib

from bansac.lab.evaluation.method import Method

PEERS = ("opencv", "poselib", "pycolmap", "pydegensac", "superansac")
"""Names of the modules of this package."""


def find_peers() -> list[Method]:
    """Return the methods of all libraries, including those that are not installed."""
    modules = (importlib.import_module(f"{__name__}.{peer}") for peer in PEERS)
    return [method for module in modules for method in module.METHODS]
