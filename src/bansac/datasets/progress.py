"""How a caller follows a long download or unpacking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

__all__ = ["Progress", "Stage", "be_silent"]

Stage: TypeAlias = Literal["download", "check", "list", "unpack"]
Progress: TypeAlias = Callable[[Stage, int, int | None], None]
"""Called with the stage, the bytes done and the bytes in total, None if that is not known."""


def be_silent(stage: Stage, done: int, total: int | None) -> None:
    """Report nothing."""
