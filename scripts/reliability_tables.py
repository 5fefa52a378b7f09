"""Tables of ``docs/reliability.md`` from the reports of its tests and benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bansac.lab.reports import bench, lines


def inputs() -> str:
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
    return lines(["input of", "readers or functions", "refused by name", "accepted"], rows)


def faults() -> str:
    """Return what was survived: kills, full disks, Ctrl-C, many calls and a cold cache."""
    report = bench("endurance")
    rows = []
    for name, found in report.items():
        if not isinstance(found, dict) or "passed" not in found:
            continue
        rows.append([_name(name), _details(name.partition(":")[0], found), "yes" if found["passed"] else "no"])
    return lines(["fault or load", "measured", "passed"], rows)


def _name(name: str) -> str:
    kind, _, command = name.partition(": ")
    return f"{kind}, `bansac {command}`" if command else kind


def _details(kind: str, found: dict[str, Any]) -> str:
    if kind == "kills":
        return f"{found['kills']} kills; the run finished {found['finished between kills']} times between them"
    if kind == "full disk":
        written = found["exit codes"].get("0", 0)
        return f"{found['limits']} limits of the file size; {written} runs finished, {found['limits'] - written} failed"
    if kind == "Ctrl-C":
        return (
            f"{found['interrupts']} interrupts; at most {1e3 * found['largest seconds']:.0f} ms, "
            f"median {1e3 * found['median seconds']:.0f} ms"
        )
    if kind == "calls":
        memory = found["resident MB"]
        return f"{found['calls']:,} calls in one process; {memory[0]} MB before, {memory[-1]} MB after"
    return f"{found['processes']} processes with {found['threads']} threads; the same bits"


def scenes() -> str:
    """Return the successes on scenes without a model, and those of right models on scenes with one."""
    report = bench("honesty_scenes")
    without, rows = report["families without a model"], []
    wrong = sum(without.values())
    rows.append(
        ["families without a model", str(len(without)), f"{report['runs'] * len(without):,}", "-", f"{wrong:,}"]
    )
    for part, title in (("families", "families with a model"), ("power", "scattered matches and points")):
        cells = report[part].values()
        runs, right, success = (sum(cell[key] for cell in cells) for key in ("runs", "right", "success"))
        rows.append([title, str(len(cells)), f"{runs:,}", f"{right:,}", f"{success:,}"])
    return lines(["scenes", "cells", "runs", "right models", "success"], rows)


TABLES: dict[str, Callable[[], str]] = {"fuzz-inputs": inputs, "faults": faults, "misleading-scenes": scenes}
