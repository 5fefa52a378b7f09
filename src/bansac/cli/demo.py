"""``bansac demo``: estimation on the bundled pair of images and comparison with the ground truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from bansac.batch.output_files import OutputFolder
from bansac.cli.answer import Answer, estimate_two_view, figure_names, write_figures
from bansac.cli.arguments import JsonFlag, OutOption, OverwriteFlag, SeedOption
from bansac.cli.console import NO_MODEL, notes, print_json, report, show_table
from bansac.cli.output import result_folder
from bansac.geometry import corner_distance
from bansac.matches import Matches
from bansac.matches.demo import StereoPair, load_demo, load_motorcycle, plane_inliers

# The methods are compared on the matches with at least this SNN ratio. Lowe's ratio test rejects them; few are true.
# With all matches every method finds the homography.
SMALLEST_RATIO = 0.8
RUNS = 10
RIGHT = 5.0  # pixels of corner error

# Largest SNN ratio of the matches of the stereo pair; the paper's value for fundamental matrices.
STEREO_RATIO = 0.85

_PREFIXES = ("demo_", "stereo_")

# Prefix of the picture in the current folder, which is written without --out.
_PICTURE = "bansac_demo_"


class Stereo(NamedTuple):
    """The real image pair, its matches and the estimate."""

    pair: StereoPair
    matches: Matches
    answer: Answer


def demo(out: OutOption = None, overwrite: OverwriteFlag = False, seed: SeedOption = 0, json: JsonFlag = False) -> None:
    """Estimate the homography of a pair of images that is part of the package and compare it with the truth.

    Uniform sampling (RANSAC), BANSAC and P-BANSAC, which starts from the scores of the matches, solve the same problem
    with 10 seeds. It has the matches with an SNN ratio of at least 0.8, and few of them are true. A picture of the
    matches is written into the current folder, or all figures into --out; both need Matplotlib. A real stereo pair
    follows if OpenCV is installed and scikit-image can load its stereo images.
    """
    names = [name for prefix in _PREFIXES for name in figure_names(prefix)]
    folder = result_folder(out, names, overwrite=overwrite)
    pair = load_demo()
    assert pair.ratios is not None
    pair = pair.select(pair.ratios >= SMALLEST_RATIO)
    methods: dict[str, dict[str, Any]] = {"uniform": {"sampler": "uniform"}, "bansac": {}}
    methods["p-bansac"] = {"scores": pair.scores}

    loading = sum(_estimate(pair, seed, **settings).result.loading_seconds for settings in methods.values())
    answers = {
        name: [_estimate(pair, seed + run, **settings) for run in range(RUNS)] for name, settings in methods.items()
    }
    best = _estimate(pair, seed, **methods["p-bansac"], trace=folder is not None)
    document: dict[str, Any] = {"homography": _compare(pair, answers), "loading_seconds": loading}
    if not json:
        _show(document["homography"], best, loading)
    stereo = _estimate_stereo(seed, traced=folder is not None)
    if stereo is not None:
        document["stereo"] = _judge(stereo)
        if not json:
            _show_stereo(stereo, document["stereo"])
    if folder is not None:
        with folder.replacing(document):
            write_figures(folder, (pair.image1, pair.image2), pair, best, prefix=_PREFIXES[0])
            if stereo is not None:
                images = stereo.pair.image1, stereo.pair.image2
                write_figures(folder, images, stereo.matches, stereo.answer, prefix=_PREFIXES[1])
    if json:
        print_json(document)
    elif folder is not None:
        report.print(f"wrote {', '.join(folder.files)}", markup=False)
    else:
        _draw(pair, best)
    raise typer.Exit(0 if best.result.success else NO_MODEL)


def _estimate(pair: Matches, seed: int, **settings: Any) -> Answer:
    return estimate_two_view("H", pair, None, None, seed=seed, **settings)


def _compare(pair: Matches, answers: dict[str, list[Answer]]) -> dict[str, Any]:
    """Return the statistics of the methods: medians over the runs and the number of correct runs."""
    assert pair.H is not None
    assert pair.size1 is not None
    threshold = answers["p-bansac"][0].result.threshold
    methods = {}
    for name, runs in answers.items():
        models = [answer.model for answer in runs]
        errors = [np.inf if H is None else corner_distance(H, pair.H, pair.size1) for H in models]
        fields = ("num_inliers", "iterations", "seconds")
        medians = {field: float(np.median([getattr(a.result, field) for a in runs])) for field in fields}
        right = sum(error < RIGHT for error in errors)
        methods[name] = {"right": right, "corner_error": float(np.median(errors)), **medians}
    return {
        "num_matches": len(pair),
        "num_true_inliers": int(plane_inliers(pair.H, pair.x1, pair.x2, threshold).sum()),
        "threshold": threshold,
        "runs": RUNS,
        "methods": methods,
    }


def _show(comparison: dict[str, Any], best: Answer, loading: float) -> None:
    report.print(
        f"homography of two images, {comparison['num_matches']} matches, {comparison['num_true_inliers']} of them "
        f"true (within {comparison['threshold']:g} px of the exact homography); {RUNS} runs of each method"
    )
    headings = ["sampler", f"right (< {RIGHT:g} px)", "corner error", "inliers", "iterations", "time"]
    rows = [
        [
            name,
            f"{figures['right']} of {RUNS}",
            f"{figures['corner_error']:.2f} px",
            f"{figures['num_inliers']:.0f}",
            f"{figures['iterations']:.0f}",
            f"{1e3 * figures['seconds']:.2f} ms",
        ]
        for name, figures in comparison["methods"].items()
    ]
    show_table(headings, rows, left=("sampler",))
    report.print(f"medians of the runs, without the {loading:.2f} s to load or compile the kernels\n")
    report.print("p-bansac: ", end="")
    best.show()


def _draw(pair: Matches, answer: Answer) -> None:
    """Draw the matches into the current folder; an earlier picture of the demo is replaced."""
    try:
        folder = OutputFolder(Path())
    except OSError:
        notes.print("bansac: no picture: the current folder is not writable; --out names another")
        return
    write_figures(folder, (pair.image1, pair.image2), pair, answer, prefix=_PICTURE)
    if folder.files:
        report.print(f"\nwrote {Path(folder.files[0]).resolve()}", markup=False)


def _estimate_stereo(seed: int, *, traced: bool) -> Stereo | None:
    """Match and estimate the stereo pair; None if OpenCV or the images of scikit-image are not available."""
    try:
        from bansac.matches.image_matching import match_images

        pair = load_motorcycle()
        matches = match_images(pair.image1, pair.image2, ratio=STEREO_RATIO)
    except (ImportError, OSError):
        return None
    settings: dict[str, Any] = {"seed": seed, "scores": matches.scores, "trace": traced}
    estimate_two_view("F", matches, None, None, **settings)  # loads or compiles the kernels
    return Stereo(pair, matches, estimate_two_view("F", matches, None, None, **settings))


def _judge(stereo: Stereo) -> dict[str, Any]:
    result = stereo.answer.result
    true = stereo.pair.inliers(stereo.matches.x1, stereo.matches.x2)
    return stereo.answer.as_dict() | {
        "num_true": int(true.sum()),
        "num_true_inliers": int(np.sum(true & result.inliers)),
        "median_distance_of_true": float(np.median(result.residuals[true])),
    }


def _show_stereo(stereo: Stereo, judged: dict[str, Any]) -> None:
    matches = len(stereo.matches)
    report.print(f"\nfundamental matrix of a real stereo pair (Middlebury motorcycle), {matches} matches")
    stereo.answer.show()
    report.print(
        f"  {judged['num_true']} matches are true by the measured disparity: {judged['num_true_inliers']} of them are "
        f"among the inliers, their median distance to F is {judged['median_distance_of_true']:.2f} px"
    )
