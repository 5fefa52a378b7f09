"""Poses with depths: the measured depths of the Motorcycle pair have the units and the motion of its cameras."""

import numpy as np
import pytest

from bansac.geometry import apply_transform, homogeneous
from bansac_lab.measurements import depth


def test_measured_depths_put_the_points_of_the_motorcycle_where_they_match():
    try:
        *_, disparity = depth.load_motorcycle()
    except Exception as error:  # errors of the download
        pytest.skip(str(error))
    matches = depth._motorcycle()
    column, row = np.round(matches.x1).astype(int).T
    shift = np.column_stack([disparity[row, column], np.zeros(len(matches))])
    true = np.hypot(*(matches.x1 - shift - matches.x2).T) <= 2.0
    matches = matches.select(true & np.isfinite(matches.depth1 + matches.depth2))
    points = matches.depth1[:, None] * homogeneous(apply_transform(np.linalg.inv(matches.K1), matches.x1))
    points = points @ matches.R.T + matches.t
    seen = points @ matches.K2.T
    assert len(matches) > 900
    assert np.hypot(*(seen[:, :2] / seen[:, 2:] - matches.x2).T).max() < 2.1
    np.testing.assert_allclose(np.median(points[:, 2] / matches.depth2), 1.0, atol=1e-3)
    one = depth._scene(depth.CASES["Motorcycle, 300, image 1"], 0)
    assert (len(one), one.depth2) == (300, None)
