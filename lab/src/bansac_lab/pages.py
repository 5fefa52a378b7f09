"""Write the marked tables and figures of the pages from the reports in ``benchmarks`` and the fields of ``Options``.

    python -m bansac_lab.pages           # write the pages of the checkout that is the working directory
    python -m bansac_lab.pages --check   # return 1 if a page differs from its reports, or one is older than the code
    python -m bansac_lab.pages --stamp   # write into new reports the commit and the digest of results, then the pages

A table stands between ``<!-- table: NAME -->`` and ``<!-- end -->``, a figure of the text between
``<!-- figure: NAME -->`` and ``<!-- end -->``. Their functions are in the modules of the measurements, in
:mod:`bansac_lab.reproduction`, or here. The line below a table says when its reports were
measured, and which commits stored them.
"""

import argparse
import dataclasses
import hashlib
import json
import re
import subprocess
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from bansac.engine.option_fields import documentation
from bansac.engine.options import Options
from bansac_lab.known_scenes import FUNCTIONS, known_scene
from bansac_lab.measurements import MEASUREMENTS, find_measurement
from bansac_lab.provenance import processor
from bansac_lab.reports import FOLDER, bench, load, number, root, sources, used
from bansac_lab.reproduction import claims, tables
from bansac_lab.reproduction.runs import folder
from bansac_lab.tables import Table, plain_table, to_markdown

PRESETS: Mapping[str, str | None] = {"default": None, "paper": "paper"}
"""What a report may depend on: the default, or the paper's methods."""

_SCENES = ("homography", "fundamental", "essential", "line")
_POINTS, _RATIOS = 200, (0.3, 0.5, 0.7)


@cache
def behaviour() -> dict[str, str]:
    """Return the processor, and for each of ``PRESETS`` a digest of results."""
    return {"processor": processor()} | {name: _digest(preset) for name, preset in PRESETS.items()}


def _digest(preset: str | None) -> str:
    """Return a digest of the results of a preset."""
    digest = hashlib.sha256()
    for name in _SCENES:
        for seed, ratio in enumerate(_RATIOS):
            scene = known_scene(name, _POINTS, ratio, 0.5, seed)
            settings: dict[str, Any] = {"threshold": 1.5} if preset and name == "line" else {}
            result = FUNCTIONS[name](*scene.arguments, preset=preset, seed=seed, **settings)
            digest.update(np.round(np.ravel(result.model), 9).tobytes() + result.inliers.tobytes())
            digest.update(repr((result.iterations, result.restarts, round(result.threshold, 9))).encode())
    return digest.hexdigest()[:12]


def is_older(report: Mapping[str, Any], preset: str) -> bool:
    """Return whether a report has the digest of other results than those of today; False if it has none."""
    stored, today = report.get("behaviour", {}), behaviour()
    same_processor = stored.get("processor") == today["processor"]
    return bool(same_processor and stored.get(preset) != today[preset])


def inputs() -> Table:
    """Return the numbers of inputs of every group of fuzz tests, by answer."""
    report = bench("fuzz")
    groups: dict[str, dict[str, int]] = {}
    for name, found in report["tests"].items():
        group = "files" if name.startswith("file ") else "functions of `compat.cv2`" if "cv2" in name else "estimators"
        counts = groups.setdefault(group, {"tests": 0, "refused": 0, "accepted": 0})
        counts["tests"] += 1
        counts["refused"] += found.get("refused", 0)
        counts["accepted"] += sum(n for kind, n in found.items() if kind not in ("seconds", "refused"))
    rows = [[group, *(f"{n:,}" for n in counts.values())] for group, counts in groups.items()]
    return plain_table(["input of", "readers or functions", "refused by name", "accepted"], rows)


def wheel() -> Table:
    """Return the table of the first calls with a wheel that has compiled kernels."""
    rows = []
    for name, call in bench("wheel")["first_calls"].items():
        seconds = f"{call['cpu_seconds']:.2f}" if "cpu_seconds" in call else "-"
        rows.append([name, seconds, str(call["from_wheel"]), str(call["compiled"])])
    return plain_table(["first call", "processor time, s", "kernels loaded", "compiled"], rows)


def _gallery_time(name: str) -> str:
    return f"{number(1e3 * bench('gallery')['seconds'][name])} ms"


