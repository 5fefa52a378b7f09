"""Tables of what guards the repository: the reports of tests, of ``tools`` and of the gallery."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bansac.lab.reports import bench, lines, number


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


def colmap_kills() -> str:
    """Return the table of the runs of COLMAP's verification that were killed."""
    report = bench("colmap_kills")["kills: colmap verify"]
    passed = "yes" if report["passed"] else "no"
    after = ", ".join(map(str, report["pairs after each kill"]))
    rows = [
        ["runs killed", str(report["kills"])],
        [f"pairs done after each, of {report['pairs']}", after],
        ["file valid each time", passed],
        ["geometries those of the undisturbed run", passed],
    ]
    return lines(["what", "found"], rows)


def wheel() -> str:
    """Return the table of the first calls with a wheel that has compiled kernels."""
    rows = []
    for name, call in bench("wheel")["first_calls"].items():
        seconds = f"{call['cpu_seconds']:.2f}" if "cpu_seconds" in call else "-"
        rows.append([name, seconds, str(call["from_wheel"]), str(call["compiled"])])
    return lines(["first call", "processor time, s", "kernels loaded", "compiled"], rows)


def wheel_ratios() -> str:
    """Return the times with the wheel over those with code for this processor."""
    ratios = bench("wheel")["compiled_here"]["time_over_host"]
    return ", ".join(f"{ratio:.2f} ({name})" for name, ratio in ratios.items())


def _gallery_time(name: str) -> str:
    return f"{number(1e3 * bench('gallery')['seconds'][name])} ms"


PARTS: dict[str, Callable[[], str]] = {
    "fuzz-inputs": inputs,
    "faults": faults,
    "colmap-kills": colmap_kills,
    "wheel": wheel,
    "wheel-bits": lambda: "{same_bits} of {results}".format(**bench("wheel")["compiled_here"]),
    "wheel-ratios": wheel_ratios,
    "wheel-numba": lambda: f"{bench('wheel')['import_numba']['cpu_seconds']:.2f} s",
    "wheel-size": lambda: f"{bench('wheel')['pack_bytes'] / 1e6:.1f} MB",
    **{f"gallery-{name}": partial(_gallery_time, name) for name in ("panorama", "stereo", "circles", "planes")},
}
