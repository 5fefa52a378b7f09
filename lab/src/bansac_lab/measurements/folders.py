"""Compare estimators on folders of image pairs with ground truth (RANSAC tutorial format).

Only the calls are timed, on one thread. The order of the methods changes from pair to pair. Poses are evaluated by
rotation and translation error (mAA and AUC, degrees), homographies by the mean error over the corners and over the
visible area (mAA, pixels). If a folder has sets of both kinds, only the sets for the model are used.
Presets such as default have their own thresholds and limits. The other methods use those of the options.
"bansac bench DIR" is short for "bansac bench folders DIR". "bansac bench --help" lists the other measurements.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bansac.batch.journal import Row
from bansac.problems.estimators import Kind
from bansac_lab.measurement import EXCLUDE, NEEDED_DATA, ON_DATA, SETS, Document, Measurement, Option, Report, Setup
from bansac_lab.measurements.budgets import ACCURACY, Sweep
from bansac_lab.pairs import Group, PairRuns
from bansac_lab.peers.library import Method
from bansac_lab.peers.methods import METHODS, PRESET_METHODS, select_methods
from bansac_lab.reports import share
from bansac_lab.summary import HOMOGRAPHY_FIGURES, POSE_FIGURES, TIME_FIGURES, Summary, frame_of
from bansac_lab.tables import Table, plain_table, sectioned
from bansac_lab.task import DEFAULTS, Protocol

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


_GROUPS = ("Presets", "The paper's methods", "Other libraries")
_BASIC = ("uniform", "prosac", "bansac", "p-bansac")


def accuracies(*documents: Document, titles: Sequence[str]) -> Table:
    """Return accuracy and mean time by method, means over the sets of each benchmark; the best accuracy is bold.

    Methods of the paper that :mod:`bansac_lab.reproduction` compares are left out, but for the basic ones.
    """
    found = dict.fromkeys(method for document in documents for method in document["mean"])
    methods = in_order(method for method in found if group(method) != _GROUPS[1] or method in _BASIC)
    keys = [ACCURACY[document["protocol"]["kind"]] for document in documents]
    pairs = list(zip(documents, keys, strict=True))
    best = [max(of[key] for of in document["mean"].values()) for document, key in pairs]

    def cells(method: str) -> Iterable[str]:
        for (document, key), highest in zip(pairs, best, strict=True):
            of = document["mean"].get(method)
            mark = "**" if of and of[key] == highest else ""
            yield f"{mark}{share(of[key])}{mark}, {of['ms_mean']:.2f} ms" if of else ""

    rows: list[Iterable[str]] = []
    for title in dict.fromkeys(map(group, methods)):
        rows.append([f"*{title}*", *[""] * len(titles)])
        rows += [[label(method), *cells(method)] for method in methods if group(method) == title]
    spread = (max(of.get(key, 0.0) for of in document["spread"].values()) for document, key in pairs)
    rows.append(["*Largest deviation between seeds*", *map(share, spread)])
    return plain_table([keys[0], *titles], rows)


def group(method: str) -> str:
    """Return the title of the group of a method."""
    settings = METHODS[method.partition("@")[0]].settings
    if "preset" in settings:
        return _GROUPS[0]
    return _GROUPS[1 if method in _OURS.split() else 2]


_AGAINST = {"default": "", "poselib-prosac": "PoseLib with progressive sampling ", "opencv-magsac": "OpenCV's MAGSAC "}


def beside_others(document: Document) -> str:
    """Return accuracy and mean time of the default beside those of two libraries, as a phrase."""
    key = ACCURACY[document["protocol"]["kind"]]
    means = ((start, document["mean"][method]) for method, start in _AGAINST.items())
    return "; ".join(f"{start}{share(mean[key])} in {mean['ms_mean']:.0f} ms" for start, mean in means)


def comparison(methods: Sequence[Method], protocol: Protocol, sweep: Sweep | None = None) -> Measurement:
    """Return the comparison of methods, which workers must be able to import; with a sweep, of its methods."""
    return PairRuns(tuple(methods), {protocol.kind: Group(protocol)}).measurement(
        name="bench",
        title="Accuracy and time of estimators",
        options=ON_DATA,
        report=functools.partial(_report, protocol, sweep),
        packages=tuple(method.package for method in methods),
    )


def _report(protocol: Protocol, sweep: Sweep | None, setup: Setup, rows: Iterable[Row]) -> Report:
    """Report the values of all sets and their means; of a sweep the curves."""
    records = build_report(rows, protocol)
    if sweep is not None:
        return sweep.report(records)
    sets = records["sets"]
    tables = {name: _table(f"{name} ({of_set['pairs']} pairs)", of_set["methods"]) for name, of_set in sets.items()}
    if len(sets) > 1:
        tables["mean"] = _table(f"mean over {len(sets)} sets", records["mean"])
    note = (
        f"{protocol.kind}: threshold {protocol.threshold:g}, {protocol.max_iterations} iterations, confidence "
        f"{protocol.confidence:g}, SNN ratio < {protocol.max_ratio:g}, {protocol.repeats} repeats, one thread"
    )
    return Report(tables=tables, records=records, notes=[note])


def _table(title: str, methods: Mapping[str, Mapping[str, float]]) -> Table:
    """Return a table whose cells join the values of a measure: ``AUC 5/10/20`` and ``.613/.716/.811``."""
    figures = itertools.groupby(next(iter(methods.values())), lambda name: name.replace("ms_", "ms@").split("@")[0])
    measures = {measure: list(names) for measure, names in figures}

    def cell(of: Mapping[str, float], names: Iterable[str]) -> str:
        return "/".join(f"{of[n]:.2f}" if n.startswith("ms") else f"{of[n]:.3f}".removeprefix("0") for n in names)

    limits = ("/".join(name[len(measure) + 1 :] for name in names) for measure, names in measures.items())
    columns = (f"{measure.replace('_', ' ')} {limit}" for measure, limit in zip(measures, limits, strict=True))
    rows = {method: [cell(of, names) for names in measures.values()] for method, of in methods.items()}
    return sectioned(title, "method", columns, {"": rows})


def build_report(rows: Iterable[Row], protocol: Protocol) -> dict[str, Any]:
    """Return the results of a run by set and method, their ``mean`` over the sets, and ``spread``.

    ``spread`` is the standard deviation of the means between repeats, which have different seeds. mAA and AUC have
    their limit in degrees or pixels; ``beyond@10`` is the share of calls with a larger error. ``mAA_visible`` is NaN if
    no size of image 2 is known. All results except the times are reproducible.
    """
    frame, kind = frame_of(rows), protocol.kind
    names = [str(name) for name in frame["configuration"].unique()]
    summary, accuracies = Summary(frame), HOMOGRAPHY_FIGURES if kind == "H" else POSE_FIGURES
    metrics = {**accuracies, **TIME_FIGURES}
    repeats = [Summary(repeat) for _, repeat in frame.groupby("repeat", observed=True)]

    def spread(method: str) -> dict[str, float]:
        means = {key: [repeat.mean(metric, kind, method) for repeat in repeats] for key, metric in accuracies.items()}
        return {key: float(np.std(values, ddof=1)) for key, values in means.items()} if len(repeats) > 1 else {}

    sets = {}
    for name in summary.sets(kind):
        figures = {of: {key: summary.of_set(m, kind, name, of) for key, m in metrics.items()} for of in names}
        sets[name] = {"pairs": summary.runs(kind, name, names[0])["pair"].nunique(), "methods": figures}
    return {
        "protocol": dataclasses.asdict(protocol),
        "sets": sets,
        "mean": {name: {key: summary.mean(metric, kind, name) for key, metric in metrics.items()} for name in names},
        "spread": {name: spread(name) for name in names},
    }


def bind(setup: Setup) -> tuple[Measurement, Setup]:
    """Return the comparison that the options describe, and its own setup."""
    fields = ("pairs", "repeats", "max_ratio", "threshold", "confidence", "max_iterations")
    changes = {name: setup.get(name) for name in fields if setup.get(name) is not None}
    protocol = dataclasses.replace(DEFAULTS[setup.model], **changes)
    against = setup.get("against", ())
    names = setup.get("methods", OUR_PRESETS if against else DEFAULT_METHODS)
    methods = tuple(select_methods((*names, *against), setup.model))
    own = Setup(data=setup.data, sets=setup.sets, exclude=setup.exclude)
    if not setup.get("budgets"):
        return comparison(methods, protocol), own
    sweep = Sweep(setup.model, methods, tuple(sorted(set(setup.budgets))))
    if "max_iterations" in changes:
        raise ValueError("--max-iterations: --budgets gives the numbers of iterations")
    return comparison(sweep.limited_methods(), protocol, sweep), own


DEFAULT_METHODS = ("bansac", "p-bansac", "uniform")
OUR_PRESETS = tuple(method.name for method in PRESET_METHODS)
_METHODS_HELP = (
    f"Joined by commas, of: {', '.join(METHODS)}; NAME@THRESHOLD gives a method its own threshold, NAME@auto lets it "
    f"estimate one. Default: {','.join(DEFAULT_METHODS)}; with --against {','.join(OUR_PRESETS)}."
)
_BUDGETS_HELP = (
    "Run every method at these maximum numbers of iterations, joined by commas, for curves of accuracy over time."
)

_TABLES = {
    "essential": (("E", "E_0.95", "E_rendered"), ("ratio < .85", "no ratio test", "rendered scenes")),
    "fundamental": (("F", "F_0.95", "F_rendered"), ("ratio < .85", "no ratio test", "rendered scenes")),
    "homography": (("H_exact", "H_small"), ("warped photographs", "small sets")),
}

MEASUREMENT = Measurement(
    name="folders",
    title="Accuracy and time of estimators",
    help=__doc__,
    bind=bind,
    tables={name: functools.partial(accuracies, titles=titles) for name, (_, titles) in _TABLES.items()},
    figures={"unfiltered-E": beside_others, "unfiltered-F": beside_others},
    reports={
        **{name: reports for name, (reports, _) in _TABLES.items()},
        "unfiltered-E": ("E_0.95",),
        "unfiltered-F": ("F_0.95",),
    },
    options=(
        dataclasses.replace(NEEDED_DATA, argument=True),
        Option("model", Kind, None, "The model that is estimated.", required=True),
        Option("methods", tuple[str, ...], None, _METHODS_HELP),
        Option("against", tuple[str, ...], (), "Further methods, to compare this package's presets with."),
        Option("budgets", tuple[int, ...], None, _BUDGETS_HELP),
        SETS,
        EXCLUDE,
        Option("pairs", int, None, "Maximum number of pairs of a set. Default: 43."),
        Option("repeats", int, None, "Runs of every pair. Default: 5 for H, 2 for F and E."),
        Option("max_ratio", float, None, "Use matches of a lower SNN ratio. Default: 0.6 for H, 0.85 for F and E."),
        Option("threshold", float, None, "Default: 1 px for H, 0.5 px for F, 1e-3 in normalised units for E."),
        Option("confidence", float, None, "Default: 0.999."),
        Option("max_iterations", int, None, "Default: 1000 for H and E, 10000 for F."),
    ),
)
