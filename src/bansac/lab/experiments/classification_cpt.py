"""The functions gamma_1 to gamma_3 of P(c | x), for BANSAC and P-BANSAC (table:ablation_classification_CPT)."""

from __future__ import annotations

from bansac.lab.ablations import ablation
from bansac.lab.evaluation.methods import BANSAC, P_BANSAC

EXPERIMENT = ablation(
    "gamma",
    {"gamma_1": "γ₁", "gamma_2": "γ₂", "gamma_3": "γ₃"},
    methods=(BANSAC, P_BANSAC),
    name="classification-cpt",
    title="Functions gamma_1 to gamma_3 of P(c | x)",
    reference="table:ablation_classification_CPT",
    defaults="E and F (the paper: F, with the figures of E), all pairs of sacre_coeur, 5 repeats",
    caption="BANSAC and P-BANSAC with different functions γ of the inlier ratio for P(c | x).",  # noqa: RUF001
)
