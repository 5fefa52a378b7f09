"""Run over many pairs: estimate the pairs that the journal lacks, then write all pairs to one file.

The journal (``results.sqlite`` for ``results.npz``) has one transaction per pair. An interrupted run continues where it
stopped. Another run on the same pairs estimates only those that are new, have changed or have failed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bansac.batch.job import Job
from bansac.batch.journal import Journal, Unit
from bansac.batch.output_files import check_file, check_replaceable
from bansac.batch.records import Records
from bansac.batch.result_files import WRITERS, Writer, check_packages
from bansac.batch.sources import Source
from bansac.batch.summary_page import write_summary
from bansac.executors import Executor, ItemFailure, Progress, silent
from bansac.matches.storage import write_atomically

# Journal entry of a run that has written its results: the names of its pairs.
_WRITTEN = Unit("written")


class Sources(Sized, Iterable[Source], Protocol):
    """Pairs that can be iterated over several times."""


@dataclass(frozen=True)
class BatchSummary:
    """Numbers of all pairs, of pairs estimated in this run and of pairs with a model; and reasons of failed pairs."""

    pairs: int
    new: int
    successes: int
    failed: dict[str, str]


@dataclass(frozen=True)
class Output:
    """Files of the results: the records, by default in the format of the suffix, and an HTML page with a row a pair."""

    path: Path
    summary: Path | None = None
    overwrite: bool = False
    write: Writer | None = None

    @property
    def journal(self) -> Path:
        """File of the journal."""
        return self.path.with_suffix(".sqlite")

    def check_replaceable(self) -> None:
        """Raise a ValueError if a file exists, unless it may be replaced."""
        for path in (self.path, self.summary):
            if path is not None and path.exists():
                what = f"{path} is there already, and was not written by a run with these settings"
                check_replaceable(what, self.overwrite)

    def check_complete(self, written: set[str], sources: Sources) -> None:
        """Raise a ValueError if the existing file has pairs that the new one would lack, unless it may be replaced."""
        lost = sorted(written - {source.name for source in sources}) if written and self.path.exists() else []
        if lost:
            what = f"{self.path} has {len(lost)} pairs of an earlier run that this input lacks, such as {lost[0]!r}"
            check_replaceable(what, self.overwrite)


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
    job: Job, sources: Sources, output: Output, executor: Executor, workers: int, progress: Progress = silent
) -> BatchSummary:
    """Estimate the missing pairs, then write all results.

    An existing file is replaced if the journal shows that this run has written it and all its pairs are in the sources,
    or if it may be overwritten; otherwise a ValueError is raised.
    """
    failed: dict[str, str] = {}
    if not output.journal.exists():
        output.check_replaceable()
    with Journal(output.journal, job.fingerprint()) as journal:
        if _WRITTEN not in journal:
            output.check_replaceable()
        output.check_complete({row["name"] for row in journal.rows(_WRITTEN)}, sources)
        missing = sum(source.unit not in journal for source in sources)
        todo = (source for source in sources if source.unit not in journal)
        answers = executor.run(job.estimate, todo, workers)
        with progress("pairs", len(sources), len(sources) - missing) as advance, contextlib.closing(answers):
            for source, answer in answers:
                if isinstance(answer, ItemFailure):
                    failed[source.name] = answer.reason
                else:
                    journal.add(source.unit, [answer], alone=True)
                advance()
        records = Records(sources, journal, failed)
        write = output.write or WRITERS[output.path.suffix]
        write_atomically(output.path, lambda temporary: write(temporary, records))
        if output.summary is not None:
            write_atomically(output.summary, lambda temporary: write_summary(temporary, records))
        journal.add(_WRITTEN, [{"name": source.name} for source in sources], alone=True)
        successes = sum(record["success"] for record in records)
    return BatchSummary(len(sources), missing, successes, failed)
