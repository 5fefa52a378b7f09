"""Compare the speed and accuracy of two source trees, whose benchmarks alternate.

    python benchmarks/turns.py --before PATH --data FOLDER [--rounds 3] [--json FILE]

``PATH`` is the root of another checkout ("before"). Each benchmark runs in a new process with cached kernels. Both
trees run once in each round, in alternating order: before, after; after, before. For every set and method, the fastest
round counts. The output has the mean times over the sets, the ratio after / before, and AUC@10 (E, F) or mAA@10 (H) of
both.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

# Model, folder below the data, and options of the benchmark.
RUNS = {
    "H": ("H", ["--sets", "exact_warp", "--max-ratio", "0.95", "--pairs", "60", "--repeats", "3"]),
    "F": ("EF", ["--exclude", "middlebury_dino", "--pairs", "20"]),
    "E": ("EF", ["--exclude", "middlebury_dino", "--pairs", "20"]),
}
METHODS = "bansac,p-bansac,uniform,prosac,p-bansac-lo"


def bench(source: Path, cache: Path, data: Path, model: str, out: Path) -> dict[str, Any]:
    """Run the benchmark of a source tree and return its report."""
    folder, options = RUNS[model]
    environment = os.environ | {"PYTHONPATH": str(source / "src"), "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "bansac.cli", "bench", str(data / folder), "--model", model]
    command += ["--methods", METHODS, "--out", str(out), *options]
    subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(out.read_text())


def fastest(reports: list[dict[str, Any]], method: str) -> float:
    """Return the mean over the sets of the fastest mean time of a method."""
    times = [
        min(report["sets"][name]["methods"][method]["ms_mean"] for report in reports) for name in reports[0]["sets"]
    ]
    return sum(times) / len(times)


def main() -> None:
    """Run all rounds and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for model in RUNS:
            reports: dict[str, list[dict[str, Any]]] = {"before": [], "after": []}
            for turn in range(arguments.rounds):
                for name, source in (("before", arguments.before), ("after", ROOT))[:: 1 if turn % 2 == 0 else -1]:
                    out = Path(folder) / f"{model}-{name}-{turn}.json"
                    reports[name].append(bench(source, Path(folder) / name, arguments.data, model, out))
            accuracy = "mAA@10" if model == "H" else "AUC@10"
            for method in METHODS.split(","):
                before, after = (fastest(reports[name], method) for name in ("before", "after"))
                figures = [reports[name][0]["mean"][method][accuracy] for name in ("before", "after")]
                rows[f"{model} {method}"] = {
                    "ms_before": before,
                    "ms_after": after,
                    "ratio": after / before,
                    f"{accuracy}_before": figures[0],
                    f"{accuracy}_after": figures[1],
                }
                print(
                    f"{model} {method:12} {before:8.3f} {after:8.3f} ms  ratio {after / before:.3f}  "
                    f"{accuracy} {figures[0]:.3f} {figures[1]:.3f}",
                    flush=True,
                )
    if arguments.json:
        document = {
            "date": datetime.date.today().isoformat(),
            "versions": {name: version(name) for name in ("numpy", "numba")} | {"python": platform.python_version()},
            "rounds": arguments.rounds,
            "methods": rows,
        }
        arguments.json.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
