"""One line says that kernels are compiled: on the screen of a person, otherwise in the log."""

from __future__ import annotations

import io
import logging
import multiprocessing.process
import sys
from types import ModuleType

import pytest

from bansac.compiled import announcement
from bansac.compiled.announcement import announce_compilation, before_compilation, redirect_announcement

LINE = "bansac: compiling kernels for this machine, about 20 s, once"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(announcement._State, "said", False)
    monkeypatch.delenv("BANSAC_QUIET", raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    caplog.set_level(logging.INFO, "bansac")


def test_a_terminal_shows_it_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    announce_compilation("", kept=True)
    announce_compilation("", kept=True)
    assert screen.getvalue() == f"{LINE}\n"
    assert not caplog.messages


def test_a_notebook_shows_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    announce_compilation("are damaged", kept=True)
    assert capsys.readouterr().err == f"{LINE}; the kernels of the wheel are damaged\n"


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_otherwise_it_is_logged(
    stream: io.StringIO | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    announce_compilation("", kept=True)
    assert caplog.messages == [LINE]
    assert stream is None or not stream.getvalue()


def test_worker_processes_log_it(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(multiprocessing.process, "_parent_process", object())
    announce_compilation("", kept=True)
    assert caplog.messages == [LINE]
    assert not screen.getvalue()


def test_a_command_shows_it_itself(caplog: pytest.LogCaptureFixture) -> None:
    shown: list[str] = []
    with redirect_announcement(shown.append):
        announce_compilation("", kept=False)
    (line,) = shown
    assert line.endswith("in every process, because no cache folder is writable (set NUMBA_CACHE_DIR)")
    assert not caplog.messages


def test_a_variable_silences_it(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("BANSAC_QUIET", "1")
    with redirect_announcement(pytest.fail):
        announce_compilation("", kept=True)
    assert not caplog.messages


def test_a_command_compiles_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANSAC_QUIET", "1")
    calls: list[str] = []
    with before_compilation(lambda: calls.append("compiled")):
        assert announce_compilation("", kept=True)
        assert not announce_compilation("", kept=True), "only once"
    assert calls == ["compiled"]


def test_nothing_is_compiled_first_if_it_cannot_be_kept() -> None:
    with before_compilation(pytest.fail):
        assert not announce_compilation("", kept=False)


def test_nothing_is_compiled_first_after_the_call() -> None:
    with before_compilation(pytest.fail):
        pass
    assert not announce_compilation("", kept=True)
