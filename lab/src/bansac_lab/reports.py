"""Reports stored in the folder ``benchmarks`` of the repository, and their figures as text of the pages."""

import functools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FOLDER = "benchmarks"

# Reports that were read since this set was cleared; of a run of an experiment its run.json.
used: set[Path] = set()


def root() -> Path:
    """Return the repository: the working directory, or the nearest folder above it with reports and pages."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / FOLDER).is_dir() and (folder / "docs").is_dir():
            return folder
    raise FileNotFoundError(f"{Path.cwd()} is not in a checkout of the repository: no folders {FOLDER} and docs")


@functools.cache
def load(path: Path) -> dict[str, Any]:
    """Return a JSON file."""
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def bench(name: str) -> dict[str, Any]:
    """Return the stored report ``benchmarks/NAME.json``."""
    path = root() / FOLDER / f"{name}.json"
    used.add(path)
    return load(path)


def date_and_commit(path: Path) -> tuple[str, str]:
    """Return the day on which a report was measured, and the commit that stored it."""
    document = load(path)
    return document["date"][:10], document.get("stored_in_commit", "not recorded")


def sources(paths: Iterable[Path]) -> str:
    """Return when the reports of a table were measured and which commits stored them, as a paragraph."""
    reports = sorted(paths)
    if len(reports) <= 3:
        parts = []
        for path in reports:
            (day, commit), name = date_and_commit(path), path.relative_to(root()).as_posix()
            parts.append(f"[{name.removeprefix('benchmarks/')}](../{name}) on {day}, stored in commit {commit}")
        return f"\nMeasured: {'; '.join(parts)}.\n" if parts else ""
    days, commits = (sorted(set(values)) for values in zip(*map(date_and_commit, reports), strict=True))
    return f"\nMeasured: {len(reports)} runs on {' and '.join(days)}, stored in commits {', '.join(commits)}.\n"


def share(value: float) -> str:
    """Return an accuracy with three digits, without a zero before the point."""
    return f"{value:.3f}".removeprefix("0") if value < 0.9995 else f"{value:.2f}"


def shares(values: Iterable[float]) -> str:
    """Return accuracies joined by slashes."""
    return " / ".join(map(share, values))


def number(value: float) -> str:
    """Return a time, a number of iterations or an error with three digits."""
    return f"{value:.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 9.95 else f"{value:.2f}"
