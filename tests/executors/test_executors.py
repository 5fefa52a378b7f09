import functools
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bansac.executors import Executor, ItemFailure, processes, threads
from bansac.executors.processes import ATTEMPTS
from bansac_lab.measurement import Measurement, Setup
from lab.tests import toy
from tests.executors.cluster import UnloadableError
from tests.processes import ENVIRONMENT

pytestmark = pytest.mark.slow


def run(experiment: Measurement, workers: int = 2, executor: Executor = processes, **extra: Any) -> dict[str, Any]:
    setup = Setup(**extra)
    work = functools.partial(experiment.run_unit, setup)
    return {unit.key: a for unit, a in executor.run(work, experiment.units(setup), workers)}


@pytest.mark.parametrize("executor", [threads, processes])
def test_all_units_are_run_once(executor: Executor, tmp_path: Path) -> None:
    answers = run(toy.make_toy(), executor=executor, units=9, calls=str(tmp_path / "calls"))
    assert sorted(answers) == [f"unit {i}" for i in range(9)]
    assert answers["unit 3"][0]["number"] == 3
    assert sorted((tmp_path / "calls").read_text().split()) == [str(i) for i in range(9)]


def test_more_workers_than_units() -> None:
    assert len(run(toy.make_toy(), workers=3, units=1)) == 1


def test_unit_of_a_killed_worker_is_tried_again(tmp_path: Path) -> None:
    answers = run(toy.make_toy(), marks=str(tmp_path), deaths={"2": 1, "4": ATTEMPTS - 1})
    assert len(answers) == 6
    assert not any(isinstance(answer, ItemFailure) for answer in answers.values())
    assert (tmp_path / "deaths-2").exists()


def test_worker_that_dies_without_a_unit_is_replaced() -> None:
    experiment = toy.make_toy()
    setup = Setup()
    answers = processes.run(functools.partial(experiment.run_unit, setup), experiment.units(setup), 1)
    found = [next(answers)]
    (worker,) = multiprocessing.active_children()
    worker.kill()
    worker.join()
    found += answers
    assert [unit.key for unit, _ in found] == [f"unit {i}" for i in range(6)]
    assert not any(isinstance(answer, ItemFailure) for _, answer in found)


def test_unit_that_always_kills_is_given_up(tmp_path: Path) -> None:
    answers = run(toy.make_toy(), marks=str(tmp_path), deaths={"0": 99})
    assert answers.pop("unit 0") == ItemFailure("its worker died 3 times, the last time by SIGKILL")
    assert len(answers) == 5
    assert len((tmp_path / "deaths-0").read_text()) == ATTEMPTS


def test_exception_of_a_unit_comes_through(tmp_path: Path) -> None:
    (tmp_path / "raises-3").touch()
    with pytest.raises(RuntimeError, match="unit 3 is a mistake") as caught:
        run(toy.make_toy(), marks=str(tmp_path))
    assert "in unit unit 3" in caught.value.__notes__[0]
    assert "in run_unit" in str(caught.value.__cause__), "the traceback of the worker"


def test_exception_that_cannot_be_sent_comes_through_as_its_text() -> None:
    with pytest.raises(RuntimeError, match=r"unit unit 1: UnloadableError\('one'\)"):
        run(toy.make_toy(run_unit=raise_unloadable))


def raise_unloadable(setup: Setup, unit: Any) -> Any:
    if unit.payload[0] == 1:
        raise UnloadableError("one", "two")
    return []


@pytest.mark.parametrize("error", [ValueError, OSError])
@pytest.mark.parametrize("executor", [threads, processes])
def test_unit_with_bad_data_fails_and_the_others_go_on(executor: Executor, error: type[Exception]) -> None:
    answers = run(toy.make_toy(), executor=executor, refuses=(1, 3), error=error)
    assert answers.pop("unit 1") == ItemFailure("unit 1 is not for me")
    assert answers.pop("unit 3") == ItemFailure("unit 3 is not for me")
    assert [len(rows) for rows in answers.values()] == [2] * 4


class OnlyHere:
    """Can be pickled, but not loaded in another process."""

    def __reduce__(self) -> Any:
        return _only_here, (_HERE,)


_HERE = os.getpid()


def _only_here(process: int) -> OnlyHere:
    if process != _HERE:
        raise SystemExit(7)
    return OnlyHere()


def test_worker_that_cannot_start_is_an_error() -> None:
    with pytest.raises(OSError, match="could not start, it left with exit code 7"):
        run(toy.make_toy(options=("units", "bad")), bad=OnlyHere())


def test_closing_ends_the_workers_at_once(tmp_path: Path) -> None:
    experiment = toy.make_toy(run_unit=sleep_after_the_first)
    setup = Setup()
    answers = processes.run(functools.partial(experiment.run_unit, setup), experiment.units(setup), 2)
    assert next(answers)[0].key == "unit 0"
    started = time.monotonic()
    answers.close()
    assert time.monotonic() - started < 60
    assert not multiprocessing.active_children()


def sleep_after_the_first(setup: Setup, unit: Any) -> Any:
    if unit.payload[0] > 0:
        time.sleep(600)
    return []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_workers_leave_if_their_parent_is_killed(tmp_path: Path) -> None:
    script = "from tests.executors import test_executors as t; t.run(t.toy.make_toy(run_unit=t.tell_and_sleep))"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as parent:
        assert parent.stdout is not None
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        parent.send_signal(signal.SIGKILL)
    for _ in range(600):
        if not any(alive(worker) for worker in workers):
            return
        time.sleep(0.1)
    pytest.fail("a worker is still there")


def tell_and_sleep(setup: Setup, unit: Any) -> Any:
    print(os.getpid(), flush=True)
    time.sleep(600)


def alive(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
