"""Six methods on matches filtered less and less, so that the inlier ratio falls (fig:ablation_inlier_rates)."""

from __future__ import annotations

from collections.abc import Iterable

from bansac.evaluation.experiment import Report, Row, Setup
from bansac.evaluation.grid import Grid
from bansac.evaluation.methods import PAPER_METHODS
from bansac.evaluation.pairs import Configuration
from bansac.evaluation.sweep import report_sweep

__all__ = ["EXPERIMENT"]

RATIOS = (0.82, 0.84, 0.86, 0.88, 0.90, 0.92)


def _name(method: str, ratio: float) -> str:
    return f"{method}, ratio {ratio:g}"


GRID = Grid(
    models=("F", "E"),
    configurations=tuple(
        Configuration(_name(method.label, ratio), method, {}, {"max_ratio": ratio}, max_ratio=ratio)
        for ratio in RATIOS
        for method in PAPER_METHODS
    ),
    ablation=True,
    default_models=("F",),
)


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the paper's figure and a table."""
    return report_sweep(
        rows,
        name="inlier_ratio",
        title="The quality of the data: matches with an SNN ratio below the value in the first column are used.",
        label="SNN ratio below",
        values=RATIOS,
        configuration=_name,
    )


EXPERIMENT = GRID.experiment(
    name="inlier-ratio",
    title="Matches with an SNN ratio below 0.82 to 0.92",
    reference="fig:ablation_inlier_rates",
    defaults="F, all pairs of sacre_coeur, 5 repeats",
    report=report,
    options=(),
)
