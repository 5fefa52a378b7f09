"""Six methods on matches with increasing SNN limits and thus decreasing inlier ratios (fig:ablation_inlier_rates)."""

from __future__ import annotations

from bansac.lab.ablations import sweep
from bansac.lab.evaluation.method import Method
from bansac.lab.pairs import Configuration


def _configure(method: Method, ratio: float) -> Configuration:
    return Configuration(f"{method.label}, ratio {ratio:g}", method, {}, {"max_ratio": ratio}, max_ratio=ratio)


EXPERIMENT = sweep(
    _configure,
    (0.82, 0.84, 0.86, 0.88, 0.90, 0.92),
    name="inlier-ratio",
    title="Matches with an SNN ratio below 0.82 to 0.92",
    reference="fig:ablation_inlier_rates",
    caption="The quality of the data: matches with an SNN ratio below the value in the first column are used.",
    label="SNN ratio below",
    options=(),
)
