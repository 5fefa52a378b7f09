"""Output of ``bansac estimate --multiple``: text, JSON and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bansac
from bansac.cli.answer import Answer
from bansac.cli.console import NO_MODEL, report
from bansac.result import MultipleResult

__all__ = ["MultipleAnswer", "estimate_several"]


@dataclass(frozen=True)
class MultipleAnswer:
    """The result of a search for several models, with the name of the model for ``--model``."""

    name: str
    result: MultipleResult

    @property
    def exit_code(self) -> int:
        """0 if there is a model, else ``NO_MODEL``."""
        return 0 if self.result.success else NO_MODEL

    def as_dict(self) -> dict[str, Any]:
        """Return the content of ``result.json``."""
        result = self.result
        return {
            "model": self.name,
            "success": result.success,
            "message": result.message,
            "num_data": len(result.labels),
            "models": [
                {
                    "parameters": found.model,
                    "num_points": int(np.count_nonzero(result.labels == k)),
                    "num_inliers": found.num_inliers,
                    "threshold": found.threshold,
                    "message": found.message,
                }
                for k, found in enumerate(result.results)
            ],
            **{name: getattr(result, name) for name in ("stop_reason", "seed", "seconds", "loading_seconds")},
            "bansac": bansac.__version__,
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the results per point or match."""
        return {"labels": self.result.labels, "probabilities": self.result.probabilities}

    def show(self) -> None:
        """Print the result as text."""
        outcome = "" if self.result.success else "[bold red]failure:[/] "
        report.print(f"{outcome}{self.result.message}, {1e3 * self.result.seconds:.2f} ms, seed {self.result.seed}")
        for found in self.result.results:
            report.print(f"{found.message}, threshold {found.threshold:g}")
            Answer(self.name, found, found.model, "").show_model()


def estimate_several(
    model: str, data: Sequence[NDArray[np.float64]], max_models: int | None, **settings: Any
) -> MultipleAnswer:
    """Estimate all models of a kind from the arrays (N x D) of points or matches."""
    return MultipleAnswer(model, bansac.estimate_multiple(model, np.hstack(data), max_models=max_models, **settings))
