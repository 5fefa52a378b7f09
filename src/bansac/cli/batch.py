"""``bansac estimate`` on a folder or a list of files: many pairs on all cores, in one file of results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bansac.batch.job import Cameras, Job
from bansac.batch.result_files import WRITERS
from bansac.batch.run import Outcome, check_out, estimate_pairs
from bansac.batch.sources import find_sources
from bansac.cli.arguments import uses_scores
from bansac.cli.console import note_on_interrupt, notes, print_json, report, show_progress
from bansac.evaluation.task import Kind
from bansac.executors import Executor

# Failures that are shown; the file has all.
_SHOWN = 10


def wants_batch(file: Path, pair: str | None, out: Path | None) -> bool:
    """Return whether the arguments of the command mean many pairs."""
    return (file.is_dir() and pair is None) or (out is not None and out.suffix in WRITERS)


def make_job(
    model: Kind, cameras: Cameras | None, sampler: str, no_scores: bool, seed: int, given: Mapping[str, Any]
) -> Job:
    """Return the settings of a run as the options of a command give them."""
    settings = {**given, "sampler": sampler}
    return Job(model=model, cameras=cameras, scores=uses_scores(sampler, no_scores), seed=seed, settings=settings)


def estimate_files(file: Path, job: Job, out: Path | None, executor: Executor, workers: int, *, json: bool) -> None:
    """Estimate the pairs of a folder or a list and write the results; pairs that cannot be read are in the summary."""
    path = check_out(out, " (--pair chooses one of a set)")
    sources = find_sources(file, path)
    with note_on_interrupt():
        outcome = estimate_pairs(job, sources, path, executor=executor, workers=workers, progress=show_progress)
    show_outcome(path, outcome, json=json)


def show_outcome(out: Path, outcome: Outcome, *, json: bool, **more: Any) -> None:
    """Print what a run did, as a document or for a reader."""
    if json:
        print_json({"out": str(out), **vars(outcome), **more})
        return
    show_failures(outcome.failed)
    without = outcome.pairs - outcome.successes - len(outcome.failed)
    report.print(
        f"{out}: {outcome.pairs} pairs, {outcome.new} of them new; "
        f"{outcome.successes} with a model, {without} without, {len(outcome.failed)} failed",
        markup=False,
    )


def show_failures(failed: Mapping[str, str]) -> None:
    """Print the first failures."""
    for name, message in list(failed.items())[:_SHOWN]:
        notes.print(f"bansac: {name}: {message}", markup=False)
    if len(failed) > _SHOWN:
        notes.print(f"bansac: ... and {len(failed) - _SHOWN} more")
