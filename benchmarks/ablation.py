"""Measure the contribution of each part of the default pipeline, and whether its settings depend on a single scene.

    python benchmarks/ablation.py --data FOLDER [--problems E F "H small" "H exact"] [--json benchmarks/ablation.json]

``FOLDER`` contains the sets in ``EF`` and ``H``. Each variant removes or replaces one part of the default pipeline. All
variants run on the same pairs, with the same matches and seeds. The accuracy is AUC@10 of the larger pose error (E, F)
or mAA@10 of the mean corner error (H). It is given for each set and as the mean over the sets. ``difference`` is the
difference to the default, with a standard error from the pairs. ``leave_one_out`` selects the value of a setting on all
sets except one, and gives the accuracy on that set beside the default's. ``ms`` is the processor time of the calling
thread. It is only an indication if the machine has other load.

With ``--json``, the measured problems replace those in the file; the others are kept.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas
from numpy.typing import NDArray

from bansac.cli.arguments import given
from bansac.cli.console import show_progress
from bansac.engine.scoring.weights import density_weights, reliability_weights
from bansac.estimate.presets import Options
from bansac.lab.measurement import Row, Setup
from bansac.lab.measurements.folders import bench_rows
from bansac.lab.peers.library import Task
from bansac.lab.peers.method import Method
from bansac.lab.provenance import circumstances
from bansac.lab.summary import AUC_10, CORNERS_10, ITERATIONS, TIME, Summary
from bansac.lab.task import DEFAULTS, Kind, Protocol
from bansac.problems.estimators import MODELS
from bansac.problems.problem import Problem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Variant(Method):
    """The default pipeline with one part changed."""

    part: str = ""
    value: str = ""
    weigh: Callable[[Task], Array] | None = None  # weights of the matches that are given
    problem: Problem | None = None  # in place of the default's

    def run(self, task: Task, **settings: Any) -> Any:
        """Estimate, with the weights and the problem of the variant."""
        if self.weigh is not None:
            settings["weights"] = self.weigh(task)
        if self.problem is None:
            return super().run(task, **settings)
        with mock.patch(str(MODELS[task.kind].problem).replace(":", "."), self.problem):
            return super().run(task, **settings)


def _variant(part: str, value: str = "", settings: Mapping[str, Any] | None = None, **changes: Any) -> Variant:
    """Return a variant; ``settings`` are keyword arguments of the public functions."""
    fields = {"scored": True, "sized": True, "part": part, "value": value, **changes}
    return Variant(f"{part}: {value}" if value else part, {"preset": None, **(settings or {})}, **fields)


@dataclass(frozen=True)
class Part:
    """One of the problems on some sets."""

    protocol: Protocol
    folder: str
    chosen: Mapping[str, tuple[str, ...]]  # sets, or exclude: names of sets


_H = DEFAULTS["H"]
PROBLEMS = {
    "E": Part(DEFAULTS["E"], "EF", {"exclude": ("middlebury_dino",)}),
    "F": Part(dataclasses.replace(DEFAULTS["F"], repeats=5), "EF", {"exclude": ("middlebury_dino",)}),
    "H small": Part(dataclasses.replace(_H, pairs=60), "H", {"exclude": ("exact_warp",)}),
    "H exact": Part(dataclasses.replace(_H, pairs=60, max_ratio=0.95, repeats=3), "H", {"sets": ("exact_warp",)}),
}

THRESHOLDS: dict[Kind, tuple[float, ...]] = {
    "E": (2.5e-4, 5e-4, 1e-3),
    "F": (0.25, 0.35, 0.5, 0.75, 1.0),
    "H": (1.0, 1.5, 2.0, 2.5, 3.0, 4.0),
}
WEIGHTINGS = (None, "density", "scores", "density+scores")
EXPONENTS = (1, 2, 4)
RESTART_LENGTHS = (200, 300, 500)
AGREEMENTS = (2, 3)
REFINEMENTS = ("least_squares", None)
STOPS = ("sprt", "bansac+ransac")
# P(inlier | outlier, classified as inlier), .2 in the paper; a datum never changes, so a count of true states gives 0.
WAYS_BACK = (0.0, 0.1, 0.4)
_OPTIONS = Options()
DEFAULT_EXPONENT = 2  # of bansac.engine.scoring.weights
DEFAULT_LENGTH = 300  # of a restart with the default budget: bansac.engine.restarts


def weigh_by_scores(exponent: float, dense: bool, task: Task) -> Array:
    """Return scores to a power, times the density weights if ``dense``."""
    reliability = reliability_weights(task.scores)
    weights = np.ones(len(task.x1)) if reliability is None else reliability ** (exponent / DEFAULT_EXPONENT)
    return weights * density_weights(np.column_stack([task.x1, task.x2]).T.copy()) if dense else weights


def variants(kind: Kind) -> list[Variant]:
    """Return the variants for a kind of model, the default first."""
    problem = MODELS[kind].load_problem()
    weighting = problem.default_weighting or ""
    dense, scored = "density" in weighting, "scores" in weighting
    as_by_default = functools.partial(weigh_by_scores, DEFAULT_EXPONENT if scored else 0, dense)
    threshold = problem.default_threshold
    assert threshold is not None
    found = [
        _variant("default"),
        _variant("restarts", "one, with the whole budget", {"restarts": 1, "restart_iterations": None}),
        *(_of_setting("agreement", value) for value in AGREEMENTS if value != _OPTIONS.agreement),
        *(_of_length(value) for value in RESTART_LENGTHS if value != DEFAULT_LENGTH),
        *(_of_setting("weighting", value) for value in WEIGHTINGS if value != problem.default_weighting),
        *(
            _variant("exponent of scores", str(exponent), weigh=functools.partial(weigh_by_scores, exponent, dense))
            for exponent in EXPONENTS
            if scored and exponent != DEFAULT_EXPONENT
        ),
        *(_of_setting("scoring", value) for value in ("inliers", "magsac++")),
        _variant("scoring", "magsac++, threshold x 2.5", {"scoring": "magsac++", "threshold": 2.5 * threshold}),
        *(_of_setting("refinement", value) for value in REFINEMENTS),
        *(
            _of_setting("local_optimization", value)
            for value in (None, "inner", "inner+iterative", "lm")
            if value != problem.default_local_optimization
        ),
        _variant("score_in_front", "none", problem=dataclasses.replace(problem, score_in_front=None)),
        _variant("sampler", "uniform", {"sampler": "uniform"}, scored=False, weigh=as_by_default),
        _of_setting("sampler", "prosac"),
        _of_setting("verification", None),
        *(_of_setting("stopping", value) for value in STOPS),
        *(_variant("cpt, way back", f"{share:g}", {"cpt": [((0.0, share), (1.0, 1.0))]}) for share in WAYS_BACK),
        _variant("without scores", scored=False),
        *(_of_setting("threshold", value) for value in THRESHOLDS[kind] if value != threshold),
    ]
    if kind == "F":
        found += [_of_setting("degeneracy", None), _variant("without sizes of images", sized=False)]
    return found


def _of_setting(setting: str, value: Any) -> Variant:
    return _variant(setting, _text(value), {setting: value})


def _of_length(iterations: int) -> Variant:
    """Return restarts of a length; there are as many as the budget allows, a share of it being the least length."""
    budget = _OPTIONS.restarts * DEFAULT_LENGTH
    settings = {"restart_iterations": iterations, "restarts": max(_OPTIONS.restarts, -(-budget // iterations))}
    return _variant("restart_iterations", str(iterations), settings)


def _text(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def choices(kind: Kind) -> dict[str, tuple[str, dict[str, str]]]:
    """Return the settings that were chosen on these sets: the default's value, and the variant of each value."""
    problem = MODELS[kind].load_problem()
    of: dict[str, tuple[Any, Sequence[Any]]] = {
        "threshold": (problem.default_threshold, THRESHOLDS[kind]),
        "weighting": (problem.default_weighting, WEIGHTINGS),
        "restart_iterations": (DEFAULT_LENGTH, RESTART_LENGTHS),
        "agreement": (_OPTIONS.agreement, AGREEMENTS),
        "refinement": (_OPTIONS.refinement, (_OPTIONS.refinement, *REFINEMENTS)),
        "stopping": (_OPTIONS.stopping, (_OPTIONS.stopping, *STOPS)),
    }
    if kind == "F":
        of["degeneracy"] = _OPTIONS.degeneracy, (_OPTIONS.degeneracy, None)
    if "scores" in (problem.default_weighting or ""):
        of["exponent of scores"] = DEFAULT_EXPONENT, EXPONENTS
    found = {}
    for name, (default, values) in of.items():
        names = {_text(value): "default" if value == default else f"{name}: {_text(value)}" for value in values}
        found[name] = _text(default), names
    return found


