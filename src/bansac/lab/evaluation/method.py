"""Estimation methods to compare: settings of this package's functions, or a call of another library."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.lab.evaluation.task import Task, best_first
from bansac.problems.estimators import Kind


def _as_returned(answer: Any) -> Any:
    return answer


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Method:
    """Estimation method.

    Parameters
    ----------
    name : str
        Name on the command line.
    settings : mapping
        Keyword arguments of this package's estimate functions. If they include ``preset``, the preset gives the
        threshold, the confidence and the numbers of iterations. Otherwise the protocol gives them, and the preset is
        "paper". For another library: fields of the task (``threshold``, ``confidence``, ``max_iterations``) that
        override the protocol's.
    scored : bool
        Pass the scores of the matches to this package's functions.
    sized : bool
        Pass the image sizes to :func:`bansac.estimate_fundamental` if they are known.
    label : str
        Name in the paper's tables; by default ``name``.
    call : callable, optional
        ``call(task)`` estimates with another library; None for this package.
    matrix : callable
        ``matrix(answer)`` returns the 3 x 3 matrix in the return value of ``call``, or None; not timed.
    prepare : callable
        ``prepare()`` is called before the calls of a pair, for example to limit a library to one thread; not timed.
    package : str
        Module that must be installed.
    kinds : tuple of str
        Models that the method can estimate.
    sort : bool
        The method expects the matches in descending order of their scores.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    scored: bool = False
    sized: bool = False
    label: str = ""
    call: Callable[[Task], Any] | None = None
    matrix: Callable[[Any], NDArray[np.float64] | None] = _as_returned
    prepare: Callable[[], None] = _nothing
    package: str = "bansac"
    kinds: tuple[Kind, ...] = ("H", "F", "E")
    sort: bool = False

    def __post_init__(self) -> None:
        """Set the default label."""
        if not self.label:
            object.__setattr__(self, "label", self.name)

    def changed(self, name: str, **settings: Any) -> Method:
        """Return a copy with another name and additional settings."""
        return dataclasses.replace(self, name=name, settings={**self.settings, **settings})

    def arrange(self, task: Task) -> Task:
        """Return the task with the method's settings and order of the matches; not timed."""
        if self.call is not None and self.settings:
            task = dataclasses.replace(task, **self.settings)
        return best_first(task) if self.sort else task

    def run(self, task: Task, **settings: Any) -> Any:
        """Estimate the model of a task from :meth:`arrange`; the benchmarks time this call.

        ``settings`` override those of the method and the task. The return value is a :class:`bansac.Result` or that
        of the other library.
        """
        if self.call is not None:
            return self.call(task, **settings)
        import bansac

        function = {
            "H": bansac.estimate_homography,
            "F": bansac.estimate_fundamental,
            "E": bansac.estimate_essential,
        }[task.kind]
        arguments: dict[str, Any] = {"seed": task.seed}
        if "preset" not in self.settings:
            arguments |= {
                "preset": "paper",
                "threshold": task.threshold,
                "confidence": task.confidence,
                "max_iterations": task.max_iterations,
            }
        if self.scored:
            arguments["scores"] = task.scores
        if self.sized and task.kind == "F" and task.size1 is not None and task.size2 is not None:
            arguments |= {"image_size1": task.size1, "image_size2": task.size2}
        return function(task.x1, task.x2, **{**arguments, **self.settings, **settings})

    def model(self, answer: Any) -> NDArray[np.float64] | None:
        """Return the matrix in the return value of :meth:`run`; None if there is no model."""
        if self.call is not None:
            return self.matrix(answer)
        model: NDArray[np.float64] | None = answer.model
        return model
