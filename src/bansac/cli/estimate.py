"""``bansac estimate``: a model from a file of matches or points; see :mod:`bansac.cli.batch` for many files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import numpy as np
import typer

import bansac
from bansac.cli import arguments
from bansac.cli.answer import Answer, MultipleAnswer, arrays_of, estimate_model
from bansac.cli.output import leave, result_folder
from bansac.matches import match_files
from bansac.matches.matches import known_arguments
from bansac.maths.arrays import Floats
from bansac.problems.estimators import MATCHES, MODELS, Kind, find_estimator

# File in --out with the data and the results per point or match.
DATA = "data.npz"

# Suffixes of --out for many pairs. The module that writes them is imported only if it is needed.
MANY = (".npz", ".h5", ".parquet")


def _parse_model(text: str) -> str:
    """Return the name of a model for ``--model`` from any name that :func:`find_estimator` accepts."""
    try:
        return find_estimator(text).model
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(repr, MODELS))}.") from None


def _columns() -> str:
    """Return the columns of the files with the models that use them, for the help."""
    names: dict[str, list[str]] = {}
    for name, row in MODELS.items():
        names.setdefault(" ".join(sum(row.data.values(), ())), []).append(name)
    return "; ".join(f"{columns} for {', '.join(models)}" for columns, models in names.items())


@dataclass(frozen=True, kw_only=True)
class Options(arguments.Shared):
    """Arguments and options of the command."""

    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Matches or points: csv, tsv, txt, npy, npz, h5; a folder or a list of such."
        ),
    ]
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            parser=_parse_model,
            autocompletion=lambda: list(MODELS),
            help=f"The model to estimate. Columns of FILE: {_columns()}.",
        ),
    ]
    degree: Annotated[int | None, typer.Option(help="Degree of the polynomial.")] = None
    multiple: Annotated[bool, typer.Option("--multiple", help="Estimate all models of this kind in the data.")] = False
    max_models: Annotated[int | None, typer.Option(min=1, help="Largest number of models of --multiple.")] = None
    pair: Annotated[
        str | None,
        typer.Option(help="Name of a pair; FILE is a folder of h5 files, or an h5 file with a group per pair."),
    ] = None
    features: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keypoints as hloc stores them (h5); FILE has hloc's matches, many pairs."),
    ] = None

    no_depths: Annotated[bool, typer.Option("--no-depths", help="Do not use the depths of the matches.")] = False

    def ignored(self, model: str) -> tuple[str, ...]:
        """Return the data per match that the estimation of a model does not use."""
        return super().ignored(model) + (("depth1", "depth2") if self.no_depths else ())

    @property
    def many(self) -> bool:
        """Whether the file or the output is of many pairs."""
        to_many = self.out is not None and self.out.suffix in MANY
        return self.features is not None or to_many or (self.file.is_dir() and self.pair is None)

    def refuse_for_model(self, *names: str) -> None:
        """Raise a ValueError if one of the options is given."""
        self.refuse(f"does not go with --model {self.model}", *names)


@arguments.takes_options
def estimate(asked: Options) -> None:
    """Estimate a model from a file of matches or points.

    Text files and npy have the columns listed at --model, and optionally score; a header line may name them in any
    order. npz and h5 have x1 and x2 (N x 2), or matches (N x 4), or keypoints1, keypoints2 and matches (N x 2, their
    indices), or points (N x 2 or N x 3), or points3D and points2D; optionally scores (N), and K, or K1 and K2. Scores
    in [0, 1] are used as prior probabilities. The depths depth1 and depth2 (N, or columns with a header), NaN or empty
    if unknown, are used for E. Without camera matrices the image points for E and absolute-pose are in normalised
    units. With --out the command writes result.json and data.npz (data, inliers, probabilities, residuals),
    which can be used as FILE again; it has no cameras with distortion.

    --multiple: several lines, planes (H) and so on in one file. data.npz then has the labels (N), which are the index
    of the model of each point or -1, and their probabilities (N x models + 1, the last column for -1). Points for E
    must be in normalised units.

    Many pairs (H, F, E): FILE is a folder with h5 sets or with csv, npz and h5 files, a txt file with the names of
    files, or one h5 file with a group per pair; --pair chooses one pair. --out is a .npz, .h5 or .parquet file with one
    row per pair. In npz and h5, the inliers and probabilities of pair k lie from offsets[k] to offsets[k + 1]. The exit
    code is 1 if no pair has a model. The journal beside --out (.sqlite) records the finished pairs: the same command
    resumes an interrupted run, and estimates only new or changed pairs. A file of another input or of other settings is
    replaced only with --overwrite.
    """
    if not MODELS[asked.model].cameras:
        asked.refuse_for_model("calib")
    if asked.max_models is not None and not asked.multiple:
        raise ValueError("--max-models needs --multiple")
    if asked.many:
        _estimate_many(asked)
    else:
        _estimate_one(asked)


def _estimate_many(asked: Options) -> None:
    from bansac.cli.batch import estimate_files, make_job  # here, because one file is estimated without it

    asked.refuse_for_model("degree")
    one = f"takes one file{'' if asked.out is None else f', and --out *{asked.out.suffix} is for many pairs'}"
    if asked.multiple:
        raise ValueError(f"--multiple {one}: results of many pairs are saved with one model each")
    if asked.model not in get_args(Kind):
        raise ValueError(f"--model {asked.model} {one}, of H, F or E")
    cameras = match_files.read_calibration(asked.calib) if asked.calib is not None else None
    estimate_files(asked, make_job(cast(Kind, asked.model), cameras, asked), asked.file, asked.features, asked.pair)


def _estimate_one(asked: Options) -> None:
    why = "is for many pairs: a folder or a list of files, with --out *.npz, *.h5 or *.parquet"
    asked.refuse(why, "workers", "scheduler")
    if asked.multiple and (MODELS[asked.model].problem is None or asked.model == "absolute-pose"):
        raise ValueError(f"--multiple does not go with --model {asked.model}")
    if "degree" not in MODELS[asked.model].arguments:
        asked.refuse_for_model("degree")
    elif asked.degree is None:
        raise ValueError(f"--degree must be given for --model {asked.model}")
    data, known = _read(asked)
    folder = result_folder(asked.out, [DATA], (asked.file, asked.calib), overwrite=asked.overwrite)
    used = known | dict.fromkeys(asked.ignored(asked.model))
    settings = {**asked.settings, "scores": used["scores"]}
    answer: Answer | MultipleAnswer
    if asked.multiple:
        answer = _estimate_several(asked, data, used, settings)
    else:
        answer = estimate_model(asked.model, data, used, settings)
    document = {"file": str(asked.file), **answer.as_dict()}
    if folder is not None:
        with folder.replacing(document):
            folder.write_npz(DATA, data | arrays_of(**known) | answer.arrays())
    leave(document, answer, folder, json=asked.json)


def _read(asked: Options) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Return the arrays of a file, and its scores, depths, cameras, image sizes and degree of the curve, if any."""
    row = MODELS[asked.model]
    if row.data == MATCHES:
        matches = match_files.read_matches(asked.file, asked.pair)
        cameras = () if asked.calib is None else match_files.read_calibration(asked.calib)
        known = known_arguments(matches) | dict(zip(("K1", "K2"), cameras, strict=False))
        return {"x1": matches.x1, "x2": matches.x2}, known
    asked.refuse_for_model("pair")
    points, scores = match_files.read_data(asked.file, row.data)
    if not row.cameras:
        return points, {"scores": scores, "degree": asked.degree}
    K = match_files.read_own_camera(asked.file) if asked.calib is None else match_files.read_single_camera(asked.calib)
    return points, {"scores": scores, "K": K}


def _estimate_several(
    asked: Options, data: dict[str, Floats], known: dict[str, Any], settings: dict[str, Any]
) -> MultipleAnswer:
    if known.get("K1") is not None and MODELS[asked.model].cameras:
        raise ValueError("--multiple takes points for E in normalised units, without camera matrices")
    points = np.hstack(list(data.values()))
    return MultipleAnswer(
        asked.model, bansac.estimate_multiple(asked.model, points, max_models=asked.max_models, **settings)
    )
