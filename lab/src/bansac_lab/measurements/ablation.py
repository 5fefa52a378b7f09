"""Contribution of each part of the default pipeline, and whether its settings depend on a single set.

Each variant removes or replaces one part of the default pipeline. All variants run on the same pairs, with the same
matches and seeds. The accuracy is AUC@10 of the larger pose error (E, F) or mAA@10 of the mean corner error (H). It is
given for each set and as the mean over the sets. "difference" is the difference to the default, with a standard error
from the pairs. The table "leave-one-out" selects the value of a setting on all sets except one, and has the accuracy on
that set beside the default's. "ms" is only an indication if the machine has other load.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np

from bansac.engine.option_groups import Network, Restarts
from bansac.estimate.presets import Options
from bansac.evidence.weights import density_weights, reliability_weights
from bansac.problems.estimators import MODELS, Kind
from bansac.problems.problem import Problem
from bansac_lab.frames import Series
from bansac_lab.measurement import Document, Report, Row, Setup, Unit
from bansac_lab.pairs import BENCH_GROUPS, PairRuns
from bansac_lab.peers.library import Estimate, Method, Task
from bansac_lab.reports import lines, share
from bansac_lab.summary import AUC_10, CORNERS_10, ITERATIONS, TIME, Summary, frame_of
from bansac_lab.task import Protocol


@dataclass(frozen=True)
class Variant(Method):
    """The default pipeline with one part changed."""

    problem: Problem | None = None  # in place of the default's

    def estimate(self, task: Task, **settings: Any) -> Estimate:
        """Estimate, with the problem of the variant."""
        if self.problem is None:
            return super().estimate(task, **settings)
        name = str(MODELS[task.problem].problem).replace(":", ".")
        with mock.patch(f"bansac.problems.{name}", self.problem):
            return super().estimate(task, **settings)


def _variant(part: str, value: str = "", settings: Mapping[str, Any] | None = None, **changes: Any) -> Variant:
    """Return the variant PART or PART: VALUE; ``settings`` are keyword arguments of the public functions."""
    name, fields = f"{part}: {value}" if value else part, {"scored": True, "sized": True, **changes}
    return Variant(name, {"preset": None, **(settings or {})}, **fields)


_SETTINGS = {"F": {"repeats": 5}, "H small": {"pairs": 60}, "H exact": {"pairs": 60, "repeats": 3}}
PROBLEMS = {name: group.changed(**_SETTINGS.get(name, {})) for name, group in BENCH_GROUPS.items()}

THRESHOLDS: dict[Kind, tuple[float, ...]] = {
    "E": (2.5e-4, 5e-4, 1e-3),
    "F": (0.25, 0.35, 0.5, 0.75, 1.0),
    "H": (1.0, 1.5, 2.0, 2.5, 3.0, 4.0),
}
# P(inlier | outlier, classified as inlier), .2 in the paper; a datum never changes, so a count of true states gives 0.
WAYS_BACK = (0.0, 0.1, 0.4)
_OPTIONS = Options()
DEFAULT_EXPONENT = 2  # of bansac.evidence.weights
DEFAULT_LENGTH = 300  # of a restart with the default budget: bansac.engine.restarts
CHOSEN = (
    *("threshold", "weighting", "restart_iterations", "agreement", "refinement", "stopping", "degeneracy"),
    "exponent of scores",
)
"""Settings whose default was chosen on these sets."""


def tried_values(kind: Kind) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Return the default of each setting that varies alone, and all its values."""
    problem = MODELS[kind].load_problem()
    weightings = (None, "density", "scores", "density+scores")
    found: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "agreement": (2, (2, 3)),
        "restart_iterations": (DEFAULT_LENGTH, (200, 300, 500)),
        "weighting": (problem.default_weighting, weightings),
        "scoring": (_OPTIONS.scoring, ("inliers", "magsac++")),
        "refinement": (_OPTIONS.refinement, (_OPTIONS.refinement, "least_squares", None)),
        "local_optimization": (problem.default_local_optimization, (None, "inner", "inner+iterative", "lm")),
        "sampler": (_OPTIONS.sampler, ("prosac",)),
        "verification": (_OPTIONS.verification, (None,)),
        "stopping": (_OPTIONS.stopping, (_OPTIONS.stopping, "sprt", "bansac+ransac")),
        "threshold": (problem.default_threshold, THRESHOLDS[kind]),
    }
    if "scores" in (problem.default_weighting or ""):
        found["exponent of scores"] = DEFAULT_EXPONENT, (1, 2, 4)
    if kind == "F":
        found["degeneracy"] = _OPTIONS.degeneracy, (_OPTIONS.degeneracy, None)
    return found


