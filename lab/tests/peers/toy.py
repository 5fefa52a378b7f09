"""A library for tests."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bansac_lab.peers.library import Library, Task


@dataclass(frozen=True)
class Toy(Library):
    """A library that returns a given model, or that of a function ``answer(task, settings)``."""

    answer: Any = None
    package: str = "numpy"

    def _call(self, task: Task, **settings: Any) -> Callable[[], Any]:
        return lambda: self.answer(task, settings) if callable(self.answer) else self.answer

    def _read(self, task: Task, answer: Any) -> tuple[Any, None]:
        return answer, None
