"""Measure the latency besides the estimation: imports, loading of cached kernels, compilation, and the command line.

    python benchmarks/latency.py [--runs 7] [--before PATH] [--json FILE]

Every number is a median over new processes, with the standard library and NumPy in the disk cache. The "first call
ever" has an empty folder for the compiled kernels each time. Wall time and processor time are measured. Other load on
the machine has less effect on processor time. With ``--before``, a second source tree (the root of a checkout, or its
``src``) is measured in turn with this one. Run the script on an idle machine.
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

# Measured statements, each with a preparation that is not measured; each runs in its own process.
MEASURED = """
import os, time
def cpu_time():
    return time.process_time() + sum(os.times()[2:4])
{prepare}
wall, cpu = time.perf_counter(), cpu_time()
{statement}
print(time.perf_counter() - wall, cpu_time() - cpu)
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

# The calls; the trivial function is called after the same preparation.
CALLS = {
    "H": "bansac.estimate_homography(500 * x1, 500 * flat)",
    "F": "bansac.estimate_fundamental(500 * x1, 500 * x2)",
    "E": "bansac.estimate_essential(x1, x2)",
}

# The commands, with the demo's matches in a file.
COMMAND = "subprocess.run([sys.executable, '-m', 'bansac', *{arguments!r}], stdout=subprocess.DEVNULL, check=True)"
COMMANDS = {
    "bansac --help": ["--help"],
    "bansac estimate m.csv --model H": ["estimate", "m.csv", "--model", "H"],
}
FILE = """
import os, subprocess, sys, tempfile
import numpy as np
from bansac.matches import load_demo
pair = load_demo()
os.chdir(tempfile.mkdtemp())
np.savetxt("m.csv", np.column_stack([pair.x1, pair.x2, pair.scores]), delimiter=",")
"""

TRIVIAL_MODULE = """
from numba import njit

@njit(cache=True)
def add(a, b):
    return a + b
"""

# Upper bounds of the wall time in seconds.
BUDGETS = {"import bansac, more than import numpy": 0.030} | {
    f"warm cache {model}, more than a trivial cached function": 0.100 for model in MODELS
}

# Upper bounds of the processor time in seconds.
CPU_BUDGETS = {"first call ever H": 5.5, "first call ever F": 8.5, "first call ever E": 8.5}


Key = tuple[str, str]
"""Names of a source tree and of a figure."""


class Times(NamedTuple):
    """Duration of a statement in seconds."""

    wall: float
    cpu: float


class Job(NamedTuple):
    """A statement that is measured in a new process."""

    prepare: str
    statement: str
    source: Path  # folder to import from
    cache: Path | None  # folder of the compiled kernels; None for an empty one each time


def measure(job: Job, folder: Path) -> Times:
    """Run a job once; create empty folders for compiled kernels in ``folder``."""
    cache = tempfile.mkdtemp(dir=folder) if job.cache is None else job.cache
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(job.source)}
    command = [sys.executable, "-c", MEASURED.format(prepare=job.prepare, statement=job.statement)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{job.statement!r} failed with {job.source}:\n{done.stderr}")
    wall, cpu = done.stdout.split()[-2:]
    return Times(float(wall), float(cpu))


def in_turn(jobs: Mapping[Key, Job], runs: int, folder: Path) -> dict[Key, Times]:
    """Return the medians of the jobs. The jobs alternate (A B A B), so that other load affects all of them.

    For jobs with stored kernels, a first run compiles them and does not count.
    """
    times: dict[Key, list[Times]] = {key: [] for key in jobs}
    for job in jobs.values():
        if job.cache is not None:
            measure(job, folder)
    for _ in range(runs):
        for key, job in jobs.items():
            times[key].append(measure(job, folder))
    return {
        key: Times(*(statistics.median(column) for column in zip(*taken, strict=True))) for key, taken in times.items()
    }


def measure_all(sources: Mapping[str, Path], runs: int, folder: Path) -> dict[str, dict[str, Times]]:
    """Return every figure of every source tree, by the names of the trees and of the figures."""
    trivial = folder / "trivial"
    trivial.mkdir()
    (trivial / "trivial.py").write_text(TRIVIAL_MODULE)
    imports, warm, cold = (dict[Key, Job]() for _ in range(3))
    for name in ("numpy", "numba", "bansac"):
        for tree, source in sources.items():
            imports[tree, f"import {name}"] = Job("", f"import {name}", source, folder / tree)
    for tree in sources:
        job = Job(POINTS, "import trivial; trivial.add(1, 2)", trivial, folder / tree)
        warm[tree, "warm cache, trivial cached function"] = job
    for model, call in CALLS.items():
        for tree, source in sources.items():
            job = Job("import bansac" + POINTS, call, source, folder / tree)
            warm[tree, f"warm cache {model}"] = job
            cold[tree, f"first call ever {model}"] = job._replace(cache=None)
    for name, arguments in COMMANDS.items():
        for tree, source in sources.items():
            warm[tree, name] = Job(FILE, COMMAND.format(arguments=arguments), source, folder / tree)
    measured = in_turn(imports, runs, folder) | in_turn(warm, runs, folder) | in_turn(cold, min(runs, 3), folder)
    return {
        tree: with_excess({figure: times for (which, figure), times in measured.items() if which == tree})
        for tree in sources
    }


def with_excess(figures: Mapping[str, Times]) -> dict[str, Times]:
    """Return the figures, and for some the difference to the figure that every process needs."""
    bases = {"import bansac": ("import numpy", figures["import numpy"])} | {
        f"warm cache {model}": ("a trivial cached function", figures["warm cache, trivial cached function"])
        for model in CALLS
    }
    result: dict[str, Times] = {}
    for name, times in figures.items():
        result[name] = times
        if name in bases:
            base_name, base = bases[name]
            result[f"{name}, more than {base_name}"] = Times(times.wall - base.wall, times.cpu - base.cpu)
    return result


def over_budget(figures: Mapping[str, Times]) -> list[str]:
    """Return the names of the figures above their budgets."""
    late = [name for name, budget in BUDGETS.items() if figures[name].wall > budget]
    return late + [name for name, budget in CPU_BUDGETS.items() if figures[name].cpu > budget]


def show(figures: Mapping[str, Times], before: Mapping[str, Times] | None) -> None:
    """Print a table: wall time and processor time in seconds, and the ratios of both to the other tree."""
    late = over_budget(figures)
    for name, times in figures.items():
        line = f"{name:<52} {1e3 * times.wall:9.1f} ms {1e3 * times.cpu:9.1f} ms CPU"
        if before is not None:
            line += "  before: {:.1f} ms {:.1f} ms CPU".format(*(1e3 * value for value in before[name]))
            if "more than" not in name:  # a difference may be 0
                line += f"  ratio: {times.wall / before[name].wall:.3f} {times.cpu / before[name].cpu:.3f}"
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
    with tempfile.TemporaryDirectory() as folder:
        sources = {"now": source_folder(ROOT)}
        if arguments.before is not None:
            sources["before"] = source_folder(arguments.before)
        figures = measure_all(sources, arguments.runs, Path(folder))
    show(figures["now"], figures.get("before"))
    if arguments.json:
        arguments.json.write_text(json.dumps(document(arguments.runs, figures), indent=2) + "\n")
    return bool(over_budget(figures["now"]))


if __name__ == "__main__":
    raise SystemExit(main())
