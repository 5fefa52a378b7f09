import email
import errno
import importlib.metadata
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import bansac as library
from bansac.cli import console
from bansac.cli.app import COMMANDS, app, load_command
from bansac.compiled.cache import cache_folders, clear_cache, inspect_cache
from bansac.executors import processes, short_items
from tests.processes import ENVIRONMENT, interruptible, run_python

SOURCE = Path(library.__file__).resolve().parents[1]


def test_version_and_unknown_command(bansac: Any) -> None:
    assert bansac("--version").stdout == f"bansac {library.__version__}\n"
    assert "no-such" in bansac.refused("no-such")


@pytest.mark.parametrize("arguments", [["bench", "DIR", "--json"], ["experiments", "--help"]])
def test_a_command_of_the_laboratory_says_how_to_install_it(
    bansac: Any, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **chosen: ())
    message = bansac.refused(*arguments)
    assert message.startswith("bansac: this command is part of the laboratory")
    assert message.endswith("pip install ./lab in a clone")


def test_want_of_memory_is_one_line(bansac: Any, matches_csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: Any, **settings: Any) -> None:
        raise MemoryError("unable to allocate 6 TiB")

    monkeypatch.setattr("bansac.estimate.two_views.estimate_homography", fails)
    message = bansac.refused("estimate", matches_csv, "--model", "H")
    assert message == "bansac: there is not enough memory: unable to allocate 6 TiB"


def test_output_that_cannot_be_written_is_named(bansac: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(console.typer, "echo", fails)
    message = bansac.refused("cache", "info", "--json")
    assert message == "bansac: the output cannot be written: No space left on device"


@pytest.mark.slow
def test_first_run_says_that_it_compiles_and_the_cache_can_be_cleared(tmp_path: Path, matches_csv: Path) -> None:
    cache = str(tmp_path / "numba")
    line = matches_csv.with_name("line.csv")
    line.write_text("\n".join(f"{x},{2 * x}" for x in range(30)))
    arguments = ("estimate", line, "--model", "line", "--threshold", "0.1", "--json")
    first = run_python("-m", "bansac", *arguments, NUMBA_CACHE_DIR=cache)
    assert first.stderr == "bansac: compiling kernels for this machine, which takes up to about a minute, once\n"
    second = run_python("-m", "bansac", *arguments, NUMBA_CACHE_DIR=cache)
    assert second.stderr == ""
    keep = ("parameters", "num_inliers", "iterations")
    assert [json.loads(first.stdout)[k] for k in keep] == [json.loads(second.stdout)[k] for k in keep]

    theirs = tmp_path / "numba" / "somebody_else"
    theirs.mkdir()
    (theirs / "model.nbi").write_text("")
    info = json.loads(run_python("-m", "bansac", "cache", "info", "--json", NUMBA_CACHE_DIR=cache).stdout)
    assert info["files"] > 4
    assert all(folder.startswith(cache) for folder in info["folders"])
    cleared = json.loads(run_python("-m", "bansac", "cache", "clear", "--json", NUMBA_CACHE_DIR=cache).stdout)
    assert cleared["files"] == info["files"]
    assert [path.name for path in Path(cache).rglob("*.nb?")] == ["model.nbi"]


@pytest.mark.slow
def test_cache_beside_the_modules_is_found(tmp_path: Path) -> None:
    code = "import bansac.compiled.cache as c; print(*c.cache_folders(), sep='\\n')"
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, cwd=SOURCE
    )
    assert str(SOURCE / "bansac" / "maths" / "__pycache__") in done.stdout.splitlines()


def test_the_cache_includes_packages_that_add_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    point = importlib.metadata.EntryPoint("more", "email.mime.text:app", "bansac.commands")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point] * (group == point.group))
    monkeypatch.setattr("bansac.compiled.cache.cache_folders", tuple)
    monkeypatch.setattr("bansac.compiled.cache._cache_files", lambda folders: [])
    assert inspect_cache()["folders"] == [str(SOURCE / "bansac"), email.__path__[0]]


def test_clearing_leaves_other_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("loop.run-1.py311.nbi", "loop.run-1.py311.1.nbc", "loop.cpython-311.pyc"):
        (tmp_path / name).write_text("123")
    monkeypatch.setattr("bansac.compiled.cache.cache_folders", lambda packages: (tmp_path,))
    assert (inspect_cache()["files"], inspect_cache()["bytes"]) == (2, 6)
    assert clear_cache()["files"] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["loop.cpython-311.pyc"]
    assert len(cache_folders()) > 1


