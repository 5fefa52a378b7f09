"""``bansac demo``: the pair of images that is part of the package, estimated and compared with its exact truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import typer
from rich.box import SIMPLE
from rich.table import Table

from bansac.cli.answer import Answer, estimate_two_view, write_figures
from bansac.cli.arguments import JsonFlag, OutOption, SeedOption
from bansac.cli.console import notes, print_json, report
from bansac.datasets import Matches
from bansac.datasets.demo import StereoPair, load_demo, load_motorcycle, plane_inliers
from bansac.evaluation.files import OutputFolder
from bansac.metrics import corner_error

# SNN ratio of the matches of the stereo pair, the paper's for fundamental matrices.
STEREO_RATIO = 0.85


def demo(out: OutOption = None, seed: SeedOption = 0, json: JsonFlag = False) -> None:
    """Estimate the homography of a pair of images that is part of the package and compare it with the truth.

    Uniform sampling (RANSAC), BANSAC, and P-BANSAC, which starts from the scores of the matches, solve the same
    problem. With scikit-image and OpenCV a real stereo pair follows. With --out and Matplotlib: figures.
    """
    folder = OutputFolder(out) if out is not None else None
    pair = load_demo()
    _estimate(pair, seed)  # load or compile the kernels: the times below are without

    answers = {
        "uniform": _estimate(pair, seed, sampler="uniform"),
        "bansac": _estimate(pair, seed),
        "p-bansac": _estimate(pair, seed, scores=pair.scores, trace=folder is not None),
    }
    assert pair.H is not None
    assert pair.size1 is not None
    errors = {name: corner_error(answer.model, pair.H, pair.size1) for name, answer in answers.items()}
    best = answers["p-bansac"]
    true_inliers = int(plane_inliers(pair.H, pair.x1, pair.x2, best.result.threshold).sum())
    document: dict[str, Any] = {
        "homography": {
            "num_true_inliers": true_inliers,
            "methods": {name: answer.as_dict() | {"corner_error": errors[name]} for name, answer in answers.items()},
        }
    }
    if not json:
        _show(answers, errors, len(pair), true_inliers)
    if folder is not None:
        write_figures(folder, pair.image1, pair.image2, pair.x1, pair.x2, best, prefix="demo_", H_true=pair.H)

    stereo = _estimate_stereo(seed, folder, json=json)
    if stereo is not None:
        document["stereo"] = stereo
    if folder is not None:
        folder.write_json("result.json", document)
    if json:
        print_json(document)
    elif folder is not None:
        report.print(f"wrote {', '.join(folder.files)}", markup=False)
    raise typer.Exit(best.exit_code)


def _estimate(pair: Matches, seed: int, **settings: Any) -> Answer:
    return estimate_two_view("H", pair.x1, pair.x2, None, None, seed=seed, **settings)


def _show(answers: dict[str, Answer], errors: dict[str, float], matches: int, true_inliers: int) -> None:
    threshold = answers["p-bansac"].result.threshold
    report.print(
        f"homography of two images, {matches} matches, of which {true_inliers} are true "
        f"(within {threshold:g} px of the exact homography)"
    )
    table = Table(box=SIMPLE)
    for column in ("sampler", "corner error", "inliers", "iterations", "time", "stopped by"):
        table.add_column(column, justify="left" if column in ("sampler", "stopped by") else "right")
    for name, answer in answers.items():
        result = answer.result
        numbers = (f"{errors[name]:.2f} px", f"{result.num_inliers}", f"{result.iterations}")
        table.add_row(name, *numbers, f"{1e3 * result.seconds:.2f} ms", result.stop_reason)
    report.print(table)
    report.print("p-bansac: ", end="")
    answers["p-bansac"].show()


def _estimate_stereo(seed: int, folder: OutputFolder | None, *, json: bool) -> dict[str, Any] | None:
    """Match and estimate the stereo pair if scikit-image and OpenCV are installed."""
    try:
        from bansac.datasets.matching import match_images

        pair: StereoPair = load_motorcycle()
        matches = match_images(pair.image1, pair.image2, ratio=STEREO_RATIO)
    except (ImportError, OSError) as error:
        notes.print(f"bansac: no stereo pair: {error}", markup=False)
        return None
    settings: dict[str, Any] = {"seed": seed, "scores": matches.scores, "trace": folder is not None}
    estimate_two_view("F", matches.x1, matches.x2, None, None, **settings)  # as above
    answer = estimate_two_view("F", matches.x1, matches.x2, None, None, **settings)
    result = answer.result
    true = pair.inliers(matches.x1, matches.x2)
    true_inliers = int(np.sum(true & result.inliers))
    distance = float(np.median(result.residuals[true]))
    if not json:
        report.print(f"\nfundamental matrix of a real stereo pair (Middlebury motorcycle), {len(matches)} matches")
        answer.show()
        report.print(
            f"  {true.sum()} matches are true by the measured disparity: {true_inliers} of them are among the inliers, "
            f"their median distance to F is {distance:.2f} px"
        )
    if folder is not None:
        write_figures(folder, pair.image1, pair.image2, matches.x1, matches.x2, answer, prefix="stereo_")
    return answer.as_dict() | {
        "num_true": int(true.sum()),
        "num_true_inliers": true_inliers,
        "median_distance_of_true": distance,
    }
