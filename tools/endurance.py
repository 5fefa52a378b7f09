"""Many calls, a cold cache shared by processes, kills, full disks and Ctrl-C: what must not leak, differ or be lost.

    python tools/endurance.py [--calls 1000000] [--kills 20] [--interrupts 20] [--processes 16] [--json FILE]

``calls``: mixed calls on 60 points in one process; the memory must not grow. ``cold cache``: processes with 8 threads
each start at once on one empty cache; all results must have the same bits. ``kills``: commands receive SIGKILL at
random moments and start again; the results must equal those of an undisturbed run. ``full disk``: the same
commands run under a largest file size, as on a full disk; each must write everything or end with an error of one line
and keep what was there. ``Ctrl-C``: seconds between the signal and the end of a call. The commands run in forked
processes, because they start faster. A count of 0 leaves a part out, and the file keeps its earlier figures. The exit
code is 1 if a check fails. The script needs Linux, h5py, OpenCV and pycolmap.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import importlib
import itertools
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import report

import bansac
from bansac.cli.compile_ahead import call_estimator
from bansac.lab.measurements.colmap import write_synthetic
from bansac.lab.provenance import circumstances
from bansac.synthetic import circle_points, epipolar_matches, homography_matches, line_points

EXPERIMENT = "experiments run synthetic"

# Every thread prints the bits of one fit.
COLD = """
import hashlib, sys, threading
import numpy as np, bansac
points = np.random.default_rng(0).uniform(-1, 1, (60, 2)) * [1, 0.5]
found = [None] * 8
def fit(k):
    result = bansac.fit_line(points, threshold=0.1, seed=3)
    found[k] = hashlib.sha256(result.model.tobytes() + result.residuals.tobytes()).hexdigest()
