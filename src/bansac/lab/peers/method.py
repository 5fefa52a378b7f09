"""Methods to compare: a library with settings."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bansac.lab.peers.library import Estimate, Library, Task
from bansac.lab.peers.ours import OURS


@dataclass(frozen=True)
class Method:
    """Estimation method."""

    name: str  # on the command line
    settings: Mapping[str, Any] = field(
        default_factory=dict
    )  # of the adapter; ours has the preset "paper" if not given
    library: Library = OURS
    scored: bool = False  # pass the scores of the matches
    sized: bool = False  # pass the image sizes if they are known
    sort: bool = False  # pass the matches in descending order of their scores
    own_limits: bool | None = None  # ignore threshold, confidence and iterations of a task; by default ours with preset
    label: str = ""  # name in the paper's tables; by default ``name``
    problems: tuple[str, ...] = ("H", "F", "E")  # that ``bansac bench`` gives the method

    def __post_init__(self) -> None:
        """Set the defaults that depend on other fields."""
        if not self.label:
            object.__setattr__(self, "label", self.name)
        if self.own_limits is None:
            object.__setattr__(self, "own_limits", self.ours and "preset" in self.settings)

    @property
    def ours(self) -> bool:
        """Whether this package estimates."""
        return self.package == OURS.package

    @property
    def package(self) -> str:
        """Module that must be installed."""
        return self.library.package

    @property
    def installed(self) -> bool:
        """Whether the package is installed."""
        return importlib.util.find_spec(self.package) is not None

    def changed(self, name: str, **settings: Any) -> Method:
        """Return a copy with another name and additional settings."""
        return dataclasses.replace(self, name=name, settings={**self.settings, **settings})

    def call(self, task: Task, **settings: Any) -> Callable[[], Any]:
        """Return the call of the library for a task; ``settings`` override the method's."""
        return self.library.call(*self._arrange(task, settings))

    def estimate(self, task: Task, **settings: Any) -> Estimate:
        """Estimate the model of a task and time the call; ``settings`` override the method's."""
        return self.library.estimate(*self._arrange(task, settings))

    def _arrange(self, task: Task, settings: Mapping[str, Any]) -> tuple[Task, dict[str, Any]]:
        """Return what the method knows of a task, and all settings."""
        if self.sort:
            task = task.best_first()
        if not self.scored:
            task = dataclasses.replace(task, scores=None)
        if not self.sized:
            task = dataclasses.replace(task, size1=None, size2=None)
        if self.own_limits:
            task = dataclasses.replace(task, threshold=None, confidence=None, max_iterations=None)
        preset = {"preset": "paper"} if self.ours else {}
        return task, {**preset, **self.settings, **settings}
