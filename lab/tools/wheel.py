"""Check and measure the wheel with compiled kernels that is installed in the environment of this interpreter.

    PYTHONPATH=lab/src VENV/bin/python lab/tools/wheel.py [--core] [--full] [--json FILE]
    python lab/tools/wheel.py --install [--json FILE]

The environment has the wheel, NumPy and Numba. Each first call runs in a process of its own, with an empty home folder
and without a folder for compiled kernels. The check fails if any kernel is compiled: in first calls, with the presets,
or with the samplers of the paper. ``--core`` makes only the first calls whose kernels ``BANSAC_KERNELS=1`` compiles.
``--full`` also compares with compilation on this machine: the results for the same processor level must have the same
bits, and the speed is measured against code for this processor. Compiling takes minutes. Run ``--full`` on an idle
machine. Without it, the file keeps its earlier comparison. ``--install`` only measures the installation that compiles
kernels, with all downloads, in an environment of its own.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import report

import bansac
from bansac.compiled import pack
from bansac.compiled.target import portable_level
from bansac_lab.measurements.latency import CALLS, POINTS
from bansac_lab.provenance import circumstances

ROOT = Path(__file__).resolve().parents[2]

IMPORT = "import time, numba\nprint(time.process_time())"

# Code before the measured one: without the kernels of the wheel.
WITHOUT_PACK = "from pathlib import Path; from bansac.compiled import pack; pack.PACK_FILE = Path('missing')\n"

# A process that makes one call, which replaces ``{call}``.
FIRST_CALL = f"""
import time
import bansac
{POINTS}
ring = x1 / np.linalg.norm(x1, axis=1, keepdims=True)
ring[:100] = x2[:100]
assert {{call}}.success
seconds = time.process_time()
"""

COUNT = """
from bansac.compiled.clock import KERNELS
print(seconds, KERNELS["compiled"], KERNELS["packed"])
"""

MORE_CALLS = {
    "F of a plane": "bansac.estimate_fundamental(500 * x1, 500 * flat)",
    "relative pose": "bansac.estimate_relative_pose(x1, x2)",
    "absolute pose": "bansac.estimate_absolute_pose(X, x1)",
}
CURVES = {
    "line": "bansac.fit_line(np.column_stack([x1[:, 0], x1[:, 0] + np.where(np.arange(300) < 100, x1[:, 1], 0)]), "
    "threshold=0.01)",
    "circle": "bansac.fit_circle(ring, threshold=0.01)",
}

# Calls with the presets, and with the samplers of the paper, on all problems.
OPTIONS = """
import hashlib, pickle
from bansac.cli.compile_ahead import DEFAULTS, OPTIONS, call_estimator, call_solvers
call_solvers()
names = [name for name, options in DEFAULTS if not options]
tasks = [(name, {"preset": preset}) for preset in ("fast", "accurate", "paper") for name in names]
tasks += [task for task in (*DEFAULTS, *OPTIONS[:-1]) if task not in tasks]
for name, options in tasks:
    result = call_estimator(name, options)
    content = pickle.dumps((result.model, result.inliers, result.probabilities, result.residuals))
    print(name, options, result.iterations, hashlib.sha256(content).hexdigest())
seconds = 0
"""

# The mean times of calls for H, F and E.
SPEED = """
import time
import bansac
from bansac.synthetic import epipolar_matches, homography_matches
plane = homography_matches(1000, inlier_ratio=0.5, noise=0.5, seed=0)
scene = epipolar_matches(1000, inlier_ratio=0.5, noise=0.5, seed=0)
CALLS = (
    lambda seed: bansac.estimate_homography(plane.x1, plane.x2, threshold=2.0, seed=seed),
    lambda seed: bansac.estimate_fundamental(scene.x1, scene.x2, threshold=2.0, seed=seed),
    lambda seed: bansac.estimate_essential(scene.x1, scene.x2, scene.K, scene.K, threshold=2.0, seed=seed),
)
for call in CALLS:
    call(0)
    times = []
    for seed in range(100):
        started = time.process_time()
        call(seed)
        times.append(time.process_time() - started)
    print(sum(times) / len(times))
