"""Results of many pairs on a disk that is full: an error that names the file, and no file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bansac.batch.records import Record
from bansac.batch.result_files import WRITERS
from bansac.storage import write_atomically

resource = pytest.importorskip("resource", reason="the limit of a file's size is of POSIX systems")

RNG = np.random.default_rng(0)
RECORDS = [Record(name=f"{k}", num_data=200, inliers=RNG.random(200) > 0.5) for k in range(9)]


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_full_disk_is_an_error_without_a_file(tmp_path: Path, suffix: str, share: float) -> None:
    def write() -> int:
        write_atomically(tmp_path / f"r{suffix}", lambda path: WRITERS[suffix](path, RECORDS))
        return (tmp_path / f"r{suffix}").stat().st_size

    size = write()
    (tmp_path / f"r{suffix}").unlink()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(share * size), limits[1]))
    try:
        with pytest.raises(OSError, match=rf"r{suffix}: cannot be written: .*File too large"):
            write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []
