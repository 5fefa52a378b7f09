"""Lines about the compilation of kernels: what is said, how often, and where it appears."""

import logging
import multiprocessing.process

import pytest

from bansac.compiled.announcement import ANNOUNCEMENT, Announcement, redirect_announcement
from tests.processes import run_python

LINE = "bansac: compiling kernels for this machine, which takes up to about a minute, once"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.delenv("BANSAC_QUIET", raising=False)
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


def test_it_is_a_warning_of_the_log_and_of_workers_no_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Announcement().write("line")
    monkeypatch.setattr(multiprocessing.process, "_parent_process", object())
    Announcement().write("in a worker")
    assert caplog.record_tuples == [("bansac", logging.WARNING, "line"), ("bansac", logging.INFO, "in a worker")]


@pytest.mark.parametrize(
    ("before", "shown"),
    [("", "line\n"), ("logging.basicConfig(level='ERROR')", ""), ("import sys; sys.stderr = None", "")],
    ids=["no handler", "a handler", "no stream"],
)
def test_a_program_without_a_terminal_shows_it(before: str, shown: str) -> None:
    write = "from bansac.compiled.announcement import ANNOUNCEMENT\nANNOUNCEMENT.write('line')"
    done = run_python("-c", f"import logging; {before}\n{write}")
    assert (done.stdout, done.stderr) == ("", shown)


def test_a_command_shows_it_itself(caplog: pytest.LogCaptureFixture) -> None:
    shown: list[str] = []
    with redirect_announcement(shown.append):
        ANNOUNCEMENT.write("line")
    assert shown == ["line"]
    assert not caplog.messages
