"""A damaged file of the cache is compiled anew, whatever the damage."""

import errno
import os
import sys

import numba
import pytest
from numba import config

from bansac.compiled.jit import kernel
from bansac.compiled.numba_private.cache import CheckedCache
from bansac.compiled.numba_private.files import CheckedFile
from tests.processes import run_module, run_python
from tests.test_security import Bomb

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted: nothing is compiled"),
]

MODULE = """
from numba import float64
from bansac.compiled.jit import compile_kernel, inner_kernel, kernel
from bansac.compiled.clock import KERNELS


@inner_kernel
def twice(x):
    return 2.0 * x


@kernel
def outer(x):
    return twice(x) + 1.0


def entry(x):
    return outer(x) + 1.0


compiled = compile_kernel(entry, float64(float64))
print(compiled(20.0), KERNELS["compiled"], KERNELS["loaded"])
"""


def run(folder):
    """Run the module in a process of its own; return what it computes, and how many kernels it compiled and loaded."""
    return run_module(folder, MODULE).stdout.split()


def files(folder, suffix):
    return sorted((folder / "cache").rglob(f"*{suffix}"))


def test_damaged_files_are_compiled_anew(tmp_path):
    assert run(tmp_path) == ["42.0", "3", "0"]
    for suffix in (".nbi", ".nbc"):
        assert len(files(tmp_path, suffix)) == 3  # one of each function
        for file, damage in zip(files(tmp_path, suffix), (truncate, change_one_bit, change_one_bit), strict=True):
            file.write_bytes(damage(file.read_bytes()))
        assert run(tmp_path) == ["42.0", "3", "0"]
    assert run(tmp_path) == ["42.0", "0", "1"]


@pytest.mark.skipif(numba.version_info.short < (0, 68), reason="compares times")
def test_a_copy_of_an_image_with_other_times_compiles_nothing(tmp_path):
    assert run(tmp_path) == ["42.0", "3", "0"]
    for file in tmp_path.rglob("*"):
        os.utime(file, (1, 1))
    for folder in files(tmp_path, ""):
        folder.chmod(0o555)
    assert run(tmp_path) == ["42.0", "0", "1"]


# Numba finds out whether a folder is writable by a temporary file in it.
REFUSING = """
import os, sys, tempfile
create, refused = tempfile.TemporaryFile, tuple(filter(None, os.environ["REFUSED"].split(os.pathsep)))

def refuse(dir):
    if dir.startswith(refused):
        raise PermissionError(dir)
    return create(dir=dir)

tempfile.TemporaryFile = refuse
sys.path.insert(0, os.environ["FOLDER"])
import module
"""

ANOTHER = """
module.compile_kernel(module.twice.py_func, module.float64(module.float64))
print(module.KERNELS["compiled"], module.KERNELS["loaded"])
from bansac.compiled.backend import find_folders
print(*(os.path.relpath(folder, os.environ["FOLDER"]).split(os.sep)[0] for folder in find_folders(module.entry)))
"""


