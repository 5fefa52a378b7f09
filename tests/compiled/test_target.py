"""What compiled code depends on."""

import json

import pytest

from bansac.compiled import target
from bansac.compiled.target import describe_target, find_mismatch, portable_level


@pytest.fixture(autouse=True)
def no_processor_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target.config, "CPU_NAME", None)
    monkeypatch.setattr(target.config, "CPU_FEATURES", None)
    monkeypatch.setattr(target, "_host_features", lambda: dict.fromkeys(target._LEVELS["x86_64"][1], True))


def test_code_of_this_process_runs_here_and_passes_through_json() -> None:
    assert find_mismatch(json.loads(json.dumps(describe_target()))) == ""


@pytest.mark.parametrize("name", ["Python", "Numba", "llvmlite", "the platform", "NUMBA_OPT"])
def test_each_difference_is_named(name: str) -> None:
    assert find_mismatch(describe_target() | {name: "X"}).startswith(f"are for {name} X, and this is ")
    assert find_mismatch(describe_target() | {"new": "X"}) == "are for new X, and this is None"


def test_the_version_of_macos_is_not_part_of_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target.llvm, "get_process_triple", lambda: "arm64-apple-darwin22.6.0")
    assert describe_target()["the platform"] == "arm64-apple-darwin"
    assert portable_level() == "generic"


def test_missing_features_of_the_processor_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target.llvm, "get_process_triple", lambda: "x86_64-unknown-linux-gnu")
    assert find_mismatch(describe_target()) == ""
    features = dict.fromkeys(target._LEVELS["x86_64"][1], True) | {"fma": False}
    monkeypatch.setattr(target, "_host_features", lambda: features)
    assert find_mismatch(describe_target()) == "need a processor with fma"


def test_a_chosen_processor_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target.config, "CPU_NAME", portable_level())
    monkeypatch.setattr(target.config, "CPU_FEATURES", "")
    assert find_mismatch(describe_target()) == ""
    monkeypatch.setattr(target.config, "CPU_NAME", "znver4")
    assert "NUMBA_CPU_NAME" in find_mismatch(describe_target())
