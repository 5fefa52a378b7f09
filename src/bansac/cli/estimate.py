"""``bansac estimate``: a model from a file of matches or points; see :mod:`bansac.cli.batch` for many files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

import numpy as np
import typer

from bansac.cli import arguments
from bansac.cli.answer import Answer, estimate_two_view, matrices, unit_of_pixels
from bansac.cli.console import print_json, report
from bansac.cli.multiple import MultipleAnswer, estimate_several
from bansac.cli.output import RESULT, ResultFolder
from bansac.matches.match_files import (
    CameraLike,
    read_calibration,
    read_data,
    read_matches,
    read_own_camera,
    read_single_camera,
)
from bansac.problems.estimators import MATCHES, MODELS, Kind
from bansac.result import AbsolutePose

# File in --out with the data and the results per point or match.
DATA = "data.npz"

# Suffixes of --out for many pairs. The module that writes them is imported only if it is needed.
MANY = (".npz", ".h5", ".parquet")

# The model whose data are 3D points and their images.
_ABSOLUTE_POSE = "absolute-pose"

if TYPE_CHECKING:
    Model = str
else:
    Model = Literal[tuple(MODELS)]


def _columns() -> str:
    """Return the columns of the files with the models that use them, for the help."""
    names: dict[str, list[str]] = {}
    for name, row in MODELS.items():
        names.setdefault(" ".join(sum(row.data.values(), ())), []).append(name)
    return "; ".join(f"{columns} for {', '.join(models)}" for columns, models in names.items())


@arguments.with_flags
def estimate(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Matches or points: csv, tsv, txt, npy, npz, h5; a folder or a list of such."
        ),
    ],
    model: Annotated[Model, typer.Option(help=f"The model to estimate. Columns of FILE: {_columns()}.")],
    *,
    degree: Annotated[int | None, typer.Option(help="Degree of the polynomial.")] = None,
    multiple: Annotated[bool, typer.Option("--multiple", help="Estimate all models of this kind in the data.")] = False,
    max_models: Annotated[int | None, typer.Option(min=1, help="Largest number of models of --multiple.")] = None,
    pair: Annotated[
        str | None,
        typer.Option(help="Name of a pair; FILE is a folder of h5 files, or an h5 file with a group per pair."),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keypoints as hloc stores them (h5); FILE has hloc's matches, many pairs."),
    ] = None,
    calib: arguments.CalibrationOption = None,
    settings: dict[str, Any],
    no_scores: arguments.NoScoresFlag = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR|FILE",
            parser=arguments.parse_out,
            help="Folder of results; of many pairs a .npz, .h5 or .parquet file.",
        ),
    ] = None,
    overwrite: arguments.OverwriteFlag = False,
    workers: arguments.ThreadsOption = None,
    scheduler: arguments.SchedulerOption = None,
    json: arguments.JsonFlag = False,
) -> None:
    """Estimate a model from a file of matches or points.

    csv, tsv, txt and npy: the columns listed at --model, and optionally score. A header line of a text file may name
    the columns in any order. npz and h5: arrays x1 and x2 (N x 2), or matches (N x 4), or keypoints1, keypoints2 and
    matches (N x 2, their indices), or points (N x 2 or N x 3). Optional arrays: scores (N), and K, or K1 and K2. Scores
    in [0, 1] are used as prior probabilities. Without camera matrices the image points for E and absolute-pose are in
    normalised units. The columns X Y Z x y of absolute-pose are a 3D point and its image; in npz and h5 the arrays are
    points3D (N x 3) and points2D (N x 2). With --out the command writes result.json and data.npz (data, inliers,
    probabilities, residuals). data.npz can be used as FILE again; it has no cameras with distortion, so --calib is then
    needed again.

    --multiple: several lines, planes (H) and so on in one file. data.npz then has the labels (N), which are the index
    of the model of each point or -1, and their probabilities (N x models + 1, the last column for -1). Points for E
    must be in normalised units.

    Many pairs (H, F, E): FILE is a folder with h5 sets or with csv, npz and h5 files, a txt file with the names of
    files, or one h5 file with a group per pair, which has the arrays of an h5 file; --pair chooses one group. --out is
    a .npz, .h5 or .parquet file with one row per pair: name, success, message, model and so on. In npz and h5, the
    inliers and probabilities of pair k lie from offsets[k] to offsets[k + 1]. The result of a pair is the same as in a
    run of its own, for any --workers and --scheduler. Pairs that cannot be read are listed at the end. The exit code is
    1 if no pair has a model. The journal beside --out (.sqlite) records the finished pairs. An interrupted run can be
    resumed, and a second run estimates only new or changed pairs. Delete the journal to start again. A file written
    with other settings, or any other file, is replaced only with --overwrite.
    """
    if not (model in MODELS and MODELS[model].cameras):
        _refuse("--calib", calib, model)
    if features is not None or (file.is_dir() and pair is None) or (out is not None and out.suffix in MANY):
        from bansac.cli.batch import estimate_files, make_job  # here, because one file is estimated without it

        _refuse("--degree", degree, model)
        if multiple:
            raise ValueError("--multiple takes one file: results of many pairs are saved with one model each")
        if model not in get_args(Kind):
            raise ValueError(f"--model {model} takes one file; many pairs are for H, F and E")
        cameras = read_calibration(calib) if calib is not None else None
        job = make_job(cast(Kind, model), cameras, no_scores, settings)
        estimate_files(
            file,
            job,
            out,
            *arguments.pair_executor(scheduler, workers),
            features=features,
            overwrite=overwrite,
            json=json,
        )
        return
    why = "is for many pairs: a folder or a list of files, with --out *.npz, *.h5 or *.parquet"
    arguments.refuse(why, workers=workers, scheduler=scheduler)
    if max_models is not None and not multiple:
        raise ValueError("--max-models needs --multiple")
    two_views = MODELS[model].data == MATCHES
    data: dict[str, Any]
    known: dict[str, CameraLike | None]
    if two_views:
        _refuse("--degree", degree, model)
        matches = read_matches(file, pair)
        K1, K2 = read_calibration(calib) if calib is not None else (matches.K1, matches.K2)
        data, known, scores = {"x1": matches.x1, "x2": matches.x2}, {"K1": K1, "K2": K2}, matches.scores
    else:
        _refuse("--pair", pair, model)
        points, scores = read_data(file, MODELS[model].data)
        data, known = {**points}, {}
        if MODELS[model].cameras:
            known["K"] = read_single_camera(calib) if calib is not None else read_own_camera(file)
    inputs = [path for path in (file, calib) if path is not None]
    folder = ResultFolder(out, [DATA], inputs=inputs, overwrite=overwrite) if out is not None else None
    settings = arguments.with_scores(settings, scores, no_scores)
    answer: Answer | MultipleAnswer
    if multiple:
        _refuse("--degree", degree, model)
        if model == _ABSOLUTE_POSE:
            raise ValueError(f"--multiple does not go with --model {model}")
        if known.get("K1") is not None and MODELS[model].cameras:
            raise ValueError("--multiple takes points for E in normalised units, without camera matrices")
        answer = estimate_several(model, [data[name] for name in MODELS[model].data], max_models, **settings)
    elif two_views:
        answer = estimate_two_view(model, matches, K1, K2, **settings)
    else:
        answer = _fit(model, data, known, degree, settings)

    document = {"file": str(file), **answer.as_dict()}
    if folder is not None:
        document["files"] = [DATA, RESULT]
        with folder.replacing():
            folder.write_npz(DATA, arguments.given(**data, scores=scores) | matrices(**known) | answer.arrays())
            folder.write_json(RESULT, document)
    if json:
        print_json(document)
    else:
        answer.show()
        if folder is not None:
            report.print(f"wrote {', '.join(folder.files)}", markup=False)
    raise typer.Exit(answer.exit_code)


def _fit(
    model: Model,
    data: Mapping[str, Any],
    cameras: Mapping[str, CameraLike | None],
    degree: int | None,
    settings: dict[str, Any],
) -> Answer:
    row = MODELS[model]
    if "degree" not in row.arguments:
        _refuse("--degree", degree, model)
    elif degree is None:
        raise ValueError(f"--degree must be given for --model {model}")
    result = row.load_function()(**data, **cameras, **arguments.given(degree=degree), **settings)
    unit = unit_of_pixels(cameras.get("K"), settings) if row.cameras else ""
    if isinstance(result.model, AbsolutePose):
        return Answer(model, result, np.column_stack(result.model), unit, result.model)
    return Answer(model, result, result.model, unit)


def _refuse(name: str, value: object, model: Model) -> None:
    if value is not None:
        raise ValueError(f"{name} does not go with --model {model}")
