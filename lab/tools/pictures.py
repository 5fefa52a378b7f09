"""Make the pictures of the README and of the documentation.

    python lab/tools/pictures.py [NAME ...] [--out FOLDER]

NAME is a file in ``docs/images``, by default all that this script makes. ``few_inliers.png`` and ``results_*.png`` come
from the reports in ``benchmarks``, ``report.jpg`` needs Chromium and its driver.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import bansac
from bansac.engine.dbn import gamma_1, initial_odds, pack_cpt, probabilities_from_odds, update_first_order
from bansac.evidence.neighbours import neighbour_priors
from bansac.matches import Matches, load_demo, load_motorcycle_matches
from bansac.matches.image_matching import match_images
from bansac.matches.images import read_image
from bansac.plotting import plot_matches, plot_warp
from bansac.plotting.layout import TITLE, new_figure, place
from bansac.plotting.samplers import plot_samplers
from bansac.synthetic import CurvePoints, polynomial_points
from bansac_lab.evolution import plot_point_evolution, plot_probability_evolution
from bansac_lab.measurements.budgets import ACCURACY
from bansac_lab.measurements.depth import CAMERAS, depths_at, load_motorcycle
from bansac_lab.measurements.few_inliers import means
from bansac_lab.measurements.folders import group, in_order, label
from bansac_lab.reports import bench

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"

METHODS = {
    "default": ("bansac", "#0072b2", "o"),
    "uniform": ("uniform sampling, same engine", "#e69f00", "D"),
    "poselib": ("PoseLib", "#d55e00", "v"),
    "opencv-magsac": ("OpenCV USAC_MAGSAC", "#009e73", "s"),
    "superansac": ("SupeRANSAC", "#000000", "X"),
}
PROBLEM = "F"


def few_inliers(target: Path) -> None:
    """Draw the share of right fundamental matrices over the inlier ratio and over the mean time of a call."""
    document = bench("hard")
    cells, of_all = document["cells"], means(document, PROBLEM)
    figure = Figure(figsize=(6.0, 3.7), layout="constrained")
    over_ratio, over_time = figure.subplots(1, 2, sharey=True)
    for method, (name, color, mark) in METHODS.items():
        own = [c for c in cells if (c["problem"], c["method"]) == (PROBLEM, method) and c["inlier_ratio"] > 0]
        ratios = sorted({cell["inlier_ratio"] for cell in own})
        right = [100 * np.mean([cell["right"] for cell in own if cell["inlier_ratio"] == ratio]) for ratio in ratios]
        over_ratio.plot([100 * ratio for ratio in ratios], right, color=color, marker=mark, linewidth=2, label=name)
        share, seconds = of_all[method]
        over_time.plot(seconds, 100 * share, color=color, marker=mark, markersize=10)
    over_ratio.set(xlabel="inliers (%)", ylabel="right models (%)", ylim=(-4, 104))
    over_time.set(xlabel="mean time of a call (s)", xscale="log", xlim=(0.006, 20))
    over_time.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
    for ax in (over_ratio, over_time):
        ax.grid(color="0.9")
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    # The picture says what it shows; a test compares this with the report.
    description = {"Description": json.dumps({method: of_all[method] for method in METHODS})}
    figure.savefig(target, dpi=200, metadata=description, pil_kwargs={"optimize": True})


def samplers(target: Path) -> None:
    """Draw what uniform sampling and BANSAC find in the motorcycle pair in the same number of iterations."""
    pair = load_motorcycle_matches()
    learnt = bansac.estimate_fundamental(pair.x1, pair.x2)
    uniform = bansac.estimate_fundamental(pair.x1, pair.x2, sampler="uniform", max_iterations=learnt.iterations)
    _compress(plot_samplers(pair, {"Uniform sampling": uniform, "BANSAC": learnt}), 125, target)


def _compress(figure: Figure, dpi: int, target: Path) -> None:
    figure.savefig(target, dpi=dpi, pil_kwargs={"quality": 62, "optimize": True, "progressive": True})


ITERATIONS = 200  # docs/depth.md names them


def poses_of_motorcycle(seed: int) -> dict[str, bansac.Result]:
    """Return the poses of the motorcycle pair without and with depths, after the same number of iterations."""
    pair = load_motorcycle_matches()
    depth = depths_at(pair.x1, load_motorcycle()[2])
    return {
        name: bansac.estimate_relative_pose(
            pair.x1, pair.x2, *CAMERAS, depth1=known, max_iterations=ITERATIONS, seed=seed
        )
        for name, known in (("Without depths", None), ("With depths", depth))
    }


def depth(target: Path) -> None:
    """Draw the matches that the relative pose of the motorcycle pair keeps without and with depths."""
    _compress(plot_samplers(load_motorcycle_matches(), poses_of_motorcycle(0)), 80, target)


def planes(target: Path) -> None:
    """Draw the matches of the motorcycle pair in the colours of their planes."""
    left, right, _ = load_motorcycle()
    matches = match_images(left, right, ratio=0.9)
    result = bansac.estimate_multiple("H", np.hstack([matches.x1, matches.x2]))
    image = read_image(left)
    width, height = 8.0, 8.0 * image.shape[0] / image.shape[1]
    figure = new_figure(width, height + TITLE)
    ax = place(figure, 0, TITLE, width, height)
    ax.imshow(image, cmap="gray", vmin=0, vmax=400)
    result.plot(matches.x1, ax=ax)
    ax.set_axis_off()
    _compress(figure, 95, target)


def warp(target: Path) -> None:
    """Draw one photograph of the motorcycle warped onto the other, with residuals."""
    left, right, _ = load_motorcycle()
    matches = match_images(left, right, ratio=0.9)
    result = bansac.estimate_homography(matches.x1, matches.x2)
    figure = plot_warp(left, right, matches.x1, matches.x2, result.model, inliers=result.inliers)
    _compress(figure, 80, target)


def estimate_demo(pair: Matches) -> bansac.Result:
    """Estimate the demo pair with one restart: the beliefs start from the scores once and are never thrown away."""
    return bansac.estimate_homography(pair.x1, pair.x2, scores=pair.scores, preset="paper", trace=True)


def demo() -> Figure:
    """Draw the matches of the demo pair, coloured by their beliefs."""
    pair = load_demo()
    trace = estimate_demo(pair).trace
    return plot_probability_evolution(pair.image1, pair.image2, pair.x1, pair.x2, trace.snapshots)


COLORS = {"Presets": "#0072b2", "The paper's methods": "#8a8a8a", "Other libraries": "#d55e00"}


def results(report: str) -> Figure:
    """Draw accuracy over the mean time of a call, with intervals, without NAPSAC, which is far below the others."""
    document = bench(report)
    mean, spread, key = document["mean"], document["spread"], ACCURACY[document["protocol"]["kind"]]
    figure = Figure(figsize=(7.2, 7.0), layout="constrained")
    ax, legend = figure.subplots(2, 1, height_ratios=(5, 2.6))
    rows = [method for method in in_order(mean) if method != "napsac"]
    for number, method in enumerate(rows, 1):
        row, error, color = mean[method], 2 * spread[method][key], COLORS[group(method)]
        ax.errorbar(row["ms_mean"], row[key], yerr=error, fmt="o", color=color, markersize=5, capsize=3)
        ax.annotate(str(number), (row["ms_mean"], row[key]), (5, 4), textcoords="offset points", color=color)
        column, line = divmod(number - 1, -(-len(rows) // 2))
        name = f"{number}  {label(method.partition('@')[0])}"
        legend.text(0.45 * column, 1 - 0.09 * line, name, color=color, va="top", fontsize=9, in_layout=False)
    ax.set(xlabel="mean time of a call (ms)", ylabel=key, xscale="log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.grid(color="0.9")
    ax.spines[["top", "right"]].set_visible(False)
    legend.set_axis_off()
    return figure


SIZE = "1280,1500"
FRAME = 24  # of the replay: docs/report.md names its iteration


def report(target: Path) -> None:
    """Photograph the report of the demo pair in headless Chromium, in the middle of its run."""
    from chromium import open_chromium
    from selenium.webdriver.support.wait import WebDriverWait

    pair = load_demo()
    result = estimate_demo(pair)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        settings = {"preset": "paper", "priors": "scores of the matches"}
        result.report(page, pair.x1, pair.x2, image1=pair.image1, image2=pair.image2, settings=settings)
        with open_chromium(Path(folder) / "profile", SIZE) as driver:
            driver.get(page.as_uri())
            ready = "return panels.every((panel) => panel.bitmap)"
            WebDriverWait(driver, 10).until(lambda _: driver.execute_script(ready))
            driver.execute_script(f"go({FRAME}); select({result.residuals.argmin()})")
            picture = Image.open(BytesIO(driver.get_screenshot_as_png())).convert("RGB")
    picture.save(target, quality=80, optimize=True)


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
            odds, _ = initial_odds(before)
            votes = np.full(len(before), vote)
            gamma = float(gamma_1(np.array(ratio)))
            update_first_order(odds, np.empty((2, 0)), votes, gamma, pack_cpt("default", 1), 0, np.empty(0))
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
    result = bansac.estimate_homography(pair.x1, pair.x2, scores=pair.scores)
    neighbours = neighbour_priors(np.column_stack([pair.x1, pair.x2]).T.copy())
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


_HOW = {"beliefs": draw_beliefs, "update": draw_update, "priors": draw_priors, "stop": draw_stop}
HOW_IT_WORKS = {f"how_{name}.png": draw for name, draw in _HOW.items()}


def _save(draw: Callable[[], Any], dpi: int, target: Path) -> None:
    draw().savefig(target, dpi=dpi)
    if target.suffix == ".png":
        with Image.open(target) as image:
            smaller = image.convert("RGB").quantize(128, dither=Image.Dither.NONE)
        smaller.save(target, optimize=True)


PICTURES: Mapping[str, Callable[[Path], None]] = {
    "few_inliers.png": few_inliers,
    "samplers.jpg": samplers,
    "depth.jpg": depth,
    "planes.jpg": planes,
    "warp.jpg": warp,
    "demo.jpg": partial(_save, demo, 105),
    "report.jpg": report,
    **{f"results_{name}.png": partial(_save, partial(results, name), 120) for name in ("E", "F", "H_exact")},
    **{name: partial(_save, draw, 80) for name, draw in HOW_IT_WORKS.items()},
}
"""Functions that write the pictures."""


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PICTURES)}")
    parser.add_argument("--out", type=Path, default=IMAGES, metavar="FOLDER")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or PICTURES:
        PICTURES[name](arguments.out / name)


if __name__ == "__main__":
    main()
