import dataclasses
import math
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import bansac
from bansac.estimate import two_views
from bansac_lab import grid
from bansac_lab.grid import Grid
from bansac_lab.measurement import Setup, Unit
from bansac_lab.peers.library import Method, Task
from bansac_lab.peers.methods import BANSAC, P_BANSAC, RANSAC
from bansac_lab.task import DEFAULTS
from lab.tests.pair_sets import remove_entry, replace_entry, write_homography_set, write_pose_set, write_ppm

GRID = Grid(
    (
        RANSAC.configured("plain", {}),
        BANSAC.configured("order 2", {"network": bansac.Network(order=2)}, columns={"order": 2}),
        P_BANSAC.configured("scored", {"max_iterations": 50}, columns={"limit": 50}),
    ),
    models=("E", "F", "H"),
)


def names(units: list[Unit]) -> list[str]:
    return [unit.key for unit in units]


class TestUnits:
    def test_every_model_set_pair_and_repeat(self, sets: Path) -> None:
        units = GRID.units(Setup(data=sets, repeats=2))
        keys = names(units)
        assert len(keys) == len(set(keys)) == (5 + 5 + 2) * 2
        assert keys[:3] == ["E/room/0a-0b/0", "E/room/0a-0b/1", "E/room/1a-1b/0"]
        assert keys[-1] == "H/wall/1a-1b/1"
        of_paper = names(GRID.units(Setup(data=sets)))
        assert [sum(key.startswith(model) for key in of_paper) for model in "EFH"] == [5 * 5, 5 * 5, 2 * 10]

    def test_first_pairs_of_a_scene_evenly_spaced(self, sets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(grid, "PAIRS_OF_A_SCENE", 2)
        of_set = [key.split("/")[1:3] for key in names(GRID.units(Setup(data=sets, repeats=1, model="E")))]
        assert of_set == [["room", "0a-0b"], ["room", "1a-1b"], ["yard", "0a-0b"], ["yard", "1a-1b"]]
        monkeypatch.setattr(grid, "PAIRS_OF_A_SCENE", 3)
        setup = Setup(data=sets, repeats=1, model="E", pairs=2, sets=("yard",))
        assert names(GRID.units(setup)) == ["E/yard/0a-0b/0", "E/yard/2a-2b/0"]
        monkeypatch.setattr(grid, "PAIRS_OF_A_SCENE", 1)
        assert len(GRID.units(Setup(data=sets, repeats=1, model="H"))) == 2, "of homographies all pairs count"

    def test_ablations_run_on_all_of_sacre_coeur(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(grid, "PAIRS_OF_A_SCENE", 1)
        write_pose_set(tmp_path / "sacre_coeur", pairs=2)
        write_pose_set(tmp_path / "other", pairs=2)
        ablation = dataclasses.replace(GRID, ablation=True)

        def chosen(of: Grid, **changes: Any) -> list[str]:
            return names(of.units(Setup(data=tmp_path, repeats=1, model="F", **changes)))

        assert chosen(ablation) == ["F/sacre_coeur/0a-0b/0", "F/sacre_coeur/1a-1b/0"]
        assert chosen(ablation, sets=("other",)) == ["F/other/0a-0b/0"]
        assert chosen(ablation, exclude=("sacre_coeur",)) == ["F/other/0a-0b/0"]
        assert chosen(GRID) == ["F/other/0a-0b/0", "F/sacre_coeur/0a-0b/0"]

    def test_models_that_the_data_can_judge(self, sets: Path) -> None:
        assert {key[0] for key in names(GRID.units(Setup(data=sets / "H")))} == {"H"}
        assert {key[0] for key in names(GRID.units(Setup(data=sets / "EF")))} == {"E", "F"}
        only_f = dataclasses.replace(GRID, default_models=("F",))
        assert {key[0] for key in names(only_f.units(Setup(data=sets)))} == {"F"}
        assert {key[0] for key in names(only_f.units(Setup(data=sets, model="E")))} == {"E"}

    def test_bad_input_is_named(self, sets: Path) -> None:
        for setup, message in [
            (Setup(data=sets / "H", model="E"), "--model E needs sets with poses as truth, not wall"),
            (
                Setup(data=sets, model="H", exclude=("wall",)),
                "--model H needs sets with homographies as truth, not room, yard",
            ),
        ]:
            with pytest.raises(ValueError, match=message):
                GRID.units(setup)


class TestRows:
    def rows(self, setup: Setup, key: str, of: Grid = GRID) -> list[Any]:
        return of.run_unit(setup, next(unit for unit in of.units(setup) if unit.key == key))

    @pytest.mark.parametrize("model", ["E", "F"])
    def test_poses(self, sets: Path, model: str) -> None:
        rows = self.rows(Setup(data=sets, seed=10), f"{model}/yard/1a-1b/1")
        assert [row["configuration"] for row in rows] == ["plain", "order 2", "scored"]
        assert [row["method"] for row in rows] == ["RANSAC", "BANSAC", "P-BANSAC"]
        first = rows[0]
        assert (first["model"], first["set"], first["pair"], first["repeat"]) == (model, "yard", "1a-1b", 1)
        assert first["seed"] == 11
        assert first["matches"] == 120
        assert rows[1]["order"] == 2
        assert rows[2]["iterations"] <= rows[2]["limit"] == 50
        for row in rows:
            assert row["rotation_error"] < 2
            assert row["translation_error"] < 10
            assert "corner_error" not in row
            assert row["success"] is True
            assert row["inliers"] > 60
            assert row["models_tested"] > 0
            assert row["threshold"] == DEFAULTS[model].threshold
            assert row["seconds"] > 0
            assert row["stop_reason"]

    def test_homographies(self, sets: Path) -> None:
        rows = self.rows(Setup(data=sets), "H/wall/0a-0b/0")
        assert all(row["corner_error"] < 2 for row in rows)
        assert all("rotation_error" not in row for row in rows)
        assert all(0 < row["visible_area_error"] < 1 for row in rows)
        assert all(row["visible_area_error"] != row["corner_error"] for row in rows)

    def test_without_the_size_of_image_2_the_corners_are_left(self, tmp_path: Path) -> None:
        (write_homography_set(tmp_path / "wall", pairs=1) / "size2.h5").unlink()
        row = self.rows(Setup(data=tmp_path), "H/wall/0a-0b/0")[0]
        assert row["corner_error"] < 2
        assert math.isnan(row["visible_area_error"])

    def test_same_seed_same_errors_and_another_seed_others(self, sets: Path) -> None:
        def errors(seed: int, repeat: int) -> list[float]:
            rows = self.rows(Setup(data=sets, seed=seed), f"F/room/0a-0b/{repeat}")
            return [row["rotation_error"] for row in rows]

        assert errors(0, 3) == errors(0, 3) == errors(3, 0)
        assert errors(0, 0) != errors(0, 3)

    def test_each_unit_has_an_order_of_its_own_the_same_in_every_run(
        self, sets: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        called: list[str] = []
        estimate = Method.estimate

        def spy(configuration: Method, task: Task) -> Any:
            called.append(configuration.name)
            return estimate(configuration, task)

        monkeypatch.setattr(Method, "estimate", spy)
        configurations = ["plain", "order 2", "scored"]
        orders = []
        for key in [f"E/room/{pair}/{repeat}" for pair in ("0a-0b", "1a-1b") for repeat in range(4)] * 2:
            called.clear()
            assert [row["configuration"] for row in self.rows(Setup(data=sets), key)] == configurations
            assert sorted(called) == sorted(configurations)
            orders.append(tuple(called))
        assert orders[:8] == orders[8:]
        assert {order[0] for order in orders} == set(configurations)

    def test_ratio_cut(self, sets: Path) -> None:
        def counts(of_one: float, of_all: float = 0.85) -> list[int]:
            methods = RANSAC.configured("all", {}), RANSAC.configured("some", {}, max_ratio=of_one)
            rows = self.rows(Setup(data=sets, max_ratio=of_all), "F/room/0a-0b/0", Grid(methods, models=("F",)))
            return [row["matches"] for row in rows]

        both, one = counts(0.5)
        assert both == 120 > one
        assert counts(0.5, 0.5) == [one, one]
        assert counts(0.25) == [], "too few matches for one method leave the pair out"

    @pytest.mark.parametrize("model", ["E", "F", "H"])
    def test_one_ratio_for_all_models(self, tmp_path: Path, model: str) -> None:
        folder = (write_homography_set if model == "H" else write_pose_set)(tmp_path / "hall", pairs=1)
        replace_entry(folder / "match_conf.h5", "0a-0b", np.where(np.arange(120) < 70, 0.849, 0.85))
        assert self.rows(Setup(data=tmp_path), f"{model}/hall/0a-0b/0")[0]["matches"] == 70

    def test_what_the_estimators_get(self, sets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[dict[str, Any]] = []

        def spy(x1: Any, x2: Any, **settings: Any) -> Any:
            calls.append(settings)
            return estimate(x1, x2, **settings)

        estimate = two_views.estimate_fundamental
        monkeypatch.setattr(two_views, "estimate_fundamental", spy)
        scored = Method("ordered", {"sampler": "bansac"}, scored=True)
        of_f = Grid(
            (BANSAC.configured("a", {}), scored.configured("b", {"network": bansac.Network(tau=0.2)}, prior=0.5)),
            models=("F",),
        )
        self.rows(Setup(data=sets, seed=4), "F/room/0a-0b/2", of_f)
        plain, ordered = sorted(calls, key=lambda settings: "priors" in settings)
        paper = {"preset": "paper", "threshold": 0.5, "confidence": 0.999, "max_iterations": 10000, "seed": 6}
        assert plain == paper | {"sampler": "bansac"}
        assert ordered.pop("scores").shape == (120,)
        np.testing.assert_array_equal(ordered.pop("priors"), np.full(120, 0.5))
        assert ordered == paper | {"sampler": "bansac", "network": bansac.Network(tau=0.2)}


def test_warm_up_calls_every_configuration_briefly(sets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, str, int]] = []

    def spy(method: Method, task: Task, **settings: Any) -> None:
        calls.append((task.problem, method.label, settings["max_iterations"]))

    monkeypatch.setattr(Method, "estimate", spy)
    GRID.warm_up(Setup(data=sets), GRID.units(Setup(data=sets)))
    assert [call[:2] for call in calls] == [
        (kind, m) for kind in "EFH" for m in ("RANSAC", "BANSAC", "P-BANSAC") for _ in range(2)
    ]
    assert {call[2] for call in calls} == {Grid.WARM_UP["max_iterations"]}


def test_warm_up_passes_over_a_damaged_pair_and_one_with_few_matches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_pose_set(tmp_path / "hall", pairs=3, matches=120)
    remove_entry(folder / "K1_K2.h5", "0a-0b")
    with h5py.File(folder / "match_conf.h5", "a") as file:
        file["1a-1b"][20:] = 0.99
    used: list[int] = []
    monkeypatch.setattr(Method, "estimate", lambda method, task, **settings: used.append(len(task.x1)))
    setup = Setup(data=tmp_path, model="F")
    GRID.warm_up(setup, GRID.units(setup))
    assert used == [120] * 6
    setup = Setup(data=tmp_path, model="F", pairs=1)  # the damaged one alone
    GRID.warm_up(setup, GRID.units(setup))
    assert used == [120] * 6


def test_pair_of_unknown_size_fails_alone_and_says_what_was_looked_for(tmp_path: Path) -> None:
    folder = write_homography_set(tmp_path / "fence", pairs=2)
    (folder / "size.h5").unlink()
    for letter in "ab":
        write_ppm(folder / f"1{letter}.ppm", (480, 640))
    setup = Setup(data=tmp_path, repeats=1)
    first, second = GRID.units(setup)
    with pytest.raises(FileNotFoundError, match=r"no image called '0a'"):
        GRID.run_unit(setup, first)
    assert len(GRID.run_unit(setup, second)) == 3
