"""Run over many pairs: estimate the pairs that the journal lacks, then write all pairs to one file.

The journal (``results.sqlite`` for ``results.npz``) has one transaction per pair. An interrupted run continues where it
stopped. Another run on the same pairs estimates only those that are new, have changed or have failed.
"""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from bansac.batch.job import Job
from bansac.batch.journal import Journal, Row, Unit
from bansac.batch.output_files import check_file, check_replaceable
from bansac.batch.records import read_records
from bansac.batch.result_files import WRITERS, Writer, check_packages
from bansac.batch.sources import Sources
from bansac.batch.summary_page import write_summary
from bansac.executors import Executor, ItemFailure, Progress, silent
from bansac.matches.storage import write_atomically


@dataclass(frozen=True)
class BatchSummary:
    """Numbers of all pairs, of pairs estimated in this run and of pairs with a model; and reasons of failed pairs."""

    pairs: int
    new: int
    successes: int
    failed: dict[str, str]


@dataclass(frozen=True)
class Output:
    """Files of the results: the records, by default in the format of the suffix, and an HTML page with a row a pair.

    ``inputs`` are the files or folders with the pairs.
    """

    path: Path
    inputs: tuple[Path, ...]
    summary: Path | None = None
    overwrite: bool = False
    write: Writer | None = None

    @property
    def journal(self) -> Path:
        """File of the journal."""
        return self.path.with_suffix(".sqlite")

    @property
    def entries(self) -> dict[Path, Unit]:
        """Entries of the written files in the journal; each has the input and the names of the pairs."""
        paths = [self.path] if self.summary is None else [self.path, self.summary]
        return {path: Unit(f"written {os.path.relpath(path, self.path.parent)}") for path in paths}

    def entry(self, sources: Sources) -> Row:
        """Return the row of the entries."""
        return {"source": " and ".join(str(path.resolve()) for path in self.inputs), "names": [s.name for s in sources]}

    def check_replaceable(self, sources: Sources, journal: Journal | None) -> None:
        """Raise a ValueError if a file exists, unless it may be replaced or has some of the same results."""
        for path, entry in self.entries.items():
            if path.exists():
                rows = [] if journal is None else journal.rows(entry)
                if difference := _difference(rows, self.entry(sources)):
                    option = "--summary" if path == self.summary else "--out"
                    check_replaceable(f"{path} {difference}", self.overwrite, option)


def _difference(written: list[Row], entry: Row) -> str:
    """Return how a written file differs from that of an entry, "" if that one only has more pairs."""
    if not written:
        return "is there already, and was not written by a run with these settings"
    source, names = written[0]["source"], written[0]["names"]
    if source != entry["source"]:
        return f"has the results of another input, {source}"
    lost = sorted(set(names) - set(entry["names"]))
    return f"has {len(lost)} pairs of an earlier run that this input lacks, such as {lost[0]!r}" if lost else ""


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
    """Estimate the missing pairs, then write all results; files of other runs need ``overwrite`` to be replaced."""
    failed: dict[str, str] = {}
    if not output.journal.exists():
        output.check_replaceable(sources, None)
    with Journal(output.journal, job.fingerprint()) as journal:
        output.check_replaceable(sources, journal)
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
        write = output.write or WRITERS[output.path.suffix]
        write_atomically(output.path, lambda temporary: write(temporary, records))
        if output.summary is not None:
            write_atomically(output.summary, lambda temporary: write_summary(temporary, records))
        for entry in output.entries.values():
            journal.add(entry, [output.entry(sources)])
        successes = sum(record["success"] for record in records)
    return BatchSummary(len(sources), missing, successes, failed)
