"""Marks in the border of both images."""

from __future__ import annotations

import numpy as np
import pytest

from bansac.colmap import VerificationOptions
from bansac.colmap.watermark import is_watermark

SIZE = (600, 800)  # the border of a tenth of the diagonal is 100 px


def points(count: int, low: tuple[float, float], high: tuple[float, float]) -> np.ndarray:
    return np.random.default_rng(count).uniform(low, high, (count, 2))


MARK = points(70, (650, 520), (790, 590))
SCENE = points(30, (150, 150), (600, 400))


@pytest.mark.parametrize(("scene", "answer"), [(0, True), (29, True), (30, True)])
def test_a_mark_in_the_border(scene, answer):
    x1 = np.vstack([SCENE[:scene], MARK])
    assert is_watermark(x1, x1 + np.array([3.0, -2.0]), SIZE, SIZE, VerificationOptions()) is answer


def test_too_much_of_the_scene():
    x1 = np.vstack([SCENE, points(1, (300, 300), (310, 310)), MARK])
    assert not is_watermark(x1, x1, SIZE, SIZE, VerificationOptions())


def test_matches_in_the_border_that_move_in_many_ways():
    assert not is_watermark(MARK, MARK[::-1], SIZE, SIZE, VerificationOptions())


def test_a_mark_that_is_inside_of_the_other_image():
    assert not is_watermark(MARK, MARK - 300, SIZE, SIZE, VerificationOptions())
    assert is_watermark(MARK, MARK - 300, SIZE, (300, 600), VerificationOptions())


def test_the_error_of_the_translation():
    shaken = MARK + points(70, (-2.0, -2.0), (2.0, 2.0))
    assert is_watermark(MARK, shaken, SIZE, SIZE, VerificationOptions())
    assert not is_watermark(MARK, shaken, SIZE, SIZE, VerificationOptions(watermark_detection_max_error=0.2))


def test_no_matches():
    assert not is_watermark(np.empty((0, 2)), np.empty((0, 2)), SIZE, SIZE, VerificationOptions())
