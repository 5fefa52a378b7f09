import ast
import inspect
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import bansac
from bansac.estimate.presets import SHARED_ARGUMENTS
from bansac.problems.estimators import ESTIMATORS, Estimator
from tests import user_script
from tests.processes import run_python

ROOT = Path(__file__).resolve().parents[1]
PROJECT, LABORATORY = (
    tomllib.loads((folder / "pyproject.toml").read_text())["project"] for folder in (ROOT, ROOT / "lab")
)


def output(code: str) -> str:
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_tested_versions_of_numba_are_those_that_are_installed() -> None:
    from bansac.compiled.backend import TESTED

    oldest, newest = (".".join(map(str, version)) for version in TESTED)
    assert f"numba>={oldest},<{TESTED[1][0]}.{TESTED[1][1] + 1}" in PROJECT["dependencies"]
    assert f"\nnumba=={newest}." in (ROOT / "requirements" / "dev.lock").read_text()
    assert f'NUMBA = "numba=={newest}.*"' in (ROOT / "hatch_build.py").read_text()


@pytest.mark.slow
def test_an_untested_version_of_numba_is_one_warning() -> None:
    code = """
import sys, warnings
import numba
import numpy as np
numba.version_info = numba.version_info._replace(short=(0, 99))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import bansac
    points = np.arange(30.0)
    print(bansac.fit_line(np.column_stack([points, points])).success)
print([str(one.message) for one in caught])
print([name for name in sys.modules if "numba_private" in name])
from bansac.compiled.cache import inspect_cache
print(inspect_cache()["files"] > 0)
"""
    success, said, private, cached = output(code).splitlines()
    assert (success, private, cached) == ("True", "[]", "True")
    assert said.startswith("['bansac: Numba ")
    assert said.endswith("was not tested, only 0.61 to 0.68: kernels are compiled in its own way, which takes longer']")


@pytest.mark.parametrize("name", bansac.__all__)
def test_public_name_resolves_and_is_documented(name: str) -> None:
    value = getattr(bansac, name)
    assert name in dir(bansac)
    if name != "__version__":
        assert value.__doc__


@pytest.mark.parametrize("name", ["colmap", "compat", "geometry", "matches", "plotting", "synthetic"])
def test_a_public_package_is_an_attribute(name: str) -> None:
    assert (
        output(f"import bansac; print({name!r} in dir(bansac), bansac.{name}.__name__)").strip()
        == f"True bansac.{name}"
    )


def test_the_geometry_shows_its_functions_only() -> None:
    assert {"np", "math", "apply_transform"} & set(dir(bansac.geometry)) == {"apply_transform"}


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        bansac.no_such_name  # noqa: B018


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        ("bansac", ("numba", "numpy", "matplotlib")),
        ("bansac.geometry, bansac_lab.metrics, bansac.plotting, bansac.matches", ("numba",)),
    ],
)
def test_an_import_does_not_load_what_is_slow(modules: str, heavy: tuple[str, ...]) -> None:
    assert output(f"import sys, {modules}; print([m for m in {heavy} if m in sys.modules])").strip() == "[]"


@pytest.mark.parametrize("switch", ["enable", pytest.param("disable", marks=pytest.mark.slow)])
def test_import_leaves_the_garbage_collector_as_it_is(switch: str) -> None:
    code = f"import gc; gc.{switch}(); import bansac; bansac.Options; print(gc.isenabled())"
    assert output(code).strip() == str(switch == "enable")


EXTRAS = ("cv2", "distributed", "h5py", "matplotlib", "pandas", "pooch", "pyarrow", "pycolmap", "rich", "scipy")
EXTRAS += ("skimage", "typer")


@pytest.mark.slow
def test_estimating_needs_none_of_the_extras() -> None:
    """Every row of the table is run, without the extras, by ``all_estimators``, as in the session ``wheel`` of nox."""
    block = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS}))  # importing one raises ImportError\n"
    program = f"{block}import runpy; runpy.run_path({str(ROOT / 'tests' / 'all_estimators.py')!r}, run_name='__main__')"
    assert output(program).splitlines() == [row.function for row in ESTIMATORS]


