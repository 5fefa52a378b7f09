"""``bansac match``: two images in, the geometry between them out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bansac.cli import arguments
from bansac.cli.answer import estimate_two_view, figure_names, settings_in_words, write_figures
from bansac.cli.console import print_json, report
from bansac.cli.output import RESULT, ResultFolder, check_page
from bansac.datasets.files import read_calibration
from bansac.evaluation.task import Kind
from bansac.images import MAX_SIZE

# The file of --out with the matches and the results per match.
MATCHES = "matches.npz"

# Ratio test of Lowe's matches, by model.
DEFAULT_RATIOS = {"H": 0.8, "F": 0.85, "E": 0.85}


def match(
    image1: Annotated[Path, typer.Argument(metavar="IMG1", help="First image.")],
    image2: Annotated[Path, typer.Argument(metavar="IMG2", help="Second image.")],
    model: Annotated[Kind, typer.Option(help="Homography, fundamental or essential matrix.")],
    calib: arguments.CalibrationOption = None,
    ratio: Annotated[
        float | None, typer.Option(help="Keep matches up to this SNN ratio. Default: 0.8 for H, 0.85 for F and E.")
    ] = None,
    one_way: Annotated[
        bool, typer.Option("--one-way", help="Keep matches that are not mutual nearest neighbours.")
    ] = False,
    threshold: arguments.ThresholdOption = None,
    confidence: arguments.ConfidenceOption = None,
    max_iterations: arguments.IterationsOption = None,
    sampler: arguments.SamplerOption = "bansac",
    seed: arguments.SeedOption = 0,
    no_scores: arguments.NoScoresFlag = False,
    features: Annotated[int, typer.Option(help="Largest number of features of an image, the strongest first.")] = 8000,
    max_size: Annotated[
        int, typer.Option(help="Larger images are scaled to this number of pixels of their longer side to be matched.")
    ] = MAX_SIZE,
    out: arguments.OutOption = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.html",
            help="Write one page with the matches and a replay of the run; --overwrite replaces an earlier one.",
        ),
    ] = None,
    overwrite: arguments.OverwriteFlag = False,
    json: arguments.JsonFlag = False,
) -> None:
    """Match two images (RootSIFT) and estimate the geometry between them.

    The scores 1 - ratio of the matches are taken as prior probabilities (P-BANSAC). E needs --calib; its threshold is
    in pixels. Coordinates and thresholds are those of the images in the files, whatever --max-size. With --out:
    result.json, matches.npz (x1, x2, scores, inliers, probabilities, beliefs,
    residuals) and figures.
    """
    if model == "E" and calib is None:
        raise ValueError("--calib must be given for --model E: it needs the camera matrices")
    if model != "E" and calib is not None:
        raise ValueError(f"--calib does not go with --model {model}")
    K1, K2 = read_calibration(calib) if calib is not None else (None, None)
    inputs = [path for path in (image1, image2, calib) if path is not None]
    names = [MATCHES, *figure_names()]
    folder = ResultFolder(out, names, inputs=inputs, overwrite=overwrite) if out is not None else None
    if page is not None:
        check_page(page, overwrite)

    from bansac.datasets.matching import match_images

    chosen = ratio if ratio is not None else DEFAULT_RATIOS[model]
    matches = match_images(image1, image2, ratio=chosen, max_features=features, max_size=max_size, mutual=not one_way)
    settings = {"seed": seed, **arguments.sampling_settings(sampler, matches.scores, no_scores)}
    settings |= arguments.given(threshold=threshold, confidence=confidence, max_iterations=max_iterations)
    answer = estimate_two_view(model, matches, K1, K2, trace=folder is not None or page is not None, **settings)

    document = {"images": [str(image1), str(image2)], **answer.as_dict()}
    if folder is not None:
        arrays = {"x1": matches.x1, "x2": matches.x2, "scores": matches.scores}
        if K1 is not None and K2 is not None:
            arrays |= {"K1": K1, "K2": K2}
        with folder.replacing():
            folder.write_npz(MATCHES, arrays | answer.arrays())
            drawn = write_figures(folder, image1, image2, matches.x1, matches.x2, answer)
            document["files"] = [MATCHES, *drawn, RESULT]
            folder.write_json(RESULT, document)
    if page is not None:
        matched = {"model": model, "ratio": chosen, "features": features, "max_size": max_size, "one_way": one_way}
        listed = matched | settings_in_words(model, settings)
        answer.result.report(page, matches.x1, matches.x2, image1=image1, image2=image2, settings=listed)
        document["report"] = str(page)
    if json:
        print_json(document)
    else:
        report.print(f"{len(matches)} matches")
        answer.show()
        if folder is not None:
            report.print(f"wrote {', '.join(folder.files)}", markup=False)
        if page is not None:
            report.print(f"wrote {page}", markup=False)
    raise typer.Exit(answer.exit_code)
