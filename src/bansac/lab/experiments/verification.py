"""RANSAC, BANSAC and P-BANSAC with and without SPRT verification (not in the paper).

With SPRT, an iteration whose models are all rejected does not update the network. Otherwise hundreds of bad models
would lower all probabilities. Without SPRT, the update runs at every iteration, as in Algorithm 1. SPRT's stopping
criterion needs its tests. Without them the default uses RANSAC's criterion instead.
"""

from __future__ import annotations

from bansac.lab.evaluation.ablations import ablation
from bansac.lab.evaluation.methods import BANSAC, P_BANSAC, RANSAC
from bansac.lab.evaluation.summary import AUC_10, ITERATIONS, MODELS_TESTED

EXPERIMENT = ablation(
    "verification",
    {"sprt": "SPRT", None: "none"},
    methods=(RANSAC, BANSAC, P_BANSAC),
    extra=(AUC_10, ITERATIONS, MODELS_TESTED),
    name="verification",
    title="With and without SPRT verification",
    reference="not in the paper",
    defaults="E and F, all pairs of sacre_coeur, 5 repeats",
    caption="With and without SPRT verification before the update of the probabilities.",
)
