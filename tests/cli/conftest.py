import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from bansac.batch.journal import Journal
from bansac.cli.app import app
from bansac.compiled.announcement import ANNOUNCEMENT
from bansac.synthetic import epipolar_matches, homography_matches


class Command:
    """The command line in this process."""

    def __call__(self, *arguments: str | Path, code: int = 0) -> Any:
        """Run it and check the exit code."""
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, (result.exit_code, result.output, result.exception)
        return result

    def json(self, *arguments: str | Path, code: int = 0) -> Any:
        """Run it with --json and return the document, the only thing on standard output."""
        return json.loads(self(*arguments, "--json", code=code).stdout)

    def refused(self, *arguments: str | Path) -> str:
        """Run it on bad input and return the message."""
        result = self(*arguments, code=2)
        assert result.stdout == ""
        assert "Traceback" not in result.stderr
        return " ".join(result.stderr.split())


@pytest.fixture(autouse=True)
def no_announcement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands in this process say the same whether or not kernels are in the cache."""
    monkeypatch.setattr(ANNOUNCEMENT, "begin", lambda reason, kept: None)


@pytest.fixture
def bansac() -> Command:
    return Command()


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Any]:
    """Return a context in which the journal takes some units, then Ctrl-C comes."""
    add = Journal.add

    @contextlib.contextmanager
    def interrupted(after: int) -> Iterator[None]:
        left = [None] * after

        def stop(*arguments: Any, **named: Any) -> None:
            if not left:
                raise KeyboardInterrupt
            left.pop()
            add(*arguments, **named)

        with monkeypatch.context() as patch:
            patch.setattr(Journal, "add", stop)
            yield

    return interrupted


@pytest.fixture
def blocked(tmp_path: Path) -> Path:
    """Return a path that nobody can write to, not even root: it lies below a regular file."""
    file = tmp_path / "file"
    file.write_text("")
    return file / "out"


@pytest.fixture
def plane() -> Any:
    return homography_matches(150, inlier_ratio=0.6, noise=0.1, seed=2)


@pytest.fixture
def scene() -> Any:
    return epipolar_matches(200, inlier_ratio=0.7, noise=0.1, seed=2)


@pytest.fixture
def matches_csv(tmp_path: Path, plane: Any) -> Path:
    path = tmp_path / "matches.csv"
    np.savetxt(path, np.hstack([plane.x1, plane.x2]), delimiter=",")
    return path


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    def write_text(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write_text
