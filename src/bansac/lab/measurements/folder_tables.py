"""Tables of ``docs/results.md`` and ``docs/choosing.md`` from reports of ``bansac bench DIR``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bansac.lab.measurement import Document
from bansac.lab.measurements.budgets import ACCURACY, TIMES, best_within
from bansac.lab.peers.methods import METHODS
from bansac.lab.reports import lines, share

# Names of the methods in the tables, in the order of their rows. A table has the methods of its report; those that are
# not listed here come last, by their own names.
LABELS = {
    "default": "default",
    "fast": "fast",
    "accurate": "accurate",
    "default-unscored": "default, without scores",
    "default-unsized": "default, without image sizes",
    "bansac": "bansac",
    "p-bansac": "p-bansac",
    "uniform": "uniform",
    "prosac": "prosac",
    "p-napsac": "p-napsac",
    "napsac": "napsac",
    "bansac-lo": "bansac-lo",
    "p-bansac-lo": "p-bansac-lo",
    "uniform-lo": "uniform-lo",
    "prosac-lo": "prosac-lo",
    "opencv": "OpenCV UsacParams, uniform, no LO",
    "poselib": "PoseLib",
    "poselib-prosac": "PoseLib, progressive sampling",
    "poselib-own": "PoseLib, its own limits",
    "poselib-prosac-own": "PoseLib, progressive sampling, its own limits",
    "opencv-prosac-lo": "OpenCV UsacParams, PROSAC, LO",
    "opencv-accurate": "OpenCV USAC_ACCURATE",
    "opencv-magsac": "OpenCV USAC_MAGSAC",
    "pycolmap": "pycolmap",
    "pydegensac": "pydegensac",
    "superansac": "SupeRANSAC",
}

# Other libraries' method -> ours whose times are compared with it.
RATIOS = {
    "poselib-prosac": ("default", "fast", "accurate"),
    "poselib-prosac-own": ("accurate",),
    "poselib-prosac-own@5e-4": ("accurate",),
    "opencv-magsac": ("default",),
    "opencv": ("bansac", "p-bansac"),
}

# Column -> keys of its figures in the report.
POSE_COLUMNS = {
    "mAA R 5/10": ("mAA_R@5", "mAA_R@10"),
    "mAA t 5/10": ("mAA_t@5", "mAA_t@10"),
    "AUC 5/10/20": ("AUC@5", "AUC@10", "AUC@20"),
    "ms mean/median": ("ms_mean", "ms_median"),
}
HOMOGRAPHY_COLUMNS = {"mAA 5/10 px": ("mAA@5", "mAA@10"), "ms mean/median": ("ms_mean", "ms_median")}


def figure(key: str, value: float, spread: float | None) -> str:
    """Return one figure of a report: milliseconds, or an accuracy with its spread if that is known."""
    if key.startswith("ms"):
        return f"{value:.2f}"
    return share(value) if spread is None else f"{share(value)} ± {share(spread)}"


def comparison(columns: Mapping[str, tuple[str, ...]], document: Document) -> str:
    """Return the table of one benchmark: a row a method, means over the sets."""
    mean, spread = document["mean"], document.get("spread", {})

    def cell(method: str, keys: tuple[str, ...]) -> str:
        return "/".join(figure(key, mean[method][key], spread.get(method, {}).get(key)) for key in keys)

    rows = (
        [
            label(method.partition("@")[0]),
            threshold_of(method, document["protocol"]),
            *(cell(method, keys) for keys in columns.values()),
        ]
        for method in in_order(mean)
    )
    return lines(["method", "threshold", *columns], rows) + "".join(f"\n{line}\n" for line in time_ratios(mean))


def threshold_of(method: str, protocol: Mapping[str, Any]) -> str:
    """Return the threshold of a method: the protocol's, which is that of most methods, its own, or an estimated one."""
    name, _, own = method.partition("@")
    if "preset" in METHODS[name].settings:
        return "estimated"
    unit = "" if protocol["kind"] == "E" else " px"
    return f"{own}{unit}" if own else f"common, {protocol['threshold']:g}{unit}"


def time_ratios(mean: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return sentences with the mean times of our methods over those of other libraries."""
    sentences = []
    for peer, methods in RATIOS.items():
        ours = [method for method in methods if method in mean]
        if peer in mean and ours:
            parts = ", ".join(f"{label(m)} {share(mean[m]['ms_mean'] / mean[peer]['ms_mean'])}" for m in ours)
            sentences.append(f"Mean times over that of {label(peer)}: {parts}.")
    return sentences


def in_order(methods: Iterable[str]) -> list[str]:
    """Return the methods in the order of ``LABELS``; one at another threshold, NAME@THRESHOLD, is with its name."""
    places = {name: place for place, name in enumerate(LABELS)}
    return sorted(methods, key=lambda method: places.get(method.partition("@")[0], len(places)))


def label(method: str) -> str:
    """Return the name of a method in the tables."""
    name, _, threshold = method.partition("@")
    return LABELS.get(name, name) + (f", threshold {threshold}" if threshold else "")


def over_time(name: str, document: Document) -> str:
    """Return accuracy within given times, and the chart, of a report of ``bansac bench --budgets``."""
    curves, accuracy = document["mean"], ACCURACY[document["protocol"]["kind"]]
    best = {method: [best_within(points, time, accuracy) for time in TIMES] for method, points in curves.items()}
    rows = ([label(method), *(share(v) if v == v else "-" for v in best[method])] for method in in_order(curves))
    table = lines([f"{accuracy} within", *(f"{time:g} ms" for time in TIMES)], rows)
    return f"{table}\n![{accuracy} over the mean time of a call](../benchmarks/{name}.png)\n"


def presets(*documents: Document) -> str:
    """Return accuracy and time of the presets, and of the paper's P-BANSAC, which is ``preset="paper"`` with scores."""
    models = [document["protocol"]["kind"] for document in documents]

    def cells(method: str) -> list[str]:
        means = [(document["mean"].get(method), ACCURACY[document["protocol"]["kind"]]) for document in documents]
        return ["-" if mean is None else f"{share(mean[key])}, {mean['ms_mean']:.2f} ms" for mean, key in means]

    methods = {"none": "default", '`"fast"`': "fast", '`"accurate"`': "accurate", '`"paper"`': "p-bansac"}
    return lines(["`preset`", *models], ([name, *cells(method)] for name, method in methods.items()))


TABLES: Mapping[str, Callable[..., str]] = {
    "essential": functools.partial(comparison, POSE_COLUMNS),
    "fundamental": functools.partial(comparison, POSE_COLUMNS),
    "homography-exact": functools.partial(comparison, HOMOGRAPHY_COLUMNS),
    "homography-small": functools.partial(comparison, HOMOGRAPHY_COLUMNS),
    "essential-time": functools.partial(over_time, "E_time"),
    "fundamental-time": functools.partial(over_time, "F_time"),
    "homography-time": functools.partial(over_time, "H_time"),
    "presets": presets,
}
REPORTS = {
    "essential": ("E",),
    "fundamental": ("F",),
    "homography-exact": ("H_exact",),
    "homography-small": ("H_small",),
    "essential-time": ("E_time",),
    "fundamental-time": ("F_time",),
    "homography-time": ("H_time",),
    "presets": ("F", "E", "H_exact"),
}
