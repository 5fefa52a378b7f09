"""A stopwatch tells the run from the loading of kernels."""

import itertools

import pytest
from numba import config

from bansac.compiled import clock
from bansac.compiled.clock import Stopwatch, loading
from bansac.compiled.jit import kernel


@pytest.fixture
def ticking(monkeypatch):
    """Let a second pass whenever somebody looks at the clock."""
    monkeypatch.setattr(clock.time, "perf_counter", itertools.count().__next__)


@pytest.mark.usefixtures("ticking")
def test_each_moment_of_loading_counts_once():
    with loading():  # before the run
        pass
    watch = Stopwatch()  # 2
    with loading(), loading():  # 3, 4, to 5
        pass
    assert watch.read() == (6 - 2 - 2, 2)


@pytest.mark.usefixtures("ticking")
def test_loading_that_fails_counts_too():
    watch = Stopwatch()  # 0
    with pytest.raises(ZeroDivisionError), loading():  # 1 to 2
        raise ZeroDivisionError
    assert watch.read() == (3 - 1, 1)


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted: nothing is compiled")
def test_compiling_is_loading():
    function = kernel(lambda x: x + 1)
    watch = Stopwatch()
    function(1)
    first = watch.read()[1]
    assert first > 0
    function(2)
    assert watch.read()[1] == first
    function(2.0)
    assert watch.read()[1] > first
