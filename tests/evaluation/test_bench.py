from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from bansac.evaluation.bench_report import build_report, installed_versions, summarise

from bansac.datasets import PairSet, find_sets
from bansac.evaluation.bench import DEFAULTS, Journal, Protocol, Record, count_turns, fingerprint, judge, make_task, run
from bansac.evaluation.methods import METHODS, Method, Task
from tests.evaluation.sets import write_homography_set, write_pose_set


@pytest.fixture
def poses(tmp_path: Path) -> list[PairSet]:
    write_pose_set(tmp_path / "poses" / "room")
    write_pose_set(tmp_path / "poses" / "yard", pairs=2)
    return find_sets(tmp_path / "poses")


@pytest.fixture
def planes(tmp_path: Path) -> list[PairSet]:
    write_homography_set(tmp_path / "planes" / "wall")
    return find_sets(tmp_path / "planes")


def spy(name: str, calls: list[tuple[str, Task]], answer: object = None, *, sort: bool = False) -> Method:
    def call(task: Task) -> object:
        calls.append((name, task))
        return answer

    return Method(name, call, sort=sort)


@pytest.mark.parametrize("kind", ["F", "E"])
def test_bansac_recovers_the_poses(poses: list[PairSet], kind: str) -> None:
    protocol = DEFAULTS[kind]
    methods = [METHODS["p-bansac"], METHODS["uniform"]]
    report = build_report(run(poses, methods, protocol), methods, protocol, seconds=1.0)
    assert set(report["sets"]) == {"room", "yard"}
    assert report["sets"]["yard"]["pairs"] == 2
    assert report["mean"]["p-bansac"]["AUC@10"] > 0.8
    assert report["mean"]["uniform"]["ms_mean"] > 0
    assert report["versions"]["bansac"]
    json.dumps(report, allow_nan=False)


def test_bansac_recovers_the_homographies(planes: list[PairSet]) -> None:
    records = run(planes, [METHODS["bansac"]], DEFAULTS["H"])
    assert len(records) == 3 * DEFAULTS["H"].repeats
    assert summarise(records)["mAA@5"] > 0.95


def test_methods_take_turns_with_the_same_matches(poses: list[PairSet]) -> None:
    calls: list[tuple[str, Task]] = []
    records = run(poses[:1], [spy("a", calls), spy("b", calls, sort=True)], DEFAULTS["F"])
    names = [name for name, _ in calls]
    # The first two are the warm-up; then each turn (pair by pair, two repeats) has both, in another order.
    turns = list(zip(names[2::2], names[3::2], strict=True))
    assert len(turns) == 3 * 2
    assert set(turns) == {("a", "b"), ("b", "a")}
    for first, second in zip(calls[::2], calls[1::2], strict=True):
        (_, plain), (_, best_first) = sorted([first, second], key=lambda call: call[0])
        assert np.all(np.diff(best_first.scores) <= 0)
        order = np.argsort(-plain.scores, kind="stable")
        np.testing.assert_array_equal(plain.x1[order], best_first.x1)
        np.testing.assert_array_equal(plain.x2[order], best_first.x2)
        assert plain.seed == best_first.seed
    assert [record.repeat for record in records] == [0, 0, 1, 1] * 3
    assert [task.seed for _, task in calls[2:6]] == [0, 0, 1, 1]


def test_failures_count_as_180_degrees_and_infinity(poses: list[PairSet], planes: list[PairSet]) -> None:
    nan = np.full((3, 3), np.nan)
    for answer in (None, nan):
        records = run(poses[:1], [spy("fails", [], answer)], DEFAULTS["E"])
        assert all(record.errors == (180.0, 180.0) for record in records)
        assert summarise(records)["AUC@20"] == 0
        records = run(planes, [spy("fails", [], answer)], DEFAULTS["H"])
        assert all(record.errors == (np.inf,) for record in records)
        assert summarise(records)["mAA@10"] == 0


@pytest.mark.parametrize("kind", ["F", "E"])
def test_truth_has_no_error(poses: list[PairSet], kind: str) -> None:
    pair = next(poses[0].pairs()).filtered(0.56)
    task = make_task(pair, DEFAULTS[kind], seed=0)
    truth = pair.F if kind == "F" else pair.E
    assert truth is not None
    assert max(judge(truth, task, pair)) < 1e-4
    assert max(judge(-truth, task, pair)) < 1e-4


def test_ratio_and_smallest_number_of_matches(poses: list[PairSet]) -> None:
    calls: list[tuple[str, Task]] = []
    protocol = dataclasses.replace(DEFAULTS["F"], max_ratio=0.3)
    kept = len(next(poses[0].pairs()).filtered(0.3).x1)
    run(poses[:1], [spy("a", calls)], dataclasses.replace(protocol, min_matches=1))
    assert len(calls[0][1].x1) == kept
    with pytest.raises(ValueError, match="room has no pair with 119 matches"):
        run(poses[:1], [spy("a", calls)], dataclasses.replace(protocol, min_matches=119))