def variants(kind: Kind) -> list[Variant]:
    """Return the variants for a kind of model, the default first."""
    problem = MODELS[kind].load_problem()
    assert problem.default_threshold is not None
    dense, scored = (name in (problem.default_weighting or "") for name in ("density", "scores"))
    as_by_default = functools.partial(weigh_by_scores, DEFAULT_EXPONENT if scored else 0, dense)
    larger = 2.5 * problem.default_threshold
    found = [
        _variant("default"),
        _variant("restarts", "one, with the whole budget", {"restarts": 1}),
        *(
            _of_value(setting, value, dense)
            for setting, (default, values) in tried_values(kind).items()
            for value in values
            if value != default
        ),
        _variant("scoring", "magsac++, threshold x 2.5", {"scoring": "magsac++", "threshold": larger}),
        _variant("score_in_front", "none", problem=replace(problem, score_in_front=None)),
        _variant("sampler", "uniform", {"sampler": "uniform"}, scored=False, adapt=as_by_default),
        *(
            _variant("cpt, way back", f"{share:g}", {"network": Network(cpt=[((0.0, share), (1.0, 1.0))])})
            for share in WAYS_BACK
        ),
        _variant("without scores", scored=False),
        _variant("neighbours", "none", {"neighbours": False}),
        _variant("without scores", "no neighbours", {"neighbours": False}, scored=False),
    ]
    return [*found, _variant("without sizes of images", sized=False)] if kind == "F" else found


