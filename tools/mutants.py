"""Mutation testing: change one operator, comparison or constant of a module, and see whether one of its tests fails.

    python tools/mutants.py --mutants 300 --minutes 25 --exclude 'significance/null_model.py'
    python tools/mutants.py --again        # run survivors, and mutants without tests, once more after new tests
    python tools/mutants.py --compiled     # the same with compilation and with all tests of the module

A mutant is killed if a test fails, and survives if none does. Its tests are the mirrored file,
``tests/<package>/test_<module>.py``, or else ``OTHER_TESTS``. They run without compilation. Tests that fail or are slow
without any mutant are left out: a test may take ``TEST_SECONDS``, the tests of a file ``FILE_SECONDS`` together. With
``--again`` these limits are longer, and the tests of ``WIDE`` run, too.

All mutants are equally likely to be drawn, so the first mutants of a run are a fair sample, too. The report is written
after each mutant; a second call continues it. A survivor with a ``note`` in the report is not run again.
"""

from __future__ import annotations

import ast
import copy
import importlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import report

ROOT = Path(__file__).parents[1]
PACKAGES = ("problems", "solvers", "significance", "engine")

# Limits in the sample and with ``--again``. Tests that take longer than this before any edit, and those after so many
# seconds of one module's tests, are left out.
TEST_SECONDS = 1.0, 15.0
FILE_SECONDS = 4.0, 60.0

# Seconds for the tests of one mutant, and for those of a file before any edit; the last one is with compilation.
LIMIT = 30.0, 180.0, 400.0

SLOW = "too slow for mutants"

# Imported once, before the forks.
LIBRARIES = ("numpy", "numba", "scipy.optimize", "scipy.stats", "cv2")
IMPORTED = "ignore::pytest.PytestAssertRewriteWarning"

# Tests of the modules without a mirrored file.
OTHER_TESTS = {
    "problems/rank_two.py": ["solvers/test_fundamental_7pt.py", "solvers/test_fundamental_8pt.py"],
    "problems/similarity.py": ["problems/test_affine.py"],
    "solvers/one_focal_6pt.py": ["solvers/test_focal_6pt.py"],
    "solvers/shared_focal_6pt.py": ["solvers/test_focal_6pt.py"],
    "problems/estimators.py": ["problems/test_problem.py", "problems/test_fundamental.py"],
    "engine/search.py": ["engine/test_hypotheses.py", "engine/test_runner.py", "engine/test_noise_scale.py"],
    "engine/option_fields.py": ["engine/test_options.py"],
    "engine/sampling/distinct.py": ["engine/sampling/test_uniform.py"],
    "engine/sampling/__init__.py": ["engine/sampling/test_registry.py", "engine/test_options.py"],
    "engine/stopping/__init__.py": ["engine/test_options.py"],
    "engine/warm_start.py": ["estimate/test_initial_model.py"],
    "problems/upright.py": ["estimate/test_known_vertical.py", "solvers/test_essential_upright_3pt.py"],
    "problems/translation.py": ["problems/test_affine_3d.py"],
    **{f"engine/scoring/{name}.py": ["engine/scoring/test_scores.py"] for name in ("magsac", "msac", "inliers")},
}

# Tests of all modules of a folder, with ``--again``.
WIDE = {
    "problems": ["tests/problems/test_every_problem.py"],
    "engine/sampling": ["tests/engine/sampling/test_registry.py"],
}

LEFT = ("Add", "Mult", "And", "Lt", "Gt", "Eq", "Is", "In")
RIGHT = ("Sub", "Div", "Or", "LtE", "GtE", "NotEq", "IsNot", "NotIn")
SWAPS = {getattr(ast, a): getattr(ast, b) for a, b in zip(LEFT + RIGHT, RIGHT + LEFT, strict=True)}
SWAPS[ast.FloorDiv] = ast.Mult


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes outside annotations, decorators, f-strings and ``__all__``."""
    yield tree
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list") or isinstance(tree, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            exports = isinstance(child, ast.Assign) and ast.unparse(child.targets[0]) == "__all__"
            if isinstance(child, ast.AST) and not exports:
                yield from nodes(child)


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the edited copies of one node."""
    other: Any = copy.deepcopy(node)
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in SWAPS:
        other.op = SWAPS[type(node.op)]()
        yield other
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        other.ops[0] = SWAPS[type(node.ops[0])]()
        yield other
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield other.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield ast.Constant(node.value + 1)
        if node.value not in (0, 1):
            yield ast.Constant(2 * node.value)
    elif isinstance(node, ast.Call) and len(node.args) >= 2 and not any(isinstance(a, ast.Starred) for a in node.args):
        other.args[:2] = other.args[1::-1]
        yield other


