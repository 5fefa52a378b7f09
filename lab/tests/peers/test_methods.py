"""Every row of the tables of methods solves easy scenes; tasks and settings reach the libraries."""

import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bansac.estimate.presets import PRESETS
from bansac.matches import Matches
from bansac.synthetic import epipolar_matches, homography_matches
from bansac_lab import scenes as hard
from bansac_lab.measurements.budgets import limit
from bansac_lab.peers import PEERS
from bansac_lab.peers.library import Library, Method, Task
from bansac_lab.peers.methods import METHODS, PAPER_METHODS, PEER_METHODS, select_methods
from bansac_lab.peers.poselib import POSELIB
from bansac_lab.scenes import errors, make_scene
from bansac_lab.task import DEFAULTS, judge, make_task
from lab.tests.peers.toy import Toy


def make_pair(kind: str) -> Matches:
    scores = np.random.default_rng(0).uniform(0.3, 0.9, 200)
    if kind == "H":
        plane = homography_matches(200, inlier_ratio=0.6, noise=0.1, seed=1)
        return Matches(plane.x1, plane.x2, "a-b", 1 - scores, H=plane.H, size1=plane.size)
    scene = epipolar_matches(200, inlier_ratio=0.6, noise=0.1, seed=1)
    return Matches(scene.x1, scene.x2, "a-b", 1 - scores, K1=scene.K, K2=scene.K, R=scene.R, t=scene.t)


def skip_missing(method: Method) -> None:
    if not method.installed:
        pytest.skip(f"{method.package} is not installed")


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, m in METHODS.items() for kind in m.problems])
def test_every_method_of_the_bench_solves_an_easy_pair(name: str, kind: Any) -> None:
    skip_missing(METHODS[name])
    pair = make_pair(kind)
    task = make_task(pair, DEFAULTS[kind], seed=3)
    estimate = METHODS[name].estimate(task)
    assert max(judge(estimate.model, task, pair).values()) < (3 if kind == "H" else 5)
    assert estimate.seconds > 0
    assert (estimate.result is not None) == METHODS[name].ours


@pytest.mark.parametrize("problem", ["H", "E", "F", "pose", "relative pose"])
@pytest.mark.parametrize("method", [*hard.OURS, *hard.PEERS], ids=lambda method: method.name)
def test_every_method_of_hard_scenes_solves_an_easy_one(method: Method, problem: str) -> None:
    skip_missing(method)
    if problem == "relative pose" and method.package == "pysuperansac":
        pytest.skip("it estimates E alone")
    scene = make_scene(problem, 200, 0.8, 0.2, 1)
    estimate = method.estimate(hard.task_of(scene, 1))
    assert estimate.success
    assert max(errors(scene, estimate.model).values()) < 2


@pytest.mark.parametrize(
    ("names", "kind", "message"),
    [
        (["bansac", "no-such"], "H", "no-such.*the methods are default"),
        (["pydegensac"], "E", "pydegensac estimates H, F, not E"),
        (["bansac", "bansac"], "H", "twice"),
        ([], "H", "at least one"),
        (["uniform@wide"], "H", "a threshold > 0, got 'uniform@wide'"),
        (["uniform@-1"], "H", "a threshold > 0"),
        (["uniform@inf"], "H", "a threshold > 0"),
        (["poselib@auto"], "H", "poselib does not estimate its threshold, got 'poselib@auto'"),
        (["default-unsized"], "H", "default-unsized estimates F, not H"),
    ],
)
def test_wrong_names_are_refused(names: list[str], kind: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        select_methods(names, kind)


def test_missing_peer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "ghost", Method("ghost", library=Toy(package="no_such_package")))
    with pytest.raises(ModuleNotFoundError, match="ghost needs the package no_such_package"):
        select_methods(["ghost"], "H")


@pytest.fixture
def settings_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Method, Task], dict[str, Any]]:
    """Return the function that returns the keyword arguments with which a method calls this package."""

    def keep(*points: Any, **settings: Any) -> None:
        seen.append(settings)

    def settings_of(method: Method, task: Task) -> dict[str, Any]:
        method.call(task)()
        return seen.pop()

    seen: list[dict[str, Any]] = []
    for name in ("estimate_homography", "estimate_fundamental"):
        monkeypatch.setattr(f"bansac.estimate.two_views.{name}", keep)
    return settings_of


def test_methods_of_the_paper_have_its_preset_and_the_limits_of_the_task(settings_of: Any) -> None:
    task = make_task(make_pair("H"), DEFAULTS["H"], seed=5)
    limits = {"preset": "paper", "seed": 5, "threshold": 1.0, "confidence": 0.999, "max_iterations": 1000}
    for name, sampler, scored in (
        ("bansac", "bansac", False),
        ("p-bansac", "bansac", True),
        ("napsac",) * 2 + (False,),
    ):
        settings = settings_of(METHODS[name], task)
        assert (settings.pop("scores", None) is not None) == scored
        assert settings == limits | {"sampler": sampler}


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("default", {"scores", "image_size1", "image_size2"}),
        ("default-unscored", {"image_size1", "image_size2"}),
        ("default-unsized", {"scores"}),
    ],
)
def test_a_preset_has_its_own_limits_and_what_is_known(settings_of: Any, name: str, known: set[str]) -> None:
    pair = dataclasses.replace(make_pair("F"), size1=(480, 640), size2=(600, 800))
    settings = settings_of(METHODS[name], make_task(pair, DEFAULTS["F"], seed=5))
    assert set(settings) == {"preset", "seed"} | known
    assert (settings["preset"], settings["seed"]) == (None, 5)
    assert (settings.get("image_size1"), settings.get("image_size2")) in [((480, 640), (600, 800)), (None, None)]
    unsized = make_task(dataclasses.replace(pair, size2=None), DEFAULTS["F"], seed=5)
    assert set(settings_of(METHODS[name], unsized)) == {"preset", "seed"} | (known & {"scores"})


