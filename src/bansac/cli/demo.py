"""``bansac demo``: uniform sampling beside BANSAC on two photographs with few true matches."""

from pathlib import Path
from typing import Any

import numpy as np
import typer

from bansac.batch.output_files import OutputFolder
from bansac.cli.answer import Answer, estimate_two_view, has_matplotlib
from bansac.cli.arguments import JsonFlag, SeedOption
from bansac.cli.console import NO_MODEL, notes, print_json, report, show_table
from bansac.matches import Matches, load_motorcycle_matches

RUNS = 10
PICTURE = "bansac_demo_matches.png"
RIGHT = 1.0  # pixels of the median distance of the true matches from the model


def demo(seed: SeedOption = 0, json: JsonFlag = False) -> None:
    """Estimate the fundamental matrix of two photographs with few true matches.

    Uniform sampling (RANSAC), BANSAC and P-BANSAC, which starts from the scores of the matches, solve the same problem
    with 10 seeds. The photographs and their matches are in the package. A picture, written into the current folder,
    shows what uniform sampling and BANSAC find in the same number of iterations. It needs Matplotlib.
    """
    pair = load_motorcycle_matches()
    methods: dict[str, dict[str, Any]] = {"uniform": {"sampler": "uniform"}, "bansac": {}}
    methods["p-bansac"] = {"scores": pair.scores}

    loading = sum(_estimate(pair, seed, **settings).result.loading_seconds for settings in methods.values())
    answers = {
        name: [_estimate(pair, seed + run, **settings) for run in range(RUNS)] for name, settings in methods.items()
    }
    first, comparison = answers["bansac"][0], _compare(pair, answers)
    if json:
        print_json({"fundamental": comparison, "result": first.as_dict(), "loading_seconds": loading})
    else:
        _show(comparison, first, loading)
        _draw(pair, first)
    raise typer.Exit(0 if first.result.success else NO_MODEL)


def _estimate(pair: Matches, seed: int, **settings: Any) -> Answer:
    return estimate_two_view("F", pair, None, None, seed=seed, **settings)


def _compare(pair: Matches, answers: dict[str, list[Answer]]) -> dict[str, Any]:
    """Return the statistics of the methods: medians over the runs, and the numbers of right models and successes."""
    assert pair.inliers is not None
    methods = {}
    for name, runs in answers.items():
        results = [answer.result for answer in runs]
        distances = [np.inf if r.model is None else np.median(r.residuals[pair.inliers]) for r in results]
        methods[name] = {
            "right": sum(bool(distance < RIGHT) for distance in distances),
            "successes": sum(result.success for result in results),
            "distance": float(np.median(distances)),
            **{field: float(np.median([getattr(r, field) for r in results])) for field in ("iterations", "seconds")},
        }
    return {
        "num_matches": len(pair),
        "num_true": int(np.count_nonzero(pair.inliers)),
        "runs": RUNS,
        "methods": methods,
    }


def _show(comparison: dict[str, Any], first: Answer, loading: float) -> None:
    matches = comparison["num_matches"]
    report.print(
        f"Fundamental matrix of two photographs: {matches} matches, {comparison['num_true']} of them true by the "
        f"measured disparity; {RUNS} runs of each sampler."
    )
    headings = ["sampler", "right", "success", "iterations", "time"]
    rows = [
        [
            name,
            f"{figures['right']} of {RUNS}",
            f"{figures['successes']} of {RUNS}",
            f"{figures['iterations']:.0f}",
            f"{1e3 * figures['seconds']:.1f} ms",
        ]
        for name, figures in comparison["methods"].items()
    ]
    show_table(headings, rows, left=("sampler",))
    report.print(
        f"right: the median distance of the true matches from the model is below {RIGHT:g} px. success: the result "
        "says so itself. Iterations and times are medians, without the "
        f"{loading:.2f} s to load or compile the kernels.\n"
    )
    report.print(f"bansac, seed {first.result.seed}: ", end="")
    first.show()


def _draw(pair: Matches, learnt: Answer) -> None:
    """Draw the matches into the current folder; an earlier picture of the demo is replaced."""
    try:
        folder = OutputFolder(Path())
    except OSError:
        notes.print("bansac: no picture: the current folder is not writable")
        return
    if not has_matplotlib():
        return
    from bansac.plotting.samplers import plot_samplers

    result = learnt.result
    uniform = _estimate(pair, result.seed, sampler="uniform", max_iterations=result.iterations)
    folder.write_figure(PICTURE, plot_samplers(pair, {"Uniform sampling": uniform.result, "BANSAC": result}))
    report.print(f"\nwrote {Path(folder.files[0]).resolve()}", markup=False)
