"""Make the figures of docs/how-it-works.md: runs of the package, drawn.

Usage: python scripts/site_figures.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import bansac
from bansac.engine.dbn import gamma_1, pack_cpt, probabilities_from_odds, update_first_order, write_initial_odds
from bansac.engine.neighbours import neighbour_priors
from bansac.matches import load_demo
from bansac.plotting import plot_matches, plot_point_evolution, save_figure
from bansac.synthetic import CurvePoints, polynomial_points

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
DEGREE, THRESHOLD = 3, 0.05
PANELS = (0, 10, 40, 100)
RATIOS = (0.2, 0.5, 0.8)
BLUE, RED, GREY = "#1687ff", "#d7191c", "#8a8a8a"


def curve_data() -> CurvePoints:
    """Return the points of the figures: 400, of which 30 % lie on a cubic."""
    return polynomial_points(400, degree=DEGREE, inlier_ratio=0.3, noise=0.01, seed=7)


def traced_run(data: CurvePoints, **settings: Any) -> bansac.Result:
    """Run the preset of the paper, one restart, and record it."""
    return bansac.fit_polynomial(data.points, DEGREE, threshold=THRESHOLD, preset="paper", trace=True, **settings)


def draw_beliefs() -> Figure:
    """Draw points coloured by the beliefs in them, as a run goes on."""
    data = curve_data()
    snapshots, curves = {}, {}
    x = np.linspace(data.points[:, 0].min(), data.points[:, 0].max(), 200)
    for iteration in PANELS:  # a run of the same seed takes the same course however long it is
        result = traced_run(data, max_iterations=max(iteration, 1), stopping=None)
        assert result.trace is not None
        snapshots[iteration] = result.trace.snapshots[iteration]
        if iteration:
            curves[iteration] = np.column_stack([x, np.polynomial.polynomial.polyval(x, result.model)])
    return plot_point_evolution(data.points, snapshots, iterations=PANELS, curves=curves, columns=2)


def draw_update() -> Figure:
    """Draw the belief after one vote over the belief before it."""
    before = np.linspace(0.001, 0.999, 400)
    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for ax, vote in ((left, True), (right, False)):
        ax.plot([0, 1], [0, 1], color=GREY, linestyle=":", linewidth=1)
        for ratio, style in zip(RATIOS, (":", "--", "-"), strict=True):
            odds = np.empty(len(before), np.float32)
            write_initial_odds(before, odds)
            votes = np.full(len(before), vote)
            gamma = float(gamma_1(np.array(ratio)))
            update_first_order(odds, np.empty((2, 0)), votes, gamma, pack_cpt(None, 1), 0, np.empty(0))
            label = f"{ratio:.0%} inliers"
            color = BLUE if vote else RED
            ax.plot(before, probabilities_from_odds(odds), style, color=color, linewidth=1.8, label=label)
        ax.set(xlabel="belief before", title="vote: inlier" if vote else "vote: outlier", xlim=(0, 1), ylim=(0, 1))
        ax.set_aspect("equal")
        ax.legend(title="model with", frameon=False, fontsize="small", title_fontsize="small")
    left.set_ylabel("belief after")
    return figure


def draw_priors() -> Figure:
    """Draw the matches of the demo pair, coloured by P^0 from scores, by P^0 from neighbours, and after a run."""
    pair = load_demo()
    assert pair.image1 is not None
    assert pair.image2 is not None
    assert pair.scores is not None
    result = bansac.estimate_homography(pair.x1, pair.x2, scores=pair.scores)
    neighbours = neighbour_priors(np.column_stack([pair.x1, pair.x2]).T.copy())
    assert neighbours is not None
    values = {
        "P⁰ from scores": pair.scores,
        "P⁰ from neighbours": neighbours,
        "after the run: probabilities": result.probabilities,
    }
    figure = Figure(figsize=(8.8, 9.9), layout="constrained")
    for ax, (title, of_matches) in zip(figure.subplots(3, 1), values.items(), strict=True):
        plot_matches(pair.image1, pair.image2, pair.x1, pair.x2, of_matches, title=title, max_matches=300, ax=ax)
    return figure


def draw_stop() -> Figure:
    """Draw the two numbers that BANSAC's stopping criterion compares."""
    result = traced_run(curve_data(), stopping="bansac")
    trace = result.trace
    assert trace is not None
    iteration = np.arange(1, len(trace) + 1)
    figure = Figure(figsize=(8.0, 3.0), layout="constrained")
    ax = figure.subplots()
    ax.step(iteration, trace.low_probability, where="post", color=BLUE, label="data with a belief below tau")
    ax.step(iteration, trace.outliers, where="post", color=RED, label="outliers of the best model")
    ax.axvline(iteration[-1], color=GREY, linestyle=":", linewidth=1)
    ax.set(xlabel="iteration", ylabel="data", xlim=(1, iteration[-1] * 1.03), ylim=(0, None))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return figure


FIGURES = {
    "how_beliefs.png": draw_beliefs,
    "how_update.png": draw_update,
    "how_priors.png": draw_priors,
    "how_stop.png": draw_stop,
}


def main(folder: Path) -> None:
    """Write the figures into a folder."""
    for name, draw in FIGURES.items():
        save_figure(draw(), folder / name, dpi=80)
        with Image.open(folder / name) as image:
            smaller = image.convert("RGB").quantize(128, dither=Image.Dither.NONE)
        smaller.save(folder / name, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
