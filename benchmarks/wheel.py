"""Check and measure an installed wheel with compiled kernels.

    python benchmarks/wheel.py --python VENV/bin/python [--full] [--json FILE]

The environment of ``--python`` has the wheel, NumPy and Numba. Each first call runs in a process of its own, with an
empty home folder and without a folder for compiled kernels. The script fails if any kernel is compiled: in first calls,
with the presets, or with the samplers of the paper. ``--full`` also compares with compilation on this machine: the
results for the same processor level must have the same bits, and the speed is measured against code for this processor.
Compiling takes minutes. Run ``--full`` on an idle machine. Without it, the file keeps its earlier comparison.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from latency import CALLS as LATENCY_CALLS
from latency import POINTS

CIRCUMSTANCES = """
import json, os, platform
import numba, numpy
from bansac.compiled import pack
versions = {"numpy": numpy.__version__, "numba": numba.__version__, "python": platform.python_version()}
machine = {"platform": platform.platform(), "cores": os.cpu_count()}
print(json.dumps({"versions": versions, "machine": machine, "pack_bytes": pack.PACK_FILE.stat().st_size}))
"""

IMPORT = """
import time
import numba
print(time.process_time())
"""

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
from bansac.compiled.numba_backend import KERNELS
print(seconds, KERNELS["compiled"], KERNELS["packed"])
"""

CALLS = LATENCY_CALLS | {
    "relative pose": "bansac.estimate_relative_pose(x1, x2)",
    "absolute pose": "bansac.estimate_absolute_pose(X, x1)",
    "line": "bansac.fit_line(np.column_stack([x1[:, 0], x1[:, 0] + np.where(np.arange(300) < 100, x1[:, 1], 0)]), "
    "threshold=0.01)",
    "circle": "bansac.fit_circle(ring, threshold=0.01)",
}

# Calls with the presets, and with the samplers of the paper, on all problems.
TASKS = """
from bansac.cli.compile_ahead import DEFAULTS, OPTIONS, call_estimator
names = [name for name, options in DEFAULTS if not options]
tasks = [(name, {"preset": preset}) for preset in ("fast", "accurate", "paper") for name in names]
tasks += [task for task in (*DEFAULTS, *OPTIONS) if task not in tasks]
"""

OPTIONS = f"""{TASKS}
for name, options in tasks:
    call_estimator(name, options)
seconds = 0
"""

BITS = f"""{TASKS}
import hashlib, pickle
for name, options in tasks:
    result = call_estimator(name, options)
    content = pickle.dumps((result.model, result.inliers, result.probabilities, result.residuals))
    print(name, options, result.iterations, hashlib.sha256(content).hexdigest())
"""

SPEED = """
import statistics, time
import bansac
from bansac.synthetic import epipolar_matches, homography_matches
plane = homography_matches(1000, inlier_ratio=0.5, noise=0.5, seed=0)
scene = epipolar_matches(1000, inlier_ratio=0.5, noise=0.5, seed=0)
CALLS = {
    "H": lambda seed: bansac.estimate_homography(plane.x1, plane.x2, threshold=2.0, seed=seed),
    "F": lambda seed: bansac.estimate_fundamental(scene.x1, scene.x2, threshold=2.0, seed=seed),
    "E": lambda seed: bansac.estimate_essential(scene.x1, scene.x2, scene.K, scene.K, threshold=2.0, seed=seed),
}
for name, call in CALLS.items():
    call(0)
    times = []
    for seed in range(100):
        started = time.process_time()
        call(seed)
        times.append(time.process_time() - started)
    print(name, sum(times) / len(times))
"""

# Processes of each kind in the comparison of the speed; they take turns.
TURNS = 7


