"""Marks in the border of both images."""

import numpy as np
import pytest

from bansac.colmap import VerificationOptions
from bansac.colmap.selection import is_watermark

SIZE = (600, 800)  # the border of a tenth of the diagonal is 100 px


def points(count: int, low: tuple[float, float], high: tuple[float, float]) -> np.ndarray:
    return np.random.default_rng(count).uniform(low, high, (count, 2))


MARK = points(70, (650, 520), (790, 590))
SCENE = points(30, (150, 150), (600, 400))


FEW = np.vstack([SCENE, points(1, (300, 300), (310, 310)), MARK])
SHAKEN, SHAKEN_MORE = (MARK + points(70, (-a, -a), (a, a)) for a in (2.0, 20.0))
NONE, SHIFT = np.empty((0, 2)), np.array([3.0, -2.0])


@pytest.mark.parametrize(
    ("x1", "x2", "size2", "answer"),
    [
        (MARK, MARK + SHIFT, SIZE, True),
        (FEW[1:], FEW[1:] + SHIFT, SIZE, True),
        (FEW, FEW, SIZE, False),  # too much of the scene
        (MARK, MARK[::-1], SIZE, False),  # many motions
        (MARK, MARK - 300, SIZE, False),  # inside of the other image
        (MARK, MARK - 300, (300, 600), True),
        (MARK, SHAKEN, SIZE, True),
        (MARK, SHAKEN_MORE, SIZE, False),
        (NONE, NONE, SIZE, False),
    ],
)
def test_a_watermark_is_in_both_borders_and_follows_one_translation(x1, x2, size2, answer):
    assert is_watermark(x1, x2, SIZE, size2, VerificationOptions()) is answer
    assert not is_watermark(x1, x2, SIZE, size2, VerificationOptions(detect_watermark=False))
