"""Check that a release tag, the version, the citation and the changelog agree: ``check_release.py v0.1.0``."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Where the version is stated; the laboratory needs the same version, and the changelog's newest version has a date.
STATED = {
    "src/bansac/__init__.py": r'^__version__ = "(.+)"$',
    "lab/pyproject.toml": r'(?s)^version = "([^"]+)"$.*"bansac\[[a-z,]+\]==\1"',
    "CITATION.cff": r"^version: (.+)$",
    "CHANGELOG.md": r"^## (\S+) \(\d{4}-\d\d-\d\d\)$",
}


def find_problems(root: Path, tag: str) -> list[str]:
    """Return what does not agree with the tag."""
    problems = []
    for name, pattern in STATED.items():
        stated = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        found = stated[1] if stated else "no released version"
        if tag != f"v{found}":
            problems.append(f"the tag is {tag}, and {name} states {found}")
    return problems


if __name__ == "__main__":
    sys.exit("\n".join(find_problems(ROOT, sys.argv[1])) or None)
