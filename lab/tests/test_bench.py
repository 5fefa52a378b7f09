import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bansac_lab.measurement import Row, Setup
from bansac_lab.measurements.folders import build_report, comparison
from bansac_lab.peers.library import Method, Task
from bansac_lab.peers.methods import METHODS
from bansac_lab.runner import open_run
from bansac_lab.sets import PairSet
from bansac_lab.task import DEFAULTS, Protocol, judge, make_task
from lab.tests.peers.toy import Toy


def spy(name: str, calls: list[tuple[str, Task]], answer: object = None, *, sort: bool = False) -> Method:
    def call(task: Task, settings: object) -> object:
        calls.append((name, task))
        return answer

    return Method(name, library=Toy(answer=call), sort=sort)


def run(folder: Path, methods: list[Method], protocol: Protocol, *, workers: int = 1, **chosen: Any) -> list[Row]:
    """Return the rows, a list for each method and call."""
    with open_run(comparison(methods, protocol), Setup(data=folder, **chosen), None) as opened:
        return list(opened.execute(workers=workers)[0])


def of_one(rows: list[Row]) -> dict[str, float]:
    """Return the figures of the rows of one method."""
    means = build_report(rows, DEFAULTS[rows[0]["model"]])["mean"]
    return dict(means[rows[0]["configuration"]])


@pytest.mark.parametrize("kind", ["F", "E"])
def test_bansac_recovers_the_poses(sets: Path, kind: str) -> None:
    protocol = DEFAULTS[kind]
    methods = [METHODS["p-bansac"], METHODS["uniform"]]
    report = build_report(run(sets / "EF", methods, protocol), protocol)
    assert set(report["sets"]) == {"room", "yard"}
    assert report["sets"]["yard"]["pairs"] == 3
    assert report["mean"]["p-bansac"]["AUC@10"] > 0.8
    assert report["mean"]["uniform"]["ms_mean"] > 0
    json.dumps(report, allow_nan=False)


def test_methods_take_turns_with_the_same_matches(sets: Path) -> None:
    calls: list[tuple[str, Task]] = []
    records = run(sets / "EF" / "room", [spy("a", calls), spy("b", calls, sort=True)], DEFAULTS["F"])
    names = [name for name, _ in calls]
    # The first four are the warm-up; then each turn (pair by pair, two repeats) has both, in another order.
    assert names[:4] == ["a", "a", "b", "b"]
    turns = list(zip(names[4::2], names[5::2], strict=True))
    assert len(turns) == 2 * 2
    assert set(turns) == {("a", "b"), ("b", "a")}
    for first, second in zip(calls[4::2], calls[5::2], strict=True):
        (_, plain), (_, best_first) = sorted([first, second], key=lambda call: call[0])
        for mine, sorted_ones in zip(plain.points, best_first.points, strict=True):
            assert not np.array_equal(mine, sorted_ones)
            np.testing.assert_array_equal(np.sort(mine, axis=0), np.sort(sorted_ones, axis=0))
        assert plain.seed == best_first.seed
    assert [record["repeat"] for record in records] == [0, 0, 1, 1] * 2
    assert [task.seed for _, task in calls[4:8]] == [0, 0, 1, 1]


def test_failures_count_as_180_degrees_and_infinity(sets: Path) -> None:
    nan = np.full((3, 3), np.nan)
    for answer in (None, nan):
        records = run(sets / "EF" / "room", [spy("fails", [], answer)], DEFAULTS["E"])
        assert all(record["rotation_error"] == record["translation_error"] == 180.0 for record in records)
        assert of_one(records)["AUC@20"] == 0
        records = run(sets / "H", [spy("fails", [], answer)], DEFAULTS["H"])
        assert all(record["corner_error"] == np.inf for record in records)
        figures = of_one(records)
        assert figures["mAA@10"] == 0
        assert figures["mAA_visible@10"] == 0


