"""Lines about the compilation of kernels: how long it takes, where they appear, and how far it is."""

from __future__ import annotations

import io
import json
import logging
import multiprocessing.process
import sys
from pathlib import Path
from types import ModuleType

import pytest

from bansac.compiled import announcement, numba_private
from bansac.compiled.announcement import COMPILATION, COSTS_FILE, Compilation, before_compilation, redirect_announcement
from bansac.compiled.source import PACKAGE
from bansac.problems.estimators import ESTIMATORS

COSTS = {f"kernel {number}": 1.0 for number in range(30)}
FIRST = "bansac: compiling 30 kernels for this machine, about 58 s, once"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


def estimate_model(compilation: Compilation, *kernels: str, clock: Clock | None = None, **settings: object) -> None:
    """Compile kernels, in two seconds each."""
    for kernel in kernels:
        compilation.begin(
            kernel, settings.get("reason", ""), settings.get("cached", set), kept=settings.get("kept", True)
        )
        if clock is not None:
            clock.now += 2
        compilation.end([kernel])


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Clock:
    monkeypatch.setattr(announcement, "_read_costs", lambda: (COSTS, {"estimate_model": list(COSTS)}))
    monkeypatch.setattr(announcement, "time", clock := Clock())
    monkeypatch.delenv("BANSAC_QUIET", raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    caplog.set_level(logging.INFO, "bansac")
    return clock


def compile_all(clock: Clock, **settings: object) -> list[str]:
    shown: list[str] = []
    compilation = Compilation()
    compilation.write = shown.append
    estimate_model(compilation, *COSTS, clock=clock, **settings)
    return shown


def test_the_first_kernels_show_how_long_the_others_take(clock: Clock) -> None:
    said = compile_all(clock)
    assert said[0] == FIRST.replace("58", "56")
    assert said[1] == "bansac: compiling kernels: 7 of 30 done, about 46 s left"
    assert len(said) == 6, "one line each ten seconds"


def test_cached_kernels_do_not_count(clock: Clock) -> None:
    cached = set(list(COSTS)[10:])
    (line, *_) = compile_all(clock, cached=lambda: cached)
    assert "compiling 10 kernels for this machine, about 16 s" in line


def test_a_second_call_is_announced_too(clock: Clock) -> None:
    shown: list[str] = []
    compilation = Compilation()
    compilation.write = shown.append
    first, second = list(COSTS)[:15], list(COSTS)[15:]
    estimate_model(compilation, *first, clock=clock, cached=lambda: set(second))
    clock.now += 60
    estimate_model(compilation, *second, clock=clock)
    assert [line.split(",")[0] for line in shown if "machine" in line] == [
        "bansac: compiling 15 kernels for this machine"
    ] * 2


def test_a_short_wait_is_not_announced(clock: Clock) -> None:
    assert compile_all(clock, cached=lambda: set(list(COSTS)[1:])) == []


def test_a_wheel_that_cannot_be_used_is_told_once(clock: Clock) -> None:
    said = compile_all(clock, reason="are damaged")
    assert said.count("bansac: the kernels of the wheel are damaged") == 1


def test_without_a_cache_every_process_compiles(clock: Clock) -> None:
    line = compile_all(clock, kept=False)[0]
    assert line.endswith("in every process, because no cache folder is writable (set NUMBA_CACHE_DIR)")


def test_a_variable_silences_it(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANSAC_QUIET", "1")
    assert compile_all(clock, reason="are damaged") == []


def test_a_terminal_and_a_notebook_show_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    Compilation().write("line")
    assert capsys.readouterr().err == "line\n"
    monkeypatch.delitem(sys.modules, "ipykernel")
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    Compilation().write("line")
    assert screen.getvalue() == "line\n"
    assert not caplog.messages
    monkeypatch.setattr(multiprocessing.process, "_parent_process", object())
    Compilation().write("in a worker")
    assert screen.getvalue() == "line\n"
    assert caplog.messages == ["in a worker"]


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_otherwise_it_is_logged(
    stream: io.StringIO | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    Compilation().write("line")
    assert caplog.messages == ["line"]
    assert stream is None or not stream.getvalue()


def test_a_command_shows_it_itself(caplog: pytest.LogCaptureFixture) -> None:
    shown: list[str] = []
    with redirect_announcement(shown.append):
        COMPILATION.write("line")
    assert shown == ["line"]
    assert not caplog.messages


def test_a_command_compiles_first(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    with before_compilation(lambda: calls.append("compiled")):
        assert not COMPILATION.begin("kernel 0", "", set, kept=False), "what cannot be kept"
    with before_compilation(lambda: calls.append("compiled")):
        assert COMPILATION.begin("kernel 0", "", set, kept=True)
        assert not COMPILATION.begin("kernel 0", "", set, kept=True), "only once"
    with before_compilation(pytest.fail):
        pass
    assert not COMPILATION.begin("kernel 0", "", set, kept=True), "after the call"
    assert calls == ["compiled"]


def test_the_costs_are_of_the_functions_that_there_are() -> None:
    document = json.loads(COSTS_FILE.read_text(encoding="utf-8"))
    assert {row.function for row in ESTIMATORS if row.warm is not None} <= set(document["calls"])
    modules: dict[str, list[Path]] = {}
    for path in PACKAGE.rglob("*.py"):
        modules.setdefault(path.stem, []).append(path)
    functions = {name.partition(" ")[0] for name in document["kernels"]}
    for module, _, name in (function.partition(".") for function in functions):
        source = "".join(path.read_text(encoding="utf-8") for path in modules[module])
        made = name == "pack"  # by ``compiled.struct``
        assert made or f"def {name}(" in source, f"{module}.{name}: run tools/kernel_costs.py"


class Struct:
    """A type of a struct, whose name ends with the digest of its fields."""

    def __init__(self, digit: str, *fields: object) -> None:
        self.name = f"_RunType-{16 * digit}"
        self._fields = [("field", field) for field in fields]

    def __repr__(self) -> str:
        return self.name


def test_the_name_of_a_cost_depends_on_the_precision_of_structs_alone() -> None:
    double, edited = Struct("0", "float64"), Struct("1", "float64", "int64")
    single = Struct("2", Struct("3", "Array(float32)"))
    names = [numba_private._label("loop.run", (kind, "int64")) for kind in (double, edited, single)]
    assert names[0] == names[1]
    assert names[0] != names[2]
