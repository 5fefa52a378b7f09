"""The functions rho_1 to rho_4 from probabilities to sampling weights (table:ablation_sampling)."""

from __future__ import annotations

from bansac.lab.ablations import ablation

EXPERIMENT = ablation(
    "activation",
    {"rho_1": "ρ₁", "rho_2": "ρ₂", "rho_3": "ρ₃", "rho_4": "ρ₄"},
    name="sampling-activation",
    title="Functions rho_1 to rho_4 of the sampling weights",
    reference="table:ablation_sampling",
    defaults="E and F (the paper: F, with the figures of E), all pairs of sacre_coeur, 5 repeats",
    caption="BANSAC with different activation functions ρ for the sampling weights.",  # noqa: RUF001
)
