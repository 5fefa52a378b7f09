"""With an untested version of Numba, or changed private parts, public parts give the same answers."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from numba import config

import bansac
from bansac.synthetic import epipolar_matches, homography_matches, line_points
from tests.processes import run_module

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted: nothing is compiled")

ROOT = Path(__file__).resolve().parents[2]

PRIVATE, PLAIN = "bansac.compiled.numba_private", "bansac.compiled.numba_plain"

BACKEND = """
import contextlib, sys, unittest.mock as mock
import numba, numba.experimental.structref
with eval(sys.argv[1]):
    from bansac.compiled import numba_backend
print(numba_backend.make_dispatcher.__module__)
"""

# The package is loaded while this holds.
UNCHANGED = "contextlib.nullcontext()"
VERSION = "mock.patch.object(numba, 'version_info', numba.version_info._replace(short=(0, 99)))"
OTHER_CLASS = "mock.patch('numba.core.registry.CPUDispatcher', object)"
OTHER_FUNCTION = "mock.patch('numba.core.extending.lower_getattr_generic', lambda: None)"

KERNELS = """
from bansac.compiled.jit import compile_kernel, inner_kernel, kernel

@inner_kernel
def twice(x):
    return 2.0 * x

@kernel
def outer(x):
    return twice(x) + 1.0

def entry(x):
    return outer(x) + 1.0

compiled = compile_kernel(entry, numba.float64(numba.float64), fast=True)
print(outer(20.0), twice(1.5), compiled(20.0))
"""


def run(folder, code, change):
    """Run a module in a process of its own whose Numba is changed; return what it prints."""
    done = run_module(folder, BACKEND + code, change)
    slower = "RuntimeWarning: kernels use public parts of Numba only and run slower: "
    assert (slower in done.stderr) == (change != UNCHANGED)
    return done.stdout.splitlines()


def count_files(folder):
    return sum(1 for file in (folder / "cache").rglob("*.nbi"))


@pytest.mark.slow
@pytest.mark.parametrize("change", [VERSION, OTHER_CLASS, OTHER_FUNCTION])
def test_without_a_private_part_public_ones_take_its_place(tmp_path, change):
    """They share a folder of compiled code with the private ones, and neither reads the files of the other."""
    assert run(tmp_path, KERNELS, UNCHANGED) == [PRIVATE, "41.0 3.0 42.0"]
    files = count_files(tmp_path)
    for _ in range(2):
        assert run(tmp_path, KERNELS, change) == [PLAIN, "41.0 3.0 42.0"]
        assert count_files(tmp_path) == 2 * files
    assert run(tmp_path, KERNELS, UNCHANGED) == [PRIVATE, "41.0 3.0 42.0"]


def estimate():
    """Estimate H, F and a line; return the models and the numbers of inliers and iterations."""
    plane = homography_matches(60, inlier_ratio=0.6, noise=0.3, seed=3)
    scene = epipolar_matches(100, inlier_ratio=0.6, noise=0.3, seed=3)
    points = line_points(100, inlier_ratio=0.4, noise=0.005, seed=1).points
    results = (
        bansac.estimate_homography(plane.x1, plane.x2, preset="paper"),
        bansac.estimate_fundamental(scene.x1, scene.x2, preset="paper"),
        bansac.fit_line(points, threshold=0.02, preset="paper"),
    )
    assert all(result.success for result in results)
    return [(result.model.tolist(), int(result.inliers.sum()), result.iterations) for result in results]


@pytest.mark.slow
def test_an_untested_version_gives_the_same_answers(tmp_path):
    code = "import json\nfrom tests.compiled.test_numba_plain import estimate\nprint(json.dumps(estimate()))"
    module, printed = run(tmp_path, code, VERSION)
    assert module == PLAIN
    for (model, *counts), (expected, *expected_counts) in zip(json.loads(printed), estimate(), strict=True):
        assert counts == expected_counts
        np.testing.assert_allclose(model, expected, rtol=1e-6, atol=1e-9)


def test_tested_versions_are_those_that_are_installed():
    from bansac.compiled.numba_private import TESTED

    (oldest, newest) = (".".join(map(str, version)) for version in TESTED)
    (dependency,) = (
        name
        for name in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
        if name.startswith("numba")
    )
    assert dependency == f"numba>={oldest},<{TESTED[1][0]}.{TESTED[1][1] + 1}"
    assert f"\nnumba=={newest}." in (ROOT / "requirements" / "dev.lock").read_text()
    assert f'NUMBA = "numba=={newest}.*"' in (ROOT / "hatch_build.py").read_text()
