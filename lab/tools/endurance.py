"""Many calls, kills, full disks and Ctrl-C: what must not leak, differ or be lost.

    python lab/tools/endurance.py [--calls 1000000] [--kills 20] [--interrupts 20] [--json FILE]

``calls``: mixed calls on 60 points in one process; the memory must not grow. ``kills``: commands receive SIGKILL at
random moments and start again; the results must equal those of an undisturbed run. ``full disk``: the same commands run
under a largest file size, as on a full disk; each must write everything or end with an error of one line and keep what
was there. ``Ctrl-C``: seconds between the signal and the end of a call. A count of 0 leaves a part out, and the file
keeps its earlier figures. The exit code is 1 if a check fails. The script needs Linux, h5py, OpenCV and pycolmap.
"""

import contextlib
import csv
import os
import random
import resource
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import report

import bansac
from bansac.synthetic import homography_matches
from bansac_lab.known_scenes import FUNCTIONS, known_scene
from bansac_lab.measurements.colmap import write_synthetic
from bansac_lab.provenance import circumstances
from bansac_lab.timing import status_bytes


class Task(NamedTuple):
    """A command in a fresh folder: its output, and the content of the output for a comparison."""

    name: str
    prepare: Callable[[Path], Any]
    command: str
    output: str
    content: Callable[[Path], Any]


def small_estimators() -> list[Callable[..., bansac.Result]]:
    """Return five estimators of 60 matches or points, as functions of the options."""
    names = ("homography", "fundamental", "essential", "line", "circle")
    scenes = {name: known_scene(name, 60, 0.8, 0.5, 0).arguments for name in names}
    settings = {name: {"threshold": 2.5} if name in ("line", "circle") else {} for name in names}
    return [partial(FUNCTIONS[name], *scene, **settings[name]) for name, scene in scenes.items()]


