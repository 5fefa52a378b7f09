"""Waiting times besides the estimation: imports, loading of cached kernels, compilation, and the command line.

Every number is a median over new processes, with the standard library and NumPy in the disk cache. The "first call
ever" has an empty folder for the compiled kernels each time. Wall time and processor time are measured. Other load on
the machine has less effect on processor time. The exit code is 1 if a time is over its budget. Use an idle machine.
"""

import itertools
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import bansac
from bansac_lab.measurement import Document, Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.tables import Table, plain_table

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
COMMANDS = ("bansac --help", "bansac estimate m.csv --model H")
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

COLUMNS = ("seconds", "cpu_seconds")
"""Wall time and processor time."""

_TRIVIAL = "warm cache, trivial cached function"
BASES = {"import bansac": ("import numpy", "import numpy")} | {
    f"warm cache {model}": (_TRIVIAL, "a trivial cached function") for model in MODELS
}
"""Figures, what every process needs of them, and its name."""

_OF_CALLS = {model: ("import bansac" + POINTS, call) for model, call in CALLS.items()}

STATEMENTS: dict[str, dict[str, tuple[str, str]]] = {
    "imports": {f"import {name}": ("", f"import {name}") for name in ("numpy", "numba", "bansac")},
    "warm": {
        _TRIVIAL: (POINTS, "import trivial; trivial.add(1, 2)"),
        **{f"warm cache {model}": texts for model, texts in _OF_CALLS.items()},
        **{text: (FILE, COMMAND.format(arguments=text.split()[1:])) for text in COMMANDS},
    },
    "cold": {
        **{f"first call ever {model}": texts for model, texts in _OF_CALLS.items()},
        "first call ever demo": (FILE, COMMAND.format(arguments=["demo"])),
    },
}
"""Preparation and statement of the figures of each group, whose processes take turns."""


def measure(prepare: str, statement: str, source: Path, cache: Path) -> tuple[float, ...]:
    """Run a statement in a new process that imports from ``source``; return its times."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(source)}
    command = [sys.executable, "-c", MEASURED.format(prepare=prepare, statement=statement)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{statement!r} failed:\n{done.stderr}")
    return tuple(map(float, done.stdout.split()[-2:]))


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Return the median times of a group, first calls ever of at most three processes.

    The figures alternate, so that other load affects all of them. A first process that compiles does not count.
    """
    (group,) = unit.payload
    cold, package = group == "cold", Path(bansac.__file__).resolve().parents[1]
    times: dict[str, list[tuple[float, ...]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "trivial.py").write_text(TRIVIAL_MODULE)
        for turn in range(min(setup.runs, 3) if cold else setup.runs + 1):
            for figure, statements in STATEMENTS[group].items():
                cache = Path(tempfile.mkdtemp(dir=folder)) if cold else folder / "cache"
                taken = measure(*statements, folder if figure == _TRIVIAL else package, cache)
                if turn or cold:
                    times.setdefault(figure, []).append(taken)
    rows: list[Row] = []
    for figure, runs in times.items():
        medians = map(statistics.median, zip(*runs, strict=True))
        rows.append({"figure": figure, **dict(zip(COLUMNS, medians, strict=True))})
    return rows


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the seconds of all figures; those over their budgets are failures."""
    times = {column: {row["figure"]: row[column] for row in rows} for column in COLUMNS}
    for seconds, (name, (base, title)) in itertools.product(times.values(), BASES.items()):
        seconds[f"{name}, more than {title}"] = seconds[name] - seconds[base]
    late = []
    for column, budgets in zip(COLUMNS, (BUDGETS, CPU_BUDGETS), strict=True):
        over = ((times[column][name], name, budget) for name, budget in budgets.items() if times[column][name] > budget)
        late += [f"{name}: {seconds:.3f} s, more than {budget:g} s ({column})" for seconds, name, budget in over]
    records = {"runs": setup.runs, **times, "budgets": BUDGETS, "cpu_budgets": CPU_BUDGETS}
    return Report(records=records, failures=late)


def waiting_times(document: Document) -> Table:
    """Return the table of the waiting times: what a process needs outside of the estimation."""
    seconds = document["seconds"]

    def first(kind: str, column: str = "seconds", digits: int = 1) -> str:
        return ", ".join(f"{name} {taken:.{digits}f}" for name, taken in _of(document[column], kind).items()) + " s"

    rows = [
        ["`import bansac`", f"{1e3 * seconds['import bansac']:.0f} ms"],
        ["first call of a process, kernels cached, with all imports", first("warm cache", digits=2)],
        ["the same of a trivial cached function of Numba", f"{seconds[_TRIVIAL]:.2f} s"],
        ["first call ever, with compilation", first("first call ever")],
        ["the same, processor time", first("first call ever", "cpu_seconds")],
    ]
    commands = {"bansac --help": "", "bansac estimate m.csv --model H": ", kernels cached", "import numba": ""}
    rows += [[f"`{name}`{remark}", f"{seconds[name]:.2f} s"] for name, remark in commands.items()]
    return plain_table(["what", "time"], rows)


def numba_in_command(document: Document) -> str:
    """Return the seconds of ``import numba`` and of an estimate on the command line."""
    seconds = document["seconds"]
    return f"{seconds['import numba']:.2f} of the {seconds['bansac estimate m.csv --model H']:.2f} s"


def first_call(document: Document) -> str:
    """Return the seconds of the first calls ever, with compilation, of H, F, E and the demo."""
    seconds = _of(document["seconds"], "first call ever").values()
    return f"{min(seconds):.0f} to {max(seconds):.0f} seconds"


def _of(seconds: Mapping[str, float], kind: str) -> dict[str, float]:
    """Return the figures of a kind by what is called."""
    names = (name for name in seconds if name.startswith(f"{kind} ") and "," not in name)
    return {name.removeprefix(f"{kind} "): seconds[name] for name in names}


MEASUREMENT = of_module(
    __name__,
    title="Waiting times besides the estimation",
    units=lambda setup: each(STATEMENTS),
    options=(Option("runs", int, 7, "Processes of every figure; of first calls ever at most 3.", least=1),),
    tables={"waiting-times": waiting_times},
    figures={"first-call": first_call, "numba-in-command": numba_in_command},
    complete=True,
)
