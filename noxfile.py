"""What has to pass, one session each: ``nox -s lint``, or ``nox`` for all of them.

In an environment with the ``dev`` extra, ``nox --no-venv --no-install -s lint`` makes no environment of its own; this
is how ``.ci/run`` calls them. Unless ``NUMBA_CACHE_DIR`` is set, compiled kernels are cached in a fresh folder, since
Numba does not notice an edit of a function in another file.
"""

import json
import os
import re
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path

import nox

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]

LOCK = "requirements/dev.lock"

# The packages of the kernels. Their tests also run without compilation.
KERNEL_PACKAGES = ["maths", "compiled", "geometry", "solvers", "problems", "evidence", "engine"]

DIST = "dist"

# Bytes of a wheel with compiled kernels, at most.
MAX_WHEEL = 8_000_000

METHODS = "bansac,p-bansac,uniform,opencv"

# The smallest measurement that runs every part.
SPEED = ["--peers", "", "--seconds", "0.001", "--max-points", "1000"]

nox.options.sessions = ["lint", "tests", "slow", "interpreted", "bench", "docs"]
nox.options.error_on_missing_interpreters = False


def prepare(session: nox.Session) -> dict[str, str]:
    """Install this tree, and return the environment in which its packages are those that are imported."""
    session.install("-e", ".[dev]", "-e", "./lab")
    cache = os.environ.get("NUMBA_CACHE_DIR")
    if cache is None:
        cache = str(Path(session.create_tmp(), "numba"))
        shutil.rmtree(cache, ignore_errors=True)
    return {"PYTHONPATH": os.pathsep.join(["src", "lab/src"]), "NUMBA_CACHE_DIR": cache}


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
    session.run("pytest", "-n", "2", "--dist", "loadfile", *session.posargs, env=prepare(session))


@nox.session(python=PYTHONS)
def slow(session: nox.Session) -> None:
    """Run the tests that are marked as slow, which ``tests`` leaves out."""
    session.run("pytest", "-m", "slow", "-n", "2", "--dist", "loadfile", *session.posargs, env=prepare(session))


@nox.session(python=PYTHONS[0])
def lowest(session: nox.Session) -> None:
    """Run the tests with the lowest versions of the dependencies; old packages may warn about newer ones."""
    session.install("uv")
    session.run_install("uv", "pip", "install", "--resolution", "lowest-direct", "-e", ".[dev]", "-e", "./lab")
    environment = prepare(session)  # nothing is missing, so the versions stay
    session.run("pytest", "-W", "default", "-n", "2", "--dist", "loadfile", *session.posargs, env=environment)


@nox.session
def audit(session: nox.Session) -> None:
    """Look up the locked packages among the known vulnerabilities, on the network."""
    session.install("pip-audit")
    session.run("pip-audit", "--strict", "--disable-pip", "--require-hashes", "--requirement", LOCK)


@nox.session
def interpreted(session: nox.Session) -> None:
    """Run the tests of the kernels as plain Python, and report their branch coverage."""
    environment = prepare(session) | {"NUMBA_DISABLE_JIT": "1"}
    folders = [f"tests/{name}" for name in KERNEL_PACKAGES]
    session.run("coverage", "run", "-m", "pytest", "-q", "-m", "", *folders, env=environment)
    session.run("coverage", "report", "--include", ",".join(f"src/bansac/{name}/*" for name in KERNEL_PACKAGES))


@nox.session
def boundscheck(session: nox.Session) -> None:
    """Run the tests of the kernels with checks of array bounds in compiled code."""
    environment = prepare(session)
    environment |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(Path(session.create_tmp(), "bounds").resolve())}
    folders = [f"tests/{name}" for name in KERNEL_PACKAGES]
    session.run("pytest", "-q", "-n", "2", "--dist", "loadfile", *folders, *session.posargs, env=environment)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Try random and damaged input for 30 minutes, or for BANSAC_FUZZ_SECONDS."""
    environment = prepare(session) | {"BANSAC_FUZZ_SECONDS": os.environ.get("BANSAC_FUZZ_SECONDS", "1800")}
    session.run("pytest", "-q", "-m", "fuzz", "tests/fuzz", *session.posargs, env=environment)


@nox.session
def bench(session: nox.Session) -> None:
    """Run small benchmarks of poses, of homographies and of speed, and read their reports."""
    environment = prepare(session)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        session.run("python", "-m", "lab.tests.pair_sets", str(work / "sets"), env=environment)
        for model, sets in (("E", "poses"), ("H", "homographies")):
            report = work / f"{model}.json"
            arguments = [str(work / "sets" / sets), "--model", model, "--methods", METHODS, "--out", str(report)]
            session.run("bansac", "bench", *arguments, env=environment)
            if set(json.loads(report.read_text())["mean"]) != set(METHODS.split(",")):
                session.error(f"the report of {model} has not the mean of every method")
        report = work / "speed.json"
        session.run("bansac", "bench", "speed", *SPEED, "--out", str(report), env=environment)
        if not json.loads(report.read_text())["sizes"]:
            session.error("the report of the speed has no times over sizes")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site: a warning is an error, and so is a page that loads something from elsewhere."""
    environment = prepare(session) | {"NO_MKDOCS_2_WARNING": "1"}
    site = Path(session.create_tmp(), "site")
    session.run("mkdocs", "build", "--strict", "--site-dir", str(site.resolve()), env=environment)
    loaded = re.compile(r"<(?:script|link|img|iframe)[^>]* (?:src|href)=[\"']?(?:https?:)?//[^>]*>")
    for page in site.rglob("*.html"):
        if found := loaded.search(page.read_text(encoding="utf-8")):
            session.error(f"{page.relative_to(site)} loads something from elsewhere: {found[0]}")


