"""The repair of a new best model whose sample is degenerate."""

from __future__ import annotations

import numpy as np

from bansac.engine.state import Run
from bansac.engine.verification import evaluate
from bansac.numeric.jit import kernel
from bansac.numeric.linalg import copy

__all__ = ["score_repaired"]


@kernel
def score_repaired(run: Run) -> None:
    """Let the repaired model in ``run.other_model`` take the place of the iteration's best one if it scores more."""
    candidate = run.candidate
    run.progress.models_tested += 1
    slot = 1 - candidate.slot
    score, inliers = evaluate(
        run,
        run.other_model,
        run.is_inlier[slot],
        run.settings.squared_threshold,
        candidate.score,
        np.inf,
        candidate.first_block,
    )
    if inliers >= 0 and score > candidate.score:
        candidate.score = score
        candidate.inliers = inliers
        candidate.slot = slot
        copy(run.other_model, run.models[candidate.row])
