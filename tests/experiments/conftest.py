from __future__ import annotations

from tests.evaluation.conftest import sets

__all__ = ["sets"]
