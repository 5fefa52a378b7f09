import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bansac_lab.measurements import speed
from bansac_lab.peers.library import Method
from bansac_lab.peers.poselib import POSELIB
from lab.tests.pair_sets import write_homography_set
from lab.tests.peers.toy import Toy


@pytest.mark.slow
def test_speed_is_measured_and_shown(bansac: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "SIZES", (30, 100))
    monkeypatch.setattr(speed, "RATIOS", (0.5,))
    out = tmp_path / "reports" / "speed.json"
    options = ("--peers", "", "--seconds", "1e-3", "--max-points", "100", "--out", out)
    document = bansac.json("bench", "speed", *options)
    assert json.loads(out.read_text()) == document
    assert document["settings"] == {"peers": [], "seconds": 1e-3, "max_points": 100}
    for kind in ("H", "F", "E"):
        assert set(document["sizes"][kind]["default"]["ms"]["bansac"]) == {"30", "100"}
        assert set(document["outliers"][kind]["bansac"]) == {"0.5"}
    assert list(document["tables"]) == ["sizes", "outliers"]


def test_a_folder_may_be_named_as_a_command(bansac: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_homography_set(tmp_path / "speed", pairs=1)
    options = ("--model", "H", "--methods", "uniform", "--repeats", "1")
    for arguments in (("./speed",), ("folders", "speed")):
        assert set(bansac.json("bench", *arguments, *options)["sets"]) == {"speed"}


def test_a_peer_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(POSELIB), "package", "no_such_module")
    assert "poselib" not in speed.find_peers(None)
    with pytest.raises(ModuleNotFoundError, match="method poselib needs the package no_such_module"):
        speed.find_peers(["poselib"])


Grow = Callable[..., Method]


@pytest.fixture
def grow(monkeypatch: pytest.MonkeyPatch) -> Grow:
    """Let a call of a method take its factor times N seconds, and count the calls."""
    made: list[float] = []

    def least_seconds(given: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
        for call in given.values():
            call()
        return {name: made[-len(given) + k] for k, name in enumerate(given)}

    def method(name: str, factor: float, exponent: float = 1.0) -> Method:
        return Method(name, library=Toy(answer=lambda task, _: made.append(factor * len(task.x1) ** exponent)))

    monkeypatch.setattr(speed, "least_seconds", least_seconds)
    return method


def test_slow_methods_are_left_out_from_a_size_on(grow: Grow) -> None:
    methods = {"bansac": grow("bansac", 1e-6, 0.5), "slow": grow("slow", 1e-3), "slower": grow("slower", 1e-1)}
    found = speed._over_sizes([speed.make_task("H", n, 0.8) for n in (10, 1_000, 10_000, 40_000)], methods, 0.0)
    assert {name: list(times) for name, times in found["ms"].items()} == {
        "bansac": ["10", "1000", "10000", "40000"],
        "slow": ["10", "1000"],
        "slower": ["10"],
    }
    assert found["ms"]["slow"]["1000"] == 1e3
    assert found["slope"] == pytest.approx(0.5)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the resident set is read from /proc")
def test_memory_of_a_call_is_in_proportion_to_the_matches() -> None:
    assert speed._bytes("H", 1_000) == {}
    (count, found), *others = speed._bytes("H", 200_000).items()
    assert not others
    assert count == "200000"
    assert 30 < found < 300  # the data themselves are 32 bytes
