"""Kill COLMAP database verification at random moments, and compare the database with that of an undisturbed run.

    python tools/colmap_kills.py [--kills 20] [--json FILE]

Processes verify a synthetic database of 190 pairs. Each receives SIGKILL at a random moment after its first batch. The
file must then pass SQLite's ``PRAGMA integrity_check`` and contain only geometries of the undisturbed run.
When all pairs are done, the geometries must equal those of the undisturbed run byte by byte. The work then restarts
with a new database. The same check follows a final run that is not killed. The exit code is 1 if a check fails. The
script needs pycolmap.
"""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import report

from bansac.colmap import verify_database
from bansac.colmap.database import import_pycolmap
from bansac.lab.provenance import circumstances

IMAGES = 20

# Prints a line when the kernels are loaded and the work begins. Every batch of 4 pairs is delayed.
PROGRAM = """
import sys, time
from bansac.colmap import verify_database

def progress(done, total):
    print(done, flush=True)
    time.sleep(0.01)

verify_database(sys.argv[1], workers=2, batch_size=4, progress=progress)
"""


def write_database(path: Path) -> None:
    """Write a synthetic database without geometries."""
    pycolmap = import_pycolmap()
    settings = pycolmap.SyntheticDatasetOptions(
        num_rigs=1, num_frames_per_rig=IMAGES, inlier_match_ratio=0.5, camera_has_prior_focal_length=True
    )
    pycolmap.set_random_seed(0)
    with pycolmap.Database.open(path) as database:
        pycolmap.synthesize_dataset(settings, database)
        database.clear_two_view_geometries()


def geometries(path: Path) -> tuple[bool, list[Any]]:
    """Return whether the file is valid, and its geometries."""
    with closing(sqlite3.connect(path)) as connection:
        valid = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return valid, connection.execute("SELECT * FROM two_view_geometries ORDER BY pair_id").fetchall()


def run_and_kill(path: Path, delay: float) -> None:
    """Verify in a process that is killed a number of seconds after its first batch."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.readline()
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def main() -> int:
    """Kill, compare and report."""
    arguments = report.parser(__doc__, kills=20, seed=0).parse_args()
    rng = random.Random(arguments.seed)
    after, valid, same = [], True, True
    with tempfile.TemporaryDirectory() as folder:
        untouched, path, undisturbed = (Path(folder, name) for name in ("untouched.db", "path.db", "undisturbed.db"))
        write_database(untouched)
        shutil.copy(untouched, undisturbed)
        verify_database(undisturbed, workers=2)
        expected = geometries(undisturbed)[1]
        shutil.copy(untouched, path)
        for kill in range(arguments.kills):
            run_and_kill(path, rng.uniform(0.0, 0.5))
            intact, found = geometries(path)
            valid, same = valid and intact, same and set(found) <= set(expected)
            after.append(len(found))
            print(f"kill {kill + 1}: valid: {intact}, {len(found)} of {len(expected)} pairs", flush=True)
            if len(found) == len(expected):
                same = same and found == expected
                path.unlink()  # SQLite's files beside it belong to a deleted database
                for suffix in ("-wal", "-shm"):
                    Path(f"{path}{suffix}").unlink(missing_ok=True)
                shutil.copy(untouched, path)
        verify_database(path, workers=1)
        same = same and geometries(path) == (True, expected)
    counts = {"kills": arguments.kills, "pairs after each kill": after, "pairs": len(expected)}
    counts |= {"valid": valid, "as undisturbed": same}
    print(counts)
    report.write(arguments.json, circumstances(["pycolmap"]) | counts)
    return int(not (valid and same))


if __name__ == "__main__":
    raise SystemExit(main())