def run_refusing(folder, refused, text=""):
    """Import the module in a process that takes some folders for read-only ones; return what it writes."""
    variables = {"FOLDER": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    variables["REFUSED"] = os.pathsep.join(str(folder / name) for name in refused)
    done = run_python("-c", REFUSING + text, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


def test_kernels_in_a_read_only_folder_are_used_and_others_are_written_to_the_next(tmp_path):
    (tmp_path / "module.py").write_text(MODULE)
    assert run_refusing(tmp_path, []) == (["42.0", "3", "0"], "")
    first = files(tmp_path, ".nb?")
    for numbers in (["42.0", "0", "1", "1", "1"], ["42.0", "0", "1", "0", "2"]):
        assert run_refusing(tmp_path, ["cache"], ANOTHER) == ([*numbers, "cache", "__pycache__"], "")
    assert files(tmp_path, ".nb?") == first
    assert len(list((tmp_path / "__pycache__").glob("*.nbc"))) == 1


def test_without_a_writable_folder_kernels_are_read_but_not_written(tmp_path):
    (tmp_path / "module.py").write_text(MODULE)
    run_refusing(tmp_path, [])
    nowhere = ["", os.path.expanduser("~")]  # the user's cache folder is the last one
    for _ in range(2):
        assert run_refusing(tmp_path, nowhere, ANOTHER) == (["42.0", "0", "1", "1", "1", "cache"], "")
    assert not list((tmp_path / "__pycache__").glob("*.nbc"))


def truncate(content):
    return content[: len(content) // 2]


def change_one_bit(content):
    return content[:40] + bytes([content[40] ^ 1]) + content[41:]


@pytest.fixture
def file(tmp_path):
    return CheckedFile(str(tmp_path), "name", ("stamp",))


def test_entries_come_back(file):
    file.save("a", [1, 2])
    file.save("b", [3])
    assert file.load("a") == [1, 2]
    assert file.load("b") == [3]
    assert file.load("c") is None
    file.save("a", [4])
    assert file.load("a") == [4]
    file.flush()
    assert file.load("a") is None


@pytest.mark.parametrize("damage", [truncate, change_one_bit, lambda content: b"", lambda content: content[:-1]])
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_damaged_file_is_missing_and_written_again(file, tmp_path, suffix, damage):
    file.save("a", list(range(100)))
    (path,) = tmp_path.glob(f"*.{suffix}")
    path.write_bytes(damage(path.read_bytes()))
    assert file.load("a") is None
    file.save("a", [1])
    assert file.load("a") == [1]


def test_a_damaged_file_is_not_unpickled(file, tmp_path):
    file.save("a", Bomb(tmp_path / "unpickled"))
    (path,) = tmp_path.glob("*.nbc")
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])  # the checksum alone
    assert file.load("a") is None
    assert not (tmp_path / "unpickled").exists()
    path.write_bytes(content)
    file.load("a")
    assert (tmp_path / "unpickled").exists()


def test_code_that_cannot_be_saved_runs(tmp_path):
    assert run(tmp_path) == ["42.0", "3", "0"]
    for file in files(tmp_path, ".nbi"):
        file.unlink()
        file.mkdir()
    assert run(tmp_path) == ["42.0", "3", "0"]


def test_a_failed_save_is_said(tmp_path):
    cache = CheckedCache(truncate, {})
    cache._folder._save_overload = fails_to_save
    with pytest.warns(RuntimeWarning, match="a compiled kernel cannot be cached: .*No space left"):
        cache.save_overload(None, None)


def fails_to_save(signature, data):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_one_function_with_different_options_has_different_entries(tmp_path):
    module = """
from numba import float64
from bansac.compiled.jit import compile_kernel, fast_kernel, inner_kernel, kernel

def square(x):
    return x * x

@kernel
def outer(x):
    return inner(x)

inner, fast, exact = inner_kernel(square), fast_kernel(square), kernel(square)
entry = compile_kernel(square, float64(float64))
print(outer(2.0), fast(3.0), exact(4.0), entry(5.0))
print(*(sum(f.stats.cache_hits.values()) for f in (inner, fast, exact, entry)))
"""
    (tmp_path / "module.py").write_text(module)
    assert run(tmp_path) == ["4.0", "9.0", "16.0", "25.0", "0", "0", "0", "0"]
    assert run(tmp_path) == ["4.0", "9.0", "16.0", "25.0", "0", "1", "1", "1"]  # the first is part of ``outer``


def test_another_stamp_or_version_of_numba_finds_nothing(file, tmp_path, monkeypatch):
    file.save("a", [1])
    assert CheckedFile(str(tmp_path), "name", ("edited",)).load("a") is None
    monkeypatch.setattr(numba, "__version__", "0.0")
    assert CheckedFile(str(tmp_path), "name", ("stamp",)).load("a") is None


class Gone:
    pass


def test_an_entry_of_a_class_that_is_no_more_is_missing(file, monkeypatch):
    file.save("a", Gone())
    assert isinstance(file.load("a"), Gone)
    monkeypatch.delattr(sys.modules[__name__], "Gone")
    assert file.load("a") is None


def test_a_function_without_a_file_has_no_cache():
    scope = {}
    exec("def function(x): return x", scope)
    assert CheckedCache(scope["function"], {}).cache_path is None
    assert kernel(scope["function"])(3) == 3  # compiled anew in every process
