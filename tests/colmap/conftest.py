"""Databases of COLMAP."""

from pathlib import Path
from typing import Any

import numpy as np
import pycolmap
import pytest

SHARE = 0.5  # of the matches that are right


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[tuple[int, int], set[tuple[int, ...]]]]:
    """Return a database with 15 pairs without geometries, and the right matches of each."""
    path = tmp_path_factory.mktemp("colmap") / "database.db"
    settings = pycolmap.SyntheticDatasetOptions(
        num_rigs=1, num_frames_per_rig=6, num_points3D=100, inlier_match_ratio=SHARE, camera_has_prior_focal_length=True
    )
    settings.num_points2D_without_point3D = 200
    pycolmap.set_random_seed(3)
    with pycolmap.Database.open(path) as database:
        model = pycolmap.synthesize_dataset(settings, database)
        right = {}
        for pair_id, geometry in zip(*database.read_two_view_geometries(), strict=True):
            right[pycolmap.pair_id_to_image_pair(pair_id)] = as_set(geometry.inlier_matches)
        pycolmap.synthesize_noise(pycolmap.SyntheticNoiseOptions(point2D_stddev=0.5), model, database)
        database.clear_two_view_geometries()
    return path, right


def as_set(matches: Any) -> set[tuple[int, ...]]:
    return set(map(tuple, np.asarray(matches).tolist()))
