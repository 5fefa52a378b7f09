"""Options and reports of the tools that count something."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def parser(text: str | None, **counts: int) -> argparse.ArgumentParser:
    """Return a parser with an option for each count, and ``--json`` for the report."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in counts.items():
        made.add_argument(f"--{name}", type=int, default=default)
    made.add_argument("--json", type=Path)
    return made


def read(path: Path | None) -> dict[str, Any]:
    """Return the stored report; empty if there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path is not None and path.exists() else {}


def write(path: Path | None, report: Mapping[str, Any]) -> None:
    """Write the report if a file is given; no commit has stored it yet."""
    if path is not None:
        new = {name: value for name, value in report.items() if name != "stored_in_commit"}
        path.write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