def test_only_the_command_line_imports_extras_with_the_module() -> None:
    for path in (ROOT / "src" / "bansac").rglob("*.py"):
        if path.relative_to(ROOT / "src" / "bansac").parts[0] == "cli":
            continue
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [name.name for name in getattr(statement, "names", ())] if isinstance(statement, ast.Import) else []
            names += [statement.module or ""] if isinstance(statement, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & set(EXTRAS), path


def test_imports_for_type_checkers_are_the_public_names() -> None:
    tree = ast.parse((ROOT / "src" / "bansac" / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        name.asname: statement.module
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for name in statement.names
    }
    assert imported == bansac._MODULES


@pytest.mark.parametrize("row", ESTIMATORS, ids=lambda row: row.name)
def test_row_of_the_table_has_the_arguments_of_the_function(row: Estimator) -> None:
    common = (*SHARED_ARGUMENTS, "gravity1", "gravity2", "threshold", "settings")
    parameters = inspect.signature(getattr(bansac, row.function)).parameters
    assert [name for name in parameters if name not in common] == [*row.data, *row.arguments]
    assert not any("_NestedSequence" in str(parameter) for parameter in parameters.values())  # "ArrayLike" in help()
    if row.problem is not None:
        channels = sum(map(len, row.data.values()))
        assert row.load_problem().channels == channels
    else:
        with pytest.raises(ValueError, match="depends on its arguments"):
            row.load_problem()


def test_command_without_typer_says_how_to_install_it() -> None:
    code = "import sys; sys.modules['typer'] = None\nfrom bansac.cli import main; main()"
    done = run_python("-c", code)
    assert done.returncode == 2
    assert "pip install typer rich" in done.stderr
    assert "Traceback" not in done.stderr


def test_versions_of_packages_and_citation_agree() -> None:
    assert LABORATORY["version"] == bansac.__version__
    assert f"bansac[all,match]=={bansac.__version__}" in LABORATORY["dependencies"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {bansac.__version__}\n" in citation
    assert f"## {bansac.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_core_depends_on_numpy_and_numba_only() -> None:
    assert sorted(name.split(">")[0] for name in PROJECT["dependencies"]) == ["numba", "numpy"]


def test_the_lock_has_what_the_development_needs() -> None:
    lock = re.split(r"\n(?=\w)", (ROOT / "requirements" / "dev.lock").read_text())[1:]
    assert all("--hash=sha256:" in package for package in lock)
    versions: dict[str, list[str]] = {}
    for package in lock:
        name, version = re.split(r"==| ", package)[:2]
        versions.setdefault(name, []).append(version)
    wanted, found = [Requirement("bansac[dev]"), *map(Requirement, LABORATORY["dependencies"])], set()
    while wanted:
        need = wanted.pop()
        if need.name == "bansac":
            wanted += map(Requirement, PROJECT["dependencies"])
            wanted += [Requirement(text) for extra in need.extras for text in PROJECT["optional-dependencies"][extra]]
            continue
        found.add(need.name)
        assert all(map(need.specifier.contains, versions[need.name])), need
    assert {"numpy", "h5py", "pandas", "pytest", "mkdocs-material"} <= found


def test_every_place_names_the_same_versions_of_python() -> None:
    classifiers = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    workflow = re.search(r"python: \[(.*)\]", (ROOT / ".github" / "workflows" / "ci.yml").read_text())
    sessions = re.search(r"PYTHONS = \[(.*)\]", (ROOT / "noxfile.py").read_text())
    assert workflow is not None
    assert sessions is not None
    assert re.findall(r"[\d.]+", workflow[1]) == classifiers
    assert re.findall(r"[\d.]+", sessions[1]) == classifiers
    assert PROJECT["requires-python"] == f">={classifiers[0]}"


def test_a_user_s_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    user_script.main()
    assert capsys.readouterr().out.endswith(f"30 {bansac.__version__}\n")


@pytest.mark.slow
def test_a_user_s_program_passes_mypy_strict() -> None:
    """The configuration, and so the cache, is that of ``nox -s lint``; an installed package needs py.typed besides."""
    assert (ROOT / "src" / "bansac" / "py.typed").is_file()
    code = [sys.executable, "-m", "mypy", "--strict", "tests/user_script.py"]
    environment = os.environ | {"MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(code, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_engine_and_the_evidence_have_few_numeric_constants() -> None:
    """A constant is a choice that a reader has to trust: a new one replaces an old one."""
    constant = re.compile(r"^_?[A-Z][A-Z_0-9]+(, _?[A-Z][A-Z_0-9]+)* *(:.*)?= *[-(.0-9]", re.MULTILINE)
    files = [path for room in ("engine", "evidence") for path in (ROOT / "src" / "bansac" / room).rglob("*.py")]
    assert len(files) > 40
    assert sum(len(constant.findall(path.read_text())) for path in files) <= 115