def mutants_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield each mutant of a file: ``file``, ``line``, ``before``, ``after``, and the ``span`` of bytes to replace."""
    text = path.read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in nodes(ast.parse(text)):
        for other in variants(node):
            at: Any = node
            span = starts[at.lineno - 1] + at.col_offset, starts[at.end_lineno - 1] + at.end_col_offset
            after = ast.unparse(other)
            yield {
                "file": path.relative_to(ROOT).as_posix(),
                "line": at.lineno,
                "before": text[slice(*span)].decode(),
                "after": after if isinstance(node, ast.stmt) else f"({after})",
                "span": span,
            }


def tests_of(file: str, wide: bool) -> list[str]:
    """Return the mirrored test file, or else those of ``OTHER_TESTS``; with ``wide`` also those of ``WIDE``."""
    module = Path(file).relative_to("src/bansac")
    mirror = Path("tests", module.parent, f"test_{module.stem}.py").as_posix()
    own = [mirror] if (ROOT / mirror).exists() else [f"tests/{t}" for t in OTHER_TESTS.get(module.as_posix(), [])]
    return own + WIDE.get(module.parent.as_posix(), []) if wide else own


class Plugin:
    """Hypothesis stops at the first failure; the ``baseline`` skips slow tests and lists those to leave out."""

    def __init__(self, baseline: bool, again: bool) -> None:
        self.baseline, self.again, self.passed, self.left_out = baseline, again, False, list[str]()
        self.end: float | None = None

    def pytest_sessionstart(self) -> None:
        """Load the profile after that of ``tests/conftest.py``."""
        phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
        hypothesis.settings.register_profile("mutants", hypothesis.settings.get_profile("ci"), phases=phases)
        hypothesis.settings.load_profile("mutants")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        """Run a test; in the baseline, within its time."""
        self.end = self.end or time.monotonic() + FILE_SECONDS[self.again]
        signal.signal(signal.SIGALRM, lambda *_: pytest.skip(SLOW))
        left = max(min(TEST_SECONDS[self.again], self.end - time.monotonic()), 1e-3)
        signal.setitimer(signal.ITIMER_REAL, left if self.baseline else 0)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note that a test has passed, or that it fails or is slow."""
        self.passed |= report.when == "call" and report.passed
        if report.failed or (report.skipped and SLOW in str(report.longrepr)):
            self.left_out.append(report.nodeid)


def child(tree: Path, arguments: list[str], again: bool, answer: Path | None) -> None:
    """Run pytest in a forked process, which need not import the large libraries again."""
    os.chdir(tree)
    sys.path[:] = [str(tree / "src"), *(entry for entry in sys.path if not entry.endswith("src"))]
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    plugin = Plugin(answer is not None, again)
    code = pytest.main(["-q", "-p", "no:cacheprovider", "-W", IMPORTED, *arguments], plugins=[plugin])
    if answer:
        answer.write_text(json.dumps(plugin.left_out))
    os._exit(int(code or (0 if plugin.passed else pytest.ExitCode.NO_TESTS_COLLECTED)))


def run_tests(tree: Path, arguments: list[str], again: bool, answer: Path | None = None) -> str:
    """Run pytest within ``LIMIT`` seconds and return the status; ``answer`` gets the tests to leave out."""
    process = multiprocessing.get_context("fork").Process(target=child, args=(tree, arguments, again, answer))
    process.start()
    process.join(LIMIT[again])
    if process.exitcode is None:
        process.kill()
        process.join()
        return "timed out"
    return {0: "survived", pytest.ExitCode.NO_TESTS_COLLECTED: "no tests"}.get(process.exitcode, "killed")


