"""Tables of the pages from the reports of ``bansac bench DIR``: accuracy and time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bansac.lab.measurement import Document
from bansac.lab.measurements.budgets import ACCURACY
from bansac.lab.peers.methods import METHODS
from bansac.lab.reports import lines, share

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


def label(method: str) -> str:
    """Return the name of a method in the tables, for ``NAME@THRESHOLD`` with its threshold."""
    name, _, threshold = method.partition("@")
    return LABELS.get(name, name) + (f", threshold {threshold}" if threshold else "")


def in_order(methods: Iterable[str]) -> list[str]:
    """Return the methods in the order of ``LABELS``, at any threshold."""
    places = {name: place for place, name in enumerate(LABELS)}
    return sorted(methods, key=lambda method: places.get(method.partition("@")[0], len(places)))


def accuracies(document: Document) -> str:
    """Return the accuracy and the times of one benchmark, means over the sets, and a fold with the sets."""
    mean, spread, key = document["mean"], document.get("spread", {}), ACCURACY[document["protocol"]["kind"]]
    methods = in_order(mean)

    def cells(method: str) -> Iterable[str]:
        yield label(method.partition("@")[0])
        yield ("**{}**" if mean[method][key] == best else "{}").format(share(mean[method][key]))
        yield share(spread.get(method, {}).get(key, 0.0))
        yield f"{100 * mean[method]['beyond@10']:.1f} %"
        yield f"{mean[method]['ms_mean']:.2f}"
        yield f"{mean[method]['ms_median']:.2f}"
        yield _threshold(method, document["protocol"])

    best = max(mean[method][key] for method in methods)
    rows: list[Iterable[str]] = []
    for title in dict.fromkeys(map(group, methods)):
        rows += [[f"*{title}*", *[""] * 6], *(cells(method) for method in methods if group(method) == title)]
    unit = " px" if key.startswith("mAA") else "°"
    table = lines(["method", key, "±", f"beyond 10{unit}", "mean ms", "median ms", "threshold"], rows)
    return f"{table}\n{_by_set(document, key)}" if len(document["sets"]) > 1 else table


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
    summary = f"<summary>{key} of each set; the worst of each method is bold</summary>"
    return f'<details markdown="1">\n{summary}\n\n{lines(["method", *sets], rows)}\n</details>\n'


def _threshold(method: str, protocol: Mapping[str, Any]) -> str:
    """Return the threshold of a method: its own, an estimated one, or that of the protocol."""
    name, _, own = method.partition("@")
    if "preset" in METHODS[name].settings:
        return "estimated"
    unit = "" if protocol["kind"] == "E" else " px"
    return f"{own}{unit}" if own else f"common, {protocol['threshold']:g}{unit}"


def presets(*documents: Document) -> str:
    """Return accuracy and time of the presets, and of the paper's P-BANSAC, which is ``preset="paper"`` with scores."""

    def cells(method: str) -> Iterable[str]:
        for document in documents:
            mean, key = document["mean"].get(method), ACCURACY[document["protocol"]["kind"]]
            yield "-" if mean is None else f"{share(mean[key])}, {mean['ms_mean']:.2f} ms"

    methods = {"none": "default", '`"fast"`': "fast", '`"accurate"`': "accurate", '`"paper"`': "p-bansac"}
    kinds = (document["protocol"]["kind"] for document in documents)
    return lines(["`preset`", *kinds], ([name, *cells(method)] for name, method in methods.items()))
