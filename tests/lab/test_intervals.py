"""Intervals by the bootstrap: known means, and the width for known variances."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bansac.lab.summary import TIME, Summary, bootstrap, lead

PAIRS, REPEATS = 40, 5


def summary_of(seconds: Callable[[str, int, int], float]) -> Summary:
    """Return a summary of two sets whose times are ``seconds(configuration, pair, repeat)``."""
    return Summary(
        {
            "model": "E",
            "set": name,
            "pair": str(pair),
            "repeat": str(repeat),
            "configuration": configuration,
            "seconds": seconds(configuration, pair, repeat),
        }
        for name in ("yard", "room")
        for pair in range(PAIRS)
        for repeat in range(REPEATS)
        for configuration in ("a", "b", "c")
    )


def test_a_constant_difference_has_no_interval() -> None:
    offsets = {"a": 0.001, "b": 0.003, "c": 0.005}
    summary = summary_of(lambda name, pair, repeat: offsets[name] + 0.01 * pair)
    found = lead(bootstrap(summary, TIME, "E", ["a", "b", "c"]), TIME, "a", ["b", "c"])
    assert found.value == pytest.approx(2.0)  # milliseconds; a shorter time is ahead
    assert found.error == pytest.approx(0.0, abs=1e-9)
    behind = lead(bootstrap(summary, TIME, "E", ["a", "b", "c"]), TIME, "b", ["a", "c"])
    assert behind.value == pytest.approx(-2.0)


@pytest.mark.parametrize("of_pairs", [True, False])
def test_the_interval_has_the_width_of_the_standard_error(of_pairs: bool) -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 1e-3, (2, PAIRS, REPEATS))
    noise = np.repeat(noise[:, :, :1], REPEATS, axis=2) if of_pairs else noise
    summary = summary_of(lambda name, pair, repeat: 0.1 + noise["ab".find(name), pair, repeat])
    error = lead(bootstrap(summary, TIME, "E", ["a", "b"]), TIME, "a", ["b"]).error
    difference = 1e3 * (noise[0] - noise[1])
    standard = difference.mean(axis=1).std() / np.sqrt(2 * PAIRS)  # of the mean of two sets
    assert 1.8 * standard < error < 2.1 * standard


def test_missing_times_are_left_out() -> None:
    summary = summary_of(lambda name, pair, repeat: 0.002 if repeat == 0 else float("nan"))
    means = bootstrap(summary, TIME, "E", ["a", "b"])
    assert np.allclose(means["a"], 2.0)
