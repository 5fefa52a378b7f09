"""A method: settings of this package's functions, or a function that calls another library."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.lab.evaluation.task import Task, best_first
from bansac.problems.table import Kind


def _as_returned(answer: Any) -> Any:
    return answer


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Method:
    """One estimator.

    Parameters
    ----------
    name : str
        Name on the command line.
    settings : mapping
        Keyword arguments of this package's estimate functions. With a ``preset`` among them, threshold, confidence and
        numbers of iterations are the preset's, else they are the protocol's and the preset is "paper". For another
        library: fields of the task (``threshold``, ``confidence``, ``max_iterations``) in place of the protocol's.
    scored : bool
        Whether this package's functions get the scores of the matches.
    sized : bool
        Whether :func:`bansac.estimate_fundamental` gets the sizes of the images, where they are known.
    label : str
        Name in the paper's tables; by default ``name``.
    call : callable, optional
        ``call(task)`` estimates by another library; None for this package.
    matrix : callable
        ``matrix(answer)``: the 3 x 3 matrix, or None, of what ``call`` returned; not timed.
    prepare : callable
        ``prepare()`` is called before the calls of a pair, not timed: it limits a library to one thread.
    package : str
        Module that has to be installed.
    kinds : tuple of str
        Models that it can estimate.
    sort : bool
        Whether it expects the best matches first.
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
        """Fill in the label."""
        if not self.label:
            object.__setattr__(self, "label", self.name)

    def changed(self, name: str, **settings: Any) -> Method:
        """Return the method with further settings and another name."""
        return dataclasses.replace(self, name=name, settings={**self.settings, **settings})

    def arrange(self, task: Task) -> Task:
        """Return the task as the method gets it; not timed."""
        if self.call is not None and self.settings:
            task = dataclasses.replace(task, **self.settings)
        return best_first(task) if self.sort else task

    def run(self, task: Task, **settings: Any) -> Any:
        """Estimate the model of a task of :meth:`arrange`; this call is what is timed.

        ``settings`` override those of the method and the task. It returns a :class:`bansac.Result`, or what the other
        library returns.
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
        """Return the matrix of what :meth:`run` returned; None if there is none."""
        if self.call is not None:
            return self.matrix(answer)
        model: NDArray[np.float64] | None = answer.model
        return model
