"""Six methods with a fixed number of iterations and no stop (fig:ablation_fixed_iters)."""

from __future__ import annotations

from collections.abc import Iterable

from bansac.evaluation.experiment import Report, Row, Setup
from bansac.evaluation.grid import Grid
from bansac.evaluation.methods import PAPER_METHODS
from bansac.evaluation.pairs import Configuration
from bansac.evaluation.sweep import report_sweep

__all__ = ["EXPERIMENT"]

ITERATIONS = tuple(range(1000, 10001, 1000))


def _name(method: str, iterations: float) -> str:
    return f"{method}, {iterations:g} iterations"


GRID = Grid(
    models=("F", "E"),
    configurations=tuple(
        Configuration(
            _name(method.label, iterations),
            method,
            {"max_iterations": iterations, "stopping": None},
            {"fixed_iterations": iterations},
        )
        for iterations in ITERATIONS
        for method in PAPER_METHODS
    ),
    ablation=True,
    default_models=("F",),
)


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the paper's figure and a table."""
    return report_sweep(
        rows,
        name="fixed_iterations",
        title="A fixed number of iterations, without stopping criterion.",
        label="Iterations",
        values=ITERATIONS,
        configuration=_name,
    )


EXPERIMENT = GRID.experiment(
    name="fixed-iterations",
    title="1000 to 10000 iterations without stopping criterion",
    reference="fig:ablation_fixed_iters",
    defaults="F, all pairs of sacre_coeur, 5 repeats",
    report=report,
)
