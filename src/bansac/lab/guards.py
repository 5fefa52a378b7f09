"""Tables of what guards the repository: the reports of tests, of ``tools`` and of the gallery."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

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
    "wheel": wheel,
    "wheel-bits": lambda: "{same_bits} of {results}".format(**bench("wheel")["compiled_here"]),
    "wheel-ratios": wheel_ratios,
    "wheel-numba": lambda: f"{bench('wheel')['import_numba']['cpu_seconds']:.2f} s",
    "wheel-size": lambda: f"{bench('wheel')['pack_bytes'] / 1e6:.1f} MB",
    **{f"gallery-{name}": partial(_gallery_time, name) for name in ("panorama", "stereo", "circles", "planes")},
}
