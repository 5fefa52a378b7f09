"""What has to pass, one session each: ``nox -s lint``, or ``nox`` for all of them.

In an environment with the ``dev`` extra, ``nox --no-venv --no-install -s lint`` makes no environment of its own; this
is how ``.ci/run`` calls them. Unless ``NUMBA_CACHE_DIR`` is set, compiled kernels are cached in a fresh folder, since
Numba does not notice an edit of a function in another file.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

import nox

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]

# The rooms of the kernels, which run without compilation, too.
KERNEL_ROOMS = ["numeric", "solvers", "problems", "engine"]

METHODS = "bansac,p-bansac,uniform,opencv"

# The smallest measurement that runs every part.
SPEED = ["--peers", "", "--seconds", "0.001", "--max-points", "1000"]

nox.options.sessions = ["lint", "tests", "interpreted", "bench", "docs"]
nox.options.error_on_missing_interpreters = False


def prepare(session: nox.Session) -> dict[str, str]:
    """Install this tree, and return the environment in which it is what ``import bansac`` finds."""
    session.install("-e", ".[dev]")
    cache = os.environ.get("NUMBA_CACHE_DIR")
    if cache is None:
        cache = str(Path(session.create_tmp(), "numba"))
        shutil.rmtree(cache, ignore_errors=True)
    return {"PYTHONPATH": "src", "NUMBA_CACHE_DIR": cache}


@nox.session
def lint(session: nox.Session) -> None:
    """Run ruff, mypy and import-linter."""
    environment = prepare(session)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports", "--no-cache", env=environment)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests and the doctests with compiled kernels."""
    session.run("pytest", *session.posargs, env=prepare(session))


@nox.session
def interpreted(session: nox.Session) -> None:
    """Run the tests of the kernels as plain Python, and report their branch coverage."""
    environment = prepare(session) | {"NUMBA_DISABLE_JIT": "1"}
    folders = [f"tests/{room}" for room in KERNEL_ROOMS]
    session.run("coverage", "run", "-m", "pytest", "-q", *folders, env=environment)
    session.run("coverage", "report", "--include", ",".join(f"src/bansac/{room}/*" for room in KERNEL_ROOMS))


@nox.session
def bench(session: nox.Session) -> None:
    """Run small benchmarks of poses, of homographies and of speed, and read their reports."""
    environment = prepare(session)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        session.run("python", "-m", "tests.evaluation.sets", str(work / "sets"), env=environment)
        for model, sets in (("E", "poses"), ("H", "homographies")):
            report = work / f"{model}.json"
            arguments = [str(work / "sets" / sets), "--model", model, "--methods", METHODS, "--out", str(report)]
            session.run("bansac", "bench", *arguments, env=environment)
            if set(json.loads(report.read_text())["mean"]) != set(METHODS.split(",")):
                session.error(f"the report of {model} has not the mean of every method")
        report = work / "speed.json"
        session.run("bansac", "bench", "speed", *SPEED, "--out", str(report), env=environment)
        if not json.loads(report.read_text())["targets"]:
            session.error("the report of the speed has no targets")


@nox.session
def docs(session: nox.Session) -> None:
    """Run the doctests, check the links of the documentation, and compare its tables with the reports."""
    session.run("pytest", "-q", "src/bansac", "tests/test_docs.py", env=prepare(session))