@nox.session(python=PYTHONS)
def wheels(session: nox.Session) -> None:
    """Build a wheel with compiled kernels, and check in an environment with nothing else that it compiles none."""
    session.install("build")
    folder = Path(session.create_tmp()).resolve()
    shutil.rmtree(folder)
    session.run("python", "-m", "build", "--wheel", "--outdir", str(folder), env={"BANSAC_KERNELS": "all"})
    (built,) = folder.glob("*.whl")
    if built.stat().st_size > MAX_WHEEL:
        session.error(f"{built.name} has {built.stat().st_size / 1e6:.1f} MB, more than {MAX_WHEEL / 1e6:.0f} MB")
    session.run("python", "-m", "venv", str(folder / "empty"))
    python = str(folder / "empty" / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    session.run(python, "-m", "pip", "install", str(built), external=True)
    session.run(python, "lab/tools/wheel.py", *session.posargs, env={"PYTHONPATH": "lab/src"}, external=True)
    Path(DIST).mkdir(exist_ok=True)
    shutil.copy(built, DIST)


@nox.session
def package(session: nox.Session) -> None:
    """Build sdists and wheels, check that they are complete, and try the library with every Python that is here."""
    session.install("build", "twine")
    shutil.rmtree(DIST, ignore_errors=True)
    for project in (".", "lab"):
        session.run("python", "-m", "build", "--outdir", DIST, project)
    session.run("twine", "check", "--strict", *map(str, Path(DIST).iterdir()))
    tracked = set(session.run("git", "ls-files", external=True, silent=True).split())
    for name, folder in (("bansac", ""), ("bansac_lab", "lab/")):
        wanted = {path for path in tracked if path.startswith(folder)}
        with tarfile.open(next(Path(DIST).glob(f"{name}-*.tar.gz"))) as archive:
            missing = wanted - {folder + path.partition("/")[2] for path in archive.getnames()}
        with zipfile.ZipFile(next(Path(DIST).glob(f"{name}-*.whl"))) as archive:
            in_wheel = {f"{folder}src/{path}" for path in archive.namelist()}
        missing |= {path for path in wanted if path.startswith(f"{folder}src/")} - in_wheel
        if missing:
            session.error(f"sdist or wheel of {name} lack {', '.join(sorted(missing))}")
    for version in PYTHONS:
        session.notify(f"wheel-{version}")


@nox.session(python=PYTHONS)
def wheel(session: nox.Session) -> None:
    """Install the wheel that ``package`` has built into an empty environment and run small programs with it."""
    built = str(next(Path(DIST).glob("bansac-*.whl")).resolve())
    cache = {"NUMBA_CACHE_DIR": str(Path(session.create_tmp(), "numba").resolve()), "PYTHONPATH": None}
    names = ("tests/user_script.py", "examples/sphere.py", "tests/all_estimators.py")
    script, example, estimators = (str(Path(name).resolve()) for name in names)
    session.install(built)
    session.chdir(session.create_tmp())  # nothing of the tree is importable
    session.run("python", script, env=cache)
    session.run("python", example, env=cache)
    session.run("python", estimators, env=cache)  # NumPy and Numba alone are installed
    session.install(f"{built}[cli,match,plot]", "mypy", "pyright")
    session.run("mypy", "--strict", script)  # finds the annotations because of py.typed
    Path("pyrightconfig.json").write_text("{}")  # otherwise pyright takes the tree for its project, and src for bansac
    session.run("pyright", script)
    session.run("bansac", "--version")
    session.run("bansac", "demo", "--out", "demo", "--overwrite", env=cache)
