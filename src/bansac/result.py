"""What a run answers: the model, the mask, the posterior of every datum, and why it stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bansac.engine.trace import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["RelativePose", "Result", "Trace"]


class RelativePose(NamedTuple):
    """Motion from the first camera to the second: ``x2 = R @ x1 + t``.

    Parameters
    ----------
    R : (3, 3) ndarray
        Rotation.
    t : (3,) ndarray
        Direction of the translation, of unit length.
    """

    R: NDArray[np.float64]
    t: NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Answer of a robust estimation; unpacks as ``model, inliers``.

    Parameters
    ----------
    model : ndarray, RelativePose or None
        The model; None where no model was found at all.
    inliers : (N,) ndarray of bool
        ``residuals <= threshold`` of this model.
    residuals : (N,) ndarray of float
        Distance of every datum to the model, in the units of ``threshold``; inf where there is no model.
    probabilities : (N,) ndarray of float or None
        Probability of every datum of being an inlier, given the model: the posterior of a mixture of inliers and
        outliers that is fitted to the residuals. None without success, as there is no model to be an inlier of.
    beliefs : (N,) ndarray of float or None
        What the sampler believed of every datum at the end of the run: the network's P^k (BaySAC's and AR's are alike).
        They steer the search and are no calibrated probabilities. None with a sampler that keeps none.
    score : float
        Score of the model in the run's measure: larger is better.
    threshold : float
        The threshold that was used.
    iterations : int
        Minimal samples drawn.
    models_tested : int
        Models that passed the checks and were scored, in full or in part.
    stop_reason : str
        The criterion that ended the run: ``"ransac"``, ``"sprt"``, ``"bansac"``, ``"max_iterations"``,
        ``"max_seconds"``, or ``"no_data"`` where there were too few data to draw a sample.
    success : bool
        True where the model has more support than chance would give.
    message : str
        What happened, in words.
    seed : int
        The seed that was used.
    seconds : float
        Time from call to answer.
    trace : Trace or None
        The course of the run, with ``trace=True``.
    configuration : {"general", "planar", "pure_rotation", "collinear"} or None
        How the inliers of two views lie. "planar" and "pure_rotation" do not determine a fundamental matrix, which
        cannot tell the two apart and calls both planar; "pure_rotation" leaves the translation of E and the pose open;
        "collinear" is no success. The plane of a homography is "planar". None without a model and for other models.
    """

    model: Any
    inliers: NDArray[np.bool_]
    residuals: NDArray[np.float64]
    probabilities: NDArray[np.float64] | None
    beliefs: NDArray[np.float64] | None
    score: float
    threshold: float
    iterations: int
    models_tested: int
    stop_reason: str
    success: bool
    message: str
    seed: int
    seconds: float
    trace: Trace | None = None
    configuration: str | None = None

    def __iter__(self) -> Iterator[Any]:
        """Unpack as ``model, inliers``."""
        return iter((self.model, self.inliers))

    @property
    def num_inliers(self) -> int:
        """Number of inliers."""
        return int(np.count_nonzero(self.inliers))

    @property
    def inlier_ratio(self) -> float:
        """Share of the data that are inliers; 0 where there are no data."""
        return self.num_inliers / max(len(self.inliers), 1)

    def __repr__(self) -> str:
        """Summarise the result in a few lines."""
        outcome = "success" if self.success else "failure"
        return (
            f"Result({outcome}: {self.message}\n"
            f"       {self.num_inliers} of {len(self.inliers)} inliers at threshold {self.threshold:g}, "
            f"{self.iterations} iterations, {self.models_tested} models, stopped by {self.stop_reason}, "
            f"{1e3 * self.seconds:.2f} ms, seed {self.seed})"
        )

    def plot(self) -> Figure:
        """Draw the course of the run.

        Returns
        -------
        matplotlib.figure.Figure
            Inlier ratio, gamma and the stop counters over the iterations.

        Raises
        ------
        ValueError
            If the run was not traced.
        ImportError
            If Matplotlib is not installed.
        """
        if self.trace is None:
            raise ValueError("this result has no trace; estimate with trace=True to draw the course of the run")
        from bansac.plotting import plot_trace

        return plot_trace(self.trace, n_points=len(self.inliers))
