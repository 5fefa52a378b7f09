"""The command of the page that installs compiled kernels, in an empty environment with what the index offers."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="the command is for a POSIX shell"),
]


def run(command: str, environment: Path, tree: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a command of a shell in the root of a tree, with the programs of an environment and none of its variables."""
    others = ("BANSAC_", "NUMBA_", "PYTHON")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    variables["PATH"] = os.pathsep.join([str(environment / "bin"), os.environ["PATH"]])
    shown = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(command, shell=True, cwd=tree, env=variables, text=True, check=False, **shown)


@pytest.fixture(scope="module")
def command() -> str:
    """Return the command of the page."""
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    (found,) = set(re.findall(r"`(BANSAC_KERNELS=1 [^`]+)`", page))
    return str(found)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with nothing but pip, which reaches an index."""
    folder = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    if run(f"pip download --retries 0 --no-deps --dest '{folder}' hatchling", folder).returncode:
        pytest.skip("pip reaches no index of packages")
    return folder


def test_the_command_installs_kernels_and_first_calls_compile_none(command: str, empty: Path) -> None:
    installed = run(command, empty)
    assert installed.returncode == 0, installed.stdout
    called = run("PYTHONPATH=lab/src python lab/tools/wheel.py --core --runs 1", empty)
    assert called.returncode == 0, called.stdout


def test_an_error_during_the_compilation_is_shown(command: str, empty: Path, tmp_path: Path) -> None:
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    package = tmp_path / "src" / "bansac" / "__init__.py"
    package.parent.mkdir(parents=True)
    package.write_text("__version__ = '0'\nraise RuntimeError('it cannot be imported')\n")
    done = run(command, empty, tmp_path)
    assert done.returncode != 0
    assert "RuntimeError: it cannot be imported" in done.stdout
