"""Kernels of a binary wheel: they are loaded, or it is said why they are compiled instead. Every reason is provoked."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numba import config

import bansac

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted: nothing is compiled"),
]

# Few small kernels instead of all.
BUILD = """
import sys
from pathlib import Path
import numpy as np
from bansac.compiled.cache import cache_folders
from bansac.compiled.numba_private.cache import read_cache
from bansac.compiled.pack import write_pack
from bansac.compiled.target import describe_target
from bansac.maths.linalg import normalise_vector
from bansac.maths.polynomial_roots import cubic_roots

normalise_vector(np.array([3.0, 4.0]))
cubic_roots(np.array([-6.0, 11.0, -6.0, 1.0]), np.empty(3))  # calls another kernel
kernels = {key: kernel for folder in cache_folders() for key, kernel in read_cache(folder).items()}
write_pack(Path(sys.argv[1]), describe_target(), kernels)
print(len(kernels))
"""

LEVEL = "from bansac.compiled.target import portable_level; print(portable_level())"

CALL = """
import logging, sys
logging.basicConfig(level=logging.INFO, format="%(message)s")
{before}
import numpy as np
from bansac.maths.linalg import normalise_vector
from bansac.compiled.clock import KERNELS

vector = np.array([3.0, 4.0])
normalise_vector(vector)
print(vector[1], KERNELS["compiled"], KERNELS["packed"])
"""

PACKED, COMPILED = "0.8 0 1\n", "0.8 1 0\n"

REASON = "bansac: the kernels of the wheel"


def environment(folder: Path, **variables: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return inherited | {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")} | variables


def run(folder: Path, before: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Call the kernel in a process of its own, after the code ``before``."""
    command = [sys.executable, "-c", CALL.format(before=before)]
    return subprocess.run(
        command, env=environment(folder, **variables), capture_output=True, text=True, check=True, cwd=folder
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an installation that has a pack of three kernels."""
    folder = tmp_path_factory.mktemp("built")
    source = Path(bansac.__file__).parent
    shutil.copytree(source, folder / "bansac", ignore=shutil.ignore_patterns("__pycache__", "_kernels"))
    shown: dict[str, Any] = {"capture_output": True, "text": True, "check": True}
    level = subprocess.run([sys.executable, "-c", LEVEL], env=environment(folder), **shown).stdout.strip()
    settings = environment(folder, NUMBA_CPU_NAME=level, NUMBA_CPU_FEATURES="")
    command = [sys.executable, "-c", BUILD, str(folder / "bansac" / "_kernels" / "kernels.pack")]
    assert subprocess.run(command, env=settings, **shown).stdout == "3\n"
    shutil.rmtree(folder / "cache")
    return folder


@pytest.fixture
def installed(built: Path, tmp_path: Path) -> Path:
    """A copy of the installation, without a cache."""
    return shutil.copytree(built, tmp_path / "installed")


@pytest.fixture
def pack(installed: Path) -> Path:
    return installed / "bansac" / "_kernels" / "kernels.pack"


COMPILING = "bansac: compiling kernels for this machine, which takes up to about a minute, once\n"
NO_FOLDER = "from numba.core import caching; caching.CacheImpl._locator_classes = []"
with_and_without_a_folder = pytest.mark.parametrize("before", ["", NO_FOLDER], ids=["", "no folder"])


@with_and_without_a_folder
def test_a_packed_kernel_is_loaded_and_nothing_is_written(built: Path, before: str) -> None:
    done = run(built, before)
    assert (done.stdout, done.stderr) == (PACKED, "")
    assert not [path for path in (built / "cache").rglob("*") if path.is_file()]


PROCESSOR = "need a processor with " if platform.machine().lower() in ("x86_64", "amd64") else ""


@pytest.mark.parametrize(
    ("before", "variables", "reason"),
    [
        ("import numba; numba.__version__ = '0.0.1'", {}, "are for Numba "),
        ("import llvmlite, numba; llvmlite.__version__ = '0.0.1'", {}, "are for llvmlite "),
        ("import importlib.util as u; u.MAGIC_NUMBER = b'1234'", {}, "are for bytecode "),
        ("import bansac.compiled.target as t; t._host_features = lambda: {'sse2': True}", {}, PROCESSOR),
        ("", {"NUMBA_OPT": "1"}, "are for NUMBA_OPT "),
        ("", {"NUMBA_BOUNDSCHECK": "1"}, "are for NUMBA_BOUNDSCHECK "),
        ("", {"NUMBA_CPU_NAME": "generic"}, "are for the processor level "),
    ],
)
def test_another_target_compiles_once(built: Path, tmp_path: Path, before: str, variables: Any, reason: str) -> None:
    if not reason:
        pytest.skip("every processor of this architecture has the portable level")
    done = run(built, before, NUMBA_CACHE_DIR=str(tmp_path), **variables)
    assert done.stdout == COMPILED
    assert done.stderr.startswith(f"{REASON} {reason}")
    assert done.stderr.endswith(f"\n{COMPILING}")
    assert done.stderr.count("\n") == 2
    again = run(built, before, NUMBA_CACHE_DIR=str(tmp_path), **variables)
    assert (again.stdout, again.stderr) == ("0.8 0 0\n", "")


def test_a_damaged_pack_compiles(installed: Path, pack: Path) -> None:
    content = pack.read_bytes()
    pack.write_bytes(content[: len(content) // 2])
    done = run(installed)
    assert (done.stdout, done.stderr) == (COMPILED, f"{REASON} are damaged\n{COMPILING}")


@with_and_without_a_folder
def test_without_a_pack_it_compiles(installed: Path, pack: Path, before: str) -> None:
    pack.unlink()
    done = run(installed, before)
    assert done.stdout == COMPILED
    assert done.stderr == COMPILING if not before else "in every process, because no cache folder" in done.stderr


OTHER = "from bansac.maths import rng; rng.next_uint64(rng.seed_rng(0))"


def test_a_kernel_that_the_pack_lacks_is_compiled(built: Path, tmp_path: Path) -> None:
    done = run(built, OTHER, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.stdout.startswith("0.8 ")
    assert done.stdout.endswith(" 1\n")  # the first one is still loaded
    assert done.stderr.startswith(f"{REASON} are not all that this call needs")


CALLER = """
from numba import njit
from bansac.maths.polynomial_roots import _quadratic_roots

@njit
def caller(coefficients, roots):
    return _quadratic_roots(coefficients, 0.0, roots)
import numpy as np
assert caller(np.array([2.0, -3.0, 1.0]), np.empty(3)) == 2
"""


def test_a_function_of_a_user_can_call_a_packed_kernel(built: Path) -> None:
    done = run(built, CALLER)
    assert (done.stdout, done.stderr) == (PACKED.replace(" 1\n", " 2\n"), "")
