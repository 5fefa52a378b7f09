"""Draw the pictures of ``docs/results.md``: accuracy over the mean time of a call, with intervals.

Usage: python scripts/results_pictures.py [FOLDER]

The data are the reports ``E.json``, ``F.json`` and ``H_exact.json`` in ``benchmarks``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from bansac.lab.frames import import_figure
from bansac.lab.measurements.budgets import ACCURACY
from bansac.lab.measurements.folder_tables import group, in_order, label
from bansac.lab.reports import bench
from bansac.plotting import save_figure

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
REPORTS = ("E", "F", "H_exact")
COLORS = {"Presets": "#0072b2", "The paper's methods": "#8a8a8a", "Other libraries": "#d55e00"}


def draw(name: str) -> Any:
    """Draw the methods of a report; NAPSAC, which is far below the others, is left out."""
    document = bench(name)
    mean, spread, key = document["mean"], document["spread"], ACCURACY[document["protocol"]["kind"]]
    figure = import_figure()(figsize=(7.2, 7.6), layout="constrained")
    ax, legend = figure.subplots(2, 1, height_ratios=(3, 2))
    rows = [method for method in in_order(mean) if method != "napsac"]
    for number, method in enumerate(rows, 1):
        row, error, color = mean[method], 2 * spread[method][key], COLORS[group(method)]
        ax.errorbar(row["ms_mean"], row[key], yerr=error, fmt="o", color=color, markersize=5, capsize=3)
        ax.annotate(str(number), (row["ms_mean"], row[key]), (5, 4), textcoords="offset points", color=color)
        column, line = divmod(number - 1, -(-len(rows) // 2))
        text = f"{number}  {label(method)}"
        legend.text(0.4 * column, 1 - 0.09 * line, text, color=color, va="top", fontsize="small")
    ax.set(xlabel="mean time of a call (ms)", ylabel=key, xscale="log")
    ax.grid(color="0.9")
    ax.spines[["top", "right"]].set_visible(False)
    legend.set_axis_off()
    return figure


def main(folder: Path) -> None:
    """Write the pictures to a folder."""
    for name in REPORTS:
        save_figure(draw(name), folder / f"results_{name}.png", dpi=120)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