# The command line, which prints a line before the iterations of the search begin.
ANNOUNCED = """
from bansac.cli import main
from bansac.engine import interruptible as module

def announce(state, pack_run=module.pack_run):
    print("searching", flush=True)
    return pack_run(state)

module.pack_run = announce
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for another process")
def test_ctrl_c_ends_at_once_with_130(tmp_path: Path) -> None:
    path = tmp_path / "noise.npz"
    np.savez(path, matches=np.random.default_rng(0).uniform(0, 500, (20000, 4)))
    arguments = ["estimate", str(path), "--model", "F", "--sampler", "uniform", "--max-iterations", "2000000000"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with interruptible([sys.executable, "-c", ANNOUNCED, *arguments], **pipes, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "searching\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors


# The command line, which is interrupted again while it waits for a thread at its end.
INTERRUPTED_AGAIN = """
import os, signal, threading, time
import bansac.cli.app

def leave():
    threading.Thread(target=time.sleep, args=(60,), name="bansac-0", daemon=True).start()
    threading.Timer(0.03, os.kill, (os.getpid(), signal.SIGINT)).start()
    raise SystemExit(130)

bansac.cli.app.app = leave
bansac.cli.main()
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for another process")
def test_a_second_ctrl_c_is_quiet() -> None:
    done = run_python("-c", INTERRUPTED_AGAIN)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.parametrize("name", COMMANDS)
def test_listed_help_is_that_of_the_command(name: str) -> None:
    assert " ".join(load_command(name).help.split()).startswith(COMMANDS[name])


def test_neither_help_nor_estimating_loads_the_laboratory(matches_csv: Path) -> None:
    calls = [["--help"], ["estimate", "--help"], ["estimate", str(matches_csv), "--model", "H"]]
    program = f"""
import sys
from bansac.cli import main
heavy = ("bansac_lab", "pandas", "matplotlib")
for arguments in {calls!r}:
    sys.argv = ["bansac", *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code, arguments
    print("loaded:", [name for name in heavy if name in sys.modules])
"""
    done = run_python("-c", program)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("loaded: ")] == ["loaded: []"] * 3


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seconds = [0.0]
    monkeypatch.setattr(console, "time", SimpleNamespace(monotonic=lambda: seconds[0]))
    return seconds


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["match", "", "--model", "F", "--out", "r.npz"], "image1"),
        (["match", "a.jpg", "", "--model", "F"], "image2"),
        (["estimate", "--json", "", "--model", "F"], "file"),
        (["estimate", "a.csv", "--model", "E", "--calib", ""], "calib"),
        (["colmap", "verify", ""], "database"),
        (["bench", "folders", "", "--model", "F"], "data"),
    ],
)
def test_an_empty_path_is_not_the_current_folder(bansac: Any, arguments: list[str], name: str) -> None:
    assert f"{name} must name a file or a folder, got ''" in bansac.refused(*arguments)


@pytest.mark.parametrize("quiet", [False, True])
def test_a_log_has_a_line_each_ten_seconds(
    clock: list[float], quiet: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console._waiting, "hidden", quiet)
    with console.show_progress("pairs", 20, 0) as advance:
        for _ in range(6):
            clock[0] += 4
            advance()
    lines = ["bansac: 3 of 20 pairs are done, about 68 s left", "bansac: 6 of 20 pairs are done, about 56 s left"]
    assert capsys.readouterr().err.splitlines() == ([] if quiet else lines)


