"""Run over many pairs: estimate the pairs that the journal lacks, then write all pairs to one file.

The journal (``results.sqlite`` for ``results.npz``) has one transaction per pair. An interrupted run continues where it
stopped. Another run on the same pairs estimates only those that are new, have changed or have failed.
"""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bansac.batch.job import Job
from bansac.batch.journal import Journal, Unit
from bansac.batch.output_files import check_file, check_replaceable
from bansac.batch.records import read_records
from bansac.batch.result_files import WRITERS, Writer, check_packages
from bansac.batch.sources import Sources
from bansac.executors import Executor, ItemFailure, Progress, silent
from bansac.matches.storage import write_atomically


@dataclass(frozen=True)
class BatchSummary:
    """Numbers of all pairs, of pairs estimated in this run and of pairs with a model; and reasons of failed pairs."""

    pairs: int
    new: int
    successes: int
    failed: dict[str, str]


def check_out(out: Path | None, hint: str = "") -> Path:
    """Check that a file of results can be written and return it; ``hint`` is part of the ValueError."""
    if out is None or out.suffix not in WRITERS:
        *suffixes, last = (f"*{suffix}" for suffix in WRITERS)
        raise ValueError(
            f"--out must name a file {', '.join(suffixes)} or {last} for the results of many pairs{hint}, "
            f"got {out and str(out)!r}"
        )
    check_packages(out.suffix)
    check_file(out, "--out")
    return out


def estimate_pairs(
    job: Job, sources: Sources, out: Path, inputs: Iterable[Path], executor: Executor, workers: int,
    progress: Progress = silent, *, overwrite: bool, write: Writer | None = None,
) -> BatchSummary:  # fmt: skip
    """Estimate the missing pairs, then write all results by ``write``, or in the format of the suffix.

    ``out`` replaces a file only with ``overwrite``, or if it was written with the same settings from the same
    ``inputs``, which are files or folders.
    """
    failed: dict[str, str] = {}
    written = Unit(f"{out.name} written from {' and '.join(str(path.resolve()) for path in inputs)}")
    refusal = f"{out} is there already, and was not written by a run with this input and these settings"
    path = out.with_suffix(".sqlite")
    if out.exists() and not path.exists():
        check_replaceable(refusal, overwrite)
    with Journal(path, job.fingerprint()) as journal:
        if out.exists() and written not in journal:
            check_replaceable(refusal, overwrite)
        missing = sum(source.unit not in journal for source in sources)
        todo = (source for source in sources if source.unit not in journal)
        answers = executor.run(job.estimate, todo, workers)
        with progress("pairs", len(sources), len(sources) - missing) as advance, contextlib.closing(answers):
            for source, answer in answers:
                if isinstance(answer, ItemFailure):
                    failed[source.name] = answer.reason
                else:
                    journal.add(source.unit, [answer])
                advance()
        records = read_records(sources, journal, failed)
        writer = write or WRITERS[out.suffix]
        write_atomically(out, lambda temporary: writer(temporary, records))
        journal.add(written, [])
        successes = sum(record["success"] for record in records)
    return BatchSummary(len(sources), missing, successes, failed)
