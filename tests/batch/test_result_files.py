"""Results of many pairs on a disk that is full: an error that names the file, and no file."""

import subprocess
import sys

import pytest

from bansac.batch.result_files import WRITERS

pytest.importorskip("resource", reason="the limit of a file's size is of POSIX systems")

SHARES = (0.0, 0.3, 0.9)

# The limit holds for a whole process, so a process of its own has it. It prints the error of each writer and share.
WRITE = f"""
import resource, sys
import numpy as np
from pathlib import Path
from bansac.batch.records import as_record
from bansac.batch.result_files import WRITERS
from bansac.matches.storage import write_atomically

rng = np.random.default_rng(0)
records = [as_record(f"{{k}}", None, {{"num_data": 200}}) | {{"inliers": rng.random(200) > 0.5}} for k in range(9)]
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
for suffix, writer in WRITERS.items():
    file = Path(sys.argv[1], f"r{{suffix}}")
    write_atomically(file, lambda path: writer(path, records))
    size = file.stat().st_size
    file.unlink()
    for share in {SHARES}:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(share * size), hard))
        try:
            write_atomically(file, lambda path: writer(path, records))
        except OSError as error:
            print(suffix, share, error, [path.name for path in file.parent.iterdir()])
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
"""


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    command = [sys.executable, "-c", WRITE, str(tmp_path_factory.mktemp("full"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("share", SHARES)
def test_a_full_disk_is_an_error_without_a_file(errors: list[str], suffix: str, share: float) -> None:
    (error,) = (line for line in errors if line.startswith(f"{suffix} {share} "))
    assert f"r{suffix}: cannot be written: " in error
    assert "File too large" in error
    assert error.endswith(" []")  # the folder is empty
