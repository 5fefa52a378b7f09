from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bansac.cli import demo as demo_module


@pytest.fixture
def without_stereo(monkeypatch: pytest.MonkeyPatch) -> None:
    def load() -> None:
        raise OSError("not today")

    monkeypatch.setattr(demo_module, "load_motorcycle", load)


@pytest.mark.usefixtures("without_stereo")
def test_demo_recovers_the_exact_homography(bansac: Any, tmp_path: Path) -> None:
    document = bansac.json("demo", "--out", tmp_path)
    methods = document["homography"]["methods"]
    assert list(methods) == ["uniform", "bansac", "p-bansac"]
    # The pair tells them apart; the difference is 2 or more with Numba 0.68 and 1 with Numba 0.61.
    assert methods["p-bansac"]["right"] == 10
    assert methods["p-bansac"]["right"] >= methods["uniform"]["right"]
    assert methods["p-bansac"]["corner_error"] < 3
    assert methods["p-bansac"]["num_inliers"] > 0.9 * document["homography"]["num_true_inliers"]
    assert document["homography"]["runs"] == 10
    assert "stereo" not in document
    assert json.loads((tmp_path / "result.json").read_text()) == document
    figures = {path.name for path in tmp_path.glob("*.png")}
    assert figures == {"demo_matches.png", "demo_trace.png", "demo_beliefs.png"}
    assert set(document["files"]) == {path.name for path in tmp_path.iterdir()}


@pytest.mark.slow
@pytest.mark.usefixtures("without_stereo")
def test_times_are_those_of_kernels_in_memory(bansac: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    estimate, loading = demo_module.estimate_two_view, []

    def listen(*arguments: Any, **settings: Any) -> Any:
        answer = estimate(*arguments, **settings)
        loading.append(answer.result.loading_seconds)
        return answer

    monkeypatch.setattr(demo_module, "estimate_two_view", listen)
    shown = bansac("demo").stdout
    assert len(loading) == 3 + 3 * 10 + 1
    assert not any(loading[3:])
    assert "to load or compile the kernels" in shown
    (picture,) = tmp_path.iterdir()
    assert picture.name == "bansac_demo_matches.png"
    assert f"wrote {picture.resolve()}" in shown


def test_picture_needs_a_folder_that_is_writable(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise OSError("read-only")

    monkeypatch.setattr(demo_module, "OutputFolder", refuse)
    demo_module._draw(None, None)  # type: ignore[arg-type]
    assert "no picture: the current folder is not writable" in capsys.readouterr().err


@pytest.mark.usefixtures("without_stereo")
def test_demo_for_readers_without_any_extra(bansac: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "cv2", None)
    result = bansac("demo", "--out", tmp_path)
    assert "corner error" in result.stdout
    assert "p-bansac" in result.stdout
    assert "stereo" not in result.output  # no part that does not run
    assert "not today" not in result.output  # nothing that looks like an error
    assert "pip install matplotlib" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.slow
def test_stereo_pair_follows_where_it_is_installed(bansac: Any) -> None:
    pytest.importorskip("skimage", reason="the stereo pair comes with scikit-image")
    try:
        demo_module.load_motorcycle()
    except OSError as error:
        pytest.skip(f"scikit-image has no stereo pair here: {error}")
    stereo = bansac.json("demo")["stereo"]
    assert stereo["num_true_inliers"] > 0.75 * stereo["num_true"]  # the threshold is .2 px
    assert stereo["median_distance_of_true"] < 0.5


def test_unwritable_out(bansac: Any, blocked: Path) -> None:
    assert "--out: cannot write" in bansac.refused("demo", "--out", blocked)