def _of_value(setting: str, value: Any, dense: bool) -> Variant:
    if setting == "exponent of scores":
        return _variant(setting, _text(value), adapt=functools.partial(weigh_by_scores, value, dense))
    settings = {setting: value}
    if setting == "agreement":
        settings = {"restarts": Restarts(agreement=value)}
    if setting == "restart_iterations":  # as many as the budget allows; a share of it is the least length
        most = int(_OPTIONS.restart_rules.limit)
        settings = {"restarts": Restarts(limit=max(most, -(-most * DEFAULT_LENGTH // value)), iterations=value)}
    return _variant(setting, _text(value), settings)


def weigh_by_scores(exponent: float, dense: bool, task: Task) -> tuple[Task, Row]:
    """Return a task, and scores to a power, times the density weights if ``dense``, as weights."""
    reliability = None if task.scores is None else reliability_weights(task.scores)
    weights = np.ones(len(task.x1)) if reliability is None else reliability ** (exponent / DEFAULT_EXPONENT)
    density = density_weights(np.column_stack([task.x1, task.x2]).T.copy()) if dense else 1.0
    return task, {"weights": weights * density}


def _text(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def choices(kind: Kind) -> dict[str, dict[str, Any]]:
    """Return the default and all values of the settings that were chosen on these sets."""
    tried = {name: values for name, values in tried_values(kind).items() if name in CHOSEN}
    return {name: {"default": _text(of[0]), "values": list(map(_text, of[1]))} for name, of in tried.items()}


def _methods(problem: str, unit: Unit) -> list[Variant]:
    return variants(PROBLEMS[problem].protocol.kind)


_RUNS = PairRuns(_methods, PROBLEMS, "problems")


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the figures of the variants of each problem, and the settings that leave-one-out chooses."""
    problems = {name: _figures(_RUNS.protocol(setup, name), runs) for name, runs in _RUNS.by_group(rows).items()}
    settings = {kind: choices(kind) for kind in THRESHOLDS if any(name[0] == kind for name in problems)}
    return Report(records={"problems": problems, "leave_one_out": settings})


def _figures(protocol: Protocol, rows: Sequence[Row]) -> dict[str, Any]:
    kind, summary = protocol.kind, Summary(rows)
    metric = CORNERS_10 if kind == "H" else AUC_10
    sets = summary.sets(kind)
    difference, error = paired_differences(rows)
    figures = {}
    for name in (variant.name for variant in variants(kind)):
        part, _, value = name.partition(": ")
        figures[name] = {
            "part": part,
            "value": value,
            "mean": summary.mean(metric, kind, name),
            "difference": float(difference[name]),
            "standard_error": float(error[name]),
            "iterations": summary.mean(ITERATIONS, kind, name),
            "ms": summary.mean(TIME, kind, name),
            "sets": {of: summary.of_set(metric, kind, of, name) for of in sets},
        }
    return {
        "figure": "mAA@10" if kind == "H" else "AUC@10",
        "protocol": {name: getattr(protocol, name) for name in ("max_ratio", "min_matches", "pairs", "repeats")},
        "pairs": {name: len({row["pair"] for row in rows if row["set"] == name}) for name in sets},
        "variants": figures,
    }


def paired_differences(rows: Sequence[Row]) -> tuple[Series, Series]:
    """Return the mean over the sets of the accuracy of each variant less the default's, and its standard error."""
    frame = frame_of(rows)
    is_plane = rows[0]["model"] == "H"
    of_runs = CORNERS_10.of_runs(frame) if is_plane else np.maximum(0.0, 1.0 - frame["larger_error"] / 10.0)
    groups = frame.assign(accuracy=of_runs).groupby(["set", "pair", "configuration"], observed=True)
    of_pairs = groups["accuracy"].mean().unstack()
    by_set = of_pairs.sub(of_pairs["default"], axis=0).groupby("set", observed=True)
    return by_set.mean().mean(), np.sqrt((by_set.var() / by_set.count()).sum()) / len(by_set)


def accuracies(document: Document) -> str:
    """Return accuracies of all variants: the difference to the default, bold if it is above two standard errors."""

    def cell(figures: Mapping[str, Any]) -> str:
        if figures["part"].startswith("default"):
            return share(figures["mean"])
        difference, error = _difference(figures["difference"]), figures["standard_error"]
        sure = abs(figures["difference"]) > 2 * error and difference[1:] != ".000"
        return f"{f'**{difference}**' if sure else difference} ± {share(error)}"

    return _by_variant(document, cell)


def needed(document: Document) -> str:
    """Return the rows of :func:`accuracies` with a difference above two standard errors, and the default."""
    head, line, default, *rows = accuracies(document).splitlines(keepends=True)
    return "".join([head, line, default, *(row for row in rows if "**" in row)])


def costs(document: Document) -> str:
    """Return the mean iterations and the milliseconds of all variants."""
    return _by_variant(document, lambda figures: f"{figures['iterations']:.0f}, {figures['ms']:.1f} ms")


def scenes(document: Document) -> str:
    """Return the differences of F on each scene."""
    if "F" not in document["problems"]:
        return "Not measured yet.\n"
    variants = _variants(document, "F")
    default = variants["default"]["sets"]
    rows = [["default", *map(share, default.values())]]
    for name, figures in variants.items():
        if name != "default":
            rows.append([name, *(_difference(figures["sets"][of] - default[of]) for of in default)])
    return lines(["F, AUC@10", *default], rows)


def _difference(value: float) -> str:
    return f"{value:+.3f}".replace("0.", ".", 1)


def _by_variant(document: Document, cell: Callable[[Mapping[str, Any]], str]) -> str:
    """Return a table of the variants, a column for each problem."""
    problems = document["problems"]
    columns = {problem: _variants(document, problem) for problem in problems}
    parts: dict[str, list[str]] = {}
    for name in dict.fromkeys(itertools.chain.from_iterable(columns.values())):
        parts.setdefault(name.partition(":")[0], []).append(name)
    parts["threshold"].sort(key=lambda name: float(name.removeprefix("threshold: x ")))
    rows = (
        [name, *(cell(of_problem[name]) if name in of_problem else "" for of_problem in columns.values())]
        for name in itertools.chain.from_iterable(parts.values())
    )
    return lines(["", *(f"{problem}, {found['figure']}" for problem, found in problems.items())], rows)


def _variants(document: Document, problem: str) -> dict[str, Mapping[str, Any]]:
    """Return the figures by the names of the table: thresholds as multiples of the problem's."""
    default = float(document["leave_one_out"][problem[0]]["threshold"]["default"])
    found = {}
    for name, figures in document["problems"][problem]["variants"].items():
        relative = figures["part"] == "threshold"
        found[f"threshold: x {float(figures['value']) / default:g}" if relative else name] = figures
    return found


def leave_one_out(document: Document) -> str:
    """Return what would be chosen without each set, and the accuracy on the set that is left out."""
    rows = []
    for kind, settings in document["leave_one_out"].items():
        problems = [of["variants"] for problem, of in document["problems"].items() if problem[0] == kind]
        sets = [(of, name) for of in problems for name in of["default"]["sets"]]
        for name, choice in settings.items() if len(sets) > 1 else ():
            tried, default = choice["values"], choice["default"]
            variants = ["default" if value == default else f"{name}: {value}" for value in tried]
            found = np.array([[of[variant]["sets"][set_name] for variant in variants] for of, set_name in sets])
            of_others = [np.delete(found, left_out, axis=0).mean(axis=0) for left_out in range(len(sets))]
            # of equally good values the default
            best = [max(range(len(tried)), key=lambda k: (means[k], tried[k] == default)) for means in of_others]
            left_out_mean, default_mean = found[range(len(sets)), best].mean(), found[:, tried.index(default)].mean()
            values = ", ".join(f"{value} {share(mean)}" for value, mean in zip(tried, found.mean(axis=0), strict=True))
            chosen = ", ".join(f"{tried[k]} ({count})" for k, count in Counter(best).most_common())
            rows.append([kind, name, values, chosen, share(left_out_mean), f"{share(default_mean)} ({default})"])
    head = ["", "choice", "value and accuracy, all sets", "chosen without a set (times)", "left-out sets", "default"]
    return lines(head, rows)


MEASUREMENT = _RUNS.measurement(
    name="ablation",
    title="Contribution of each part of the default pipeline",
    help=__doc__,
    report=report,
    tables={
        "ablation": needed,
        "ablation-all": accuracies,
        "ablation-costs": costs,
        "ablation-scenes": scenes,
        "leave-one-out": leave_one_out,
    },
)
