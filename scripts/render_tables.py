"""The tables and figures that are not yet in the laboratory; ``bansac.lab.pages`` renders them with its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ablation_tables import TABLES as ABLATION
from scaling_tables import TABLES as SCALING
from speed_tables import TABLES as SPEED

from bansac.lab import pages
from bansac.lab.reports import bench, lines, share

THRESHOLD_GROUPS = {"E": "E", "F": "F", "exact_warp": "H, warped photographs", "H": "H, small sets"}


def best_thresholds() -> str:
    """Return accuracy and time of each method at a common threshold, and at the one that is best for it."""
    rows = []
    for group, title in THRESHOLD_GROUPS.items():
        found = bench("thresholds")["groups"][group]
        common = f"{found['default_pixels']:g}"
        for method, name in CURVES.items():
            points = {key: point for key, point in found["methods"][method].items() if key != "auto"}
            best = max(points, key=lambda key: points[key]["accuracy"])
            cells = (f"{share(points[key]['accuracy'])}, {points[key]['ms_mean']:.1f} ms" for key in (common, best))
            rows.append([title, name, f"{common} px", next(cells), f"{best} px", next(cells)])
    return lines(["data", "method", "common threshold", "accuracy, time", "best threshold", "accuracy, time"], rows)


CURVES = {
    "default": "default",
    "magsac++": 'default, `scoring="magsac++"`',
    "opencv-magsac": "OpenCV USAC_MAGSAC",
    "poselib-prosac": "PoseLib, progressive sampling",
}


def thresholds(group: str) -> str:
    """Return accuracy over thresholds, and what the estimated ones cost."""
    found = bench("thresholds")["groups"][group]
    methods = found["methods"]
    columns = [threshold for threshold in methods["default"] if threshold != "auto"]

    def cells(points: Mapping[str, Any]) -> list[str]:
        return [share(points[key]["accuracy"]) if key in points else "-" for key in (*columns, "auto")]

    table = lines(
        ["method", *(f"{column} px" for column in columns), "auto"],
        ([name, *cells(methods[method])] for method, name in CURVES.items()),
    )
    ours, low, middle, high = methods["default"], *found["auto_pixels"].values()
    ratio = ours["auto"]["ms_mean"] / ours[f"{found['default_pixels']:g}"]["ms_mean"]
    return (
        f"{table}\nThe mean time of auto is {ratio:.1f} times that of the default at {found['default_pixels']:g} px. "
        f"Auto finds {middle:.2f} px in the median, {low:.2f} to {high:.2f} px in 90 % of the runs.\n"
    )


def waiting_times() -> str:
    """Return the table of the waiting times: what a process needs outside of the estimation."""
    document = bench("latency")
    seconds = document["seconds"]
    models = "HFE"

    def first(kind: str, figures: Mapping[str, float], digits: int = 1) -> str:
        return ", ".join(f"{model} {figures[f'{kind} {model}']:.{digits}f}" for model in models) + " s"

    rows = [
        ["`import bansac`", f"{1e3 * seconds['import bansac']:.0f} ms"],
        ["first call of a process, kernels cached, with all imports", first("warm cache", seconds, 2)],
        ["the same of a trivial cached function of Numba", f"{seconds['warm cache, trivial cached function']:.2f} s"],
        ["first call ever, with compilation", first("first call ever", seconds)],
    ]
    rows.append(["the same, processor time", first("first call ever", document["cpu_seconds"])])
    commands = {"bansac --help": "", "bansac estimate m.csv --model H": ", kernels cached", "import numba": ""}
    rows += [[f"`{name}`{remark}", f"{seconds[name]:.2f} s"] for name, remark in commands.items()]
    return lines(["what", "time"], rows)


def wheel() -> str:
    """Return the table of the first calls with a wheel that has compiled kernels."""
    return lines(
        ["first call", "processor time, s", "kernels loaded", "compiled"],
        (
            [
                name,
                f"{call['cpu_seconds']:.2f}" if "cpu_seconds" in call else "-",
                str(call["from_wheel"]),
                str(call["compiled"]),
            ]
            for name, call in bench("wheel")["first_calls"].items()
        ),
    )


# Name of a table -> its text.
TABLES: dict[str, Callable[[], str]] = {
    "best-thresholds": best_thresholds,
    "waiting-times": waiting_times,
    "wheel": wheel,
    "thresholds-F": lambda: thresholds("F"),
    "thresholds-E": lambda: thresholds("E"),
    "thresholds-exact_warp": lambda: thresholds("exact_warp"),
    "thresholds-H": lambda: thresholds("H"),
    **ABLATION,
    **SCALING,
    **SPEED,
}


def numba_in_command() -> str:
    """Return the seconds of ``import numba`` and of an estimate on the command line."""
    seconds = bench("latency")["seconds"]
    return f"{seconds['import numba']:.2f} of the {seconds['bansac estimate m.csv --model H']:.2f} s"


def wheel_bits() -> str:
    """Return how many results have the same bits with the wheel and with code that is compiled here."""
    compared = bench("wheel")["compiled_here"]
    return f"{compared['same_bits']} of {compared['results']}"


def wheel_ratios() -> str:
    """Return the times with the wheel over those with code for this processor."""
    ratios = bench("wheel")["compiled_here"]["time_over_host"]
    return ", ".join(f"{ratio:.2f} ({name})" for name, ratio in ratios.items())


def first_call() -> str:
    """Return the seconds of the first calls ever, with compilation, of H, F and E."""
    seconds = [bench("latency")["seconds"][f"first call ever {model}"] for model in "HFE"]
    return f"{min(seconds):.0f} to {max(seconds):.0f} seconds"


# Name of a figure in the text -> the figure.
FIGURES: dict[str, Callable[[], str]] = {
    "first-call": first_call,
    "numba-in-command": numba_in_command,
    "wheel-bits": wheel_bits,
    "wheel-ratios": wheel_ratios,
    "wheel-numba": lambda: f"{bench('wheel')['import_numba']['cpu_seconds']:.2f} s",
    "wheel-size": lambda: f"{bench('wheel')['pack_bytes'] / 1e6:.1f} MB",
}


EVERYTHING = pages.parts() | TABLES | FIGURES
pages.parts = lambda: EVERYTHING

if __name__ == "__main__":
    raise SystemExit(pages.main())
