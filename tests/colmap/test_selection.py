"""The rules on numbers of inliers, and the rotation of a camera."""

import numpy as np
import pytest

from bansac.colmap import VerificationOptions
from bansac.colmap.selection import NO_SUPPORT, Support, find_rotation, select
from bansac.geometry import apply_transform, rotation_matrix


def support(count: int, *, on_plane: bool = False) -> Support:
    return Support(np.eye(3), np.arange(200) < count, on_plane)


@pytest.mark.parametrize(
    ("counts", "configuration", "inliers"),
    [
        ((100, 100, 20), "calibrated", 100),
        ((96, 100, 20), "calibrated", 100),  # those of F, which are more
        ((95, 100, 20), "uncalibrated", 100),  # not more than the share
        ((0, 100, 20), "uncalibrated", 100),
        ((100, 0, 20), "calibrated", 100),
        ((100, 100, 80), "calibrated", 100),
        ((100, 100, 81), "planar_or_panoramic", 100),
        ((100, 100, 120), "planar_or_panoramic", 120),
        ((0, 100, 81), "planar_or_panoramic", 100),
        ((0, 0, 15), "planar_or_panoramic", 15),
        ((14, 14, 14), "degenerate", 0),
        ((15, 14, 14), "calibrated", 15),
        ((0, 0, 0), "degenerate", 0),
    ],
)
def test_configuration_by_numbers_of_inliers(counts, configuration, inliers):
    E, F, H = map(support, counts)
    found, chosen, calibrated = select(E, F, H, VerificationOptions())
    assert (found, chosen.count) == (configuration, inliers)
    assert calibrated == (counts[0] >= 15 and counts[0] > 0.95 * (counts[1] if counts[1] >= 15 else 0))


def test_thresholds_are_those_of_the_options():
    options = VerificationOptions(min_num_inliers=60, min_E_F_inlier_ratio=0.5, max_H_inlier_ratio=0.3)
    assert select(support(61), support(100), support(20), options)[0] == "calibrated"
    assert select(support(59), support(100), support(20), options)[0] == "uncalibrated"
    assert select(support(61), support(100), support(60), options)[0] == "planar_or_panoramic"


def test_a_dominant_plane_is_no_plane_by_what_is_off_it():
    options = VerificationOptions(model_selection="bansac")
    assert select(support(100), support(100), support(95), options)[0] == "calibrated"
    assert select(NO_SUPPORT, support(100), support(95), options)[0] == "uncalibrated"
    on_plane = support(100, on_plane=True)
    assert select(on_plane, support(100), support(60), options)[0] == "planar_or_panoramic"
    assert select(NO_SUPPORT, on_plane, support(60), options)[0] == "planar_or_panoramic"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("max_error", 0.0),
        ("max_error", float("nan")),
        ("min_num_inliers", 0),
        ("min_num_inliers", 2.5),
        ("max_H_inlier_ratio", 1.1),
        ("min_inlier_ratio", -0.1),
        ("stationary_matches_max_error", 0.0),
        ("seed", -1),
        ("model_selection", "degensac"),
    ],
)
def test_bad_settings_are_named(setting, value):
    with pytest.raises(ValueError, match=setting):
        VerificationOptions(**{setting: value})


def test_the_rotation_of_a_camera_is_found_among_outliers():
    rng = np.random.default_rng(0)
    R = rotation_matrix([0.1, -0.3, 0.05])
    rays1 = rng.uniform(-0.5, 0.5, (100, 2))
    rays2 = apply_transform(R, rays1)
    rays2[:10] += 0.01
    found, count = find_rotation(rays1, rays2, 0.003)
    assert count == 90
    np.testing.assert_allclose(found, R, atol=1e-9)


def test_no_rotation_takes_rays_behind_the_camera():
    rays = np.random.default_rng(0).uniform(-0.5, 0.5, (20, 2))
    assert find_rotation(rays, -rays[::-1] + 3.0, 1e-6)[1] == 0
