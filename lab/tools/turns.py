"""Compare the speed and accuracy of two source trees, whose benchmarks alternate.

    python lab/tools/turns.py --before PATH --data FOLDER [--rounds 3] [--json FILE]

``PATH`` is the root of another checkout ("before"). Each benchmark runs in a new process with cached kernels. Both
trees run once in each round, in alternating order: before, after; after, before. For every set and method, the fastest
round counts. The output has the mean times over the sets, the ratio after / before, and AUC@10 (E, F) or mAA@10 (H) of
both.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import report

from bansac.problems.estimators import Kind
from bansac_lab.measurements.budgets import ACCURACY
from bansac_lab.provenance import circumstances

ROOT = Path(__file__).resolve().parents[2]

# Model, folder below the data, and options of the benchmark.
POSES = ["--exclude", "middlebury_dino", "--pairs", "20"]
RUNS: dict[Kind, tuple[str, list[str]]] = {
    "H": ("H", ["--sets", "exact_warp", "--max-ratio", "0.95", "--pairs", "60", "--repeats", "3"]),
    "F": ("EF", POSES),
    "E": ("EF", POSES),
}
METHODS = "bansac,p-bansac,uniform,prosac,p-bansac-lo"


def bench(source: Path, cache: Path, data: Path, model: Kind) -> dict[str, Any]:
    """Run the benchmark of a source tree and return its report."""
    folder, options = RUNS[model]
    packages = os.pathsep.join([str(source / "src"), str(source / "lab" / "src")])
    environment = os.environ | {"PYTHONPATH": packages, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "bansac", "bench", str(data / folder), "--model", model]
    command += ["--methods", METHODS, "--json", *options]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def compare(before: list[dict[str, Any]], after: list[dict[str, Any]], model: Kind, method: str) -> dict[str, float]:
    """Return the times of a method, each the mean over the sets of the fastest round, and its accuracies."""
    times = []
    for reports in (before, after):
        sets = [[of["sets"][name]["methods"][method]["ms_mean"] for of in reports] for name in reports[0]["sets"]]
        times.append(statistics.mean(map(min, sets)))
    found = {"ms_before": times[0], "ms_after": times[1], "ratio": times[1] / times[0]}
    accuracy = ACCURACY[model]
    accuracies = (reports[0]["mean"][method][accuracy] for reports in (before, after))
    return found | dict(zip((f"{accuracy}_before", f"{accuracy}_after"), accuracies, strict=True))


def main() -> None:
    """Run all rounds and print the figures."""
    parser = report.parser(__doc__, rounds=3)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    trees, rows = {"before": arguments.before.resolve(), "after": ROOT}, {}
    with tempfile.TemporaryDirectory() as folder:
        for model in RUNS:
            reports: dict[str, list[dict[str, Any]]] = {name: [] for name in trees}
            for turn in range(arguments.rounds):
                for name in list(trees)[:: 1 if turn % 2 == 0 else -1]:
                    reports[name].append(bench(trees[name], Path(folder) / name, arguments.data.resolve(), model))
            for method in METHODS.split(","):
                found = rows[f"{model} {method}"] = compare(reports["before"], reports["after"], model, method)
                print(f"{model} {method:12}", *(f"{name} {value:.3f}" for name, value in found.items()), flush=True)
    report.write(arguments.json, {**circumstances(), "rounds": arguments.rounds, "methods": rows})


if __name__ == "__main__":
    main()
