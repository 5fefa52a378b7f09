"""Results that agree in every field."""

import dataclasses

import numpy as np

from bansac.engine.trace import Trace


def assert_same(first, second, *, timed=False):
    """Check that all fields have the same type and the same bits, by default except the times of the runs."""
    for field in dataclasses.fields(first):
        if timed or field.name not in ("seconds", "loading_seconds"):
            assert_same_bits(getattr(first, field.name), getattr(second, field.name), field.name)


def assert_same_bits(first, second, name=""):
    """Check numbers, texts and arrays, and the parts of poses, of rivals and of traces."""
    assert type(first) is type(second), name
    if isinstance(first, Trace):
        first, second = vars(first), vars(second)
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for key, value in first.items():
            assert_same_bits(value, second[key], f"{name} {key}")
    elif isinstance(first, tuple):
        for one, other in zip(first, second, strict=True):
            assert_same_bits(one, other, name)
        if hasattr(first, "__dict__"):  # the camera matrices of a pose
            assert_same_bits(vars(first), vars(second), name)
    else:
        one, other = np.asarray(first), np.asarray(second)
        assert one.dtype == other.dtype, name
        assert one.shape == other.shape, name
        assert one.tobytes() == other.tobytes(), name
