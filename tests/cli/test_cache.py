from typing import Any

import pytest

from bansac.cli import cache as cache_module
from bansac.cli.compile_ahead import Warmed


@pytest.mark.parametrize(
    ("kernels", "size", "reason", "line"),
    [
        (0, 0, "", "no kernels in the wheel; they are compiled on first use"),
        (300, 4_200_000, "", "300 kernels in the wheel, 4.2 MB; they are loaded first"),
        (0, 4_200_000, "are damaged", "the kernels of the wheel are damaged"),
    ],
)
def test_info_says_where_kernels_come_from(
    bansac: Any, monkeypatch: pytest.MonkeyPatch, kernels: int, size: int, reason: str, line: str
) -> None:
    wheel = {"kernels": kernels, "size": size, "reason": reason}
    monkeypatch.setattr(cache_module, "inspect_pack", lambda: wheel)
    shown = bansac("cache", "info").stdout.splitlines()
    assert shown[0] == line
    assert " files, " in shown[1]
    assert bansac.json("cache", "info", "--json")["wheel"] == wheel


def test_warming_shows_what_was_compiled_and_what_was_loaded(bansac: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def warmed(*, options: bool) -> Any:
        assert options
        yield Warmed("homography", 12, 0, 1.25)
        yield Warmed("line", 3, 4, 0.5)

    monkeypatch.setattr(cache_module, "warm_cache", warmed)
    shown = bansac("cache", "warm", "--all").stdout
    assert "homography: 12 compiled, 0 loaded, 1.2 s" in shown
    assert "15 kernels compiled, 4 loaded" in shown


def test_interrupted_warming_ends(bansac: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*, options: bool) -> Any:
        yield Warmed("homography", 12, 0, 1.25)
        raise KeyboardInterrupt

    monkeypatch.setattr(cache_module, "warm_cache", interrupted)
    assert "interrupted" in bansac("cache", "warm", code=130).stderr
