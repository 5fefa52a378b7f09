"""Runs an experiment: all units in one or more processes, the times in a pass of their own, a journal throughout.

With one worker, errors and times come from the same pass. With more, the machine is busy: the seconds of that pass are
dropped, and the units of repeat 0 run again afterwards, one after the other, for their seconds alone. Errors do not
depend on the number of workers, nor on where an earlier run was interrupted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import hashlib
import json
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from bansac.evaluation.bench import source_digest
from bansac.evaluation.bench_report import installed_versions, machine
from bansac.evaluation.experiment import Experiment, Report, Row, Setup, Unit
from bansac.evaluation.files import OutputFolder
from bansac.evaluation.journal import Journal, Rows
from bansac.evaluation.output import data_fingerprint, write_report, write_rows
from bansac.evaluation.workers import Failure, run_here, run_in_workers

__all__ = ["Outcome", "Progress", "run_experiment"]

Progress = Callable[[str, int, int], AbstractContextManager[Callable[[], None]]]
"""``progress(what, total, done)`` is entered at the start of a pass and gives a function to be called at each unit."""

# The notes tell why of so many failed units.
_NOTED_FAILURES = 10


@dataclass(frozen=True)
class Outcome:
    """What a run has given.

    Parameters
    ----------
    report : Report
        Tables, figures and notes.
    document : dict
        The content of ``run.json``.
    failed : dict of str to str
        Units without rows or without the times that they should have, and why.
    """

    report: Report
    document: dict[str, Any]
    failed: dict[str, str]


@contextlib.contextmanager
def _silence(what: str, total: int, done: int) -> Iterator[Callable[[], None]]:
    yield lambda: None


def run_experiment(
    experiment: Experiment,
    setup: Setup,
    folder: OutputFolder,
    *,
    workers: int = 1,
    progress: Progress = _silence,
) -> Outcome:
    """Run an experiment and write its results.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    setup : Setup
        The settings.
    folder : OutputFolder
        Where the results go. A journal that an interrupted run with the same settings, data and source has left there
        is taken over.
    workers : int, optional
        Number of processes; with 1 everything runs in this one.
    progress : callable, optional
        Shows how far it is.

    Returns
    -------
    Outcome
        Report and settings.

    Raises
    ------
    ValueError
        If a setting makes no sense, or nothing came out.
    OSError
        If the data cannot be read or the results cannot be written.
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    experiment.check(setup)
    started = time.perf_counter()
    units = experiment.units(setup)
    sets = experiment.sets(setup) if setup.data is not None and experiment.sets is not None else []
    data = data_fingerprint(setup.data, sets)
    with Journal(folder.path, _fingerprint(experiment, setup, data)) as journal:
        resumed = sum(unit in journal for unit in units)
        failed = _run_units(experiment, setup, units, journal, workers, progress)
        rows = Rows(journal, units)
        if not any(True for _ in rows):
            raise ValueError(f"{experiment.name}: no unit gave a row; {_first_reason(failed)}")
        write_rows(folder, "runs.csv", rows)
        report = experiment.report(setup, rows)
        report.notes += _failure_notes(failed)
        write_report(folder, report)
    document = {
        "experiment": experiment.name,
        "title": experiment.title,
        "reference": experiment.reference,
        "defaults": experiment.defaults,
        "settings": _plain_settings(setup),
        "seed": setup.seed,
        "workers": workers,
        "units": len(units),
        "resumed": resumed,
        "failed": failed,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seconds": time.perf_counter() - started,
        "versions": installed_versions([]),
        "machine": machine(),
        "data": data,
        "source": source_digest(),
        "notes": report.notes,
    }
    folder.write_json("run.json", document)
    return Outcome(report, document, failed)


def _run_units(
    experiment: Experiment, setup: Setup, units: list[Unit], journal: Journal, workers: int, progress: Progress
) -> dict[str, str]:
    """Run what the journal lacks; return the units that failed, and why."""
    if len({unit.key for unit in units}) < len(units):
        raise ValueError(f"{experiment.name}: the keys of the units must all be different")
    pending = [unit for unit in units if unit not in journal]
    if pending:
        _warm_up(experiment, setup, pending)
    alone = workers == 1
    failed: dict[str, str] = {}
    answers = _run(experiment, setup, pending, workers)
    with progress("units", len(units), len(units) - len(pending)) as advance, contextlib.closing(answers):
        for unit, answer in answers:
            if isinstance(answer, Failure):
                failed[unit.key] = answer.reason
            else:
                journal.add(unit, answer, timed=alone)
            advance()
    return failed | _take_times(experiment, setup, units, journal, progress, warm=bool(pending))


def _run(
    experiment: Experiment, setup: Setup, units: list[Unit], workers: int
) -> Generator[tuple[Unit, list[Row] | Failure], None, None]:
    if workers == 1:
        return ((unit, run_here(experiment, setup, unit)) for unit in units)
    return run_in_workers(experiment, setup, units, workers)


def _take_times(
    experiment: Experiment, setup: Setup, units: list[Unit], journal: Journal, progress: Progress, *, warm: bool
) -> dict[str, str]:
    """Run again, one after the other, the timed units that ran beside others; return those that failed, and why."""
    failed: dict[str, str] = {}
    pending = [unit for unit in units if journal.lacks_times(unit)]
    if not pending:
        return failed
    if not warm:
        _warm_up(experiment, setup, pending)
    with progress("times", len(pending), 0) as advance:
        for unit in pending:
            answer = run_here(experiment, setup, unit)
            if isinstance(answer, Failure):
                failed[unit.key] = f"when its times were taken: {answer.reason}"
            else:
                journal.add_times(unit, answer)
            advance()
    return failed


def _warm_up(experiment: Experiment, setup: Setup, units: Sequence[Unit]) -> None:
    """Load or compile the kernels here: for the times, and so that workers find them in Numba's cache."""
    if experiment.warm_up is not None:
        experiment.warm_up(setup, units)
    else:
        next((unit for unit in units if not isinstance(run_here(experiment, setup, unit), Failure)), None)


def _fingerprint(experiment: Experiment, setup: Setup, data: dict[str, Any]) -> str:
    """Return a digest of all that rows depend on; where the data lie is not among it."""
    settings = _plain_settings(setup) | {"data": data.get("sha256")}
    parts = [experiment.name, settings, source_digest(), installed_versions([])]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _plain_settings(setup: Setup) -> dict[str, Any]:
    settings = {field.name: getattr(setup, field.name) for field in dataclasses.fields(setup)}
    return settings | {"data": str(setup.data) if setup.data is not None else None, "extra": dict(setup.extra)}


def _failure_notes(failed: dict[str, str]) -> list[str]:
    notes = [f"unit {key} failed: {reason}" for key, reason in list(failed.items())[:_NOTED_FAILURES]]
    more = len(failed) - len(notes)
    return [*notes, f"{more} more units failed; run.json has them all"] if more else notes


def _first_reason(failed: dict[str, str]) -> str:
    for key, reason in failed.items():
        return f"unit {key}: {reason}"
    return "the data hold too little for it"
