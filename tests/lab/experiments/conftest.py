from __future__ import annotations

from tests.lab.evaluation.conftest import sets

__all__ = ["sets"]
