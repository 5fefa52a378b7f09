"""``bansac match``: the geometry between two images, or between the images of a folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from bansac.batch.features import FeatureStore, compute_features, image_pairs
from bansac.batch.output_files import check_unread
from bansac.batch.pair_selection import find_images, select_pairs
from bansac.batch.run import check_out, estimate_pairs
from bansac.cli import arguments
from bansac.cli.answer import FIGURE, arrays_of, estimate_two_view, write_figure
from bansac.cli.batch import make_job, show_outcome
from bansac.cli.console import note_on_interrupt, show_progress
from bansac.cli.output import check_new_file, leave, result_folder
from bansac.executors import ItemFailure, threads
from bansac.matches.image_matching import check_matching, match_images
from bansac.matches.images import MAX_SIZE, import_opencv
from bansac.matches.match_files import read_calibration, read_single_camera
from bansac.problems.estimators import Kind

# File in --out with the matches and the results per match.
MATCHES = "matches.npz"

# Folder beside --out with the features of the images of a folder.
FEATURES = "bansac-features"


@dataclass(frozen=True, kw_only=True)
class Options(arguments.Shared):
    """Arguments and options of the command."""

    image1: Annotated[Path, typer.Argument(metavar="IMG1|FOLDER", help="First image, or a folder of images.")]
    model: Annotated[Kind, typer.Option(help="Homography, fundamental or essential matrix.")]
    image2: Annotated[Path | None, typer.Argument(metavar="IMG2", help="Second image.")] = None
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="exhaustive|sequential:K|FILE",
            help="Pairs of a folder: all; each image with the next K; or those of a text file with two names a "
            "line. Default: exhaustive.",
        ),
    ] = None
    ratio: Annotated[float, typer.Option(help="Keep matches up to this SNN ratio.")] = 0.85
    one_way: Annotated[bool, typer.Option("--one-way", help="Keep matches that are not mutual nearest neighbours.")] = (
        False
    )
    features: Annotated[
        int, typer.Option(min=2, help="Largest number of features of an image, the strongest first.")
    ] = 8000
    max_size: Annotated[
        int,
        typer.Option(
            min=1, help="Larger images are scaled to this number of pixels of their longer side to be matched."
        ),
    ] = MAX_SIZE
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            help="Write one page with the matches and a replay of the run; --overwrite replaces an earlier one.",
        ),
    ] = None


@arguments.takes_options
def match(asked: Options) -> None:
    """Match two images (RootSIFT) and estimate the geometry between them.

    The scores 1 - ratio of the matches are used as prior probabilities (P-BANSAC). E needs --calib; its threshold is in
    pixels. Coordinates and thresholds refer to the images in the files, for any --max-size. With --out the command
    writes result.json, matches.npz (x1, x2, scores, inliers, probabilities, beliefs, residuals) and a figure.

    For a folder, the features of the images are stored in bansac-features beside --out, and the --pairs are matched and
    estimated on all cores. --out has one row per pair: image1, image2, success, message, model and so on. features1 and
    features2 are the names of npz files with the points of the images. index1 and index2, from offsets[k] to
    offsets[k + 1], are the indices of the matched points of pair k; inliers and probabilities have the same order. The
    journal beside --out (.sqlite) records the finished pairs: the same command resumes an interrupted run, and matches
    only pairs that are new, changed or failed. Another file is replaced only with --overwrite. The exit code is 1 if no
    pair has a model.
    """
    if asked.model == "E" and asked.calib is None:
        raise ValueError("--calib must be given for --model E: it needs the camera matrices")
    if asked.model != "E":
        asked.refuse(f"does not go with --model {asked.model}", "calib")
    if asked.image2 is not None:
        _match_two(asked, asked.image2)
    elif asked.image1.is_file():
        raise ValueError("IMG2 is missing: two images, or a folder of images, are matched")
    else:
        _match_folder(asked)


def _match_two(asked: Options, image2: Path) -> None:
    asked.refuse("is for a folder of images, not for two", "pairs", "workers", "scheduler")
    K1, K2 = read_calibration(asked.calib) if asked.calib is not None else (None, None)
    inputs = (asked.image1, image2, asked.calib)
    folder = result_folder(asked.out, [MATCHES, FIGURE], inputs, overwrite=asked.overwrite)
    if asked.report is not None:
        if asked.report.suffix not in (".html", ".htm"):
            raise ValueError(f"--report must end in .html, got {str(asked.report)!r}")
        check_new_file(asked.report, asked.overwrite, "--report")
    sizes = {"max_features": asked.features, "max_size": asked.max_size}
    matches = match_images(asked.image1, image2, ratio=asked.ratio, mutual=not asked.one_way, **sizes)
    settings = {**asked.settings, "scores": None if asked.ignored(asked.model) else matches.scores}
    answer = estimate_two_view(asked.model, matches, K1, K2, trace=asked.report is not None, **settings)

    document = {"images": [str(asked.image1), str(image2)], **answer.as_dict()}
    if folder is not None:
        arrays = {"x1": matches.x1, "x2": matches.x2, "scores": matches.scores, **arrays_of(K1=K1, K2=K2)}
        with folder.replacing(document):
            folder.write_npz(MATCHES, arrays | answer.arrays())
            write_figure(folder, (asked.image1, image2), matches, answer)
    if asked.report is not None:
        listed = {name: getattr(asked, name) for name in ("model", "ratio", "features", "max_size", "one_way")}
        listed |= {"scores": settings["scores"] is not None, **asked.settings}
        K, F = arrays_of(K1=K1, K2=K2), None
        if len(K) == 2 and answer.model is not None:
            F = np.linalg.inv(K["K2"]).T @ answer.model @ np.linalg.inv(K["K1"])
        points = matches.x1, matches.x2
        answer.result.report(asked.report, *points, image1=asked.image1, image2=image2, settings=listed, F=F)
        document["report"] = str(asked.report)
    leave(document, answer, folder, asked.report, json=asked.json, heading=f"{len(matches)} matches")


def _match_folder(asked: Options) -> None:
    asked.refuse("is for two images", "report")
    camera = read_single_camera(asked.calib) if asked.calib is not None else None
    job = make_job(asked.model, None if camera is None else (camera, camera), asked)
    executor, workers = arguments.pair_executor(asked.scheduler, asked.workers)
    check_matching(asked.ratio, asked.features, asked.max_size)
    import_opencv()
    path = check_out(asked.out)
    check_unread(path, [asked.calib])
    images = find_images(asked.image1)
    pairs = select_pairs(asked.pairs or "exhaustive", list(images))
    names = {name for pair in pairs for name in pair}
    store = FeatureStore(path.parent.absolute() / FEATURES, asked.features, asked.max_size)
    store.folder.mkdir(exist_ok=True)
    with note_on_interrupt():
        paths = {name: image for name, image in images.items() if name in names}
        extracting = executor if asked.scheduler else threads  # OpenCV releases the interpreter lock
        features = compute_features(store, paths, extracting, workers, show_progress)
        sources = image_pairs(pairs, features, store, asked.ratio, not asked.one_way)
        outcome = estimate_pairs(
            job, sources, path, [asked.image1], executor, workers, show_progress, overwrite=asked.overwrite
        )
    failed = {name: answer.reason for name, answer in features.items() if isinstance(answer, ItemFailure)}
    more = {"images": len(features), "failed_images": failed, "features": str(store.folder)}
    show_outcome(path, outcome, json=asked.json, **more)
