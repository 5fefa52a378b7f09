"""Other libraries' estimators, one module each with a tuple ``METHODS``; the library is imported when it is called.

A new peer is a module here, its name in ``PEERS``, and its package in the extra ``peers`` of ``pyproject.toml``.
"""

from __future__ import annotations

import importlib

from bansac.lab.evaluation.method import Method

PEERS = ("opencv", "poselib", "pycolmap", "pydegensac")
"""Names of the modules."""


def find_peers() -> list[Method]:
    """Return the methods of all peers, whether their packages are installed or not."""
    modules = (importlib.import_module(f"{__name__}.{peer}") for peer in PEERS)
    return [method for module in modules for method in module.METHODS]
