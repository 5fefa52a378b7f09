from __future__ import annotations

from tests.lab.conftest import sets

__all__ = ["sets"]
