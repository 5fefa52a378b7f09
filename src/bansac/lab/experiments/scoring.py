"""RANSAC and BANSAC with local optimisation, by count of inliers and by MSAC's score, which is not in the paper.

The more models a run looks at, and LO makes many, the more it matters whether the best score is that of the true model.
The count of inliers, the paper's, is larger for a wrong model wherever that has one chance inlier more.
"""

from __future__ import annotations

from bansac.lab.evaluation.ablations import ablation
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