def test_number_of_pairs_is_limited(poses: list[PairSet]) -> None:
    protocol = dataclasses.replace(DEFAULTS["F"], pairs=2, repeats=1)
    assert count_turns(poses, protocol) == 4
    assert len(run(poses, [spy("a", [])], protocol)) == 4


def test_truth_of_another_kind_is_refused(poses: list[PairSet], planes: list[PairSet]) -> None:
    with pytest.raises(ValueError, match="room has poses"):
        run(poses, [spy("a", [])], DEFAULTS["H"])
    with pytest.raises(ValueError, match="wall has homographies"):
        run(planes, [spy("a", [])], DEFAULTS["E"])


@pytest.mark.parametrize(
    "change",
    [{"threshold": 0.0}, {"max_ratio": -1.0}, {"confidence": 1.0}, {"repeats": 0}, {"pairs": 0}, {"max_iterations": 0}],
)
def test_protocol_refuses_nonsense(change: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        dataclasses.replace(DEFAULTS["H"], **change)


class TestJournal:
    def run(self, sets: list[PairSet], path: Path, mark: str, *, stop_after: int | None = None) -> list[str]:
        """Run with a journal; return the calls that were made, warm-up included."""
        calls: list[tuple[str, Task]] = []
        turns = 0

        def on_turn() -> None:
            nonlocal turns
            turns += 1
            if turns == stop_after:
                raise KeyboardInterrupt

        journal = Journal(path, mark)
        run(sets, [spy("a", calls, np.eye(3))], DEFAULTS["F"], journal=journal, on_turn=on_turn)
        journal.close()
        return [name for name, _ in calls]

    def test_interrupted_run_goes_on(self, poses: list[PairSet], tmp_path: Path) -> None:
        path = tmp_path / "journal.jsonl"
        with pytest.raises(KeyboardInterrupt):
            self.run(poses[:1], path, "mark", stop_after=4)
        assert len(Journal(path, "mark")) == 4
        assert len(self.run(poses[:1], path, "mark")) == 1 + 2
        assert len(Journal(path, "mark")) == 0, "a complete run starts anew"

    def test_line_cut_off_is_dropped(self, poses: list[PairSet], tmp_path: Path) -> None:
        path = tmp_path / "journal.jsonl"
        with pytest.raises(KeyboardInterrupt):
            self.run(poses[:1], path, "mark", stop_after=4)
        path.write_text(path.read_text()[:-20])
        assert len(Journal(path, "mark")) == 3
        assert len(self.run(poses[:1], path, "mark")) == 1 + 3

    def test_other_settings_start_anew(self, poses: list[PairSet], tmp_path: Path) -> None:
        path = tmp_path / "journal.jsonl"
        with pytest.raises(KeyboardInterrupt):
            self.run(poses[:1], path, "mark", stop_after=4)
        assert len(self.run(poses[:1], path, "another")) == 1 + 6

    def test_records_survive_the_disk(self, poses: list[PairSet], tmp_path: Path) -> None:
        path = tmp_path / "journal.jsonl"
        method = spy("fails", [], None)
        first = run(poses[:1], [method], DEFAULTS["F"], journal=Journal(path, "mark"))
        again = run(poses[:1], [method], DEFAULTS["F"], journal=Journal(path, "mark"))
        assert first == again


def test_fingerprint_tells_settings_apart(poses: list[PairSet]) -> None:
    method = METHODS["bansac"]
    base = (DEFAULTS["F"], [method], poses, {"numpy": "2"})

    def mark(protocol: Protocol = base[0], methods=base[1], sets=base[2], versions=base[3]) -> str:
        return fingerprint(protocol, methods, sets, versions)

    others = [
        mark(protocol=dataclasses.replace(DEFAULTS["F"], threshold=0.7)),
        mark(methods=[METHODS["uniform"]]),
        mark(sets=poses[:1]),
        mark(versions={"numpy": "3"}),
    ]
    assert mark() == mark()
    assert len({mark(), *others}) == 5


def test_summary_of_known_errors() -> None:
    records = [Record("s", "p", "m", 0, 0.001, (0.5, 2.0)), Record("s", "q", "m", 0, 0.003, (180.0, 180.0))]
    summary = summarise(records)
    assert summary["ms_mean"] == pytest.approx(2)
    assert summary["mAA_R@5"] == pytest.approx(0.5)
    assert summary["mAA_t@5"] == pytest.approx(0.5 * 75 / 100, abs=0.01)
    assert 0.35 < summary["AUC@10"] < 0.5


def test_versions_name_the_peers() -> None:
    versions = installed_versions([METHODS["bansac"], METHODS["opencv"]])
    assert {"bansac", "numpy", "numba", "python", "cv2"} <= versions.keys()
