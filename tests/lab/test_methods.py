from __future__ import annotations

import dataclasses
import importlib.util
import pickle

import numpy as np
import pytest

from bansac.estimate.presets import PRESETS
from bansac.lab.evaluation.method import Method
from bansac.lab.evaluation.methods import METHODS, PAPER_METHODS, select_methods
from bansac.lab.evaluation.peers import PEERS, find_peers
from bansac.lab.evaluation.task import DEFAULTS, Task, judge, make_task
from bansac.lab.measurements.budgets import limit
from bansac.matches import Matches
from bansac.synthetic import epipolar_matches, homography_matches


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
    errors = judge(method.model(method.run(method.arrange(task))), task, pair)
    assert max(errors.values()) < (3 if kind == "H" else 5), errors


@pytest.mark.parametrize(
    ("names", "kind", "message"),
    [
        (["bansac", "no-such"], "H", "no-such.*the methods are default"),
        (["pydegensac"], "E", "pydegensac estimates H, F, not E"),
        (["bansac", "bansac"], "H", "twice"),
        ([], "H", "at least one"),
        (["nobody@2"], "H", "unknown method 'nobody'"),
        (["uniform@"], "H", "a threshold > 0, got 'uniform@'"),
        (["uniform@wide"], "H", "a threshold > 0, got 'uniform@wide'"),
        (["uniform@-1"], "H", "a threshold > 0"),
        (["uniform@inf"], "H", "a threshold > 0"),
        (["poselib@auto"], "H", "poselib does not estimate its threshold, got 'poselib@auto'"),
        (["default-unsized"], "H", "default-unsized estimates F, not H"),
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


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("default", {"scores", "image_size1", "image_size2"}),
        ("default-unscored", {"image_size1", "image_size2"}),
        ("default-unsized", {"scores"}),
    ],
)
def test_a_preset_has_its_own_limits_and_what_is_known(
    monkeypatch: pytest.MonkeyPatch, name: str, known: set[str]
) -> None:
    import bansac

    seen = []
    monkeypatch.setattr(bansac, "estimate_fundamental", lambda x1, x2, **settings: seen.append(settings), raising=False)
    pair = dataclasses.replace(make_pair("F"), size1=(480, 640), size2=(600, 800))
    METHODS[name].run(make_task(pair, DEFAULTS["F"], seed=5))
    (settings,) = seen
    assert set(settings) == {"preset", "seed"} | known
    assert settings["preset"] is None
    assert settings["seed"] == 5
    assert (settings.get("image_size1"), settings.get("image_size2")) in [((480, 640), (600, 800)), (None, None)]
    METHODS[name].run(make_task(dataclasses.replace(pair, size2=None), DEFAULTS["F"], seed=5))
    assert set(seen[1]) == {"preset", "seed"} | (known & {"scores"})


def test_every_preset_but_the_paper_s_is_a_method() -> None:
    presets = {method.settings["preset"] for method in METHODS.values() if "preset" in method.settings}
    assert presets == {None, *PRESETS} - {"paper"}


def test_sizes_are_known_for_pixels_alone() -> None:
    pair = dataclasses.replace(make_pair("F"), size1=(480, 640), size2=(600, 800))
    of_pixels, of_rays = (make_task(pair, DEFAULTS[kind], seed=0) for kind in ("F", "E"))
    assert (of_pixels.size1, of_pixels.size2) == ((480, 640), (600, 800))
    assert (of_rays.size1, of_rays.size2) == (None, None)


def test_another_threshold_than_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    import bansac

    seen = []
    monkeypatch.setattr(bansac, "estimate_homography", lambda x1, x2, **settings: seen.append(settings), raising=False)
    task = make_task(make_pair("H"), DEFAULTS["H"], seed=5)
    *ours, peer = select_methods(["uniform@2.5", "uniform", "default@3", "default@auto", "opencv-prosac@.5"], "H")
    assert [method.name for method in ours] == ["uniform@2.5", "uniform", "default@3", "default@auto"]
    for method in ours:
        method.run(method.arrange(task))
    assert [settings["threshold"] for settings in seen] == [2.5, 1.0, 3.0, "auto"]
    arranged = peer.arrange(task)
    assert arranged.threshold == 0.5
    assert np.all(np.diff(arranged.scores) <= 0)
    assert METHODS["opencv-prosac"].arrange(task).threshold == 1.0


def test_poselib_has_its_own_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    poselib = pytest.importorskip("poselib", reason="the peer poselib is not installed")
    seen = []
    monkeypatch.setattr(poselib, "estimate_homography", lambda x1, x2, options: (seen.append(options),))
    task = make_task(make_pair("H"), DEFAULTS["H"], seed=5)
    for name in ("poselib-prosac", "poselib-prosac-own"):
        METHODS[name].run(METHODS[name].arrange(task))
    limit(METHODS["poselib-own"], 300, "H").run(limit(METHODS["poselib-own"], 300, "H").arrange(task))
    limits = [(s["min_iterations"], s["max_iterations"], s["success_prob"]) for s in seen]
    assert limits == [(10, 1000, 0.999), (1000, 100_000, 0.9999), (300, 300, 0.9999)]
    assert [s["progressive_sampling"] for s in seen] == [True, True, False]


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
