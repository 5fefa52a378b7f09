"""Runs that several tests of the report look at."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import bansac
from bansac.synthetic import homography_matches


class Case(NamedTuple):
    """A traced result, its matches, and two black images around them."""

    result: Any
    x1: Any
    x2: Any
    image1: Any
    image2: Any


@pytest.fixture(scope="session")
def case() -> Case:
    scene = homography_matches(200, inlier_ratio=0.5, noise=0.5, seed=3)
    result = bansac.estimate_homography(scene.x1, scene.x2, trace=True)
    sizes = [np.ceil(x.max(axis=0)[::-1] + 1).astype(int) for x in (scene.x1, scene.x2)]
    return Case(result, scene.x1, scene.x2, *(np.zeros(size, np.uint8) for size in sizes))
