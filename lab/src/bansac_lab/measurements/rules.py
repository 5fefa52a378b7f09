"""Which data need which rule: every rule of the default is switched off alone, on the same data and seeds.

The rules are those of ``bansac_lab.measurements.rule_table``. They are no variants of ``bansac bench ablation``, which
compares accuracies on image pairs: most rules are for data that these pairs lack, so the classes here are synthetic,
and flags count, too.

- "small": 30 to 100 data with 50 to 90 % inliers, .5 px noise.
- "no model": 300 wrong matches, uniform or with a structure, of the families of ``bansac bench honesty``.
- "rivals" and "power": the classes of these measurements; those of a family and problem of "power" are one.
- "real", with --data: image pairs, E and F with an SNN ratio below .85, or without the ratio test; warped photographs.

An outcome of a run is in [0, 1]: "accuracy" is 1 - error / limit, at least 0, and its loss is measured. The flags are
"claimed", a wrong model that is a success and not "ambiguous", "misfit" or "static"; "refused", a right model that is
no success; and "ambiguous", a right one of these configurations although no other structure has as much support. A
model is right if its error is at most the limit: 5 px or degrees (rotations for absolute poses), 10 degrees for real E
and F, that of "power" for its classes.

A cell is a class and an outcome. A sign-flip test of its paired differences, those of .002 and more, decides whether it
is worse without the rule, with Holm's correction for all cells of the rule (``bansac_lab.paired_tests``). A rule is
kept if a cell is worse. The same test of the opposite sign tells which cells are better without it. The time is the
geometric mean over the classes of the ratio of times, without the rule over with it. Times hold within one run only.
"""

import dataclasses
import functools
import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bansac.problems.estimators import Kind
from bansac_lab.families import awkward_scene
from bansac_lab.frames import DataFrame, to_frame
from bansac_lab.measurement import DATA, FIRST_SEED, Document, Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.measurements import power, rivals
from bansac_lab.measurements.honesty import WITHOUT_MODEL
from bansac_lab.measurements.power import Case
from bansac_lab.measurements.rival_scenes import CLASSES, LIMIT
from bansac_lab.measurements.rule_table import RULES, Rule
from bansac_lab.paired_tests import significant_cells
from bansac_lab.pairs import BENCH_GROUPS, Group, open_set
from bansac_lab.peers.library import Estimate
from bansac_lab.scenes import Scene, errors, make_scene, scene_of, task_of
from bansac_lab.sets import PairSet
from bansac_lab.sets.tutorial import evenly_spaced
from bansac_lab.tables import Table, plain_table
from bansac_lab.task import distances_to_truth

SEEDS, PAIRS = 24, 10
POSE_LIMIT = 10.0  # degrees
LEAST = 0.002  # smallest difference of an outcome
OUTCOMES = ("accuracy", "claimed", "refused", "ambiguous")
DEFAULT = "default"
_BY_NAME = {rule.name: rule for rule in (Rule(DEFAULT), *RULES)}


def _judged(scene: Scene, limit: float, **settings: Any) -> Case:
    return Case(scene, lambda model: list(errors(scene, model).values())[-1], limit, settings)


def _small(problem: str, source: int, seed: int) -> Case:
    """Return a scene of one of the combinations of numbers of data and inlier ratios, in turn."""
    n, ratio = _SMALL[source % len(_SMALL)]
    return _judged(make_scene(problem, n, ratio, 0.5, seed), LIMIT)


def _no_model(kind: Kind, source: int, seed: int) -> Case:
    """Return matches without a model of one of the families, in turn; each model is wrong."""
    families = ("plain", *WITHOUT_MODEL)
    matches = awkward_scene(families[source % len(families)], kind, 300, 0.0, seed=seed).matches
    return Case(scene_of(kind, matches), lambda model: np.inf, LIMIT)


def _rival(name: str, source: int, seed: int) -> Case:
    settings = {"initial_model": np.eye(3)} if name == "start" else {}
    return _judged(CLASSES[name][1](seed), LIMIT, **settings)


