"""The resident set of a call."""

from __future__ import annotations

import sys

import pytest

from bansac.lab.measurements.speed import timing as memory
from bansac.lab.measurements.speed.timing import peak_in_process, peak_of_call

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the resident set is read from /proc")


PROGRAM = """
import sys

import numpy as np

from bansac.lab.measurements.speed.timing import peak_of_call
from bansac.compiled.jit import kernel


@kernel
def fill(n):
    values = np.empty(n)
    for k in range(n):
        values[k] = k
    return values[n - 1]


make = {"ones": np.ones, "fill": fill, "nothing": lambda n: None}[sys.argv[1]]
make(10)
print(peak_of_call(lambda: make(5_000_000)))
"""


@pytest.mark.slow
@LINUX
def test_memory_of_numpy_and_of_kernels_counts(tmp_path, monkeypatch):
    # in processes of their own: this one may have freed that much before, and takes it again without growing
    (tmp_path / "makes.py").write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert peak_in_process("makes", "ones") == pytest.approx(40e6, rel=0.05)
    assert peak_in_process("makes", "fill") == pytest.approx(40e6, rel=0.05)
    assert peak_in_process("makes", "nothing") < 1e6


def test_it_is_not_known_without_proc(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_PROCESS", tmp_path)
    called = []
    assert peak_of_call(lambda: called.append(1)) is None
    assert not called


def test_a_process_prints_a_number_or_nothing(tmp_path, monkeypatch):
    (tmp_path / "prints.py").write_text("import sys\nprint(*sys.argv[1:])\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert peak_in_process("prints", "123") == 123
    assert peak_in_process("prints") is None
