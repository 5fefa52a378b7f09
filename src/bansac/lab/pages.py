"""Write the marked tables and figures of the pages from the reports in ``benchmarks`` and the fields of ``Options``.

    python -m bansac.lab.pages           # write the pages of the checkout that is the working directory
    python -m bansac.lab.pages --check   # return 1 if a page differs from its reports, or one is older than the code
    python -m bansac.lab.pages --stamp   # write into new reports the commit and the digest of results, then the pages

A table stands between ``<!-- table: NAME -->`` and ``<!-- end -->``, a figure of the text between
``<!-- figure: NAME -->`` and ``<!-- end -->``. Their functions are in the modules of the measurements, in
:mod:`bansac.lab.reproduction`, in :mod:`bansac.lab.guards`, or here. The line below a table says when its reports were
measured, and which commits stored them.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from bansac.engine.option_fields import type_in_words
from bansac.engine.options import Options
from bansac.lab import guards
from bansac.lab.behaviour import behaviour, is_older
from bansac.lab.measurements import MEASUREMENTS, find_measurement
from bansac.lab.reports import FOLDER, bench, lines, load, root, sources, used
from bansac.lab.reproduction import claims, tables
from bansac.lab.reproduction.runs import folder

MARKED = re.compile(r"<!-- (table|figure): (\S+) -->(.*?)<!-- end -->", re.DOTALL)


def options() -> str:
    """Return the tables of the options, one a group, from the fields of ``Options``."""
    texts = []
    fields = dataclasses.fields(Options)
    for group in dict.fromkeys(field.metadata["group"] for field in fields):
        rows = (
            [f"`{field.name}`", f"`{field.default!r}`".replace("'", '"'), type_in_words(field), field.metadata["help"]]
            for field in fields
            if field.metadata["group"] == group
        )
        escaped = ([cell.replace("``", "`").replace("|", "\\|") for cell in row] for row in rows)
        texts.append(f"{group.capitalize()}:\n\n{lines(['option', 'default', 'values', 'what it is'], escaped)}")
    return "\n".join(texts)


@functools.cache
def parts() -> Mapping[str, Callable[[], str]]:
    """Return the functions of all tables and figures by name."""
    measured = {
        name: functools.partial(measurement.render, name, bench)
        for measurement in map(find_measurement, MEASUREMENTS)
        for name in (*measurement.tables, *measurement.figures)
    }
    return {"options": options, **measured, **claims.TABLES, **tables.TABLES, **guards.PARTS}


def marked_pages() -> list[Path]:
    """Return the pages with tables or figures."""
    found = [root() / "README.md", *sorted((root() / "docs").glob("*.md"))]
    return [path for path in found if MARKED.search(path.read_text(encoding="utf-8"))]


def render(text: str) -> str:
    """Return a page with its tables and figures as the reports have them; an unknown name raises a ValueError."""

    def replace(match: re.Match[str]) -> str:
        kind, name = match[1], match[2]
        if name not in parts():
            raise ValueError(f"unknown {kind} {name!r}; there are {', '.join(parts())}")
        used.clear()
        try:
            found = parts()[name]()
        except FileNotFoundError:
            found = "Not measured yet.\n"
            used.clear()
        if kind == "table":
            found = f"\n\n{found}{sources(used)}\n"
        return f"<!-- {kind}: {name} -->{found}<!-- end -->"

    return MARKED.sub(replace, text)


def stored_reports() -> list[Path]:
    """Return the reports of the repository that pages may show."""
    return sorted([*(root() / FOLDER).glob("*.json"), *folder().glob("*/run.json")])


def stamp() -> None:
    """Write ``stored_in_commit``, the last commit of the file, and ``behaviour`` into the reports that lack the first.

    So a report must be committed and stamped before the results of the code change again.
    """
    for path in stored_reports():
        text = path.read_text(encoding="utf-8")
        call = ["git", "log", "-1", "--format=%h", "--", str(path)]
        commit = subprocess.run(call, cwd=root(), capture_output=True, text=True, check=True).stdout.strip()
        if commit and "stored_in_commit" not in text:
            fields = f'"stored_in_commit": "{commit}",', f'"behaviour": {json.dumps(behaviour())},'
            lines_before = "".join(rf"\1{field}\n" for field in fields)
            text = re.sub(r'^(\s*)("date": )', rf"{lines_before}\1\2", text, count=1, flags=re.M)
            path.write_text(text, encoding="utf-8")


def older_reports() -> list[Path]:
    """Return the reports that were measured before the results of the code changed."""
    return [
        path for path in stored_reports() if is_older(load(path), "paper" if folder() in path.parents else "default")
    ]


def main() -> int:
    """Render every page, or return 1 if one is not current."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; return 1 if a page is not current")
    parser.add_argument("--stamp", action="store_true", help="first write into new reports which commit stored them")
    arguments = parser.parse_args()
    if arguments.stamp:
        stamp()
    stale = False
    for path in marked_pages():
        text = path.read_text(encoding="utf-8")
        rendered = render(text)
        if rendered != text:
            stale = True
            name = path.relative_to(root())
            print(f"{name}: {'not current, run python -m bansac.lab.pages' if arguments.check else 'rendered'}")
            if not arguments.check:
                path.write_text(rendered, encoding="utf-8")
    older = older_reports() if arguments.check else []
    for path in older:
        print(f"{path.relative_to(root())}: older than the results of the code, measure again")
    return int(arguments.check and (stale or bool(older)))


if __name__ == "__main__":
    raise SystemExit(main())
