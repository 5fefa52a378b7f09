from __future__ import annotations

import importlib.util
import pickle

import numpy as np
import pytest

from bansac.datasets import Matches, epipolar_matches, homography_matches
from bansac.evaluation.method import Method
from bansac.evaluation.methods import METHODS, PAPER_METHODS, select_methods
from bansac.evaluation.peers import PEERS, find_peers
from bansac.evaluation.task import DEFAULTS, Task, best_first, judge, make_task


def make_pair(kind: str) -> Matches:
    scores = np.random.default_rng(0).uniform(0.3, 0.9, 200)
    if kind == "H":
        plane = homography_matches(200, inlier_ratio=0.6, noise=0.1, seed=1)
        return Matches(plane.x1, plane.x2, "a-b", 1 - scores, H=plane.H, size1=plane.size)
    scene = epipolar_matches(200, inlier_ratio=0.6, noise=0.1, seed=1)
    return Matches(scene.x1, scene.x2, "a-b", 1 - scores, K1=scene.K, K2=scene.K, R=scene.R, t=scene.t)


def cases() -> list[tuple[str, str]]:
    return [(name, kind) for name, method in METHODS.items() for kind in method.kinds]


@pytest.mark.parametrize(("name", "kind"), cases())
def test_every_method_solves_an_easy_pair(name: str, kind: str) -> None:
    method = METHODS[name]
    if importlib.util.find_spec(method.package) is None:
        pytest.skip(f"the peer {method.package} is not installed")
    pair = make_pair(kind)
    task = make_task(pair, DEFAULTS[kind], seed=3)
    errors = judge(method.model(method.run(best_first(task) if method.sort else task)), task, pair)
    assert max(errors.values()) < (3 if kind == "H" else 5), errors


@pytest.mark.parametrize(
    ("names", "kind", "message"),
    [
        (["bansac", "no-such"], "H", "no-such.*the methods are bansac"),
        (["pydegensac"], "E", "pydegensac estimates H, F, not E"),
        (["bansac", "bansac"], "H", "twice"),
        ([], "H", "at least one"),
    ],
)
def test_wrong_names_are_refused(names: list[str], kind: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        select_methods(names, kind)


def test_missing_peer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "ghost", Method("ghost", call=lambda task: None, package="no_such_package"))
    with pytest.raises(ModuleNotFoundError, match="ghost needs the package no_such_package"):
        select_methods(["ghost"], "H")


def test_calls_depend_on_the_seed_alone() -> None:
    task = make_task(make_pair("F"), DEFAULTS["F"], seed=5)
    np.testing.assert_array_equal(METHODS["bansac"].run(task).model, METHODS["bansac"].run(task).model)


def test_prior_reaches_the_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    import bansac

    seen = []

    def estimate(*args, **settings):
        seen.append(settings)
        return estimate_homography(*args, **settings)

    estimate_homography = bansac.estimate_homography
    monkeypatch.setattr(bansac, "estimate_homography", estimate, raising=False)
    task = make_task(make_pair("H"), DEFAULTS["H"], seed=5)
    for name in ("bansac", "p-bansac", "uniform"):
        METHODS[name].run(task)
    assert [settings["sampler"] for settings in seen] == ["bansac", "bansac", "uniform"]
    assert [settings.get("scores") is not None for settings in seen] == [False, True, False]
    assert all(s["preset"] == "paper" for s in seen)
    assert all(s["seed"] == 5 and s["threshold"] == 1.0 and s["max_iterations"] == 1000 for s in seen)


def test_task_is_normalised_for_e_alone() -> None:
    pair = make_pair("E")
    assert isinstance(make_task(pair, DEFAULTS["F"], seed=0), Task)
    np.testing.assert_array_equal(make_task(pair, DEFAULTS["F"], seed=0).x1, pair.x1)
    rays = make_task(pair, DEFAULTS["E"], seed=0).x2
    assert pair.K2 is not None
    np.testing.assert_allclose(rays * pair.K2[0, 0] + pair.K2[:2, 2], pair.x2, atol=1e-9)


def test_methods_reach_workers_by_their_names() -> None:
    for name, method in METHODS.items():
        assert pickle.loads(pickle.dumps(method)).name == name
    assert [method.label for method in PAPER_METHODS] == [
        *("RANSAC", "NAPSAC", "P-NAPSAC", "PROSAC", "BANSAC", "P-BANSAC"),
    ]


def test_opencv_uses_one_thread() -> None:
    cv2 = pytest.importorskip("cv2")
    cv2.setNumThreads(2)
    METHODS["opencv"].prepare()
    assert cv2.getNumThreads() == 1


def test_peers_are_found_and_take_no_settings_of_ours() -> None:
    peers = find_peers()
    assert {method.package for method in peers} >= {"cv2", "poselib", "pydegensac"}
    assert len(peers) >= len(PEERS)
    for method in peers:
        with pytest.raises(TypeError, match="order"):
            method.run(make_task(make_pair("H"), DEFAULTS["H"], seed=0), order=2)