GUARDS: dict[str, Callable[[], Table | str]] = {
    "fuzz-inputs": inputs,
    "wheel": wheel,
    "wheel-bits": lambda: "{same_bits} of {results}".format(**bench("wheel")["compiled_here"]),
    "wheel-ratios": lambda: ", ".join(
        f"{ratio:.2f} ({name})" for name, ratio in bench("wheel")["compiled_here"]["time_over_host"].items()
    ),
    "wheel-numba": lambda: f"{bench('wheel')['import_numba']['cpu_seconds']:.2f} s",
    "wheel-install": lambda: f"{bench('wheel')['installation']['cpu_seconds']:.0f} seconds of processor time",
    "wheel-first": lambda: f"{bench('wheel')['first_calls']['F']['cpu_seconds']:.1f} seconds",
    "wheel-size": lambda: f"{bench('wheel')['pack_bytes'] / 1e6:.1f} MB",
    **{f"gallery-{name}": partial(_gallery_time, name) for name in ("panorama", "stereo", "circles", "planes")},
}

MARKED = re.compile(r"<!-- (table|figure): (\S+) -->(.*?)<!-- end -->", re.DOTALL)


def options() -> str:
    """Return the tables of the options, one a heading, from the fields of ``Options``."""
    groups: dict[str, list[list[str]]] = {}
    texts = documentation(Options)
    for field in dataclasses.fields(Options):
        is_group = dataclasses.is_dataclass(field.default)
        value = f"{type(field.default).__name__}()" if is_group else repr(field.default)
        default, (words, text) = f"`{value}`".replace("'", '"'), texts[field.name]
        row = [f"`{field.name}`", default, words, text]
        groups.setdefault(field.metadata["heading"], []).append([cell.replace("``", "`") for cell in row])
    head = ["option", "default", "values", "what it is"]
    tables = {group: to_markdown(plain_table(head, rows)) for group, rows in groups.items()}
    return "\n\n".join(f"{group.capitalize()}:\n\n{table}" for group, table in tables.items())


@cache
def parts() -> Mapping[str, Callable[[], Table | str]]:
    """Return the functions of all tables and figures by name."""
    measured = {
        name: partial(measurement.render, name, bench)
        for measurement in map(find_measurement, MEASUREMENTS)
        for name in (*measurement.tables, *measurement.figures)
    }
    return {"options": options, **measured, **claims.TABLES, **tables.TABLES, **GUARDS}


def marked_pages() -> dict[Path, str]:
    """Return the texts of the pages with tables or figures."""
    paths = [root() / "README.md", *sorted((root() / "docs").glob("*.md"))]
    return {path: text for path in paths if MARKED.search(text := path.read_text(encoding="utf-8"))}


def render(text: str) -> str:
    """Return a page with its tables and figures as the reports have them; an unknown name raises a ValueError."""

    def replace(match: re.Match[str]) -> str:
        kind, name = match[1], match[2]
        if name not in parts():
            raise ValueError(f"unknown {kind} {name!r}; there are {', '.join(parts())}")
        used.clear()
        try:
            part = parts()[name]()
        except FileNotFoundError:
            part = "Not measured yet."
            used.clear()
        found = to_markdown(part) if isinstance(part, Table) else part
        if kind == "table":
            found = f"\n\n{found}\n{sources(used)}\n"
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
    runs = folder()
    return [path for path in stored_reports() if is_older(load(path), "paper" if runs in path.parents else "default")]


def main() -> int:
    """Render every page, or return 1 if one is not current."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; return 1 if a page is not current")
    parser.add_argument("--stamp", action="store_true", help="first write into new reports which commit stored them")
    arguments = parser.parse_args()
    if arguments.stamp:
        stamp()
    stale = {path: rendered for path, text in marked_pages().items() if (rendered := render(text)) != text}
    older = older_reports() if arguments.check else []
    for path, rendered in stale.items():
        what = "not current, run python -m bansac_lab.pages" if arguments.check else "rendered"
        print(f"{path.relative_to(root())}: {what}")
        if not arguments.check:
            path.write_text(rendered, encoding="utf-8")
    for path in older:
        print(f"{path.relative_to(root())}: older than the results of the code, measure again")
    return int(arguments.check and bool(stale or older))


if __name__ == "__main__":
    raise SystemExit(main())
