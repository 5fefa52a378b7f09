"""posebench's errors and averages, and the methods on synthetic instances."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from bansac.geometry import essential_from_pose
from bansac_lab.frames import import_pandas
from bansac_lab.measurement import Setup
from bansac_lab.measurements import posebench as protocol
from bansac_lab.measurements.posebench import THRESHOLDS, judge, metrics, report
from bansac_lab.peers.library import Method, Task
from lab.tests.peers.toy import Toy
from lab.tests.posebench_files import make_instance, turned


def test_the_sign_of_a_translation_counts() -> None:
    instance = make_instance("relative", 0)
    R = turned(3) @ instance.R
    assert judge("E", (R, instance.t), instance) == pytest.approx({"rotation": 3, "translation": 0}, abs=1e-5)
    assert judge("E", (R, -instance.t), instance)["translation"] == pytest.approx(180)


def test_the_best_motion_of_a_matrix_counts() -> None:
    instance = make_instance("homography", 0)
    K1, K2 = (camera.K for camera in instance.cameras)
    F = np.linalg.inv(K2).T @ essential_from_pose(turned(3) @ instance.R, -instance.t) @ np.linalg.inv(K1)
    assert judge("F", F, instance) == pytest.approx({"rotation": 3, "translation": 0}, abs=1e-4)
    H = K2 @ (instance.R + np.outer(instance.t, [0, 0.1, 0.2])) @ np.linalg.inv(K1)
    for scale in (1, -2):
        assert judge("H", scale * H, instance) == pytest.approx({"rotation": 0, "translation": 0}, abs=1e-4)


@pytest.mark.parametrize("answer", [None, np.full((3, 3), math.nan), np.diag([1.0, 1.0, 0.0])])
def test_failures_count_180_degrees(answer: Any) -> None:
    instance = make_instance("homography", 0)
    assert judge("H", answer, instance) == {"rotation": 180.0, "translation": 180.0}


def test_centres_of_absolute_poses() -> None:
    instance = make_instance("absolute", 0)
    moved = dataclasses.replace(instance, t=instance.t + instance.R @ [0, 3, 4])
    assert judge("PnP", (instance.R, instance.t), moved) == pytest.approx({"rotation": 0, "centre": 5}, abs=1e-5)
    assert judge("PnP", None, moved) == {"rotation": 180.0, "centre": math.inf}


def row(name: str, method: str, rotation: float, translation: float) -> dict[str, Any]:
    of_set = {"problem": "relative", "set": name, "method": method, "instance": "a"}
    return {**of_set, "rotation": rotation, "translation": translation, "seconds": 0.002}


def test_metrics() -> None:
    # The larger errors are 2 and 180: recall rises to 1/2 at 2 degrees.
    runs = import_pandas().DataFrame([row("s", "E", 1, 2), row("s", "E", 180, 0)])
    assert metrics("relative", runs) == pytest.approx(
        {"AUC 5": 0.4, "AUC 10": 0.45, "AUC 20": 0.475, "mean [ms]": 2, "median [ms]": 2}
    )
    runs = import_pandas().DataFrame({"rotation": [1.0, 180.0], "centre": [0.05, math.inf], "seconds": [1.0, 3.0]})
    found = metrics("absolute", runs)
    assert found["AUC 0.1"] == pytest.approx(0.375)
    assert (found["median rotation [°]"], found["median position"]) == (90.5, math.inf)


def test_sets_have_equal_weights() -> None:
    rows = [row("a", "E (x)", 0, 0), row("b", "E (x)", 180, 0), row("b", "E (x)", 180, 0)]
    found = report(Setup(), rows)
    table = found.tables["relative"]
    last = table.rows[-1]
    assert (last.section, last.labels, last.values[0]) == ("mean over 2 sets", ("E (x)",), 0.5)
    assert [(record["set"], record["AUC 5"]) for record in found.records["metrics"]] == [("a", 1.0), ("b", 0.0)]


def test_thresholds_are_those_of_the_set(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from bansac.batch.journal import Unit
    from bansac_lab.sets.posebench import write_instances

    def call(task: Task, settings: Any) -> None:
        seen.append((task.problem, settings["threshold"], task.seed))

    seen: list[Any] = []
    monkeypatch.setattr(protocol, "OURS", (Method("spy", library=Toy(answer=call)),))
    monkeypatch.setattr(protocol, "PEERS", ())
    (tmp_path / "relative").mkdir()
    for name in ("scannet1500_roma", "another"):
        path = tmp_path / "relative" / f"{name}.h5"
        write_instances(path, [("0", make_instance("relative", 0))])
        rows = protocol.run_unit(Setup(seed=7), Unit("0", (str(path), "0")))
        assert [line["method"] for line in rows] == ["E (spy)", "F (spy)"]
    threshold = THRESHOLDS["scannet1500_roma"]
    assert seen == [(name, t, 7) for t in (threshold, 1.0) for name in ("relative pose", "F")]
