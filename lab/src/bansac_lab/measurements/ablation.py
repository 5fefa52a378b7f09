"""Contribution of each part of the default pipeline.

Each variant removes or replaces one part of the default pipeline. All variants run on the same pairs, with the same
matches and seeds. The accuracy is AUC@10 of the larger pose error (E, F) or mAA@10 of the mean corner error (H). It is
given for each set and as the mean over the sets. "difference" is the difference to the default, with a standard error
from the pairs. "ms" is only an indication if the machine has other load.
"""

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bansac.engine.option_groups import Restarts
from bansac.estimate.presets import Options
from bansac.evidence.weights import density_weights, reliability_weights
from bansac.problems.estimators import MODELS, Kind
from bansac_lab.frames import Series
from bansac_lab.measurement import Document, Report, Row, Setup, Unit
from bansac_lab.pairs import BENCH_GROUPS, PairRuns
from bansac_lab.peers.library import Method, Task
from bansac_lab.reports import share
from bansac_lab.summary import AUC_10, CORNERS_10, ITERATIONS, TIME, Summary, frame_of
from bansac_lab.tables import Table, plain_table
from bansac_lab.task import Protocol


def _variant(part: str, value: str = "", settings: Mapping[str, Any] | None = None, **changes: Any) -> Method:
    """Return the variant PART or PART: VALUE; ``settings`` are keyword arguments of the public functions."""
    name, fields = f"{part}: {value}" if value else part, {"scored": True, "sized": True, **changes}
    return Method(name, {"preset": None, **(settings or {})}, **fields)


_SETTINGS = {"F": {"repeats": 5}, "H small": {"pairs": 60}, "H exact": {"pairs": 60, "repeats": 3}}
PROBLEMS = {name: group.changed(**_SETTINGS.get(name, {})) for name, group in BENCH_GROUPS.items()}

THRESHOLDS: dict[Kind, tuple[float, ...]] = {
    "E": (2.5e-4, 5e-4, 1e-3),
    "F": (0.25, 0.35, 0.5, 0.75, 1.0),
    "H": (1.0, 1.5, 2.0, 2.5, 3.0, 4.0),
}
_OPTIONS = Options()
DEFAULT_LENGTH = 300  # of a restart with the default budget: bansac.engine.restarts


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
    if kind == "F":
        found["degeneracy"] = _OPTIONS.degeneracy, (_OPTIONS.degeneracy, None)
    return found


def variants(kind: Kind) -> list[Method]:
    """Return the variants for a kind of model, the default first."""
    problem = MODELS[kind].load_problem()
    assert problem.default_threshold is not None
    dense, scored = (name in (problem.default_weighting or "") for name in ("density", "scores"))
    as_by_default = functools.partial(weigh, scored, dense)
    larger = 2.5 * problem.default_threshold
    found = [
        _variant("default"),
        _variant("restarts", "one, with the whole budget", {"restarts": 1}),
        *(
            _of_value(setting, value)
            for setting, (default, values) in tried_values(kind).items()
            for value in values
            if value != default
        ),
        _variant("scoring", "magsac++, threshold x 2.5", {"scoring": "magsac++", "threshold": larger}),
        _variant("sampler", "uniform", {"sampler": "uniform"}, scored=False, adapt=as_by_default),
        _variant("without scores", scored=False),
        _variant("neighbours", "none", {"neighbours": False}),
        _variant("without scores", "no neighbours", {"neighbours": False}, scored=False),
    ]
    return [*found, _variant("without sizes of images", sized=False)] if kind == "F" else found


def _of_value(setting: str, value: Any) -> Method:
    settings = {setting: value}
    if setting == "agreement":
        settings = {"restarts": Restarts(agreement=value)}
    if setting == "restart_iterations":  # as many as the budget allows; a share of it is the least length
        most = int(_OPTIONS.restart_rules.limit)
        settings = {"restarts": Restarts(limit=max(most, -(-most * DEFAULT_LENGTH // value)), iterations=value)}
    return _variant(setting, _text(value), settings)


def weigh(scored: bool, dense: bool, task: Task) -> tuple[Task, Row]:
    """Return a task, and the weights of its scores and of its density as an option."""
    found = reliability_weights(task.scores) if scored and task.scores is not None else None
    reliability = np.ones(len(task.x1)) if found is None else found
    density = density_weights(np.column_stack([task.x1, task.x2]).T.copy()) if dense else 1.0
    return task, {"weights": reliability * density}


def _text(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _methods(problem: str, unit: Unit) -> list[Method]:
    return variants(PROBLEMS[problem].protocol.kind)


_RUNS = PairRuns(_methods, PROBLEMS, "problems")


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the figures of the variants of each problem."""
    problems = {name: _figures(_RUNS.protocol(setup, name), runs) for name, runs in _RUNS.by_group(rows).items()}
    return Report(records={"problems": problems})


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


def accuracies(document: Document) -> Table:
    """Return accuracies of the variants: the difference to the default, bold if it is above two standard errors.

    Variants without such a difference are left out.
    """
    problems = document["problems"]
    columns = {problem: _variants(problem, found["variants"]) for problem, found in problems.items()}
    parts: dict[str, list[str]] = {}
    for name in dict.fromkeys(itertools.chain.from_iterable(columns.values())):
        parts.setdefault(name.partition(":")[0], []).append(name)
    parts["threshold"].sort(key=lambda name: float(name.removeprefix("threshold: x ")))
    rows = (
        [name, *(_cell(of_problem[name]) if name in of_problem else "" for of_problem in columns.values())]
        for name in itertools.chain.from_iterable(parts.values())
    )
    shown = (row for row in rows if row[0] == "default" or "**" in "".join(row))
    return plain_table(["", *(f"{problem}, {found['figure']}" for problem, found in problems.items())], shown)


def _cell(figures: Mapping[str, Any]) -> str:
    if figures["part"].startswith("default"):
        return share(figures["mean"])
    difference, error = f"{figures['difference']:+.3f}".replace("0.", ".", 1), figures["standard_error"]
    sure = abs(figures["difference"]) > 2 * error and difference[1:] != ".000"
    return f"{f'**{difference}**' if sure else difference} ± {share(error)}"


def _variants(problem: str, variants: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the figures by the names of the table: thresholds as multiples of the problem's."""
    default = MODELS[problem[0]].load_problem().default_threshold or 1.0
    found = {}
    for name, figures in variants.items():
        relative = figures["part"] == "threshold"
        found[f"threshold: x {float(figures['value']) / default:g}" if relative else name] = figures
    return found


MEASUREMENT = _RUNS.measurement(
    name="ablation",
    title="Contribution of each part of the default pipeline",
    help=__doc__,
    report=report,
    tables={"ablation": accuracies},
)
