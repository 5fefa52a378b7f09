"""``bansac match``: the geometry between two images; see :mod:`bansac.cli.match_folder` for many images."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bansac.cli import arguments
from bansac.cli.answer import estimate_two_view, figure_names, matrices, settings_in_words, write_figures
from bansac.cli.batch import make_job
from bansac.cli.console import print_json, report
from bansac.cli.match_folder import match_folder
from bansac.cli.output import RESULT, ResultFolder, check_page
from bansac.matches.images import MAX_SIZE
from bansac.matches.match_files import read_calibration, read_single_camera
from bansac.problems.estimators import Kind

# File in --out with the matches and the results per match.
MATCHES = "matches.npz"

# Thresholds of Lowe's ratio test, by model.
DEFAULT_RATIOS = {"H": 0.8, "F": 0.85, "E": 0.85}


@arguments.with_flags
def match(
    image1: Annotated[Path, typer.Argument(metavar="IMG1|FOLDER", help="First image, or a folder of images.")],
    model: Annotated[Kind, typer.Option(help="Homography, fundamental or essential matrix.")],
    image2: Annotated[Path | None, typer.Argument(metavar="IMG2", help="Second image.")] = None,
    *,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="exhaustive|sequential:K|FILE",
            help="Pairs of a folder: all; each image with the next K; or those of a text file with two names a "
            "line. Default: exhaustive.",
        ),
    ] = None,
    calib: arguments.CalibrationOption = None,
    ratio: Annotated[
        float | None, typer.Option(help="Keep matches up to this SNN ratio. Default: 0.8 for H, 0.85 for F and E.")
    ] = None,
    one_way: Annotated[
        bool, typer.Option("--one-way", help="Keep matches that are not mutual nearest neighbours.")
    ] = False,
    settings: dict[str, Any],
    no_scores: arguments.NoScoresFlag = False,
    features: Annotated[int, typer.Option(help="Largest number of features of an image, the strongest first.")] = 8000,
    max_size: Annotated[
        int, typer.Option(help="Larger images are scaled to this number of pixels of their longer side to be matched.")
    ] = MAX_SIZE,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR|FILE",
            parser=arguments.parse_out,
            help="Write results and figures here; of a folder a .npz, .h5 or .parquet file.",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.html",
            help="Write one page with the matches and a replay of the run; --overwrite replaces an earlier one.",
        ),
    ] = None,
    overwrite: arguments.OverwriteFlag = False,
    summary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of a folder: write a page for a browser with a row a pair.")
    ] = None,
    workers: arguments.ThreadsOption = None,
    scheduler: arguments.SchedulerOption = None,
    json: arguments.JsonFlag = False,
) -> None:
    """Match two images (RootSIFT) and estimate the geometry between them.

    The scores 1 - ratio of the matches are used as prior probabilities (P-BANSAC). E needs --calib; its threshold is in
    pixels. Coordinates and thresholds refer to the images in the files, for any --max-size. With --out the command
    writes result.json, matches.npz (x1, x2, scores, inliers, probabilities, beliefs, residuals) and figures.

    For a folder, the features of the images are computed once and stored beside --out. The --pairs are then matched and
    estimated on all cores. --out has one row per pair: image1, image2, success, message, model and so on. features1 and
    features2 are the names of npz files in bansac-features with the points of the images. index1 and index2, from
    offsets[k] to offsets[k + 1], are the indices of the matched points of pair k. inliers and probabilities have the
    same order (lists in Parquet). The journal beside --out (.sqlite) records the finished pairs. An interrupted run can
    be resumed, and a second run matches only pairs that are new, changed or failed. A file written with other settings,
    or any other file, is replaced only with --overwrite. Images that cannot be read are listed at the end. The exit
    code is 1 if no pair has a model.
    """
    if model == "E" and calib is None:
        raise ValueError("--calib must be given for --model E: it needs the camera matrices")
    if model != "E" and calib is not None:
        raise ValueError(f"--calib does not go with --model {model}")
    chosen = ratio if ratio is not None else DEFAULT_RATIOS[model]
    if image2 is None:
        if image1.is_file():
            raise ValueError("IMG2 is missing: two images, or a folder of images, are matched")
        arguments.refuse("is for two images", report=page)
        camera = read_single_camera(calib) if calib is not None else None
        cameras = None if camera is None else (camera, camera)
        job = make_job(model, cameras, no_scores, settings)
        match_folder(
            image1,
            pairs or "exhaustive",
            job,
            out,
            *arguments.pair_executor(scheduler, workers),
            ratio=chosen,
            mutual=not one_way,
            max_features=features,
            max_size=max_size,
            summary=summary,
            overwrite=overwrite,
            json=json,
        )
        return
    arguments.refuse(
        "is for a folder of images, not for two", pairs=pairs, summary=summary, workers=workers, scheduler=scheduler
    )
    K1, K2 = read_calibration(calib) if calib is not None else (None, None)
    inputs = [path for path in (image1, image2, calib) if path is not None]
    names = [MATCHES, *figure_names()]
    folder = ResultFolder(out, names, inputs=inputs, overwrite=overwrite) if out is not None else None
    if page is not None:
        check_page(page, overwrite)

    from bansac.matches.image_matching import match_images

    matches = match_images(image1, image2, ratio=chosen, max_features=features, max_size=max_size, mutual=not one_way)
    settings = arguments.with_scores(settings, matches.scores, no_scores)
    answer = estimate_two_view(model, matches, K1, K2, trace=folder is not None or page is not None, **settings)

    document = {"images": [str(image1), str(image2)], **answer.as_dict()}
    if folder is not None:
        arrays = {"x1": matches.x1, "x2": matches.x2, "scores": matches.scores}
        arrays |= matrices(K1=K1, K2=K2)
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
