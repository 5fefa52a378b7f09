"""The figures that commands write if Matplotlib is installed."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.cli.answer import Answer
from bansac.cli.console import notes
from bansac.evaluation.files import OutputFolder


def write_figures(
    folder: OutputFolder,
    image1: Any,
    image2: Any,
    x1: NDArray[np.float64],
    x2: NDArray[np.float64],
    answer: Answer,
    *,
    prefix: str = "",
    H_true: NDArray[np.float64] | None = None,
) -> None:
    """Draw the matches by their posterior and, if there is a trace, the course of the run; with ``H_true`` outlines."""
    if importlib.util.find_spec("matplotlib") is None:
        notes.print("bansac: no figures: they need Matplotlib, pip install 'bansac[plot]'", markup=False)
        return
    from bansac import plotting

    result = answer.result
    figure = plotting.plot_matches(image1, image2, x1, x2, result.probabilities, inliers=result.inliers)
    folder.write_figure(f"{prefix}matches.png", figure)
    trace = result.trace
    if trace is None or not len(trace):
        return
    folder.write_figure(f"{prefix}trace.png", plotting.plot_trace(trace, n_points=len(result.inliers)))
    if trace.snapshots and result.probabilities is not None:
        evolution = plotting.plot_probability_evolution(
            image1,
            image2,
            x1,
            x2,
            trace.snapshots,
            H_true=H_true,
            H_estimated=answer.model if answer.name == "H" and answer.model is not None else None,
        )
        folder.write_figure(f"{prefix}probabilities.png", evolution)
