"""Arguments and options shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from bansac.engine.sampling import SAMPLERS
from bansac.executors import EXECUTORS, Executor
from bansac.executors.threads import EXECUTOR, count_workers
from bansac.problems.essential import ESSENTIAL
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.line import LINE

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document to standard output, and nothing else.")]
OutOption = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Write results and figures here.")]
OverwriteFlag = Annotated[
    bool, typer.Option("--overwrite", help="Replace an earlier result in --out, its figures included.")
]


def _parse_threshold(text: str) -> float | str:
    """Return the threshold as a number or "auto"."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor 'auto'.") from None


ThresholdOption = Annotated[
    str | None,
    typer.Option(
        parser=_parse_threshold,
        metavar="FLOAT|auto",
        help="Largest residual of an inlier: in pixels for H and F, and for E with --calib; in normalised units for E "
        "without; in the unit of the points for curves. Default: 2 px for H, 0.5 px for F, 0.5 px for E with --calib, "
        "5e-4 in normalised units without. auto estimates it from the data (H, F and E).",
    ),
]
ConfidenceOption = Annotated[
    float | None, typer.Option(help="Desired probability of having seen the best model. Default: 0.999.")
]
IterationsOption = Annotated[
    float | None,
    typer.Option(
        "--max-iterations",
        metavar="INTEGER",
        help=f"Maximum number of samples, such as 1e4. Default: {HOMOGRAPHY.default_max_iterations} for H, "
        f"{FUNDAMENTAL.default_max_iterations} for F, {ESSENTIAL.default_max_iterations} for E, "
        f"{LINE.default_max_iterations} for curves.",
    ),
]
SeedOption = Annotated[int, typer.Option(help="Seed of the random numbers: the same seed gives the same answer.")]
SamplerOption = Annotated[
    str,
    typer.Option(help=f"One of {', '.join(SAMPLERS)}; uniform is RANSAC."),
]
NoScoresFlag = Annotated[
    bool, typer.Option("--no-scores", help="Do not use the quality of the matches as prior probability or order.")
]
CalibrationOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Camera matrices: JSON or npz with K, or K1 and K2; or text with the 3 rows of K, or 6 rows for two.",
    ),
]
WorkersOption = Annotated[
    int, typer.Option(help="Processes. With more than 1, times are taken afterwards, on repeat 0 alone.")
]
ExecutorOption = Annotated[
    str | None,
    typer.Option(help=f"One of {', '.join(EXECUTORS)}. Default: serial with one worker, else processes."),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Run on the workers of this dask.distributed scheduler, such as tcp://host:8786. They need the same "
        "version of bansac, and to see the same files.",
    ),
]


ThreadsOption = Annotated[int | None, typer.Option(help="Threads, for many pairs. Default: all cores.")]


def choose_executor(name: str | None, workers: int, scheduler: str | None) -> str | Executor | None:
    """Return the cluster of --scheduler or the name from --executor.

    Raise a ValueError for --scheduler together with --executor or --workers.
    """
    if scheduler is None:
        return name
    if name is not None:
        raise ValueError("--executor does not go with --scheduler")
    return connect(scheduler, None if workers == 1 else workers)


def pair_executor(scheduler: str | None, workers: int | None, **settings: Any) -> tuple[Executor, int]:
    """Return the cluster of --scheduler, or threads without it, and the number of workers."""
    count = count_workers(workers)
    return (EXECUTOR if scheduler is None else connect(scheduler, workers, **settings)), count


def connect(scheduler: str, workers: int | None, **settings: Any) -> Executor:
    """Return the executor for the cluster of --scheduler; raise a ValueError if --workers is given."""
    if workers is not None:
        raise ValueError("--workers does not go with --scheduler: the cluster has its own workers")
    from bansac.executors.cluster import ClusterExecutor

    return ClusterExecutor(scheduler, **settings)


def split_names(names: str) -> tuple[str, ...]:
    """Split a comma-separated list of names."""
    return tuple(name.strip() for name in names.split(",") if name.strip())


def given(**options: Any) -> dict[str, Any]:
    """Return the options that are not None, by name."""
    return {name: value for name, value in options.items() if value is not None}


def refuse(why: str, **options: Any) -> None:
    """Raise a ValueError with the reason ``why`` if one of the options is given."""
    for name in given(**options):
        raise ValueError(f"--{name} {why}")


def uses_scores(sampler: str, no_scores: bool) -> bool:
    """Return whether the sampler uses scores and --no-scores is not given."""
    return not no_scores and sampler in SAMPLERS and (SAMPLERS[sampler].prior or SAMPLERS[sampler].order)


def sampling_settings(sampler: str, scores: NDArray[np.float64] | None, no_scores: bool) -> dict[str, Any]:
    """Return the keyword arguments for the sampler and, if there are scores and it uses them, for the scores."""
    return {"sampler": sampler} | ({"scores": scores} if scores is not None and uses_scores(sampler, no_scores) else {})