"""

# Processes of each kind in the comparison of the speed; they take turns.
TURNS = 7


def run(code: str, folder: Path, **variables: str) -> list[str]:
    """Run code in a new process with ``folder`` as its home, and return the lines that it prints."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "PYTHON", "XDG"))}
    home = folder / "home"
    home.mkdir(exist_ok=True)
    (folder / "file").touch()
    no_folder = folder / "file" / "cache"  # no folder can be made below a file
    environment = kept | {"HOME": str(home), "NUMBA_CACHE_DIR": str(no_folder)} | variables
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, cwd=home, text=True, stdout=subprocess.PIPE, check=True)
    return done.stdout.splitlines()


def check_calls(folder: Path, runs: int, *, core: bool) -> dict[str, Any]:
    """Return the median of the processor time and the numbers of kernels of the first calls."""
    found: dict[str, Any] = {}
    codes = {name: FIRST_CALL.format(call=call) for name, call in (CALLS | MORE_CALLS | CURVES).items()}
    codes["all options"] = OPTIONS
    for name, code in codes.items():
        if core and name in (*CURVES, "all options"):
            continue
        taken = [run(code + COUNT, folder)[-1].split() for _ in range(1 if code == OPTIONS else runs)]
        seconds, compiled, loaded = zip(*taken, strict=True)
        figures = {} if code == OPTIONS else {"cpu_seconds": statistics.median(map(float, seconds))}
        found[name] = figures | {"compiled": max(map(int, compiled)), "from_wheel": int(loaded[0])}
        print(name, found[name])
    return found


def install(folder: Path) -> dict[str, Any]:
    """Return the wall time and the processor time of an installation that compiles kernels."""
    subprocess.run([sys.executable, "-m", "venv", str(folder / "empty")], check=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "PYTHON"))}
    pip = next(folder.glob("empty/*/pip*"))
    before, started = os.times(), time.perf_counter()
    subprocess.run([str(pip), "install", "."], env=kept | {"BANSAC_KERNELS": "1"}, cwd=ROOT, check=True)
    wall, after = time.perf_counter() - started, os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    return {**circumstances(), "seconds": wall, "cpu_seconds": cpu}


def compare(folder: Path) -> dict[str, Any]:
    """Return how many results have the same bits, and the ratio of the speed."""
    packed = run(OPTIONS, folder)
    level = {"NUMBA_CPU_NAME": portable_level(), "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": f"{folder}/level"}
    compiled = run(WITHOUT_PACK + OPTIONS, folder, **level)
    same = sum(a == b for a, b in zip(packed, compiled, strict=True))
    host = partial(run, WITHOUT_PACK + SPEED, folder, NUMBA_CACHE_DIR=f"{folder}/host")
    host()  # compiles
    turns = [(run(SPEED, folder), host()) for _ in range(TURNS)]
    wheel, here = np.median(np.array(turns, float), axis=0)
    ratios = dict(zip("HFE", (wheel / here).tolist(), strict=True))
    found = {"results": len(packed), "same_bits": same, "time_over_host": ratios}
    print(found)
    return found


def main() -> None:
    """Run the checks."""
    parser = report.parser(__doc__, runs=5)
    parser.add_argument("--core", action="store_true", help="only what BANSAC_KERNELS=1 compiles")
    parser.add_argument("--full", action="store_true", help="compare with compilation on this machine")
    parser.add_argument("--install", action="store_true", help="only measure the installation")
    arguments = parser.parse_args()
    if arguments.install:
        with tempfile.TemporaryDirectory() as name:
            found = {"installation": install(Path(name))}
        report.write(arguments.json, report.read(arguments.json) | found)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        imports = [float(run(IMPORT, folder)[0]) for _ in range(5)]
        found = {
            **circumstances(),
            "pack_bytes": pack.PACK_FILE.stat().st_size,
            "import_numba": {"cpu_seconds": statistics.median(imports)},
            "first_calls": check_calls(folder, arguments.runs, core=arguments.core),
        }
        calls = found["first_calls"].items()
        problems = [f"{name} compiles" for name, counts in calls if counts["compiled"]]
        problems += [f"{name} loads nothing" for name, counts in calls if not counts["from_wheel"]]
        caches = Path(bansac.__path__[0]).rglob("*.nb[ic]")
        problems += [f"written: {path}" for path in (*caches, *(folder / "home").rglob("*"))]
        if arguments.full:
            found["compiled_here"] = compare(folder)
            if found["compiled_here"]["same_bits"] < found["compiled_here"]["results"]:
                problems.append("results have other bits than with compilation for the same processor level")
    report.write(arguments.json, report.read(arguments.json) | found)
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
