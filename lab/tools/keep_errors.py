"""Keep the errors of every run of an experiment, so that anyone can compute other intervals.

    python lab/tools/keep_errors.py OUT benchmarks/experiments/NAME

OUT is the folder of ``bansac experiments run``. ``errors.npz`` gets one entry for each run in ``runs.csv``: the columns
of text as categories (``NAME`` and ``NAME_values``), errors in single precision, repeats and iterations.
"""

import sys
from pathlib import Path

import numpy as np
import pandas

TEXTS = ("model", "set", "pair", "configuration")
ERRORS = ("rotation_error", "translation_error", "corner_error", "visible_area_error")


def main(source: Path, target: Path) -> None:
    """Write ``errors.npz`` into the folder ``target``."""
    runs = pandas.read_csv(source / "runs.csv", low_memory=False)
    columns: dict[str, np.ndarray] = {}
    for name in TEXTS:
        values, codes = np.unique(runs[name].to_numpy(dtype=str), return_inverse=True)
        columns |= {name: codes.astype(np.uint16), f"{name}_values": values}
    columns |= {name: runs[name].to_numpy(np.float32) for name in ERRORS if name in runs}
    columns |= {name: runs[name].to_numpy(np.int32) for name in ("repeat", "iterations")}
    np.savez_compressed(target / "errors.npz", **columns)  # type: ignore[arg-type]


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
