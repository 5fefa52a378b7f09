"""Report of all measurements of one run, compared with targets."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bansac.executors import Progress, silent
from bansac.lab.evaluation.provenance import circumstances
from bansac.lab.evaluation.speed.calls import SIZES, outlier_costs, size_costs
from bansac.lab.evaluation.speed.iterations import fixed_iterations, iteration_costs
from bansac.lab.evaluation.speed.kernels import POINTS, draw_costs, point_costs
from bansac.lab.evaluation.speed.limits import measure_peaks
from bansac.lab.evaluation.speed.pairs import find_pairs
from bansac.lab.evaluation.speed.solvers import solver_costs

__all__ = ["PEERS", "check_settings", "measure_speed", "targets"]

PEERS = {"opencv": "cv2", "poselib": "poselib"}
"""Name of each library for comparison -> its module."""


def check_settings(peers: Sequence[str] | None, seconds: float, max_points: int) -> tuple[str, ...]:
    """Check the settings and return the libraries to compare, by default the installed ones.

    Raises
    ------
    ValueError
        If a library is unknown, ``seconds`` is not positive and finite, or ``max_points`` is below the smallest size.
    ModuleNotFoundError
        If a requested library is not installed.
    """
    if not 0 < seconds < float("inf"):
        raise ValueError(f"seconds must be > 0, got {seconds}")
    if max_points < SIZES[0]:
        raise ValueError(f"max_points must be at least {SIZES[0]}, got {max_points}")
    installed = tuple(name for name, module in PEERS.items() if importlib.util.find_spec(module) is not None)
    if peers is None:
        return installed
    for name in peers:
        if name not in PEERS:
            raise ValueError(f"peers: unknown library {name!r}; they are {', '.join(PEERS)}")
        if name not in installed:
            raise ModuleNotFoundError(f"peer {name} needs the package {PEERS[name]}", name=PEERS[name])
    return tuple(dict.fromkeys(peers))


def measure_speed(
    *,
    peers: Sequence[str] | None = None,
    seconds: float = 0.7,
    max_points: int = SIZES[-1],
    data: Path | None = None,
    pairs: int = 20,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Run all measurements on this thread and return the report.

    Parameters
    ----------
    peers : sequence of str, optional
        Libraries to compare, keys of :data:`PEERS`; by default the installed ones.
    seconds : float
        Duration of each comparison in seconds.
    max_points : int
        Maximum number of matches of a call.
    data : Path, optional
        Folder with the tutorial's sets in ``EF`` and ``H``. If given, whole calls on real pairs are timed.
    pairs : int
        Maximum number of pairs of a set.
    progress : callable
        As in :meth:`.Run.execute`.

    Returns
    -------
    dict
        ``date``, ``versions``, ``machine``, ``settings``, ``seconds`` (of the whole run), one entry for each part, and
        ``targets``.

    Raises
    ------
    ValueError, ModuleNotFoundError, OSError
        As for :func:`check_settings` and :func:`.find_pairs`.
    """
    chosen = check_settings(peers, seconds, max_points)
    groups = {} if data is None else find_pairs(data, chosen, pairs)
    started = time.perf_counter()
    found: dict[str, Any] = {}
    parts: dict[str, Callable[[], Any]] = {
        "peaks": lambda: measure_peaks(seconds, POINTS),
        "solvers": lambda: solver_costs(seconds, chosen),
        "points": lambda: point_costs(seconds),
        "draws": lambda: draw_costs(seconds),
        "fixed": lambda: fixed_iterations(3 * seconds, chosen),
        "iterations": lambda: iteration_costs(seconds, found["solvers"], found["peaks"]),
        "sizes": lambda: size_costs(seconds, chosen, max_points),
        "outliers": lambda: outlier_costs(seconds, chosen),
    }
    if groups:
        parts["pairs"] = lambda: {name: group.times() for name, group in groups.items()}
    with progress("parts", len(parts), 0) as advance:
        for name, part in parts.items():
            found[name] = part()
            advance()
    return {
        **circumstances(PEERS[name] for name in chosen),
        "settings": {
            "peers": list(chosen),
            "seconds": seconds,
            "max_points": max_points,
            "pairs": None if data is None else pairs,
        },
        "seconds": time.perf_counter() - started,
        **found,
        "targets": list(targets(found)),
    }


# Targets of time ratios on real pairs: this package's method, another library's, and the maximum ratio by group.
_PAIR_RATIOS = (
    ("bansac", "opencv", {"E": 0.3, "F": 0.5, "H": 0.9, "H exact": 0.9}),
    ("default", "poselib-prosac", {"F": 0.12, "E": 0.35}),
    ("default", "opencv-magsac", {"H": 0.6, "H exact": 0.6}),
)


def targets(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the targets: description (``what``), measured ``value``, and maximum value (``target``).

    Targets without a measurement, for lack of a library or of data, are omitted.
    """
    for kind, target in {"H": 0.8, "F": 0.7, "E": 0.3}.items():
        times = found["fixed"][kind]
        if "opencv" in times:
            yield _target(f"{kind}, 1000 iterations, uniform over OpenCV", times["uniform"] / times["opencv"], target)
        yield _target(f"{kind}, 1000 iterations, BANSAC over uniform", times["bansac"] / times["uniform"], 1.4)
    for kind, sizes in found["sizes"].items():
        ten, default = sizes["ten"]["ms"]["bansac"], sizes["default"]
        yield _target(f"{kind}, ms of ten iterations on 30 points", ten["30"], 0.05)
        if default["bytes"]:
            largest = max(default["bytes"], key=int)
            yield _target(f"{kind}, bytes a point at {int(largest):,} points", default["bytes"][largest], 60)
    for ours, other, limits in _PAIR_RATIOS:
        for group, target in limits.items():
            methods = found.get("pairs", {}).get(group, {})
            for figure in ("mean", "median") if other in methods else ():
                ratio = methods[ours][f"ms_{figure}"] / methods[other][f"ms_{figure}"]
                yield _target(f"{group}, real pairs, {figure}, {ours} over {other}", ratio, target)


def _target(what: str, value: float, target: float) -> dict[str, Any]:
    return {"what": what, "value": value, "target": target, "met": value <= target}
