from pathlib import Path

import pytest

from lab.tests.pair_sets import write_homography_set, write_pose_set


@pytest.fixture(scope="session")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two sets of poses and one of homographies."""
    folder = tmp_path_factory.mktemp("sets")
    write_pose_set(folder / "EF" / "room", pairs=2)
    write_pose_set(folder / "EF" / "yard", pairs=3)
    write_homography_set(folder / "H" / "wall", pairs=2)
    return folder
