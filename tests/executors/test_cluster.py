import functools
import importlib
import itertools
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import distributed
import pytest

from bansac.executors import ItemFailure
from bansac.executors import cluster as module
from bansac.executors.cluster import ClusterExecutor
from tests.clusters import worker_processes
from tests.executors import cluster as works

pytestmark = pytest.mark.slow


@pytest.fixture
def executor(cluster: str) -> ClusterExecutor:
    return ClusterExecutor(cluster, chunk_seconds=0.05)


def test_every_item_is_done_once_and_failures_are_its_own(executor: ClusterExecutor) -> None:
    assert sorted(executor.run(works.square, range(50), 1)) == [(k, k * k) for k in range(50)]
    answers = dict(executor.run(works.refuse_odd, range(20), 1))
    assert answers == {k: ItemFailure(f"{k} is odd") if k % 2 else k for k in range(20)}


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGKILL")
def test_a_killed_worker_costs_nothing(executor: ClusterExecutor, cluster: str) -> None:
    answers = executor.run(works.square, range(300), 1)
    found = list(itertools.islice(answers, 20))
    os.kill(worker_processes(cluster)[0], signal.SIGKILL)
    found += answers
    assert sorted(found) == [(k, k * k) for k in range(300)]


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGKILL")
def test_an_item_that_always_kills_is_given_up_alone(executor: ClusterExecutor) -> None:
    answers = dict(executor.run(works.kill_at_five, range(12), 1))
    assert answers.pop(5) == ItemFailure("its workers died again and again, with nothing beside it")
    assert answers == {k: k for k in range(12) if k != 5}


def test_few_items_are_under_way(executor: ClusterExecutor) -> None:
    taken = 0

    def count() -> Any:
        nonlocal taken
        for number in itertools.count():
            taken += 1
            yield number

    answers = executor.run(works.square, count(), 1)
    done = len(list(itertools.islice(answers, 60)))
    largest = 0.05 / 0.002
    assert taken <= done + 5 * largest
    answers.close()


def test_closing_drops_what_waits(executor: ClusterExecutor, tmp_path: Path) -> None:
    marks = [str(tmp_path / str(k)) for k in range(40)]
    answers = executor.run(works.mark_and_sleep, marks, 1)
    next(answers)
    started = len(list(tmp_path.iterdir()))
    answers.close()
    time.sleep(0.6)
    assert len(list(tmp_path.iterdir())) <= started + 2
    assert dict(executor.run(works.square, [3], 1)) == {3: 9}


def test_an_error_of_the_program_ends_the_run(executor: ClusterExecutor) -> None:
    with pytest.raises(RuntimeError, match=r"0: UnloadableError\('one'\)"):
        list(executor.run(works.be_wrong, [0], 1))


def test_workers_with_other_code_are_refused(executor: ClusterExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    here = module._code("tests")
    monkeypatch.setattr(module, "_code", lambda package: {**here, "numpy": "1.0"})
    with pytest.raises(
        OSError, match=rf"another version than this command: numpy {re.escape(here['numpy'])} instead of 1\.0$"
    ):
        list(executor.run(works.square, [0], 1))


def test_the_package_of_the_work_function_must_be_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    digests = []
    for line in ("def run(item): return item", "def run(item): return -item"):
        package = tmp_path / "works" / "inner"
        package.mkdir(parents=True, exist_ok=True)
        (package.parent / "__init__.py").touch()
        (package / "__init__.py").write_text(line)
        work = functools.partial(importlib.import_module("works.inner").run)
        module._code.cache_clear()
        assert module._package_of(work) == "works"
        digests.append(module._code("works"))
    assert {name for name in digests[0] if digests[0][name] != digests[1][name]} == {"source of works"}
    assert module._code("__main__") == {name: digests[0][name] for name in digests[0] if name != "source of works"}


def test_a_cluster_without_workers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as empty:
        executor = ClusterExecutor(empty.scheduler_address)
        with pytest.raises(OSError, match="no workers"):
            list(executor.run(works.square, [0], 1))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nowhere"])
def test_a_wrong_address_is_named(address: str) -> None:
    with pytest.raises(OSError, match=f"scheduler '{address}' cannot be reached"):
        ClusterExecutor(address)


@pytest.mark.parametrize(
    ("wanted", "seconds", "items", "size"),
    [(2.0, 1.0, 8, 16), (2.0, 0.0, 8, 16), (2.0, 4.0, 8, 4), (2.0, 99.0, 1, 1), (0.0, 0.1, 1, 1)],
)
def test_chunks_take_the_time_that_is_wanted(wanted: float, seconds: float, items: int, size: int) -> None:
    assert module._chunk_size(wanted, seconds, items) == size