def many_calls(calls: int) -> dict[str, Any]:
    """Call five estimators in turn; return the memory before and after, and whether it is stable."""
    estimators, memory = small_estimators(), []
    started = time.monotonic()
    for call in range(-1000, calls):
        if call >= 0 and call % max(1, calls // 10) == 0:
            memory.append(status_bytes("VmRSS"))
        estimators[call % len(estimators)](max_iterations=20, restarts=1, seed=max(call, 0))
    megabytes = [round(size / 1e6, 1) for size in (*memory, status_bytes("VmRSS"))]
    found = {"calls": calls, "seconds": round(time.monotonic() - started, 1), "resident MB": megabytes}
    return found | {"passed": megabytes[-1] - megabytes[0] < 10}


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


def npz_content(path: Path) -> dict[str, bytes]:
    """Return the arrays without times; an error if the file is damaged."""
    with np.load(path) as arrays:
        return {name: arrays[name].tobytes() for name in arrays.files if name != "seconds"}


def geometries(path: Path) -> list[Any]:
    """Return the geometries of a database; an error if the file is damaged."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return connection.execute("SELECT * FROM two_view_geometries ORDER BY pair_id").fetchall()


def csv_content(path: Path) -> list[dict[str, str]]:
    """Return the rows without times."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: row[name] for name in row if "seconds" not in name} for row in csv.DictReader(file)]


OUT = "in --model H --workers 2 --out r.npz"
EXPERIMENT = "experiments run synthetic"
TASKS = (
    Task("estimate DIR", write_tables, f"estimate {OUT}", "r.npz", npz_content),
    Task("match FOLDER", write_images, f"match {OUT}", "r.npz", npz_content),
    Task(
        "colmap verify",
        lambda folder: write_synthetic(folder / "r.db", 20, 100, 0.5, True),
        "colmap verify r.db --workers 2",
        "r.db",
        geometries,
    ),
    Task(EXPERIMENT, lambda folder: None, f"{EXPERIMENT} --repeats 1 --out out", "out/runs.csv", csv_content),
)


def start(task: Task, folder: Path, largest: int = resource.RLIM_INFINITY) -> subprocess.Popen[str]:
    """Start the command of a task with a largest size of its files."""
    command = [sys.executable, "-m", "bansac", *task.command.split()]
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (largest, largest))
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=folder, preexec_fn=limit, **streams)


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Return the exit code, negative for a signal, and the messages."""
    text, _ = process.communicate()
    return process.returncode, text


def fresh(task: Task, root: Path) -> Path:
    """Return a new folder for the command."""
    folder = root / "work"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    task.prepare(folder)
    return folder


def sizes(folder: Path) -> list[int]:
    """Return the sizes of all files in a folder."""
    return [file.stat().st_size for file in folder.rglob("*") if file.is_file()]


def disturb(task: Task, root: Path, count: int, rng: random.Random) -> dict[str, dict[str, Any]]:
    """Kill the command and fill its disk so many times, and compare with the second of two undisturbed runs."""
    for _ in range(2):
        folder, started = fresh(task, root), time.monotonic()
        code, text = finish(start(task, folder))
        assert code == 0, text
    seconds, largest = time.monotonic() - started, 2 * max(sizes(folder))
    expected = task.content(folder / task.output)
    return {
        f"kills: {task.name}": kill_often(task, root, count, rng, expected, seconds),
        f"full disk: {task.name}": fill_disk(task, root, count, expected, largest),
    }


def kill_often(task: Task, root: Path, kills: int, rng: random.Random, expected: Any, seconds: float) -> dict[str, Any]:
    """Kill the command at random moments; every output that is there must be complete, and the last one equal."""
    folder, done, after, good = fresh(task, root), 0, [], True
    while done < kills:
        process = start(task, folder)
        time.sleep(rng.uniform(0, 0.9 * seconds))
        process.kill()
        done += finish(process)[0] == -signal.SIGKILL
        if not (folder / task.output).exists():
            continue
        found = task.content(folder / task.output)
        if task.content is geometries:  # the command writes into a file that is there, so it has a part of the pairs
            after.append(len(found))
            good = good and set(found) <= set(expected)
        if task.content is not geometries or len(found) == len(expected):
            good = good and found == expected
            folder = fresh(task, root)
    good = good and finish(start(task, folder))[0] == 0 and task.content(folder / task.output) == expected
    counts = {"pairs": len(expected), "pairs after each kill": after} if after else {}
    return {"kills": done, "seconds undisturbed": round(seconds, 2), **counts, "passed": good}


def fill_disk(task: Task, root: Path, limits: int, expected: Any, largest: int) -> dict[str, Any]:
    """Limit the size of files; a failed run must say why in one line, and the next run must be as undisturbed."""
    in_place = task.content is geometries
    least = max(sizes(fresh(task, root))) if in_place else 0
    codes: Counter[str] = Counter()
    wrong = []
    for k in range(limits):
        limit = least + int((largest - least) * (k / limits) ** 2)
        folder = fresh(task, root)
        output = folder / task.output
        code, text = finish(start(task, folder, limit))
        codes[str(code)] += 1
        whole = code == 0 and task.content(output) == expected
        refused = code in (1, 2) and "bansac: " in text and "Traceback" not in text
        # An experiment has several files: those that are written before the error are complete.
        damaged = not in_place and code != 0 and output.exists() and task.content(output) != expected
        again = finish(start(task, folder))[0] == 0 and task.content(output) == expected
        if not (whole or refused) or damaged or not again:
            wrong.append({"bytes": limit, "code": code, "message": text[-300:], "partial": damaged, "again": again})
    return {"limits": limits, "exit codes": dict(codes), "wrong": wrong, "passed": not wrong}


def interrupt(count: int, rng: random.Random) -> dict[str, Any]:
    """Send Ctrl-C into endless estimations; return the seconds until they end."""
    estimators, seconds = small_estimators(), []
    for estimate in estimators:  # loads the kernels; Ctrl-C waits while one is loaded
        estimate(stopping=None, restarts=1, max_iterations=100)
    for k in range(count):
        delay = rng.uniform(0.05, 0.5)
        timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
        started = time.monotonic()
        try:
            timer.start()
            estimators[k % len(estimators)](stopping=None, restarts=1, max_iterations=2**31 - 1)
        except KeyboardInterrupt:
            seconds.append(time.monotonic() - started - delay)
        timer.join()
    found = {"largest seconds": round(max(seconds), 4), "median seconds": round(statistics.median(seconds), 4)}
    return {"interrupts": count, **found, "passed": len(seconds) == count and max(seconds) < 0.2}


def main() -> int:
    """Run all parts and report."""
    parser = report.parser(__doc__, calls=1_000_000, kills=20, interrupts=20, seed=0)
    parser.add_argument("--only", default="", help="part of the names of the commands to kill")
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    document = report.read(chosen.json) | circumstances(("h5py", "opencv-python-headless", "pycolmap"))
    parts: list[Callable[[], dict[str, dict[str, Any]]]] = []
    with tempfile.TemporaryDirectory() as folder:
        if chosen.kills:
            tasks = (task for task in TASKS if chosen.only in task.name)
            parts += [partial(disturb, task, Path(folder), chosen.kills, rng) for task in tasks]
        if chosen.interrupts:
            parts.append(lambda: {"Ctrl-C": interrupt(chosen.interrupts, rng)})
        if chosen.calls:
            parts.append(lambda: {"calls": many_calls(chosen.calls)})
        for part in parts:
            found = part()
            print(found, flush=True)
            document |= found
            report.write(chosen.json, document)
    return int(not all(part["passed"] for part in document.values() if isinstance(part, dict) and "passed" in part))


if __name__ == "__main__":
    raise SystemExit(main())
