"""Results of many pairs on a disk that is full: an error that names the file, and no file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bansac.batch.result_files import WRITERS

pytest.importorskip("resource", reason="the limit of a file's size is of POSIX systems")

# The limit holds for a whole process, so each writer has a process of its own.
WRITE = """
import resource, sys
import numpy as np
from pathlib import Path
from bansac.batch.records import Record
from bansac.batch.result_files import WRITERS
from bansac.storage import write_atomically

file, share = Path(sys.argv[1]), float(sys.argv[2])
rng = np.random.default_rng(0)
records = [Record(name=f"{k}", num_data=200, inliers=rng.random(200) > 0.5) for k in range(9)]

def write():
    write_atomically(file, lambda path: WRITERS[file.suffix](path, records))

write()
size = file.stat().st_size
file.unlink()
resource.setrlimit(resource.RLIMIT_FSIZE, (int(share * size), resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    write()
except OSError as error:
    print(error)
"""


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("share", [0.0, pytest.param(0.3, marks=pytest.mark.slow), 0.9])
def test_a_full_disk_is_an_error_without_a_file(tmp_path: Path, suffix: str, share: float) -> None:
    command = [sys.executable, "-c", WRITE, str(tmp_path / f"r{suffix}"), str(share)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert f"r{suffix}: cannot be written: " in done.stdout
    assert "File too large" in done.stdout
    assert list(tmp_path.iterdir()) == []
