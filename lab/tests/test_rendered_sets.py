"""Rendered pairs: their matches agree with the poses that the sets store."""

import numpy as np
import pytest
from rendered_sets import KINDS, read_photographs, write_scene

from bansac_lab.sets import find_sets
from tests.reference.epipolar import sampson


@pytest.mark.parametrize("kind", ["boxes", "zoom"])
def test_matches_of_a_rendered_pair_agree_with_its_pose(kind, tmp_path):
    assert kind in KINDS
    write_scene(np.random.default_rng(0), kind, kind, read_photographs(), tmp_path)
    sets = find_sets(tmp_path)
    assert [pairs.name for pairs in sets] == ["orb", "orb-150", "sift", "sift-150"]
    for pairs, noise in zip(sets, (0.6, 0.6, 0.2, 0.2), strict=True):
        (pair,) = pairs.pairs()
        errors = np.sqrt(sampson(np.hstack([pair.x1, pair.x2]).T, pair.F))
        near = errors < 2
        assert near.mean() > 0.4
        assert np.median(errors[near]) < noise
        assert len(near) <= 150 or "150" not in pairs.name