threads = [threading.Thread(target=fit, args=(k,)) for k in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(*found)
"""


class Task(NamedTuple):
    """A command in a fresh folder: its output, and the content of the output for a comparison."""

    name: str
    prepare: Callable[[Path], None]
    command: str
    output: str
    content: Callable[[Path], Any]


def rss() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * resource.getpagesize() / 1e6, 1)


def small_estimators() -> list[Callable[..., bansac.Result]]:
    """Return five estimators of 60 matches or points, as functions of the options."""
    plane, scene = homography_matches(60, 0.8, 0.5, seed=0), epipolar_matches(60, 0.8, 0.5, seed=0)
    line, circle = line_points(60, 0.8, 0.01, seed=0).points, circle_points(60, 0.8, 0.01, seed=0).points
    return [
        partial(bansac.estimate_homography, plane.x1, plane.x2),
        partial(bansac.estimate_fundamental, scene.x1, scene.x2),
        partial(bansac.estimate_essential, scene.x1, scene.x2, scene.K, scene.K),
        partial(bansac.fit_line, line, threshold=0.05),
        partial(bansac.fit_circle, circle, threshold=0.05),
    ]


def many_calls(calls: int) -> dict[str, Any]:
    """Call five estimators in turn; return the memory before and after, and whether it is stable."""
    estimators, memory = small_estimators(), []
    started = time.monotonic()
    for call in range(-1000, calls):
        if call >= 0 and call % max(1, calls // 10) == 0:
            memory.append(rss())
        estimators[call % len(estimators)](max_iterations=20, restarts=1, seed=max(call, 0))
    memory.append(rss())
    found = {"calls": calls, "seconds": round(time.monotonic() - started, 1), "resident MB": memory}
    return found | {"passed": memory[-1] - memory[0] < 10}


def cold_cache(processes: int) -> dict[str, Any]:
    """Start processes with 8 threads at once on an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-c", COLD]
        started = time.monotonic()
        runs = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
        bits = [run.communicate()[0].split() for run in runs]
    same = len({text for line in bits for text in line}) == 1 and all(len(line) == 8 for line in bits)
    return {"processes": processes, "threads": 8, "seconds": round(time.monotonic() - started, 1), "passed": same}


def write_tables(folder: Path) -> None:
    """Write 40 files of matches."""
    (folder / "in").mkdir()
    for k in range(40):
        scene = homography_matches(60, inlier_ratio=0.6, seed=k)
        np.savez(folder / "in" / f"{k:02}.npz", x1=scene.x1, x2=scene.x2)


def write_images(folder: Path) -> None:
    """Write 5 shifted views of one random texture."""
    import cv2

    (folder / "in").mkdir()
    texture = np.random.default_rng(0).integers(0, 255, (40, 50), dtype=np.uint8)
    large = cv2.resize(texture, (600, 480), interpolation=cv2.INTER_CUBIC)
    for k in range(5):
        cv2.imwrite(str(folder / "in" / f"{k}.png"), large[10 * k :, 10 * k :][:400, :500])


def npz_content(path: Path) -> str:
    """Return a digest of the arrays without times; an error if the file is damaged."""
    digest = hashlib.sha256()
    with np.load(path) as arrays:
        for name in sorted(set(arrays.files) - {"seconds"}):
            digest.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def geometries(path: Path) -> tuple[bool, list[Any]]:
    """Return whether the file is valid, and its geometries."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        valid = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return valid, connection.execute("SELECT * FROM two_view_geometries ORDER BY pair_id").fetchall()


def copy_database(folder: Path) -> None:
    """Copy the database without geometries."""
    shutil.copy(folder.parent / "untouched.db", folder / "r.db")


def csv_content(path: Path) -> list[Any]:
    """Return the rows without times."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [{name: value for name, value in row.items() if "seconds" not in name} for row in csv.DictReader(file)]
    assert all(None not in row.values() for row in rows)
    return rows


OUT = "in --model H --workers 2 --out r.npz"
TASKS = (
    Task("estimate DIR", write_tables, f"estimate {OUT}", "r.npz", npz_content),
    Task("match FOLDER", write_images, f"match {OUT}", "r.npz", npz_content),
    Task("colmap verify", copy_database, "colmap verify r.db --workers 2", "r.db", geometries),
    Task(EXPERIMENT, lambda folder: None, f"{EXPERIMENT} --repeats 1 --out out", "out/runs.csv", csv_content),
)


def preload() -> None:
    """Load what the commands need, so that forked processes begin at once."""
    for module in ("bansac.cli.app", "cv2", "bansac.lab.experiments.synthetic", "bansac.matches.image_matching"):
        importlib.import_module(module)
    for name, preset in itertools.product(("homography", "fundamental", "essential", "line"), ("paper", None)):
        call_estimator(name, {"scores": True, "preset": preset})


def run(task: Task, folder: Path, largest: int | None, output: int) -> None:
    """Run the command in this process; its messages go into a pipe."""
    os.chdir(folder)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    os.dup2(output, 1)
    os.dup2(output, 2)
    if largest is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    sys.argv = ["bansac", *task.command.split()]
    from bansac.cli import main

    main()


def start(task: Task, folder: Path, largest: int | None = None) -> tuple[Any, int]:
    """Run the command in a forked process; return it and the pipe of its messages."""
    messages, output = os.pipe()
    process = multiprocessing.get_context("fork").Process(target=run, args=(task, folder, largest, output))
    process.start()
    os.close(output)
    return process, messages


def finish(process: Any, messages: int) -> tuple[int, str]:
    """Return the exit code, negative for a signal, and the messages, which fit into the pipe."""
    process.join()
    with open(messages, errors="replace") as file:
        return process.exitcode, file.read()


def fresh(task: Task, root: Path, name: str) -> Path:
    """Return a new folder for the command."""
    folder = root / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    task.prepare(folder)
    return folder


def undisturbed(task: Task, root: Path) -> tuple[Any, float, Path]:
    """Return the content of the output, the seconds of the second run, and its folder."""
    for _ in range(2):
        folder = fresh(task, root, "undisturbed")
        started = time.monotonic()
        code, text = finish(*start(task, folder))
        assert code == 0, text
    return task.content(folder / task.output), time.monotonic() - started, folder


def kill_often(task: Task, root: Path, kills: int, rng: random.Random) -> dict[str, Any]:
    """Kill the command at random moments; every output that is there must be complete, and the last one equal."""
    expected, seconds, _ = undisturbed(task, root)
    folder = fresh(task, root, "killed")
    done = completed = 0
    good, after = True, []
    while done < kills:
        process, messages = start(task, folder)
        time.sleep(rng.uniform(0, 0.7 * seconds))
        process.kill()
        killed = finish(process, messages)[0] == -signal.SIGKILL
        done += killed
        if task.content is geometries:
            valid, found = geometries(folder / task.output)
            good = good and valid and set(found) <= set(expected[1])
            after.append(len(found))
            finished = len(found) == len(expected[1])
        else:
            finished = (folder / task.output).exists()
        if finished:
            completed += 1
            good = good and task.content(folder / task.output) == expected
            folder = fresh(task, root, "killed")
    good = good and finish(*start(task, folder))[0] == 0 and task.content(folder / task.output) == expected
    counts = {"pairs": len(expected[1]), "pairs after each kill": after} if after else {}
    figures = {"kills": done, "finished between kills": completed, "seconds undisturbed": round(seconds, 2)}
    return {**figures, **counts, "passed": good}


def fill_disk(task: Task, root: Path, sizes: int) -> dict[str, Any]:
    """Limit the size of files; a failed run must say why in one line, and the next run must be as undisturbed."""
    expected, _, folder = undisturbed(task, root)
    start_sizes = fresh(task, root, "full")
    least = max((file.stat().st_size for file in start_sizes.rglob("*") if file.is_file()), default=0)
    most = 2 * max(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    least = least if task.content is geometries else 0
    codes: dict[str, int] = {}
    wrong = []
    for k in range(sizes):
        limit = least + int((most - least) * (k / sizes) ** 2)
        folder = fresh(task, root, "full")
        code, text = finish(*start(task, folder, limit))
        codes[str(code)] = codes.get(str(code), 0) + 1
        output = folder / task.output
        whole = code == 0 and task.content(output) == expected
        refused = code in (1, 2) and "bansac: " in text and "Traceback" not in text
        # An experiment has several files: those that are written before the error are complete.
        kept = task.content is not geometries and code != 0 and output.exists()
        partial = kept and task.content(output) != expected
        again = finish(*start(task, folder))[0] == 0 and task.content(output) == expected
        if not (whole or refused) or partial or not again:
            wrong.append({"bytes": limit, "code": code, "message": text[-300:], "partial": partial, "again": again})
    return {"limits": sizes, "exit codes": codes, "wrong": wrong, "passed": not wrong}


def interrupt(count: int, rng: random.Random) -> dict[str, Any]:
    """Send Ctrl-C into endless estimations; return the seconds until they end."""
    estimators, seconds = small_estimators(), []
    for estimate in estimators:  # loads the kernels; Ctrl-C waits while one is loaded
        estimate(stopping=None, restarts=1, max_iterations=100)
    for k in range(count):
        sent: list[float] = []

        def send(delay: float, sent: list[float] = sent) -> None:
            time.sleep(delay)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=send, args=(rng.uniform(0.05, 0.5),))
        try:
            thread.start()
            estimators[k % len(estimators)](stopping=None, restarts=1, max_iterations=2**31 - 1)
        except KeyboardInterrupt:
            seconds.append(time.monotonic() - sent[0])
        thread.join()
    found = {"interrupts": count, "largest seconds": round(max(seconds), 4)}
    found["median seconds"] = round(float(np.median(seconds)), 4)
    return found | {"passed": len(seconds) == count and max(seconds) < 0.2}


def main() -> int:
    """Run all parts and report."""
    parser = report.parser(__doc__, calls=1_000_000, kills=20, interrupts=20, processes=16, seed=0)
    parser.add_argument("--only", default="", help="part of the names of the commands to kill")
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    document = report.read(chosen.json) | circumstances(("h5py", "opencv-python-headless", "pycolmap"))

    def add(name: str, found: dict[str, Any]) -> None:
        document[name] = found
        print(name, found, flush=True)
        report.write(chosen.json, document)

    with tempfile.TemporaryDirectory() as folder:
        if chosen.kills:
            write_synthetic(Path(folder, "untouched.db"), 20, 100, 0.5, True)
            preload()
            for task in (task for task in TASKS if chosen.only in task.name):
                add(f"kills: {task.name}", kill_often(task, Path(folder), chosen.kills, rng))
                add(f"full disk: {task.name}", fill_disk(task, Path(folder), chosen.kills))
    if chosen.interrupts:
        add("Ctrl-C", interrupt(chosen.interrupts, rng))
    if chosen.calls:
        add("calls", many_calls(chosen.calls))
    if chosen.processes:
        add("cold cache", cold_cache(chosen.processes))
    return int(not all(part["passed"] for part in document.values() if isinstance(part, dict) and "passed" in part))


if __name__ == "__main__":
    raise SystemExit(main())
