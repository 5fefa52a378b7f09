"""``bansac estimate`` for a folder or a list of files: many pairs on all cores, with one results file."""

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import typer

from bansac.batch.job import Cameras, Job
from bansac.batch.output_files import check_unread
from bansac.batch.records import Record
from bansac.batch.run import BatchSummary, check_out, estimate_pairs
from bansac.batch.sources import Source, find_sources, hloc_sources
from bansac.cli.arguments import Shared, pair_executor
from bansac.cli.console import NO_MODEL, note_on_interrupt, notes, print_json, report, show_progress
from bansac.matches import HlocPairs
from bansac.problems.estimators import Kind

# Number of failures shown; the results file has all.
_SHOWN = 10


def make_job(model: Kind, cameras: Cameras | None, asked: Shared) -> Job:
    """Return the settings of a run from the options of a command."""
    return Job(model=model, cameras=cameras, ignored=asked.ignored(model), settings=asked.settings)


def estimate_files(asked: Shared, job: Job, file: Path, features: Path | None, pair: str | None) -> None:
    """Estimate the pairs (or one) of a folder, a list, or hloc's ``features`` and matches; write and show results."""
    executor, workers = pair_executor(asked.scheduler, asked.workers)
    path = check_out(asked.out, " (--pair chooses one of a set)")
    write, inputs = None, [file]
    check_unread(path, [asked.calib])
    if features is None:
        sources = find_sources(file, path)
    else:
        hloc, inputs = HlocPairs(features, file), [file, features]
        check_unread(path, inputs)
        sources = hloc_sources(hloc)
        write = functools.partial(_write_verified, hloc) if path.suffix == ".h5" else None
    if pair is not None:
        sources = [_find_pair(pair, sources, file)]
    with note_on_interrupt():
        outcome = estimate_pairs(
            job, sources, path, inputs, executor, workers, show_progress, overwrite=asked.overwrite, write=write
        )
    show_outcome(path, outcome, json=asked.json)


def _find_pair(pair: str, sources: list[Source], file: Path) -> Source:
    """Return the source with this name, which may lack the name of its folder or set."""
    found = [source for source in sources if source.name == pair]
    found = found or [source for source in sources if source.name.endswith(f"/{pair}")]
    if len(found) != 1:
        number, first = "several pairs" if found else "no pair", (found or sources)[0].name
        raise ValueError(f"{file} has {number} {pair!r}; --pair takes one of {len(sources)}, the first is {first!r}")
    return found[0]


def _write_verified(hloc: HlocPairs, path: Path, records: Iterable[Record]) -> None:
    """Write the inliers of the pairs as matches of hloc; pairs without a model have none."""
    nothing = np.empty(0, np.bool_)
    hloc.write_verified(path, ((r["name"], r["inliers"] if r["success"] else nothing) for r in records))


def show_outcome(out: Path, outcome: BatchSummary, *, json: bool, **more: Any) -> None:
    """Print the summary of a run as JSON or text; exit with ``NO_MODEL`` if no pair has a model."""
    if json:
        print_json({"out": str(out), **vars(outcome), **more})
    else:
        images = more.get("failed_images", {})
        of_images = {name for name, reason in outcome.failed.items() if reason.partition(": ")[0] in images}
        _show_failures(images | {name: reason for name, reason in outcome.failed.items() if name not in of_images})
        without = outcome.pairs - outcome.successes - len(outcome.failed)
        report.print(
            f"{out}: {outcome.pairs} pairs, {outcome.new} of them new; "
            f"{outcome.successes} with a model, {without} without, {len(outcome.failed)} failed",
            markup=False,
        )
    raise typer.Exit(0 if outcome.successes else NO_MODEL)


def _show_failures(failed: Mapping[str, str]) -> None:
    """Print the first failures."""
    for name, message in list(failed.items())[:_SHOWN]:
        notes.print(f"bansac: {name}: {message}", markup=False)
    if len(failed) > _SHOWN:
        notes.print(f"bansac: ... and {len(failed) - _SHOWN} more")