def measure(part: Part, data: Path) -> dict[str, Any]:
    """Run all variants of a problem on its sets, and return the figures."""
    kind, tried = part.protocol.kind, variants(part.protocol.kind)
    setup = Setup(data=data / part.folder, **part.chosen)
    rows = bench_rows(tried, part.protocol, setup, progress=show_progress)
    summary = Summary(rows)
    metric = CORNERS_10 if kind == "H" else AUC_10
    sets = summary.sets(kind)
    difference, error = paired_differences(rows)
    figures = {}
    for variant in tried:
        name = variant.name
        figures[name] = {
            "part": variant.part,
            "value": variant.value,
            "mean": summary.mean(metric, kind, name),
            "difference": float(difference[name]),
            "standard_error": float(error[name]),
            "iterations": summary.mean(ITERATIONS, kind, name),
            "ms": summary.mean(TIME, kind, name),
            "sets": {of: summary.of_set(metric, kind, of, name) for of in sets},
        }
    return {
        "figure": "mAA@10" if kind == "H" else "AUC@10",
        "protocol": {name: getattr(part.protocol, name) for name in ("max_ratio", "min_matches", "pairs", "repeats")},
        "pairs": {name: len({row["pair"] for row in rows if row["set"] == name}) for name in sets},
        "variants": figures,
    }


