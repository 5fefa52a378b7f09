"""Answers come in the order of the items, whatever each of them takes."""

from __future__ import annotations

import threading

from bansac.executors.threads import in_order


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
