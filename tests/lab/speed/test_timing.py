"""The least time of calls that take turns, on a clock of the test's own."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bansac.lab.measurements.speed import timing


@pytest.fixture
def clock(monkeypatch):
    """Replace the clocks by one that moves only where ``clock.now`` is set."""
    clock = SimpleNamespace(now=0.0)
    read = lambda: clock.now  # noqa: E731
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=read, thread_time=read))
    return clock


def test_the_least_time_counts_and_the_first_call_does_not(clock):
    took = {"a": iter([0.01, 5.0, 3.0, 2.0, 4.0]), "b": iter([0.01, 1.0, 7.0, 6.0, 0.5])}
    order = []

    def call(name):
        order.append(name)
        clock.now += next(took[name])

    calls = {name: lambda name=name: call(name) for name in took}
    assert timing.least_seconds(calls, seconds=22.0) == pytest.approx({"a": 2.0, "b": 0.5})
    assert "".join(order) == "aabb" + "ababab", "in turn"


def test_short_calls_are_timed_in_batches(clock):
    made = []

    def call():
        made.append(clock.now)
        clock.now += 1e-5

    assert timing.least_seconds({"short": call}, seconds=0.003) == pytest.approx({"short": 1e-5})
    assert len(made) == 2 + 2 * 200, "two batches of 2 ms"


def test_a_call_of_some_ms_is_timed_with_its_own_data_in_the_caches(clock):
    """After the call of another it takes twice as long."""
    made = []

    def call(name):
        clock.now += 0.005 if made and made[-1] == name else 0.01
        made.append(name)

    calls = {name: lambda name=name: call(name) for name in "ab"}
    assert timing.least_seconds(calls, seconds=0.03) == pytest.approx({"a": 0.005, "b": 0.005})
    assert "".join(made) == "aabb" + "aabb"


def test_a_long_call_is_made_twice(clock):
    made = []

    def call():
        made.append(1)
        clock.now += 10.0

    assert timing.least_seconds({"long": call}, seconds=0.0) == {"long": 10.0}
    assert len(made) == 2
