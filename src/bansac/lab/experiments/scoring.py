"""RANSAC and BANSAC with and without local optimisation, scored by the inlier count and by MSAC (not in the paper).

The paper scores a model by its inlier count. A wrong model wins if it has one more inlier by chance. This matters more
for a run that scores more models, and local optimisation adds many.
"""

from __future__ import annotations

from bansac.lab.ablations import ablation
from bansac.lab.evaluation.methods import BANSAC, METHODS, RANSAC

EXPERIMENT = ablation(
    "scoring",
    {"inliers": "inliers", "msac": "MSAC"},
    methods=(RANSAC, METHODS["uniform-lo"], BANSAC, METHODS["bansac-lo"]),
    name="scoring",
    title="The count of inliers and MSAC's score, with and without local optimisation",
    reference="not in the paper",
    defaults="E and F, all pairs of sacre_coeur, 5 repeats",
    caption="The count of inliers and MSAC's score, with and without local optimisation (-lo).",
)