def _power(family: str, problem: str, source: int, seed: int) -> Case:
    """Return a case of one of the classes of a family and problem of "power", in turn."""
    classes = power.CLASSES[family][problem]
    return power.make_case(family, problem, classes[source % len(classes)], seed)


_SMALL = list(itertools.product((30, 60, 100), (0.5, 0.7, 0.9)))
Make = Callable[[int, int], Case]
GROUPS: Mapping[str, Mapping[str, Make]] = {
    "small": {of: functools.partial(_small, of) for of in ("H", "F", "E", "relative pose", "pose")},
    "no model": {of: functools.partial(_no_model, of) for of in ("H", "F", "E")},
    "rivals": {name: functools.partial(_rival, name) for name in CLASSES},
    "power": {
        f"{family} {problem}": functools.partial(_power, family, problem)
        for family, problems in power.CLASSES.items()
        for problem in problems
    },
}
"""Makers of the cases of every class from the number of the scene and a seed, by group."""

REAL: Mapping[str, tuple[Group, bool]] = {
    "H": (BENCH_GROUPS["H exact"], True),
    **{of: (BENCH_GROUPS[of], True) for of in ("E", "F")},
    **{f"{of}, no scores": (BENCH_GROUPS[of], False) for of in ("E", "F")},
    **{f"{of}, no ratio test": (BENCH_GROUPS[of].changed(max_ratio=1.0), False) for of in ("E", "F")},
}
"""Classes of image pairs, and whether they have scores."""

NAMES = (*GROUPS, "real")


def sets(setup: Setup) -> list[PairSet]:
    """Return the sets of image pairs of all classes."""
    groups = (group for group, _ in REAL.values() if setup.data is not None)
    return list({pair_set.folder: pair_set for group in groups for pair_set in group.find(setup)}.values())


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each scene and each image pair."""
    chosen = setup.get("classes", NAMES)
    made = [unit for group in GROUPS if group in chosen for unit in each([group], GROUPS[group], range(setup.repeats))]
    for name, (group, _) in REAL.items() if setup.data is not None and "real" in chosen else ():
        for pair_set in group.find(setup):
            counts, least = pair_set.match_counts(group.protocol.max_ratio, setup.pairs), group.protocol.min_matches
            for key, n in zip(evenly_spaced(pair_set.keys, setup.pairs), counts, strict=True):
                payload = ("real", name, key, str(pair_set.folder))
                made += [Unit(f"real/{name}/{pair_set.name}/{key}", payload)] * int(n >= least)
    if not made:
        raise ValueError("--classes: image pairs need --data")
    return made


def _make(setup: Setup, group: str, name: str, source: Any, folder: str = "") -> Case:
    if group != "real":
        return GROUPS[group][name](source, setup.seed + source)
    (protocol, scored), pair_set = (REAL[name][0].protocol, REAL[name][1]), open_set(folder)
    pair = pair_set.pair(source).filtered(protocol.max_ratio)
    near = distances_to_truth(pair, protocol.kind) <= 1.0
    scene = scene_of(protocol.kind, dataclasses.replace(pair, inliers=near), pair.scores if scored else None)
    return _judged(scene, LIMIT if protocol.kind == "H" else POSE_LIMIT)


def _rules(setup: Setup) -> list[Rule]:
    """Return the default and the selected rules."""
    return [_BY_NAME[name] for name in (DEFAULT, *setup.get("rules", [rule.name for rule in RULES]))]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run the default, and the default without each rule, on a case in random order."""
    group, name, source, *_ = unit.payload
    case, rules = _make(setup, *unit.payload), _rules(setup)
    seed = setup.seed + (source if group != "real" else 0)
    cell: Row = {"class": f"{group}: {name}", "scene": unit.key}
    order = random.Random(unit.key).sample(rules, len(rules))
    estimates = {rule.name: run(case, rule, seed) for rule in order}
    return [cell | {"rule": rule.name} | _judge(case, estimates[rule.name]) for rule in rules]


def run(case: Case, rule: Rule, seed: int) -> Estimate:
    """Run the default without a rule."""
    with rule.off():
        return rivals.OURS.estimate(task_of(case.scene, seed), **{**case.settings, **rule.settings})


