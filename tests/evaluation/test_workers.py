from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bansac.evaluation.workers import ATTEMPTS, Failure, run_in_workers

from bansac.evaluation.experiment import Experiment, Setup
from tests.evaluation import toy


def run(experiment: Experiment, workers: int = 2, **extra: Any) -> dict[str, Any]:
    setup = Setup(extra=extra)
    return {unit.key: answer for unit, answer in run_in_workers(experiment, setup, experiment.units(setup), workers)}


def test_all_units_are_run_once(tmp_path: Path) -> None:
    answers = run(toy.make_toy(), units=9, calls=str(tmp_path / "calls"))
    assert sorted(answers) == [f"unit {i}" for i in range(9)]
    assert answers["unit 3"][0]["number"] == 3
    assert sorted((tmp_path / "calls").read_text().split()) == [str(i) for i in range(9)]


def test_more_workers_than_units() -> None:
    assert len(run(toy.make_toy(), workers=3, units=1)) == 1


def test_unit_of_a_killed_worker_is_tried_again(tmp_path: Path) -> None:
    answers = run(toy.make_toy(), marks=str(tmp_path), deaths={"2": 1, "4": ATTEMPTS - 1})
    assert len(answers) == 6
    assert not any(isinstance(answer, Failure) for answer in answers.values())
    assert (tmp_path / "deaths-2").exists()


def test_unit_that_always_kills_is_given_up(tmp_path: Path) -> None:
    answers = run(toy.make_toy(), marks=str(tmp_path), deaths={"0": 99})
    assert answers.pop("unit 0") == Failure("its worker died 3 times, the last time by SIGKILL")
    assert len(answers) == 5
    assert len((tmp_path / "deaths-0").read_text()) == ATTEMPTS


def test_exception_of_a_unit_comes_through(tmp_path: Path) -> None:
    (tmp_path / "raises-3").touch()
    with pytest.raises(RuntimeError, match="unit 3 is a mistake") as caught:
        run(toy.make_toy(), marks=str(tmp_path))
    assert "in unit unit 3 of toy" in caught.value.__notes__[0]


@pytest.mark.parametrize("error", [ValueError, OSError])
def test_unit_with_bad_data_fails_and_the_others_go_on(error: type[Exception]) -> None:
    answers = run(toy.make_toy(), refuses=(1, 3), error=error)
    assert answers.pop("unit 1") == Failure("unit 1 is not for me")
    assert answers.pop("unit 3") == Failure("unit 3 is not for me")
    assert [len(rows) for rows in answers.values()] == [2] * 4


class Unloadable:
    """Can be pickled, but not in another process."""

    def __reduce__(self) -> Any:
        return _only_here, (_HERE,)


_HERE = __import__("os").getpid()


def _only_here(process: int) -> Unloadable:
    if process != _HERE:
        raise SystemExit(7)
    return Unloadable()


def test_worker_that_cannot_start_is_an_error() -> None:
    with pytest.raises(OSError, match="could not start, it left with exit code 7"):
        run(toy.make_toy(options=("units", "bad")), bad=Unloadable())
