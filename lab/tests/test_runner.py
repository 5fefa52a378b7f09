import contextlib
import csv
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bansac.batch.output_files import OutputFolder
from bansac.executors import processes
from bansac_lab.measurement import DATA, EXCLUDE, MODEL, PAIRS, RUNS, SETS, Setup, Unit
from bansac_lab.runner import RunSummary, run_experiment
from lab.tests import toy
from tests.processes import count_units


class Run:
    """Runs the toy experiment and counts the calls of its units."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls = folder / "calls"
        folder.mkdir(exist_ok=True)

    def __call__(self, out: str = "out", *, workers: int = 1, seed: int = 0, **options: Any) -> RunSummary:
        self.calls.write_text("")
        extra = {"calls": str(self.calls), "marks": str(self.folder), **options.pop("extra", {})}
        experiment = toy.make_toy(**options.pop("changes", {}))
        folder = OutputFolder(self.folder / out)
        return run_experiment(experiment, Setup(seed=seed, **extra), folder, workers=workers, **options)

    def made(self) -> list[int]:
        return [int(line) for line in self.calls.read_text().split()]

    def rows(self, out: str = "out") -> list[dict[str, str]]:
        with (self.folder / out / "runs.csv").open(encoding="utf-8") as file:
            return list(csv.DictReader(file))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def without_seconds(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{column: value for column, value in row.items() if column != "seconds"} for row in rows]


def test_outputs(run: Run, tmp_path: Path) -> None:
    outcome = run()
    files = {path.name for path in (tmp_path / "out").iterdir() if path.suffix != ".sqlite"}
    assert files == {"runs.csv", "run.json", "toy.json", "toy.md", "numbers.csv"}
    rows = run.rows()
    assert [row["number"] for row in rows] == [str(i) for i in range(6) for _ in "ab"]
    assert all(float(row["seconds"]) >= 0 for row in rows)
    document = json.loads((tmp_path / "out" / "run.json").read_text())
    assert document["experiment"] == "toy"
    assert document["settings"]["seed"] == document["seed"] == 0
    assert document["units"] == 6
    assert document["resumed"] == 0
    assert document["failed"] == {}
    assert document["notes"] == ["a note"]
    assert {"python", "bansac", "numpy", "numba"} <= document["versions"].keys()
    assert document["machine"]["cores"] >= 1
    assert document["seconds"] > 0
    assert document["date"].endswith("+00:00")
    assert document["data"] == {}
    assert len(document["source"]) == 64
    assert outcome.document["units"] == 6


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"workers": 2}, {"executor": processes}])
def test_workers_give_the_same_errors_and_no_times(run: Run, settings: dict[str, Any]) -> None:
    run("one", workers=1)
    run("two", **settings)
    assert without_seconds(run.rows("one")) == without_seconds(run.rows("two"))
    assert all(row["seconds"] for row in run.rows("one"))
    assert not any(row["seconds"] for row in run.rows("two"))
    assert len(run.made()) == 1 + 6  # the warm-up and the units


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_interrupted_run_goes_on(run: Run, workers: int) -> None:
    run("whole", workers=workers)
    with pytest.raises(KeyboardInterrupt):
        run("broken", workers=workers, progress=toy.stop_after(3))
    outcome = run("broken", workers=workers)
    assert outcome.document["resumed"] == 3
    assert len(run.made()) == 1 + 3
    assert without_seconds(run.rows("broken")) == without_seconds(run.rows("whole"))


def test_finished_run_is_not_run_again_but_other_settings_are(run: Run) -> None:
    run()
    run()
    assert run.made() == []
    run(seed=1)
    assert len(run.made()) == 7
    run()
    assert run.made() == [], "and the first one is still there"


@pytest.mark.slow
def test_progress_tells_what_is_done(run: Run) -> None:
    seen: list[tuple[str, int, int]] = []

    @contextlib.contextmanager
    def progress(what: str, total: int, done: int) -> Iterator[Callable[[], None]]:
        seen.append((what, total, done))
        yield lambda: None

    with pytest.raises(KeyboardInterrupt):
        run(progress=toy.stop_after(2), workers=2)
    run(progress=progress, workers=2)
    assert seen == [("units", 6, 2)]


@pytest.mark.slow
def test_failed_unit_is_reported_and_tried_again_later(run: Run, tmp_path: Path) -> None:
    extra = {"deaths": {"3": 3}}
    outcome = run(workers=2, extra=extra)
    assert list(outcome.failed) == ["unit 3"]
    assert "unit unit 3 failed: its worker died 3 times" in outcome.report.notes[-1]
    assert outcome.document["failed"] == outcome.failed
    assert "3" not in {row["number"] for row in run.rows()}
    outcome = run(workers=2, extra=extra)
    assert outcome.failed == {}
    assert "3" in {row["number"] for row in run.rows()}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_exception_of_a_unit_stops_the_run_and_keeps_what_is_done(run: Run, workers: int) -> None:
    mark = run.folder / "raises-5"
    mark.touch()
    with pytest.raises(RuntimeError, match="unit 5 is a mistake"):
        run(workers=workers)
    kept = count_units(run.folder / "out" / "journal.sqlite")
    assert kept >= 6 - workers  # all but the unit, and with two workers what the other one was at
    mark.unlink()
    outcome = run(workers=workers)
    assert outcome.document["resumed"] == kept
    assert len(run.made()) == 1 + (6 - kept)
    assert len(run.rows()) == 12


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_unit_with_bad_data_is_reported_and_the_others_go_on(run: Run, workers: int) -> None:
    extra = {"refuses": (0, 3)}
    outcome = run(workers=workers, extra=extra)
    assert outcome.failed == {f"unit {i}": f"unit {i} is not for me" for i in (0, 3)}
    assert outcome.report.notes[-2:] == [f"unit unit {i} failed: unit {i} is not for me" for i in (0, 3)]
    assert outcome.document["failed"] == outcome.failed
    assert {row["number"] for row in run.rows()} == {"1", "2", "4", "5"}
    again = run(workers=workers, extra=extra)
    assert again.document["resumed"] == 4
    assert set(run.made()) == {0, 3}, "only these are tried again"
    assert again.failed == outcome.failed


def test_notes_name_some_failures_and_count_the_others(run: Run) -> None:
    outcome = run(extra={"units": 20, "refuses": tuple(range(13))})
    assert len(outcome.failed) == 13
    assert outcome.report.notes[1:] == [
        *(f"unit unit {i} failed: unit {i} is not for me" for i in range(10)),
        "3 more units failed; the JSON document has them all",
    ]


def test_single_runs_are_there_even_if_the_report_fails(run: Run) -> None:
    with pytest.raises(ImportError, match="no Matplotlib"):
        run(changes={"report": fails})
    assert len(run.rows()) == 12


def fails(setup: Setup, rows: Any) -> Any:
    raise ImportError("no Matplotlib")


def test_units_need_different_keys(run: Run) -> None:
    with pytest.raises(ValueError, match="must all be different"):
        run(changes={"units": lambda setup: [Unit("a", (0,)), Unit("a", (1,))]})


def test_nothing_to_report_is_an_error(run: Run) -> None:
    with pytest.raises(ValueError, match="toy: no unit gave a row"):
        run(changes={"run_unit": lambda setup, unit: []})
    with pytest.raises(ValueError, match="toy: no unit gave a row"):
        run(extra={"units": 0})
    with pytest.raises(ValueError, match="toy: no unit gave a row; unit unit 0: unit 0 is not for me"):
        run(extra={"refuses": tuple(range(6))})


def test_warm_up_is_done_once_in_this_process(run: Run) -> None:
    warmed: list[list[str]] = []
    run(changes={"warm_up": lambda setup, units: warmed.append([unit.key for unit in units])})
    assert warmed == [[f"unit {i}" for i in range(6)]]
    assert len(run.made()) == 6


def test_missing_pandas_is_noticed_before_the_work(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"tables need pandas: pip install pandas"):
        run()
    assert run.made() == []


def test_settings_are_checked(run: Run) -> None:
    with pytest.raises(ValueError, match="--speed: toy takes no such option; it takes --units, --calls"):
        run(extra={"speed": 1})
    with pytest.raises(ValueError, match="repeats must be at least 1, got -1"):
        Setup(repeats=-1)


@pytest.mark.parametrize(
    ("name", "value"),
    [("data", Path()), ("sets", ("room",)), ("exclude", ("room",)), ("pairs", 3), ("repeats", 2), ("model", "E")],
)
def test_settings_that_would_be_ignored_are_refused(name: str, value: Any) -> None:
    setup = Setup(**{"data": Path()} | {name: value})
    everything = (DATA, SETS, EXCLUDE, PAIRS, RUNS, dataclasses.replace(MODEL, choices=("E",)))
    toy.make_toy(options=everything).resolve(setup)
    less = tuple(option for option in everything if option.name != name)
    with pytest.raises(ValueError, match=f"--{name}: toy takes no such option; it takes .*--seed"):
        toy.make_toy(options=less).resolve(setup)


def test_a_choice_of_pairs_needs_data() -> None:
    with pytest.raises(ValueError, match="--pairs chooses among image pairs: it needs --data"):
        toy.make_toy(options=(DATA, PAIRS)).resolve(Setup(pairs=3))


def test_defaults_of_a_measurement_replace_those_of_all():
    measurement = toy.make_toy(options=(DATA, dataclasses.replace(SETS, default=("one", "two"))))
    assert measurement.resolve(Setup()).sets == ("one", "two")
    assert measurement.resolve(Setup(data=Path(), sets=("three",))).sets == ("three",)
