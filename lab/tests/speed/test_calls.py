"""Whole calls: which are measured, and what follows from their times."""

import sys

import pytest

from bansac_lab.measurements.speed import calls
from bansac_lab.measurements.speed.kernels import make_task
from bansac_lab.peers.library import Method
from lab.tests.peers.toy import Toy


@pytest.fixture
def grow(monkeypatch):
    """Let a call of a method take its factor times N seconds, and count the calls."""
    made = []

    def least_seconds(given, seconds):
        for call in given.values():
            call()
        return {name: made[-len(given) + k] for k, name in enumerate(given)}

    def method(name, factor, exponent=1.0):
        return Method(name, library=Toy(answer=lambda task, _: made.append(factor * len(task.x1) ** exponent)))

    monkeypatch.setattr(calls, "least_seconds", least_seconds)
    return method


def test_slow_methods_are_left_out_from_a_size_on(grow):
    methods = {"bansac": grow("bansac", 1e-6, 0.5), "slow": grow("slow", 1e-3), "slower": grow("slower", 1e-1)}
    found = calls._over_sizes([make_task("H", n, 0.8) for n in (10, 1_000, 10_000, 40_000)], methods, 0.0)
    assert {name: list(times) for name, times in found["ms"].items()} == {
        "bansac": ["10", "1000", "10000", "40000"],
        "slow": ["10", "1000"],
        "slower": ["10"],
    }
    assert found["ms"]["slow"]["1000"] == 1e3
    assert found["slope"] == pytest.approx(0.5)


def test_a_slope_needs_two_large_sizes(grow):
    found = calls._over_sizes([make_task("H", n, 0.8) for n in (10, 10_000)], {"bansac": grow("bansac", 1.0)}, 0.0)
    assert found["slope"] is None


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the resident set is read from /proc")
@pytest.mark.parametrize("name", ["ten", "default"])
def test_memory_of_a_call_is_in_proportion_to_the_matches(name):
    assert calls._bytes("H", 1_000, name) == {}
    (count, found), *others = calls._bytes("H", 200_000, name).items()
    assert not others
    assert count == "200000"
    assert 30 < found < 300  # the data themselves are 32 bytes


def test_peers_are_chosen():
    assert list(calls._methods("default", ())) == ["bansac"]
    assert list(calls._methods("default", ("poselib", "opencv"))) == ["bansac", "opencv-magsac", "poselib-prosac"]
    assert list(calls._methods("ten", ("poselib",))) == ["bansac"]
