"""Each rule can be switched off and then changes a result; the cells that are worse are found."""

import itertools
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bansac_lab.measurement import Setup
from bansac_lab.measurements import rules
from bansac_lab.measurements.rule_table import RULES, Rule
from bansac_lab.measurements.rules import DEFAULT, GROUPS, MEASUREMENT
from bansac_lab.tables import to_markdown
from lab.tests.measurements.short_form import run
from lab.tests.pair_sets import write_homography_set, write_pose_set

# Where each rule changes a result: group, class and number of a scene. If it does no more, all classes are searched.
EXAMPLES = {
    "agreement of restarts": ("small", "H", 0),
    "majority": ("power", "few similarity", 0),
    "duplicate ends a restart": ("small", "H", 0),
    "restarts on supported matches": ("power", "list affine", 0),
    "restarts on all data do not learn": ("small", "F", 0),
    "data near losers left out": ("power", "list H", 0),
    "round limit": ("rivals", "pose-overlay", 0),
    "search of other data": ("small", "H", 0),
    "search of less noise": ("rivals", "object-F", 1),
    "comparison at one threshold": ("rivals", "H", 0),
    "compromise": ("rivals", "window-F", 12),
    "rival": ("rivals", "H", 0),
    "early estimates of the threshold": ("small", "F", 0),
    "wide threshold": ("small", "F", 0),
    "window of residuals": ("small", "E", 0),
    "raised sigma of few data": ("small", "H", 0),
    "neighbours": ("power", "list affine", 0),
    "density weights": ("small", "F", 0),
    "score weights": ("rivals", "logo", 0),
    "plausibility of focal lengths": ("small", "F", 0),
    "local optimisation": ("small", "H", 0),
    "refinement": ("small", "H", 0),
    "common points counted once": ("power", "units affine", 2),
    "outliers with common points": ("rivals", "window-F", 30),
    "neighbours in the null model": ("small", "F", 0),
    "search window": ("rivals", "window-pose", 0),
    "searches of rearranged matches": ("power", "few E", 0),
    "motion of a plane": ("rivals", "facade-E", 0),
    "epipole of a plane": ("rivals", "off-plane-F", 1),
    "twin of a motion": ("rivals", "narrow", 12),
    "threshold between structures": ("rivals", "parallel", 8),
    "rival off a plane": ("rivals", "far-80", 0),
    "misfit": ("rivals", "focal", 0),
    "misfit of a camera": ("rivals", "pose-focal", 0),
    "static matches": ("rivals", "H-overlay", 0),
    "other support": ("rivals", "planes", 0),
}
MOST_SEARCHED = 12


def places(name: str) -> Iterator[tuple[str, str, int]]:
    """Yield the example of a rule, then others: its class first."""
    group, of, number = EXAMPLES[name]
    yield group, of, number
    yield from ((group, of, k) for k in range(MOST_SEARCHED))
    for k, other in itertools.product(range(MOST_SEARCHED), ("small", "power", "rivals")):
        yield from ((other, name, k) for name in GROUPS[other])


def outcome(case: rules.Case, rule: Rule, seed: int) -> tuple[Any, ...]:
    """Return what a rule may change."""
    result = rules.run(case, rule, seed).result
    verdict = (result.success, result.configuration, result.message, result.rival is None)
    return (*verdict, result.iterations, result.models_tested, result.threshold, result.residuals.sum())


def test_every_rule_has_an_example() -> None:
    assert {rule.name for rule in RULES} == EXAMPLES.keys()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_target_exists_and_is_restored(rule: Rule) -> None:
    assert (rule.patch is None) == bool(rule.settings)
    if rule.patch is not None:
        target = f"bansac.{rule.patch[0]}"
        before = pkgutil.resolve_name(target)
        with rule.off():
            assert pkgutil.resolve_name(target) is not before
        assert pkgutil.resolve_name(target) is before


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_result_changes_without_the_rule(rule: Rule) -> None:
    for group, name, number in places(rule.name):
        case = GROUPS[group][name](number, number)
        if outcome(case, rule, number) != outcome(case, rules._BY_NAME[DEFAULT], number):
            return
    pytest.fail(f"{rule.name} changes nothing")


def test_a_run_without_changes_is_the_default() -> None:
    case = GROUPS["rivals"]["target"](0, 0)
    assert len({outcome(case, rules._BY_NAME[DEFAULT], 0) for _ in range(2)}) == 1


def rows_of(rule: str, **outcomes: Any) -> Iterator[dict[str, Any]]:
    for name, scene in itertools.product(("a", "b"), range(8)):
        worse = outcomes if name == "a" else {}
        found = {"accuracy": 0.5, "claimed": False, "refused": False, "ambiguous": False, "seconds": 1.0, **worse}
        yield {"class": name, "scene": f"{name}/{scene}", "rule": rule, **found}


def test_report_names_the_classes_that_are_worse() -> None:
    rows = [*rows_of(DEFAULT), *rows_of("majority", refused=True, seconds=4.0), *rows_of("rival", accuracy=0.75)]
    rows += rows_of("misfit", accuracy=0.499)
    document = MEASUREMENT.report(Setup(), rows).records
    cell = {"class": "a", "outcome": "refused", "loss": 1.0, "p": 2.0**-8}
    majority, rival, misfit = document["rules"]
    assert (majority["worse"], majority["better"]) == ([cell], [])
    assert majority["time"] == pytest.approx(2.0)
    assert (rival["worse"], rival["better"][0]["loss"]) == ([], -0.25)
    assert (misfit["worse"], misfit["better"]) == ([], [])
    *_, first, second, _, others = to_markdown(MEASUREMENT.tables["rules"](document)).splitlines()
    assert first == "| majority | a, refused +1.00 |  | 2.00 |"
    assert second == "| rival |  | a, accuracy -.25 | 1.00 |"
    assert others == "No class differs without one of the other 1 rules."


def test_short_run_on_scenes_and_image_pairs(tmp_path: Path) -> None:
    for name in ("room", "yard"):
        write_pose_set(tmp_path / "EF" / name, pairs=2)
    write_homography_set(tmp_path / "H" / "exact_warp", pairs=1)
    chosen = ("compromise", "neighbours")
    units = ("small/pose", "rivals/start/0", "power/units similarity", "real")
    document, tables = run("rules", *units, data=tmp_path, repeats=1, pairs=1, rules=chosen)
    names = ("small: pose", "rivals: start", "power: units similarity", *(f"real: {name}" for name in rules.REAL))
    assert document["scenes"] == {name: 2 if name[:7] in ("real: E", "real: F") else 1 for name in names}
    assert [of["rule"] for of in document["rules"]] == list(chosen)
    assert "one of the other 2 rules" in tables["rules"]


def test_image_pairs_need_data() -> None:
    with pytest.raises(ValueError, match="--classes: image pairs need --data"):
        MEASUREMENT.units(MEASUREMENT.resolve(Setup(classes=("real",))))
