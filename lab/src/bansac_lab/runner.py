"""Execution of the units of a measurement, with a journal of the finished units.

One worker measures errors and times in one pass. Parallel units disturb each other's times. Their times are
therefore dropped, and the units of repeat 0 run again serially to measure the times alone. Errors depend neither on the
executor nor on interruptions of earlier runs.

The output folder of an experiment contains

- ``runs.csv`` with all rows,
- tables as ``.json``, ``.md`` and ``.tex``, figures as ``.png`` and ``.svg``, and further records as ``.csv``,
- ``run.json`` with settings, versions and notes, and
- ``journal.sqlite``.
"""

import contextlib
import functools
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bansac.batch.journal import Row, Unit
from bansac.batch.output_files import OutputFolder
from bansac.compiled.source import source_digest
from bansac.executors import Executor, ItemFailure, Progress, attempt, processes, silent, threads
from bansac_lab.frames import import_pandas
from bansac_lab.measurement import Measurement, Report, Setup
from bansac_lab.provenance import circumstances, data_fingerprint, fingerprint
from bansac_lab.rows import Rows, TimedJournal, write_rows
from bansac_lab.tables import to_document, to_latex, to_markdown

# Maximum number of failed units whose reasons are in the notes.
_NOTED_FAILURES = 10


@dataclass(frozen=True)
class RunSummary:
    """Report of a run, content of ``run.json``, and failed units with their reasons."""

    report: Report
    document: dict[str, Any]
    failed: dict[str, str]


@dataclass(frozen=True)
class Run:
    """Units of an experiment, identification of its data, and journal; see :func:`open_run`."""

    measurement: Measurement
    setup: Setup
    units: list[Unit]
    data: dict[str, Any]
    journal: TimedJournal

    def execute(
        self, *, workers: int = 1, executor: Executor | None = None, progress: Progress = silent
    ) -> tuple[Rows, dict[str, str]]:
        """Run the units that the journal lacks; return all rows, also earlier ones, and key and reason of failed units.

        By default one worker is this thread, and several are processes. A unit has also failed if its times could not
        be measured. If a failed unit is an error of the measurement, an OSError names the first one.
        """
        if workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        chosen: Executor = executor or (threads if workers == 1 else processes)
        work = functools.partial(self.measurement.run_unit, self.setup)
        pending = [unit for unit in self.units if unit not in self.journal]
        # Load or compile the kernels, so that the times exclude it and workers find the kernels in Numba's cache.
        loading = pending or [unit for unit in self.units if self.journal.lacks_times(unit)]
        if loading and self.measurement.warm_up is not None:
            self.measurement.warm_up(self.setup, loading)
        else:
            next((unit for unit in loading if not isinstance(attempt(work, unit), ItemFailure)), None)
        shown = progress("units", len(self.units), len(self.units) - len(pending))
        keep = functools.partial(self.journal.add, alone=chosen is threads)
        failed = _collect(chosen.run(work, pending, workers), keep, shown)
        untimed = [unit for unit in self.units if self.journal.lacks_times(unit)]
        if untimed:  # they ran in parallel, so measure their times serially
            answers = threads.run(work, untimed, 1)
            reasons = _collect(answers, self.journal.add_times, progress("times", len(untimed), 0))
            failed |= {key: f"when its times were taken: {reason}" for key, reason in reasons.items()}
        in_order = {unit.key: failed[unit.key] for unit in self.units if unit.key in failed}
        for key, reason in in_order.items() if self.measurement.complete else ():
            raise OSError(f"{len(failed)} of {len(self.units)} units have failed, the first is {key}: {reason}")
        return Rows(self.journal, self.units), in_order


def _collect(
    answers: Generator[tuple[Unit, list[Row] | ItemFailure], None, None],
    keep: Callable[[Unit, list[Row]], None],
    shown: contextlib.AbstractContextManager[Callable[[], None]],
) -> dict[str, str]:
    """Store the rows of the units as they arrive; return the failed units with their reasons."""
    failed = {}
    with shown as advance, contextlib.closing(answers):
        for unit, answer in answers:
            if isinstance(answer, ItemFailure):
                failed[unit.key] = answer.reason
            else:
                keep(unit, answer)
            advance()
    return failed


