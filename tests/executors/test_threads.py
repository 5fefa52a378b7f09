"""Threads: answers come in the order of the items, whatever each of them takes, and failures are their own."""

import threading
from typing import Any

import pytest

from bansac.executors import ItemFailure, short_items, threads
from bansac.executors.threads import in_order
from tests.executors.cluster import refuse_odd


def test_a_slow_item_does_not_hold_back_the_work_behind_it() -> None:
    others = threading.Barrier(2)

    def work(index: int, item: str) -> str:
        if index in (0, 7):  # the first one ends when the last one is at work
            others.wait(timeout=60)
        return item

    assert "".join(in_order(work, iter("abcdefgh"), 2, 8)) == "abcdefgh"


def test_an_answer_does_not_wait_for_long_for_those_behind_it() -> None:
    go = threading.Event()

    def work(index: int, item: int) -> int:
        if index > 0:
            go.wait(timeout=60)
        return item

    answers = in_order(work, range(20), 2, 10)
    assert next(answers) == 0  # though half of what is pending is not done
    go.set()
    assert list(answers) == list(range(1, 20))


def test_what_waits_is_dropped_when_the_caller_leaves() -> None:
    begun, go = [], threading.Event()

    def work(index: int, item: int) -> int:
        begun.append(index)
        if index > 0:
            go.wait(timeout=60)
        return index

    answers = in_order(work, range(100), 2, 20)
    assert next(answers) == 0
    answers.close()
    go.set()
    for thread in threading.enumerate():
        if thread.name.startswith("bansac-"):
            thread.join(timeout=60)
    assert len(begun) <= 4


def test_items_come_in_order_and_failures_are_their_own() -> None:
    expected = [(k, ItemFailure(f"{k} is odd") if k % 2 else k) for k in range(50)]
    for workers in (1, 3):
        assert list(threads.run(refuse_odd, range(50), workers)) == expected


def test_short_items_stay_in_threads_where_processes_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(context: Any) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("multiprocessing.context.BaseContext.Lock", refuse)
    monkeypatch.setattr(short_items, "_SECONDS", 0.0)
    assert [value for _, value in short_items.run(abs, range(-99, 0), 2)] == list(range(99, 0, -1))


def test_an_error_of_the_program_names_the_item() -> None:
    with pytest.raises(TypeError) as caught:
        list(threads.run(refuse_odd, [0, "many"], 2))
    assert caught.value.__notes__ == ["in many"]
