"""Arguments and options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from bansac.engine.sampling import SAMPLERS

__all__ = [
    "CalibrationOption",
    "ConfidenceOption",
    "IterationsOption",
    "JsonFlag",
    "NoScoresFlag",
    "OutOption",
    "SamplerOption",
    "SeedOption",
    "ThresholdOption",
    "TwoViewModel",
    "estimation_settings",
    "scores_setting",
]


class TwoViewModel(StrEnum):
    """Models of two views, by the letter of their matrix."""

    H = "H"
    F = "F"
    E = "E"


JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document to standard output, and nothing else.")]
OutOption = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Write results and figures here.")]
ThresholdOption = Annotated[
    float | None,
    typer.Option(help="Largest residual of an inlier. Default: 1 px for H, 0.5 px for F, 1e-3 (normalised) for E."),
]
ConfidenceOption = Annotated[
    float | None, typer.Option(help="Desired probability of having seen the best model. Default: 0.999.")
]
IterationsOption = Annotated[
    int | None,
    typer.Option("--max-iterations", help="Maximum number of samples. Default: 1000 for H and E, 10000 for F."),
]
SeedOption = Annotated[int, typer.Option(help="Seed of the random numbers: the same seed gives the same answer.")]
SamplerOption = Annotated[
    str,
    typer.Option(help=f"One of {', '.join(SAMPLERS)}; uniform is RANSAC."),
]
NoScoresFlag = Annotated[
    bool, typer.Option("--no-scores", help="Do not use the quality of the matches as prior probability or order.")
]
CalibrationOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Camera matrices: JSON or npz with K, or K1 and K2; or text with the 3 rows of K, or 6 rows for two.",
    ),
]


def estimation_settings(
    threshold: float | None, confidence: float | None, max_iterations: int | None, seed: int, sampler: str
) -> dict[str, Any]:
    """Return the keyword arguments of an estimate function, without those that were left out."""
    given = {"threshold": threshold, "confidence": confidence, "max_iterations": max_iterations}
    return {name: value for name, value in given.items() if value is not None} | {"seed": seed, "sampler": sampler}


def scores_setting(scores: NDArray[np.float64] | None, no_scores: bool, sampler: str) -> dict[str, Any]:
    """Return the scores as a keyword argument, if there are any, they are wanted, and the sampler uses them."""
    useful = sampler in SAMPLERS and (SAMPLERS[sampler].prior or SAMPLERS[sampler].order)
    return {} if scores is None or no_scores or not useful else {"scores": scores}
