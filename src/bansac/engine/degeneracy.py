"""The repair of a model whose sample is degenerate.

Without local optimisation a new best model is repaired before it is taken; with it, the repair of an optimised model is
optimised, too, and competes with it (``bansac.engine.model_selection``).
"""

from __future__ import annotations

import numpy as np

from bansac.engine.state import Run
from bansac.engine.verification import evaluate
from bansac.numeric.arrays import Floats, Ints
from bansac.numeric.jit import inner_kernel, kernel
from bansac.numeric.linalg import copy

__all__ = ["find_degenerate", "score_repaired", "take_repaired"]


@kernel
def find_degenerate(run: Run) -> tuple[Ints, Floats, Floats]:
    """Return the iteration's sample, its best model for a repair in place, and room for it: arrays of the run."""
    copy(run.models[run.candidate.row], run.other_model)
    return run.sample, run.other_model, run.repair_work


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


@inner_kernel
def take_repaired(run: Run) -> bool:
    """Let the repaired model in ``run.other_model`` take the place of the best one if it scores more."""
    progress, is_inlier = run.progress, run.is_inlier[1 - run.candidate.slot]
    progress.models_tested += 1
    score, inliers = evaluate(
        run,
        run.other_model,
        is_inlier,
        run.settings.squared_threshold,
        progress.best_score,
        np.inf,
        run.candidate.first_block,
    )
    if inliers < 0 or not score > progress.best_score:
        return False
    progress.best_score = score
    progress.best_inliers = inliers
    copy(run.other_model, run.best_model)
    return True
