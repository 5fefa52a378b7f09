from pathlib import Path

import pytest
from check_release import ROOT, STATED, find_problems

import bansac


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the files that state the version; the changelog has a date."""
    for name in STATED:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((ROOT / name).read_text().replace("(unreleased)", "(2030-01-31)"))
    return tmp_path


def test_a_release_states_one_version(tree: Path) -> None:
    assert find_problems(tree, f"v{bansac.__version__}") == []
    assert len(find_problems(tree, "v99")) == len(STATED)


def test_a_changelog_without_a_date_is_no_release(tree: Path) -> None:
    changelog = tree / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("(2030-01-31)", "(unreleased)"))
    (problem,) = find_problems(tree, f"v{bansac.__version__}")
    assert "CHANGELOG.md states no released version" in problem


def test_a_laboratory_for_another_version_is_no_release(tree: Path) -> None:
    project = tree / "lab" / "pyproject.toml"
    project.write_text(project.read_text().replace(f"=={bansac.__version__}", "==0.0.1"))
    (problem,) = find_problems(tree, f"v{bansac.__version__}")
    assert "lab/pyproject.toml states no released version" in problem