def test_another_threshold_than_the_others(settings_of: Any) -> None:
    task = make_task(make_pair("H"), DEFAULTS["H"], seed=5)
    names = ["uniform@2.5", "uniform", "default@3", "default@auto"]
    assert [method.name for method in select_methods(names, "H")] == names
    assert [settings_of(m, task)["threshold"] for m in select_methods(names, "H")] == [2.5, 1.0, 3.0, "auto"]


def test_a_method_that_sorts_gets_the_best_matches_first() -> None:
    task = make_task(make_pair("H"), DEFAULTS["H"], seed=5)
    order = np.argsort(-np.asarray(task.scores), kind="stable")
    calls: list[tuple[Task, dict[str, Any]]] = []
    toy = Toy(answer=lambda *call: calls.append(call))
    Method("sorted", {"threshold": 0.5}, toy, sort=True).estimate(task)
    ((seen, settings),) = calls
    np.testing.assert_array_equal(seen.x1, task.x1[order])
    assert seen.scores is None
    assert settings == {"threshold": 0.5, "confidence": 0.999, "max_iterations": 1000}


def test_poselib_has_its_own_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    poselib = pytest.importorskip("poselib", reason="the peer poselib is not installed")
    seen: list[dict[str, Any]] = []
    monkeypatch.setattr(poselib, "estimate_homography", lambda x1, x2, options: seen.append(options))
    task = make_task(make_pair("H"), DEFAULTS["H"], seed=5)
    for method in (METHODS["poselib-prosac"], METHODS["poselib-prosac-own"], limit(METHODS["poselib-own"], 300, "H")):
        method.call(task)()
    limits = [(s["min_iterations"], s["max_iterations"], s["success_prob"]) for s in seen]
    assert limits == [(10, 1000, 0.999), (1000, 100_000, 0.9999), (300, 300, 0.9999)]
    assert [s["progressive_sampling"] for s in seen] == [True, True, False]


def test_several_matrices_and_nan_are_no_models() -> None:
    task = make_task(make_pair("H"), DEFAULTS["H"], seed=5)
    for model in (None, np.zeros((9, 3)), np.full((3, 3), np.nan), (np.eye(3), None)):
        estimate = Method("toy", library=Toy(answer=model)).estimate(task)
        assert estimate.model is None
        assert not estimate.success


def test_opencv_uses_one_thread_and_its_failures_are_no_models() -> None:
    cv2 = pytest.importorskip("cv2")
    cv2.setNumThreads(2)
    few = Task("F", (np.eye(3, 2), np.eye(3, 2)), threshold=1.0, confidence=0.9, max_iterations=10)
    assert METHODS["opencv-magsac"].estimate(few).model is None
    assert cv2.getNumThreads() == 1


def test_unknown_focal_lengths_are_estimated() -> None:
    import bansac

    pytest.importorskip("poselib")
    scene = epipolar_matches(200, inlier_ratio=0.9, noise=0.1, seed=1)
    camera = bansac.Camera.from_matrix(scene.K).with_focal(np.nan)
    task = Task("relative pose", (scene.x1, scene.x2), (camera, camera))
    for library in (POSELIB, METHODS["default"].library):
        K1 = library.estimate(task, {}).model.K1
        assert K1[0, 0] == pytest.approx(scene.K[0, 0], rel=0.1)


def test_task_is_normalised_for_e_alone() -> None:
    pair = dataclasses.replace(make_pair("E"), size1=(480, 640), size2=(600, 800))
    of_pixels, of_rays = (make_task(pair, DEFAULTS[kind], seed=0) for kind in ("F", "E"))
    np.testing.assert_array_equal(of_pixels.x1, pair.x1)
    assert pair.K2 is not None
    np.testing.assert_allclose(of_rays.x2 * pair.K2[0, 0] + pair.K2[:2, 2], pair.x2, atol=1e-9)
    assert (of_pixels.size1, of_pixels.size2) == ((480, 640), (600, 800))
    assert (of_rays.size1, of_rays.size2) == (None, None)


def test_methods_reach_workers_by_their_names() -> None:
    for method in METHODS.values():
        assert pickle.loads(pickle.dumps(method)) == method
    labels = [method.label for method in PAPER_METHODS]
    assert labels == ["RANSAC", "NAPSAC", "P-NAPSAC", "PROSAC", "BANSAC", "P-BANSAC"]
    presets = {method.settings["preset"] for method in METHODS.values() if "preset" in method.settings}
    assert presets == {None, *PRESETS} - {"paper", "paper-20"}


def test_peers_are_found_and_take_no_settings_of_ours() -> None:
    assert len({type(method.library) for method in PEER_METHODS}) == len(PEERS)
    task = make_task(make_pair("H"), DEFAULTS["H"], seed=0)
    for method in PEER_METHODS:
        assert isinstance(method.library, Library)
        with pytest.raises(TypeError, match="order"):
            method.call(task, order=2)