def accuracy(row: Mapping[str, Any]) -> float:
    """Return the part of one run in the figure: the share of thresholds that its error is within."""
    if row["model"] == "H":
        return float(np.mean(row["corner_error"] <= np.linspace(1, 10, 100)))
    return float(max(0.0, 1.0 - max(row["rotation_error"], row["translation_error"]) / 10.0))


def paired_differences(rows: Sequence[Row]) -> tuple[pandas.Series, pandas.Series]:
    """Return the mean over the sets of the accuracy of each variant less the default's, and its standard error."""
    frame = pandas.DataFrame(rows).assign(accuracy=list(map(accuracy, rows)))
    of_pairs = frame.groupby(["set", "pair", "configuration"])["accuracy"].mean().unstack()
    by_set = of_pairs.sub(of_pairs["default"], axis=0).groupby("set")
    return by_set.mean().mean(), np.sqrt((by_set.var() / by_set.count()).sum()) / len(by_set)


def leave_one_out(reports: Mapping[str, Any]) -> dict[str, Any]:
    """Return what would have been chosen without each set, for every kind and setting."""
    found: dict[str, Any] = {}
    for kind in THRESHOLDS:
        tables = [
            reports[name]["variants"]
            for name, part in PROBLEMS.items()
            if part.protocol.kind == kind and name in reports
        ]
        if not tables:
            continue
        by_set = {
            name: {value: figures[value]["sets"][name] for value in figures}
            for figures in tables
            for name in figures["default"]["sets"]
        }
        found[kind] = {setting: _choose(by_set, *values) for setting, values in choices(kind).items()}
    return found


def _choose(by_set: Mapping[str, Mapping[str, float]], default: str, names: Mapping[str, str]) -> dict[str, Any]:
    """Choose a value for every set by the others."""
    sets = {}
    for left_out, figures in by_set.items():
        others = [of for name, of in by_set.items() if name != left_out]
        best = max(names, key=lambda value: (np.mean([of[names[value]] for of in others]), value == default))
        sets[left_out] = {"chosen": best, "accuracy": figures[names[best]], "default": figures["default"]}
    return {
        "default": default,
        "values": {value: float(np.mean([of[name] for of in by_set.values()])) for value, name in names.items()},
        "sets": sets,
        "mean_chosen": float(np.mean([entry["accuracy"] for entry in sets.values()])),
        "mean_default": float(np.mean([entry["default"] for entry in sets.values()])),
    }


def main() -> None:
    """Measure the problems, print their tables and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--pairs", type=int, help="pairs of a set, at most, in place of the protocol's")
    parser.add_argument("--repeats", type=int, help="runs of every pair, in place of the protocol's")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    changes = given(pairs=arguments.pairs, repeats=arguments.repeats)
    kept = json.loads(arguments.json.read_text())["problems"] if arguments.json and arguments.json.exists() else {}
    for name in arguments.problems:
        part = PROBLEMS[name]
        part = dataclasses.replace(part, protocol=dataclasses.replace(part.protocol, **changes))
        kept[name] = measure(part, arguments.data)
        for variant, figures in kept[name]["variants"].items():
            print(
                f"{name:8s} {variant:45s} {figures['mean']:.3f} {figures['difference']:+.3f} "
                f"+- {figures['standard_error']:.3f} {figures['iterations']:6.0f} {figures['ms']:6.2f} ms",
                flush=True,
            )
        problems = {name: kept[name] for name in PROBLEMS if name in kept}
        document = {**circumstances(), "problems": problems, "leave_one_out": leave_one_out(kept)}
        if arguments.json:
            arguments.json.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
