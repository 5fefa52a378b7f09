"""Modules of optional packages."""

import importlib
from typing import Any


def import_optional(module: str, need: str, package: str) -> Any:
    """Return a module; if it is not installed, raise an ImportError that says who needs what, and how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{need}: pip install {package}") from error
