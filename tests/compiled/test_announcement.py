"""Lines about the compilation of kernels: what is said, how often, and where it appears."""

import io
import logging
import multiprocessing.process
import sys
from types import ModuleType

import pytest

from bansac.compiled.announcement import ANNOUNCEMENT, Announcement, redirect_announcement

LINE = "bansac: compiling kernels for this machine, which takes up to about a minute, once"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.delenv("BANSAC_QUIET", raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    caplog.set_level(logging.INFO, "bansac")


def compile_twice(reason: str = "", *, kept: bool = True) -> list[str]:
    shown: list[str] = []
    announcement = Announcement()
    announcement.write = shown.append
    for _ in range(2):
        announcement.begin(reason, kept=kept)
    return shown


def test_it_is_said_once() -> None:
    assert compile_twice() == [LINE]


def test_a_wheel_that_cannot_be_used_is_told_once() -> None:
    assert compile_twice("are damaged") == ["bansac: the kernels of the wheel are damaged", LINE]


def test_without_a_cache_one_warning_says_that_every_process_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(RuntimeWarning, match=r"every process, .* \(install with BANSAC_KERNELS=1,") as caught:
        assert compile_twice(kept=False) == []
    assert len(caught) == 1
    monkeypatch.setattr(multiprocessing.process, "_parent_process", object())
    assert compile_twice(kept=False) == []


def test_a_variable_silences_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANSAC_QUIET", "1")
    assert compile_twice("are damaged") == []


def test_a_terminal_and_a_notebook_show_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    Announcement().write("line")
    assert capsys.readouterr().err == "line\n"
    monkeypatch.delitem(sys.modules, "ipykernel")
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    Announcement().write("line")
    assert screen.getvalue() == "line\n"
    assert not caplog.messages
    monkeypatch.setattr(multiprocessing.process, "_parent_process", object())
    Announcement().write("in a worker")
    assert screen.getvalue() == "line\n"
    assert caplog.messages == ["in a worker"]


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_otherwise_it_is_logged(
    stream: io.StringIO | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    Announcement().write("line")
    assert caplog.messages == ["line"]
    assert stream is None or not stream.getvalue()


def test_a_command_shows_it_itself(caplog: pytest.LogCaptureFixture) -> None:
    shown: list[str] = []
    with redirect_announcement(shown.append):
        ANNOUNCEMENT.write("line")
    assert shown == ["line"]
    assert not caplog.messages
