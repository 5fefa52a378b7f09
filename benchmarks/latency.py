"""Measure what a user waits for outside of the estimation: importing, loading cached kernels, compiling.

    python benchmarks/latency.py [--runs 7] [--before PATH] [--json FILE]

Every figure is the median over fresh processes, whose standard library and NumPy are in the disk cache. The first call
ever has a folder of its own for the compiled kernels each time, and is measured in seconds on the clock and in seconds
of processor time, which other work on the machine disturbs less. With ``--before`` a second source tree (the root of a
checkout, or its ``src``) is measured in turn with this one. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

MODELS = ("H", "F", "E")

# What is measured, as a statement after preparations that are not; each runs in a process of its own.
MEASURED = """
import time
{prepare}
wall, cpu = time.perf_counter(), time.process_time()
{statement}
print(time.perf_counter() - wall, time.process_time() - cpu)
"""

POINTS = """
import bansac
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

# Upper bounds in seconds on the clock.
BUDGETS = {"import bansac, more than import numpy": 0.030} | {
    f"warm cache {model}, more than a trivial cached function": 0.100 for model in MODELS
}

# Upper bounds in seconds of processor time.
CPU_BUDGETS = {"first call ever H": 5.5, "first call ever F": 8.5, "first call ever E": 8.5}


class Times(NamedTuple):
    """Seconds that a statement took."""

    wall: float
    cpu: float


class Tree(NamedTuple):
    """A source tree, and the folder for its compiled kernels."""

    source: Path
    cache: Path


def measure(prepare: str, statement: str, tree: Tree) -> Times:
    """Run ``statement`` in a fresh process that imports from ``tree``."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tree.cache), "PYTHONPATH": str(tree.source)}
    command = [sys.executable, "-c", MEASURED.format(prepare=prepare, statement=statement)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{statement!r} failed with {tree.source}:\n{done.stderr}")
    wall, cpu = done.stdout.split()[-2:]
    return Times(float(wall), float(cpu))


def in_turn(
    prepare: str, statement: str, trees: Mapping[str, Tree], runs: int, *, fresh: bool = False
) -> dict[str, Times]:
    """Return the medians for every tree; the trees take turns: A B A B.

    Each process has an empty folder for compiled kernels if ``fresh``, else one that a first run, which does not count,
    has filled.
    """
    times: dict[str, list[Times]] = {name: [] for name in trees}
    for run in range(runs) if fresh else range(-1, runs):
        for name, tree in trees.items():
            used = tree
            if fresh:
                used = Tree(tree.source, Path(tempfile.mkdtemp(dir=tree.cache)))
            taken = measure(prepare, statement, used)
            if run >= 0:
                times[name].append(taken)
    return {
        name: Times(*(statistics.median(column) for column in zip(*taken, strict=True)))
        for name, taken in times.items()
    }


def measure_all(trees: Mapping[str, Tree], runs: int, folder: Path) -> dict[str, dict[str, Times]]:
    """Return every figure of every tree, by the names of the trees and of the figures."""
    (folder / "trivial.py").write_text(TRIVIAL_MODULE)
    numpy_import = in_turn("", "import numpy", trees, runs)
    trivial = in_turn(
        "import numpy",
        "import trivial; trivial.add(1, 2)",
        {name: Tree(folder, tree.cache) for name, tree in trees.items()},
        runs,
    )
    figures = {
        "import numpy": numpy_import,
        **more("import bansac", in_turn("", "import bansac", trees, runs), "import numpy", numpy_import),
        "warm cache, trivial cached function": trivial,
    }
    for model, call in CALLS.items():
        warm = in_turn(POINTS, call, trees, runs)
        figures |= more(f"warm cache {model}", warm, "a trivial cached function", trivial)
    for model, call in CALLS.items():
        figures[f"first call ever {model}"] = in_turn(POINTS, call, trees, min(runs, 3), fresh=True)
    return {name: {figure: times[name] for figure, times in figures.items()} for name in trees}


def more(
    figure: str, times: Mapping[str, Times], base_name: str, base: Mapping[str, Times]
) -> dict[str, dict[str, Times]]:
    """Return a figure, and by how much it exceeds another one."""
    excess = {name: Times(taken.wall - base[name].wall, taken.cpu - base[name].cpu) for name, taken in times.items()}
    return {figure: dict(times), f"{figure}, more than {base_name}": excess}


def over_budget(figures: Mapping[str, Times]) -> list[str]:
    """Return the names of the figures that are above their budgets."""
    late = [name for name, budget in BUDGETS.items() if figures[name].wall > budget]
    return late + [name for name, budget in CPU_BUDGETS.items() if figures[name].cpu > budget]


def show(figures: Mapping[str, Times], before: Mapping[str, Times] | None) -> None:
    """Print a table: seconds on the clock, seconds of processor time, and the ratios of both to the tree before."""
    late = over_budget(figures)
    for name, times in figures.items():
        line = f"{name:<52} {1e3 * times.wall:9.1f} ms {1e3 * times.cpu:9.1f} ms CPU"
        if before is not None:
            ratios = (new / old if old > 0 else float("nan") for new, old in zip(times, before[name], strict=True))
            line += "  before: {:.1f} ms {:.1f} ms CPU".format(*(1e3 * value for value in before[name]))
            line += "  ratio: {:.3f} {:.3f}".format(*ratios)
        if name in BUDGETS:
            line += f"  (at most {1e3 * BUDGETS[name]:.0f} ms)"
        if name in CPU_BUDGETS:
            line += f"  (at most {CPU_BUDGETS[name]} s CPU)"
        print(line + ("  EXCEEDED" if name in late else ""))


def document(runs: int, figures: Mapping[str, Mapping[str, Times]]) -> dict[str, object]:
    """Return the report: date, versions, machine, figures and budgets."""
    new = figures["now"]
    report: dict[str, object] = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": {name: version(name) for name in ("numpy", "numba")} | {"python": platform.python_version()},
        "machine": {"platform": platform.platform(), "cores": os.cpu_count()},
        "runs": runs,
        "seconds": {name: times.wall for name, times in new.items()},
        "cpu_seconds": {name: times.cpu for name, times in new.items()},
        "budgets": BUDGETS,
        "cpu_budgets": CPU_BUDGETS,
    }
    if "before" in figures:
        report["before"] = {
            "seconds": {name: times.wall for name, times in figures["before"].items()},
            "cpu_seconds": {name: times.cpu for name, times in figures["before"].items()},
        }
    return report


def source_folder(path: Path) -> Path:
    """Return the folder of a checkout that holds the package.

    Raises
    ------
    ValueError
        If there is no ``bansac`` in ``path`` or in ``path/src``.
    """
    for folder in (path / "src", path):
        if (folder / "bansac" / "__init__.py").is_file():
            return folder.resolve()
    raise ValueError(f"{path} holds no bansac, nor does {path / 'src'}")


def main() -> int:
    """Measure, print a table, and return 1 if a budget is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7, help="processes a figure; first calls ever at most 3")
    parser.add_argument("--before", type=Path, metavar="PATH", help="source tree to be measured in turn with this one")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = {"now": ROOT}
        if arguments.before is not None:
            sources["before"] = arguments.before
        trees = {}
        for which, source in sources.items():
            (folder / which).mkdir()
            trees[which] = Tree(source_folder(source), folder / which)
        figures = measure_all(trees, arguments.runs, folder)
    show(figures["now"], figures.get("before"))
    if arguments.json:
        arguments.json.write_text(json.dumps(document(arguments.runs, figures), indent=2) + "\n")
    return bool(over_budget(figures["now"]))


if __name__ == "__main__":
    raise SystemExit(main())
