"""Six methods with a fixed number of iterations and no stopping criterion (fig:ablation_fixed_iters)."""

from __future__ import annotations

from bansac.lab.ablations import sweep
from bansac.lab.evaluation.method import Method
from bansac.lab.pairs import Configuration


def _configure(method: Method, iterations: int) -> Configuration:
    name = f"{method.label}, {iterations} iterations"
    settings = {"max_iterations": iterations, "stopping": None}
    return Configuration(name, method, settings, {"fixed_iterations": iterations})


EXPERIMENT = sweep(
    _configure,
    range(1000, 10001, 1000),
    name="fixed-iterations",
    title="1000 to 10000 iterations without stopping criterion",
    reference="fig:ablation_fixed_iters",
    caption="A fixed number of iterations, without stopping criterion.",
    label="Iterations",
)