def _judge(case: Case, estimate: Estimate) -> Row:
    """Return the outcomes of a run."""
    scene, result, error = case.scene, estimate.result, case.error(estimate.result.model)
    right, is_open = error <= case.limit, result.success and result.configuration in rivals.UNSURE
    return {
        "accuracy": max(0.0, 1.0 - error / case.limit),
        "claimed": bool(not right and result.success and not is_open),
        "refused": bool(right and not result.success),
        "ambiguous": bool(right and is_open and not scene.undecided),
        "seconds": estimate.seconds,
    }


def warm_up(setup: Setup, units: Sequence[Unit]) -> None:
    """Load or compile the kernels by a run of the first unit of each class."""
    for unit in {unit.payload[:2]: unit for unit in reversed(units)}.values():
        run_unit(setup, unit)


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Report the cells that are worse and better without each rule, and the ratios of times."""
    frame = to_frame(rows)
    frame = frame.assign(**{name: frame[name].astype(float) for name in OUTCOMES})
    by_rule = {name: of.set_index(["class", "scene"]) for name, of in frame.groupby("rule", sort=False)}
    default = by_rule.pop(DEFAULT)
    records = [{"rule": name, **_compare(of, default)} for name, of in by_rule.items()]
    counts = {name: int(n) for name, n in default.groupby("class", sort=False).size().items()}
    return Report(records={"rules": records, "scenes": counts})


def _compare(without: DataFrame, default: DataFrame) -> Row:
    """Return the cells that are worse or better without a rule, and the ratio of times."""
    losses = without[list(OUTCOMES)] - default[list(OUTCOMES)]
    losses["accuracy"] *= -1.0
    losses = losses.where(losses.abs() >= LEAST, 0.0)
    cells = {(of, name): group[name].to_numpy() for of, group in losses.groupby("class", sort=False) for name in losses}
    times = [frame["seconds"].groupby("class", sort=False).sum() for frame in (without, default)]
    found: Row = {"time": float(np.exp(np.log(times[0] / times[1]).mean()))}
    for key, sign in (("worse", 1.0), ("better", -1.0)):
        signed = {cell: sign * values for cell, values in cells.items()}
        significant = significant_cells(signed)
        found[key] = [
            {"class": cell[0], "outcome": cell[1], "loss": float(cells[cell].mean()), "p": p}
            for cell, p in significant.items()
        ]
    return found


_LISTED = 2  # cells with the largest losses


def page_table(document: Document) -> Table:
    """Return the cells that are worse and better without each rule, the time, and the number of other rules."""

    def text(cells: Sequence[Row]) -> str:
        largest = sorted(cells, key=lambda of: -abs(of["loss"]))[:_LISTED]
        found = [f"{of['class']}, {of['outcome']} {of['loss']:+.2f}".replace("0.", ".") for of in largest]
        return "; ".join([*found, *([f"{len(cells) - _LISTED} more"] if len(cells) > _LISTED else [])])

    rows = [
        [of["rule"], text(of["worse"]), text(of["better"]), f"{of['time']:.2f}"]
        for of in document["rules"]
        if of["worse"] or of["better"]
    ]
    note = f"No class differs without one of the other {len(document['rules']) - len(rows)} rules."
    return plain_table(["rule", "worse without it (loss)", "better without it", "time without it"], rows, note)


_RULE_NAMES = tuple(rule.name for rule in RULES)

MEASUREMENT = of_module(
    __name__,
    title="Classes of data that need each rule of the default",
    options=(
        Option("repeats", int, SEEDS, "Scenes of every class.", least=1, flag="--seeds"),
        Option("classes", tuple[str, ...], None, f"Groups, joined by commas, of: {', '.join(NAMES)}.", choices=NAMES),
        Option("rules", tuple[str, ...], None, f"Joined by commas, of: {', '.join(_RULE_NAMES)}.", choices=_RULE_NAMES),
        *(DATA, Option("pairs", int, PAIRS, "Maximum number of image pairs of a set."), FIRST_SEED),
    ),
    tables={"rules": page_table},
    values=(RULES, power.make_case, CLASSES),
)