def run_compiled(tree: Path, files: list[str]) -> str:
    """Run all tests of files with compiled kernels, and return the status; no kernel comes from a cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"PYTHONPATH": str(tree / "src"), "NUMBA_CACHE_DIR": cache}
        del environment["NUMBA_DISABLE_JIT"]
        command = [sys.executable, "-m", "pytest", "-xq", "-p", "no:cacheprovider", *files]
        try:
            done = subprocess.run(
                command, cwd=tree, env=environment, capture_output=True, timeout=LIMIT[2], check=False
            )
        except subprocess.TimeoutExpired:
            return "timed out"
    return "killed" if done.returncode else "survived"


def try_mutant(tree: Path, mutant: dict[str, Any], left_out: dict[str, list[str]] | None, again: bool) -> str:
    """Return the status of one mutant.

    ``left_out`` gets the tests to leave out, by file, when first needed; with None the tests run with compilation.
    """
    files = tests_of(mutant["file"], wide=again and left_out is not None)
    path = tree / mutant["file"]
    text, (start, end) = path.read_bytes(), mutant["span"]
    if text[start:end].decode() != mutant["before"]:
        return "changed"
    if not files:
        return "no tests"
    for file in files if left_out is not None else []:
        if file not in left_out:
            answer = tree / "answer.json"
            answer.unlink(missing_ok=True)
            run_tests(tree, [file], again, answer)
            left_out[file] = json.loads(answer.read_text()) if answer.exists() else [file]
    write_module(path, text[:start] + mutant["after"].encode() + text[end:])
    try:
        if left_out is None:
            return run_compiled(tree, files)
        omitted = [f"--deselect={name}" for file in files for name in left_out[file]]
        return run_tests(tree, ["-x", *files, *omitted], again)
    finally:
        write_module(path, text)


def write_module(path: Path, text: bytes) -> None:
    """Write a module and delete its bytecode, which Python takes for current if size and second are the same."""
    path.write_bytes(text)
    for cached in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        cached.unlink()


def main() -> None:
    """Run the command line."""
    parser = report.parser(__doc__, ROOT / "benchmarks" / "mutants.json", mutants=300, seed=0)
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--exclude", nargs="*", default=[], help="patterns of paths below src/bansac")
    parser.add_argument("--again", action="store_true", help="run survivors and untested mutants with slower tests")
    parser.add_argument("--compiled", action="store_true", help="as --again, but with compilation and all tests")
    arguments = parser.parse_args()
    stop = time.monotonic() + 60 * arguments.minutes
    os.environ |= {"NUMBA_DISABLE_JIT": "1", "CI": "true"}
    for library in LIBRARIES:
        importlib.import_module(library)

    document = {"mutants": [], "left_out": {}} | report.read(arguments.json)
    again = arguments.again or arguments.compiled
    if again:
        todo = [
            each for each in document["mutants"] if each["status"] in ("survived", "no tests") and not each.get("note")
        ]
        left_out: dict[str, list[str]] | None = None if arguments.compiled else {}
    else:
        paths = [path for name in PACKAGES for path in sorted((ROOT / "src" / "bansac" / name).rglob("*.py"))]
        kept = [p for p in paths if not any(fnmatch(p.as_posix(), f"*/bansac/{e}") for e in arguments.exclude)]
        sites = [mutant for path in kept for mutant in mutants_of(path)]
        todo = random.Random(arguments.seed).sample(sites, min(arguments.mutants, len(sites)))
        todo = todo[len(document["mutants"]) :]
        left_out = document.get("left_out", {})
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
        document |= {"seed": arguments.seed, "exclude": arguments.exclude, "sites": len(sites)}
        document |= {"commit": commit.stdout.strip(), "left_out": left_out}
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in ("src", "tests"):
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", tree)
        for mutant in todo:
            if time.monotonic() > stop:
                break
            mutant["status"] = try_mutant(tree, mutant, left_out, again)
            if not again:
                document["mutants"].append(mutant)
            document["counts"] = Counter(each["status"] for each in document["mutants"])
            report.write(arguments.json, document)
            print(*(mutant[key] for key in ("status", "file", "line", "before", "after")), flush=True)
    from bansac.lab.provenance import circumstances

    report.write(arguments.json, document | circumstances())


if __name__ == "__main__":
    main()
