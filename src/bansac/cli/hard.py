"""``bansac bench hard``, ``noise``, ``planes`` and ``posebench``: experiments that need no choice of methods."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from bansac.cli.arguments import JsonFlag, OverwriteFlag, given, parse_out, split_names
from bansac.cli.console import notes, print_json, report, show_progress
from bansac.cli.output import check_new_file
from bansac.lab.evaluation.charts import import_figure
from bansac.lab.evaluation.experiment import Experiment, Setup
from bansac.lab.evaluation.hard import few_inliers
from bansac.lab.evaluation.hard import noise as unknown_noise
from bansac.lab.evaluation.hard import planes as dominant_planes
from bansac.lab.evaluation.hard.estimators import OURS, PEERS
from bansac.lab.evaluation.posebench import protocol as of_posebench
from bansac.lab.evaluation.posebench.estimators import PEERS as POSEBENCH_PEERS
from bansac.lab.evaluation.provenance import circumstances, plain_settings
from bansac.lab.evaluation.render import to_document, to_markdown
from bansac.lab.evaluation.runner import failure_notes, open_run
from bansac.matches.storage import write_atomically, write_json
from bansac.plotting import save_figure

INCOMPLETE = 1

_PACKAGES = tuple(peer.package for peer in PEERS)

SeedsOption = Annotated[int | None, typer.Option(help="Scenes of every cell.")]
ProblemsOption = Annotated[str | None, typer.Option(help="Only these problems, joined by commas.")]
SeedOption = Annotated[int, typer.Option(help="Seed of the first scene of every cell.")]
FileOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        parser=parse_out,
        help="Write the report here and its figures beside it; an interrupted run goes on from the journal beside it.",
    ),
]


def hard(
    seeds: SeedsOption = None,
    problems: ProblemsOption = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help=f"Joined by commas, of: {', '.join(method.name for method in (*OURS, *PEERS))}. "
            "Default: all that are installed."
        ),
    ] = None,
    seed: SeedOption = 0,
    out: FileOption = None,
    overwrite: OverwriteFlag = False,
    json: JsonFlag = False,
) -> None:
    """Count right models and false successes where inliers are few (5 to 30 %), and on unrelated images.

    The scenes are synthetic, without scores, with .5 px noise and 500, 2,000 and 8,000 matches: homographies (H),
    essential (E) and fundamental (F) matrices, absolute poses (pose). One thread. Times hold within one run only.
    """
    setup = _setup(seeds, seed, problems=_names(problems), methods=_names(methods))
    _run(few_inliers.EXPERIMENT, setup, out, overwrite, json)


def noise(
    seeds: SeedsOption = None,
    problems: ProblemsOption = None,
    seed: SeedOption = 0,
    out: FileOption = None,
    overwrite: OverwriteFlag = False,
    json: JsonFlag = False,
) -> None:
    """Compare the default, which estimates the threshold, with the best fixed one where the noise is unknown.

    Noise of .25 to 4 px, 100 to 8,000 points, 40 and 60 % inliers: H, E, F, absolute poses (pose), circles (circle) and
    lines (line). Error and time are those of the default over those of the best fixed threshold of the cell.
    """
    _run(unknown_noise.EXPERIMENT, _setup(seeds, seed, problems=_names(problems)), out, overwrite, json)


def planes(
    seeds: SeedsOption = None,
    seed: SeedOption = 0,
    out: FileOption = None,
    overwrite: OverwriteFlag = False,
    json: JsonFlag = False,
) -> None:
    """Count wrong relative poses, and those claimed as right, on a dominant plane with a repeated pattern.

    60 to 95 % of the inliers are on the plane. Half of the outliers are its features matched one period apart.
    """
    _run(dominant_planes.EXPERIMENT, _setup(seeds, seed), out, overwrite, json)


def posebench(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder with posebench's relative, absolute and homography.")
    ],
    sets: Annotated[str, typer.Option(help="Run these sets only, joined by commas.")] = "",
    exclude: Annotated[str, typer.Option(help="Leave these sets out, joined by commas.")] = "",
    subsample: Annotated[int | None, typer.Option(help="Run every N-th instance of a set. Default: 1.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of every call.")] = 0,
    out: FileOption = None,
    overwrite: OverwriteFlag = False,
    json: JsonFlag = False,
) -> None:
    """Run the protocol of posebench (PoseLib/posebench on GitHub) on its files, beside other libraries.

    Relative poses, fundamental matrices, absolute poses and homographies at posebench's thresholds, with 100 to 1000
    iterations and a success probability of .9999. "bansac, its own settings" estimates the threshold and has its
    default limits. One thread.
    """
    setup = Setup(
        data=folder, seed=seed, sets=split_names(sets), exclude=split_names(exclude), extra=given(subsample=subsample)
    )
    packages = [estimator.package for estimator in POSEBENCH_PEERS]
    _run(of_posebench.EXPERIMENT, setup, out, overwrite, json, packages)


def _setup(seeds: int | None, seed: int, **extra: tuple[str, ...] | None) -> Setup:
    return Setup(repeats=seeds, seed=seed, extra=given(**extra))


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else split_names(text)


def _run(
    experiment: Experiment,
    setup: Setup,
    out: Path | None,
    overwrite: bool,
    json: bool,
    packages: Sequence[str] = _PACKAGES,
) -> None:
    """Run an experiment; print its tables or its document; write the document, and figures beside it."""
    if out is not None:
        check_new_file(out, overwrite)
        import_figure()
    journal = None if out is None else out.with_suffix(".sqlite")
    started = time.perf_counter()
    with open_run(experiment, setup, journal) as run:
        rows, failed = run.execute(progress=show_progress)
        if len(failed) == len(run.units):
            raise ValueError("; ".join(failure_notes(failed)))
        found = experiment.report(setup, rows)
    found.notes += failure_notes(failed)
    document: Mapping[str, Any] = {
        "experiment": experiment.name,
        **circumstances(packages),
        "settings": plain_settings(setup),
        "seconds": time.perf_counter() - started,
        "tables": {name: to_document(table) for name, table in found.tables.items()},
        **found.records,
        "failed": failed,
        "notes": found.notes,
    }
    if out is not None:
        write_json(out, document)
        for figure in found.figures.values():
            for suffix in (".png", ".svg"):
                write_atomically(out.with_suffix(suffix), functools.partial(save_figure, figure))
    if journal is not None and not failed:
        journal.unlink()  # the next run starts from the beginning
    if json:
        print_json(dict(document))
    else:
        for table in found.tables.values():
            report.print(to_markdown(table) + "\n", markup=False)
        for note in found.notes:
            report.print(note, markup=False)
    if failed:
        notes.print(f"bansac: {len(failed)} units have failed; the same command tries them again")
        raise typer.Exit(INCOMPLETE)
