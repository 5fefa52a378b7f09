"""Measure what a user waits for outside the estimation: importing, loading cached kernels, compiling.

Every figure is the median over fresh processes. Run it on an idle machine::

    python benchmarks/latency.py [--runs 7] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

# What is timed, as a statement after untimed preparations; each runs in a process of its own.
TIMED = """
import time
{prepare}
started = time.perf_counter()
{statement}
print(time.perf_counter() - started)
"""

POINTS = """
import numpy as np
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (300, 3)) + [0, 0, 5]
Y = X @ np.array([[0.995, 0, 0.0998], [0, 1, 0], [-0.0998, 0, 0.995]]).T + [0.5, 0.1, 0]
x1, x2 = X[:, :2] / X[:, 2:], Y[:, :2] / Y[:, 2:]
x2[:100] = rng.uniform(-0.4, 0.4, (100, 2))
flat = x1 @ np.array([[1.0, 0.1], [-0.1, 0.9]]) + 0.2
flat[:100] = x2[:100]
"""

CALLS = {
    "H": "bansac.estimate_homography(500 * x1, 500 * flat)",
    "F": "bansac.estimate_fundamental(500 * x1, 500 * x2)",
    "E": "bansac.estimate_essential(x1, x2)",
}

TRIVIAL_MODULE = """
from numba import njit

@njit(cache=True)
def add(a, b):
    return a + b
"""

# Figure -> upper bound in seconds.
BUDGETS = {
    "import bansac, more than import numpy": 0.030,
    "warm cache H, more than a trivial cached function": 0.150,
    "warm cache F, more than a trivial cached function": 0.150,
    "warm cache E, more than a trivial cached function": 0.150,
    "first call ever H": 3.0,
    "first call ever F": 3.0,
    "first call ever E": 6.0,
}


def time_once(prepare: str, statement: str, cache: Path, path: Path | None = None) -> float:
    """Return the seconds that ``statement`` takes in a fresh process."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    if path is not None:
        environment["PYTHONPATH"] = os.pathsep.join([str(path), environment.get("PYTHONPATH", "")])
    code = TIMED.format(prepare=prepare, statement=statement)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def measure(runs: int, folder: Path) -> dict[str, float]:
    """Return every figure in seconds."""
    warm = folder / "warm"
    numpy_import = median(runs, lambda i: time_once("", "import numpy", warm))
    bansac_import = median(runs, lambda i: time_once("", "import bansac", warm))
    figures = {
        "import numpy": numpy_import,
        "import bansac": bansac_import,
        "import bansac, more than import numpy": bansac_import - numpy_import,
    }

    (folder / "trivial.py").write_text(TRIVIAL_MODULE)
    trivial = ("import numpy", "import trivial; trivial.add(1, 2)", warm, folder)
    time_once(*trivial)
    figures["warm cache, trivial cached function"] = median(runs, lambda i: time_once(*trivial))
    for name, call in CALLS.items():
        prepare = "import bansac" + POINTS
        time_once(prepare, call, warm)
        figures[f"warm cache {name}"] = median(runs, lambda i, p=prepare, c=call: time_once(p, c, warm))
        figures[f"warm cache {name}, more than a trivial cached function"] = (
            figures[f"warm cache {name}"] - figures["warm cache, trivial cached function"]
        )
    for name, call in CALLS.items():
        prepare = "import bansac" + POINTS
        figures[f"first call ever {name}"] = median(
            min(runs, 3), lambda i, p=prepare, c=call, n=name: time_once(p, c, folder / f"cold-{n}-{i}")
        )
    return figures


def median(runs: int, once) -> float:
    """Return the median of ``once(run)`` over the runs."""
    return statistics.median(once(run) for run in range(runs))


def main() -> int:
    """Measure, print a table, and return 1 where a budget is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7, help="processes a figure")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(arguments.runs, Path(folder))
    late = [name for name, budget in BUDGETS.items() if figures[name] > budget]
    for name, seconds in figures.items():
        budget = f"  (budget {1e3 * BUDGETS[name]:.0f} ms)" if name in BUDGETS else ""
        print(f"{name:<55} {1e3 * seconds:9.1f} ms{budget}{'  EXCEEDED' if name in late else ''}")
    if arguments.json:
        document = {
            "versions": {name: version(name) for name in ("numpy", "numba")} | {"python": platform.python_version()},
            "machine": {"platform": platform.platform(), "cores": os.cpu_count()},
            "runs": arguments.runs,
            "seconds": figures,
            "budgets": BUDGETS,
        }
        arguments.json.write_text(json.dumps(document, indent=2) + "\n")
    return bool(late)


if __name__ == "__main__":
    raise SystemExit(main())
