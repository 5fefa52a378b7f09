"""Run over many pairs: estimate the pairs that the journal lacks, then write all pairs to one file.

The journal (``results.sqlite`` for ``results.npz``) has one transaction per pair. An interrupted run continues where it
stopped. Another run on the same pairs estimates only those that are new, have changed or have failed.
"""

import contextlib
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


@dataclass(frozen=True)
class Output:
    """File of the results, by default in the format of its suffix; ``inputs`` are the files or folders of the pairs."""

    path: Path
    inputs: tuple[Path, ...]
    overwrite: bool = False
    write: Writer | None = None

    @property
    def journal(self) -> Path:
        """File of the journal."""
        return self.path.with_suffix(".sqlite")

    @property
    def unit(self) -> Unit:
        """Unit of the journal that records that the file was written from these inputs."""
        return Unit(f"{self.path.name} written from {' and '.join(str(path.resolve()) for path in self.inputs)}")

    def check_replaceable(self, journal: Journal | None) -> None:
        """Raise a ValueError if the file exists, unless it may be replaced or is of a run on the same inputs."""
        if self.path.exists() and (journal is None or self.unit not in journal):
            what = "is there already, and was not written by a run with this input and these settings"
            check_replaceable(f"{self.path} {what}", self.overwrite)


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
        output.check_replaceable(None)
    with Journal(output.journal, job.fingerprint()) as journal:
        output.check_replaceable(journal)
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
        journal.add(output.unit, [])
        successes = sum(record["success"] for record in records)
    return BatchSummary(len(sources), missing, successes, failed)
