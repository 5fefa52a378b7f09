"""Execution of the units of a measurement, with a journal of the finished units.

Parallel units disturb each other's times, which are therefore dropped: only a serial run has times. Errors depend
neither on the executor nor on interruptions of earlier runs.

The output folder of an experiment contains

- ``runs.csv`` with all rows,
- tables as ``.json`` and ``.md``, figures as ``.png`` and ``.svg``, and further records as ``.csv``,
- ``run.json`` with settings, versions and notes, and
- ``journal.sqlite``.
"""

import contextlib
import functools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bansac.batch.journal import Journal, Row, Unit
from bansac.batch.output_files import OutputFolder
from bansac.compiled.source import source_digest
from bansac.executors import Executor, ItemFailure, Progress, attempt, processes, silent, threads
from bansac_lab.frames import import_pandas
from bansac_lab.measurement import Measurement, Report, Setup
from bansac_lab.provenance import circumstances, data_fingerprint, fingerprint
from bansac_lab.rows import Rows, without_seconds, write_rows
from bansac_lab.tables import rows_table, to_document, to_markdown

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
    journal: Journal

    def execute(
        self, *, workers: int = 1, executor: Executor | None = None, progress: Progress = silent
    ) -> tuple[Rows, dict[str, str]]:
        """Run the units that the journal lacks; return all rows, also earlier ones, and key and reason of failed units.

        By default one worker is this thread, and several are processes. If a failed unit is an error of the
        measurement, an OSError names the first one.
        """
        if workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        chosen: Executor = executor or (threads if workers == 1 else processes)
        work = functools.partial(self.measurement.run_unit, self.setup)
        pending = [unit for unit in self.units if unit not in self.journal]
        # Load or compile the kernels, so that the times exclude it and workers find the kernels in Numba's cache.
        if pending and self.measurement.warm_up is not None:
            self.measurement.warm_up(self.setup, pending)
        else:
            next((unit for unit in pending if not isinstance(attempt(work, unit), ItemFailure)), None)
        failed, answers = {}, chosen.run(work, pending, workers)
        shown = progress("units", len(self.units), len(self.units) - len(pending))
        with shown as advance, contextlib.closing(answers):
            for unit, answer in answers:
                if isinstance(answer, ItemFailure):
                    failed[unit.key] = answer.reason
                else:
                    self.journal.add(unit, answer if chosen is threads else without_seconds(answer))
                advance()
        in_order = {unit.key: failed[unit.key] for unit in self.units if unit.key in failed}
        for key, reason in in_order.items() if self.measurement.complete else ():
            raise OSError(f"{len(failed)} of {len(self.units)} units have failed, the first is {key}: {reason}")
        return Rows(self.journal, self.units), in_order


def run_measurement(measurement: Measurement, setup: Setup, journal: Path | None, **settings: Any) -> RunSummary:
    """Run a measurement; ``settings`` are those of :meth:`Run.execute`. Without a finished unit, raise a ValueError."""
    started = time.perf_counter()
    with open_run(measurement, setup, journal) as run:
        rows, failed = run.execute(**settings)
        if len(failed) == len(run.units):
            raise ValueError("; ".join(failure_notes(failed)))
        report = measurement.report(run.setup, rows)
        entries = {"tables": {name: to_document(table) for name, table in report.tables.items()}, **report.records}
        if not (report.tables or measurement.tables):
            report.tables["rows"] = rows_table(rows)
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
    opened = Journal(journal, fingerprint(measurement, setup, data))
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