def test_the_time_left_does_not_include_compilation(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with console.show_progress("pairs", 20, 0) as advance:
        for seconds, kernels in ((60, 40), (4, 0), (4, 0), (4, 0), (30, 1)):
            clock[0] += seconds
            monkeypatch.setitem(console.KERNELS, "compiled", console.KERNELS["compiled"] + kernels)
            advance()
    assert capsys.readouterr().err.splitlines() == [
        "bansac: 1 of 20 pairs are done",
        "bansac: 4 of 20 pairs are done, about 64 s left",
        "bansac: 5 of 20 pairs are done",
    ]


def test_every_command_can_be_quiet(bansac: Any, matches_csv: Path) -> None:
    bansac("estimate", matches_csv, "--model", "H", "--quiet")
    assert console._waiting.hidden
    bansac("cache", "info")
    assert not console._waiting.hidden


@pytest.mark.parametrize("given", [{}, {"OMP_NUM_THREADS": "2"}])
def test_linear_algebra_has_one_thread_unless_that_is_set(given: dict[str, str]) -> None:
    code = "import atexit, os; atexit.register(lambda: print(os.environ['OMP_NUM_THREADS'])); import bansac.__main__"
    threads = run_python("-c", code, "--version", **given).stdout.split()[-1]
    assert threads == (ENVIRONMENT | given).get("OMP_NUM_THREADS", "1")


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("executor", [short_items, pytest.param(processes, marks=pytest.mark.slow)])
def test_a_warning_is_one_line_that_names_a_pair_of_many(
    bansac: Any, tmp_path: Path, executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bansac.cli.arguments.short_items", executor)
    (tmp_path / "pairs").mkdir()
    points = np.random.default_rng(0).uniform(0, 1000, (2, 60, 2))
    for name in "ab":
        np.savez(tmp_path / "pairs" / f"{name}.npz", x1=points[0], x2=points[1], K=np.diag([900.0, 900.0, 1.0]))
    many = ("estimate", tmp_path / "pairs", "--model", "E", "--out", tmp_path / "r.npz", "--workers", "2")
    for command, where in ((("estimate", tmp_path / "pairs" / "a.npz", "--model", "E"), ""), (many, " (in ")):
        assert bansac(*command, "--overwrite", "--quiet", code=1).stderr == ""
        (tmp_path / "r.sqlite").unlink(missing_ok=True)
        lines = bansac(*command, "--overwrite", code=1).stderr.splitlines()
        assert sorted(line[:19] for line in lines) == ["bansac: warning: K1", "bansac: warning: K2"]
        assert all(where in line and ".py" not in line for line in lines)


def test_a_terminal_breaks_lines_between_words_and_a_file_does_not() -> None:
    path = "/a/" + "long" * 20
    file, terminal = io.StringIO(), io.StringIO()
    for stream in (file, terminal):
        screen = console._Screen(
            file=stream, width=40, force_terminal=stream is terminal, color_system=None, highlight=False
        )
        screen.print("  five words, " * 4 + path)
    assert file.getvalue() == "  five words, " * 4 + path + "\n"
    first, *others = terminal.getvalue().splitlines()
    assert first == "  five words,   five words,   five"
    assert f"    {path}" in others


def commands_of(group: Any, *names: str) -> Iterator[tuple[str, ...]]:
    """Yield the names of a group, and of its commands and groups."""
    yield names
    context = click.Context(group)
    for name in group.list_commands(context) if hasattr(group, "list_commands") else ():
        command = load_command(name) if not names else group.get_command(context, name)
        yield from commands_of(command, *names, name)


@pytest.mark.parametrize("width", [80, 120])
def test_help_cuts_no_word_fits_and_has_no_markdown(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    application = get_command(app)
    for names in commands_of(application):
        shown = CliRunner().invoke(app, [*names, "--help"], terminal_width=width).stdout
        assert shown.startswith("Usage: "), names
        for line in shown.splitlines()[1:]:
            assert len(line) <= width, (names, line)
            assert not line.endswith("..."), (names, line)
            assert not any(sign in line for sign in ("`", "**", "[default: (")), (names, line)


@pytest.mark.parametrize(("words", "found"), [("bansac est", "estimate"), ("bansac bench spe", "speed")])
def test_completion(words: str, found: str) -> None:
    program = "import sys; sys.argv = ['bansac']; from bansac.cli import main; main()"
    variables = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = run_python("-c", program, _BANSAC_COMPLETE="complete_bash", **variables)
    assert done.stdout.split() == [found]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
@pytest.mark.parametrize("arguments", ["--version", "--help", "cache info"])
def test_a_full_disk_is_named(arguments: str) -> None:
    with open("/dev/full", "w") as full:
        command, buffered = [sys.executable, "-m", "bansac", *arguments.split()], ENVIRONMENT | {"PYTHONUNBUFFERED": ""}
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=buffered, check=False)
    assert (done.returncode, done.stderr) == (2, "bansac: the output cannot be written: No space left on device\n")
