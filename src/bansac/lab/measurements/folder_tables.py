"""Tables of the pages from the reports of ``bansac bench DIR``: accuracy and time, and accuracy within a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from bansac.lab.measurement import Document
from bansac.lab.measurements.budgets import ACCURACY, TIMES, best_within
from bansac.lab.peers.methods import METHODS
from bansac.lab.reports import bench, lines, share

_OURS = (
    "default fast accurate default-unscored default-unsized bansac p-bansac uniform prosac p-napsac napsac bansac-lo "
    "p-bansac-lo uniform-lo prosac-lo"
)

LABELS = dict(zip(_OURS.split(), _OURS.split(), strict=True)) | {
    "default-unscored": "default, without scores",
    "default-unsized": "default, without image sizes",
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
"""Names of the methods in the tables, in the order of their rows. Other methods come last, by their own names."""

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


def label(method: str) -> str:
    """Return the name of a method in the tables, for ``NAME@THRESHOLD`` with its threshold."""
    name, _, threshold = method.partition("@")
    return LABELS.get(name, name) + (f", threshold {threshold}" if threshold else "")


def in_order(methods: Iterable[str]) -> list[str]:
    """Return the methods in the order of ``LABELS``, at any threshold."""
    places = {name: place for place, name in enumerate(LABELS)}
    return sorted(methods, key=lambda method: places.get(method.partition("@")[0], len(places)))


def comparison(document: Document, columns: Mapping[str, tuple[str, ...]]) -> str:
    """Return the tables of one benchmark, means over the sets: one accuracy, and folds with the rest."""
    mean, spread, key = document["mean"], document.get("spread", {}), ACCURACY[document["protocol"]["kind"]]
    methods = in_order(mean)

    def figure(method: str, name: str) -> str:
        value, error = mean[method][name], spread.get(method, {}).get(name)
        if name.startswith("ms"):
            return f"{value:.2f}"
        return share(value) if error is None else f"{share(value)} ± {share(error)}"

    def cells(method: str) -> Iterable[str]:
        yield label(method.partition("@")[0])
        yield ("**{}**" if mean[method][key] == best else "{}").format(share(mean[method][key]))
        yield share(spread.get(method, {}).get(key, 0.0))
        yield f"{mean[method]['ms_mean']:.2f}"
        yield f"{mean[method]['ms_median']:.2f}"
        yield _threshold(method, document["protocol"])

    best = max(mean[method][key] for method in methods)
    rows: list[Iterable[str]] = []
    for title in dict.fromkeys(map(group, methods)):
        rows += [[f"*{title}*", *[""] * 5], *(cells(method) for method in methods if group(method) == title)]
    table = lines(["method", key, "±", "mean ms", "median ms", "threshold"], rows)
    others = ([label(m), *("/".join(figure(m, name) for name in names) for names in columns.values())] for m in methods)
    folded = lines(["method", *columns], others) + "".join(f"\n{line}\n" for line in _time_ratios(mean))
    return f"{table}\n{_by_set(document, key)}\n{_fold('All thresholds of accuracy, and ratios of times', folded)}"


def group(method: str) -> str:
    """Return the title of the group of a method."""
    settings = METHODS[method.partition("@")[0]].settings
    if "preset" in settings:
        return "Presets"
    return "The paper's methods" if method in _OURS.split() else "Other libraries"


def _by_set(document: Document, key: str) -> str:
    """Return the accuracy on each set in a fold, except for the paper's methods; the worst set is bold."""
    sets = document["sets"]
    rows = []
    for method in in_order(document["mean"]):
        values = {name: row["methods"][method][key] for name, row in sets.items() if method in row["methods"]}
        if values and group(method) != "The paper's methods":
            worst = min(values.values())
            found = (("**{}**" if v == worst else "{}").format(share(v)) for v in values.values())
            rows.append([label(method), *found])
    return _fold(f"{key} of each set; the worst of each method is bold", lines(["method", *sets], rows))


def _fold(title: str, text: str) -> str:
    """Return a part of a page that a click opens."""
    return f'<details markdown="1">\n<summary>{title}</summary>\n\n{text}\n</details>\n'


def _threshold(method: str, protocol: Mapping[str, Any]) -> str:
    """Return the threshold of a method: its own, an estimated one, or that of the protocol."""
    name, _, own = method.partition("@")
    if "preset" in METHODS[name].settings:
        return "estimated"
    unit = "" if protocol["kind"] == "E" else " px"
    return f"{own}{unit}" if own else f"common, {protocol['threshold']:g}{unit}"


def _time_ratios(mean: Mapping[str, Mapping[str, float]]) -> Iterable[str]:
    """Return sentences with the mean times of our methods over those of other libraries."""
    for peer, methods in RATIOS.items():
        ours = [method for method in methods if method in mean]
        if peer in mean and ours:
            parts = ", ".join(f"{label(m)} {share(mean[m]['ms_mean'] / mean[peer]['ms_mean'])}" for m in ours)
            yield f"Mean times over that of {label(peer)}: {parts}."


def over_time(name: str) -> str:
    """Return accuracy within given times, and the chart, of a report of ``bansac bench --budgets``."""
    document = bench(name)
    curves, accuracy = document["mean"], ACCURACY[document["protocol"]["kind"]]
    best = {method: [best_within(points, time, accuracy) for time in TIMES] for method, points in curves.items()}
    rows = ([label(method), *(share(v) if v == v else "-" for v in best[method])] for method in in_order(curves))
    table = lines([f"{accuracy} within", *(f"{time:g} ms" for time in TIMES)], rows)
    return f"{table}\n![{accuracy} over the mean time of a call](../benchmarks/{name}.png)\n"


def presets() -> str:
    """Return accuracy and time of the presets, and of the paper's P-BANSAC, which is ``preset="paper"`` with scores."""
    reports = {"F": ("F", "AUC@10"), "E": ("E", "AUC@10"), "H": ("H_exact", "mAA@10")}

    def cells(method: str) -> list[str]:
        means = [(bench(name)["mean"].get(method), key) for name, key in reports.values()]
        return ["-" if mean is None else f"{share(mean[key])}, {mean['ms_mean']:.2f} ms" for mean, key in means]

    methods = {"none": "default", '`"fast"`': "fast", '`"accurate"`': "accurate", '`"paper"`': "p-bansac"}
    return lines(["`preset`", *reports], ([name, *cells(method)] for name, method in methods.items()))


PARTS: dict[str, Callable[[], str]] = {
    "essential": lambda: comparison(bench("E"), POSE_COLUMNS),
    "fundamental": lambda: comparison(bench("F"), POSE_COLUMNS),
    "homography-exact": lambda: comparison(bench("H_exact"), HOMOGRAPHY_COLUMNS),
    "homography-small": lambda: comparison(bench("H_small"), HOMOGRAPHY_COLUMNS),
    "essential-time": partial(over_time, "E_time"),
    "fundamental-time": partial(over_time, "F_time"),
    "homography-time": partial(over_time, "H_time"),
    "presets": presets,
}
