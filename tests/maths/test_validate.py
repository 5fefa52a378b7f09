"""Checks whose functions no estimator calls with every kind of bad input."""

from __future__ import annotations

import pytest

from bansac.maths.validate import as_size, as_weights


def test_a_size_is_height_and_width():
    assert as_size("image_size1", [480.0, 640]) == (480, 640)


@pytest.mark.parametrize("value", [480, (480, 640, 3), (0, 640), (480.5, 640), (float("nan"), 640), "large"])
def test_a_bad_size_is_named(value):
    with pytest.raises(ValueError, match="image_size1 must be"):
        as_size("image_size1", value)


def test_weights_are_positive():
    assert as_weights("weights", [1, 2], 2).tolist() == [1, 2]
    with pytest.raises(ValueError, match="weights must be > 0, got -1"):
        as_weights("weights", [1, -1], 2)