@pytest.mark.parametrize("kind", ["F", "E"])
def test_truth_has_no_error(sets: Path, kind: str) -> None:
    pair = next(PairSet(sets / "EF" / "room").pairs()).filtered(0.56)
    task = make_task(pair, DEFAULTS[kind], seed=0)
    truth = pair.F if kind == "F" else pair.E
    assert truth is not None
    assert max(judge(truth, task, pair).values()) < 1e-4
    assert max(judge(-truth, task, pair).values()) < 1e-4


def test_ratio_and_smallest_number_of_matches(sets: Path) -> None:
    calls: list[tuple[str, Task]] = []
    protocol = dataclasses.replace(DEFAULTS["F"], max_ratio=0.3)
    kept = len(next(PairSet(sets / "EF" / "room").pairs()).filtered(0.3).x1)
    run(sets / "EF" / "room", [spy("a", calls)], dataclasses.replace(protocol, min_matches=1))
    assert len(calls[0][1].x1) == kept
    with pytest.raises(ValueError, match="room has no pair with 119 matches"):
        run(sets / "EF" / "room", [spy("a", calls)], dataclasses.replace(protocol, min_matches=119))


def test_number_of_pairs_is_limited(sets: Path) -> None:
    protocol = dataclasses.replace(DEFAULTS["F"], pairs=2, repeats=1)
    assert len(list(comparison((), protocol).units(Setup(data=sets / "EF")))) == 4
    assert len(run(sets / "EF", [spy("a", [])], protocol)) == 4


def row(method: str, pair: str, errors: tuple[float, float], seconds: float | None) -> Row:
    return {
        "model": "F",
        "set": "s",
        "pair": pair,
        "repeat": 0,
        "configuration": method,
        "rotation_error": errors[0],
        "translation_error": errors[1],
        "seconds": seconds,
    }


def test_summary_of_known_errors() -> None:
    summary = of_one([row("m", "p", (0.5, 2.0), 0.001), row("m", "q", (180.0, 180.0), 0.003)])
    assert summary["ms_mean"] == pytest.approx(2)
    assert summary["mAA_R@5"] == pytest.approx(0.5)
    assert summary["mAA_t@5"] == pytest.approx(0.5 * 75 / 100, abs=0.01)
    assert 0.35 < summary["AUC@10"] < 0.5
    untimed = of_one([row("m", "p", (0.5, 2.0), 0.001), row("m", "q", (180.0, 180.0), None)])
    assert (untimed["ms_mean"], untimed["mAA_R@5"]) == pytest.approx((1, 0.5))


def test_spread_is_that_of_the_means_between_repeats() -> None:
    # The first repeat has all poses right, the second one of two sets, the third none.
    errors = {("a", 0): 0.5, ("b", 0): 0.5, ("a", 1): 0.5, ("b", 1): 180.0, ("a", 2): 180.0, ("b", 2): 180.0}
    rows = [
        row("m", "p", (error, error), 0.001 if repeat == 0 else None) | {"set": name, "repeat": repeat}
        for (name, repeat), error in errors.items()
    ]
    report = build_report(rows, DEFAULTS["F"])
    assert report["spread"]["m"]["mAA_R@5"] == pytest.approx(np.std([1.0, 0.5, 0.0], ddof=1))
    assert set(report["spread"]["m"]) == {name for name in report["mean"]["m"] if not name.startswith("ms")}
    assert build_report(rows[:2], DEFAULTS["F"])["spread"] == {"m": {}}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_errors_do_not_depend_on_the_number_of_workers(sets: Path, workers: int) -> None:
    methods = [METHODS["p-bansac"], METHODS["uniform"]]
    rows = run(sets / "EF", methods, DEFAULTS["E"], workers=workers)
    assert [row["rotation_error"] for row in rows] == [
        row["rotation_error"] for row in run(sets / "EF", methods, DEFAULTS["E"])
    ]
    assert all((row["seconds"] is None) == (workers == 2) for row in rows)