class Wheel:
    """An environment with the wheel.

    Parameters
    ----------
    python : Path
        Its interpreter.
    folder : Path
        A folder for temporary files.
    """

    def __init__(self, python: Path, folder: Path) -> None:
        self.python = python
        self.home = folder / "home"
        self.home.mkdir()
        file = folder / "file"
        file.touch()
        self.no_folder = file / "cache"  # no folder can be made below a file

    def run(self, code: str, **variables: str) -> list[str]:
        """Run code in a new process, and return the lines that it prints."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "PYTHON", "XDG"))}
        environment = kept | {"HOME": str(self.home), "NUMBA_CACHE_DIR": str(self.no_folder)} | variables
        command = [str(self.python), "-c", code]
        done = subprocess.run(command, env=environment, cwd=self.home, text=True, stdout=subprocess.PIPE, check=True)
        return done.stdout.splitlines()

    def count(self, code: str) -> tuple[float, int, int]:
        """Run code, and return the seconds, the kernels compiled and those of the wheel."""
        seconds, compiled, packed = self.run(code + COUNT)[-1].split()
        return float(seconds), int(compiled), int(packed)

    def written(self) -> list[str]:
        """Return the compiled kernels beside the modules, and the files in the home folder."""
        (package,) = self.run("import bansac; print(bansac.__path__[0])")
        return [str(path) for path in (*Path(package).rglob("*.nb[ic]"), *self.home.rglob("*"))]


def check_calls(wheel: Wheel, runs: int) -> dict[str, Any]:
    """Return the median of the processor time and the numbers of kernels of the first calls."""
    found: dict[str, Any] = {}
    for name, call in CALLS.items():
        taken = [wheel.count(FIRST_CALL.format(call=call)) for _ in range(runs)]
        found[name] = {
            "cpu_seconds": statistics.median(seconds for seconds, _, _ in taken),
            "compiled": max(compiled for _, compiled, _ in taken),
            "from_wheel": taken[0][2],
        }
        print(name, found[name])
    _, compiled, packed = wheel.count(OPTIONS)
    found["all options"] = {"compiled": compiled, "from_wheel": packed}
    print("all options", found["all options"])
    return found


def circumstances(wheel: Wheel) -> dict[str, Any]:
    """Return date, versions and machine, the bytes of the compiled kernels, and the time of ``import numba``."""
    (line,) = wheel.run(CIRCUMSTANCES)
    found: dict[str, Any] = json.loads(line)
    imports = [float(wheel.run(IMPORT)[0]) for _ in range(5)]
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **found,
        "import_numba": {"cpu_seconds": statistics.median(imports)},
    }


def compare(wheel: Wheel, cache: str) -> dict[str, Any]:
    """Return how many results have the same bits, and the ratio of the speed."""
    (level,) = wheel.run("from bansac.compiled.target import portable_level; print(portable_level())")
    packed = wheel.run(BITS)
    compiled = wheel.run(
        WITHOUT_PACK + BITS, NUMBA_CPU_NAME=level, NUMBA_CPU_FEATURES="", NUMBA_CACHE_DIR=f"{cache}/level"
    )
    same = sum(a == b for a, b in zip(packed, compiled, strict=True))
    kinds: dict[str, tuple[str, dict[str, str]]] = {
        "wheel": (SPEED, {}),
        "host": (WITHOUT_PACK + SPEED, {"NUMBA_CACHE_DIR": f"{cache}/host"}),
    }
    times: dict[str, dict[str, list[float]]] = {kind: {} for kind in kinds}
    wheel.run(*kinds["host"][:1], **kinds["host"][1])  # compiles
    for _ in range(TURNS):
        for kind, (code, variables) in kinds.items():
            for line in wheel.run(code, **variables):
                name, seconds = line.split()
                times[kind].setdefault(name, []).append(float(seconds))
    ratios = {
        name: statistics.median(times["wheel"][name]) / statistics.median(times["host"][name])
        for name in times["wheel"]
    }
    found = {"results": len(packed), "same_bits": same, "time_over_host": ratios}
    print(found)
    return found


def main() -> None:
    """Run the checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, required=True, help="interpreter of the environment with the wheel")
    parser.add_argument("--runs", type=int, default=5, help="processes of each first call; the median counts")
    parser.add_argument("--full", action="store_true", help="compare with compilation on this machine")
    parser.add_argument("--json", type=Path, help="write the figures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel = Wheel(arguments.python, Path(folder))
        report = circumstances(wheel) | {"first_calls": check_calls(wheel, arguments.runs)}
        problems = [f"{name} compiles" for name, counts in report["first_calls"].items() if counts["compiled"]]
        problems += [
            f"{name} loads nothing" for name, counts in report["first_calls"].items() if not counts["from_wheel"]
        ]
        problems += [f"written: {path}" for path in wheel.written()]
        if arguments.full:
            report["compiled_here"] = compare(wheel, f"{folder}/caches")
            if report["compiled_here"]["same_bits"] < report["compiled_here"]["results"]:
                problems.append("results have other bits than with compilation for the same processor level")
    if arguments.json:
        earlier = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
        arguments.json.write_text(json.dumps(earlier | report, indent=1) + "\n")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