def run_measurement(measurement: Measurement, setup: Setup, journal: Path | None, **settings: Any) -> RunSummary:
    """Run a measurement; ``settings`` are those of :meth:`Run.execute`. Without a finished unit, raise a ValueError."""
    started = time.perf_counter()
    with open_run(measurement, setup, journal) as run:
        rows, failed = run.execute(**settings)
        if len(failed) == len(run.units):
            raise ValueError("; ".join(failure_notes(failed)))
        report = measurement.report(run.setup, rows)
    entries = {"tables": {name: to_document(table) for name, table in report.tables.items()}, **report.records}
    return _summary(measurement, setup, report, failed, started, entries)


def _summary(
    measurement: Measurement, setup: Setup, report: Report, failed: dict[str, str], started: float, entries: Row
) -> RunSummary:
    """Return the summary of a run, with further entries of its document."""
    report.notes += failure_notes(failed)
    document = {
        "experiment": measurement.name,
        **circumstances(measurement.packages),
        "settings": setup.plain(),
        "seconds": time.perf_counter() - started,
        **entries,
        "failed": failed,
        "notes": report.notes,
    }
    return RunSummary(report, document, failed)


def merge(earlier: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with the values of both; a new value replaces an earlier one, dicts are merged."""
    both = {k: merge(earlier[k], v) for k, v in new.items() if isinstance(v, dict) and isinstance(earlier.get(k), dict)}
    return {**earlier, **new, **both}


@contextlib.contextmanager
def open_run(measurement: Measurement, setup: Setup, journal: Path | None) -> Iterator[Run]:
    """Prepare a run: check the options, list the units, and open the journal, which is closed at the end.

    If ``journal`` is None, it is in memory. Finished units of an earlier run with the same fingerprint are reused.
    """
    setup = measurement.resolve(setup)
    import_pandas()  # fail before the work, not after it
    units = list(measurement.units(setup))
    if len({unit.key for unit in units}) < len(units):
        raise ValueError(f"{measurement.name}: the keys of the units must all be different")
    sets = measurement.sets(setup) if setup.data is not None and measurement.sets is not None else []
    data = data_fingerprint(setup.data, sets)
    opened = TimedJournal(journal, fingerprint(measurement, setup, data))
    with opened:
        yield Run(measurement, setup, units, data, opened)


def run_experiment(experiment: Measurement, setup: Setup, folder: OutputFolder, **settings: Any) -> RunSummary:
    """Run an experiment and write its results into a folder; ``settings`` are those of :meth:`Run.execute`."""
    started = time.perf_counter()
    with open_run(experiment, setup, folder.path / "journal.sqlite") as run:
        resumed = len(run.journal)
        rows, failed = run.execute(**settings)
        if not any(True for _ in rows):
            reasons = (f"unit {key}: {reason}" for key, reason in failed.items())
            reason = next(reasons, "the data hold too little for it")
            raise ValueError(f"{experiment.name}: no unit gave a row; {reason}")
        write_rows(folder, "runs.csv", rows)
        report = experiment.report(run.setup, rows)
        described = {name: getattr(experiment, name) for name in ("title", "reference", "defaults")}
        counts = {"workers": settings.get("workers", 1), "units": len(run.units), "resumed": resumed}
        source = {"seed": setup.seed, "data": run.data, "source": source_digest()}
        summary = _summary(experiment, setup, report, failed, started, described | counts | source)
        for name, table in report.tables.items():
            folder.write_json(f"{name}.json", to_document(table))
            folder.write_text(f"{name}.md", to_markdown(table) + "\n")
            folder.write_text(f"{name}.tex", to_latex(table))
        for name, figure in report.figures.items():
            folder.write_figure(f"{name}.png", figure)
            folder.write_figure(f"{name}.svg", figure)
        for name, records in report.records.items():
            write_rows(folder, f"{name}.csv", records)
    folder.write_json("run.json", summary.document)
    return summary


def failure_notes(failed: dict[str, str]) -> list[str]:
    """Return notes on failed units: the reasons of the first ones, and the number of the others."""
    notes = [f"unit {key} failed: {reason}" for key, reason in list(failed.items())[:_NOTED_FAILURES]]
    more = len(failed) - len(notes)
    return [*notes, f"{more} more units failed; the JSON document has them all"] if more else notes
