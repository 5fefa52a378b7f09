"""The least time of calls that take turns, on a clock of the test's own; and their memory."""

import importlib
import os
import sys
from types import SimpleNamespace

import pytest

from bansac_lab import timing
from bansac_lab.timing import peak_in_process, peak_of_call


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


LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the resident set is read from /proc")


MODULE = """
import numpy as np

from bansac_lab.timing import peak_of_call
from bansac.compiled.jit import kernel


@kernel
def fill(n):
    values = np.empty(n)
    for k in range(n):
        values[k] = k
    return values[n - 1]


def peak(name):
    make = {"ones": np.ones, "fill": fill, "nothing": lambda n: None}[name]
    make(10)
    return peak_of_call(lambda: make(5_000_000))
"""


@pytest.mark.slow
@LINUX
def test_memory_of_numpy_and_of_kernels_counts(tmp_path, monkeypatch):
    # in processes of their own: this one may have freed that much before, and takes it again without growing
    (tmp_path / "makes.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    peak = importlib.import_module("makes").peak
    assert peak_in_process(peak, "ones") == pytest.approx(40e6, rel=0.05)
    assert peak_in_process(peak, "fill") == pytest.approx(40e6, rel=0.05)
    assert peak_in_process(peak, "nothing") < 1e6


def test_it_is_not_known_without_proc(tmp_path, monkeypatch):
    monkeypatch.setattr(timing, "_PROCESS", tmp_path)
    called = []
    assert peak_of_call(lambda: called.append(1)) is None
    assert not called


def test_another_process_returns_freed_memory_at_once():
    assert peak_in_process(os.getpid) != os.getpid()
    (name, value), *_ = timing._ENVIRONMENT.items()
    assert peak_in_process(os.getenv, name) == value
    assert name not in os.environ
