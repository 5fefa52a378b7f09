"""RANSAC, BANSAC and P-BANSAC with and without SPRT verification, which is not in the paper.

With SPRT the network is not updated if every model of an iteration was rejected: hundreds of bad models would
otherwise push all probabilities down. Without it the update runs at every iteration, as in Algorithm 1. SPRT's stop
needs SPRT's tests; in its place comes RANSAC's: the default stop of a method follows the verification.
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
