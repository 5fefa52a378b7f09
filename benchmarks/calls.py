"""Cost of one call with ten samples, beside OpenCV: what is spent around the search.

    python benchmarks/calls.py [--repeats 40] [--json FILE]

The settings of the paper, uniform sampling and ten iterations; OpenCV's ``UsacParams`` with the same. A figure is the
least processor time of a call over repeated batches, the two in turn. The slope is that of the log of the time over the
log of N between the two largest N. Memory is the peak of what NumPy allocates during a call, per match, beyond the
input. Without OpenCV (``pip install "bansac[peers]"``) the ratios are left out.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
import tracemalloc
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import bansac
from bansac.datasets.synthetic import epipolar_matches, homography_matches

SIZES = (30, 500, 2000, 100_000)
SAMPLES = 10
INLIER_RATIO = 0.8
THRESHOLDS = {"H": 1.0, "F": 0.5, "E": 1e-3}
BATCH_SECONDS = 0.002

Call = Callable[[], Any]


def matches(kind: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return matches with outliers: in pixels, for E in normalised units."""
    if kind == "H":
        flat = homography_matches(n, inlier_ratio=INLIER_RATIO, noise=0.3, seed=1)
        return flat.x1, flat.x2
    scene = epipolar_matches(n, inlier_ratio=INLIER_RATIO, noise=0.3, seed=1)
    if kind == "F":
        return scene.x1, scene.x2
    focal, centre = scene.K[[0, 1], [0, 1]], scene.K[:2, 2]
    return (scene.x1 - centre) / focal, (scene.x2 - centre) / focal


def own_call(kind: str, x1: np.ndarray, x2: np.ndarray) -> Call:
    """Return a call of this package."""
    estimate = {
        "H": bansac.estimate_homography,
        "F": bansac.estimate_fundamental,
        "E": bansac.estimate_essential,
    }[kind]
    settings = dict(preset="paper", sampler="uniform", stopping=None, max_iterations=SAMPLES)
    return lambda: estimate(x1, x2, threshold=THRESHOLDS[kind], **settings)


def opencv_call(kind: str, x1: np.ndarray, x2: np.ndarray) -> Call:
    """Return a call of OpenCV with the same settings."""
    import cv2

    cv2.setNumThreads(1)
    params = cv2.UsacParams()
    params.sampler = cv2.SAMPLING_UNIFORM
    params.score = cv2.SCORE_METHOD_RANSAC
    params.loMethod = cv2.LOCAL_OPTIM_NULL
    params.threshold = THRESHOLDS[kind]
    params.maxIterations = SAMPLES
    if kind == "H":
        return lambda: cv2.findHomography(x1, x2, params)
    if kind == "F":
        return lambda: cv2.findFundamentalMat(x1, x2, params)
    return lambda: cv2.findEssentialMat(x1, x2, np.eye(3), np.eye(3), None, None, params)


def seconds(calls: list[Call], repeats: int) -> list[float]:
    """Return the least processor time of each call, batches of them in turn."""
    least = [math.inf] * len(calls)
    for call in calls:
        call()  # compiles
    for _ in range(repeats):
        for k, call in enumerate(calls):
            count = 1 if least[k] == math.inf else max(1, int(BATCH_SECONDS / least[k]))
            started = time.thread_time()
            for _ in range(count):
                call()
            least[k] = min(least[k], (time.thread_time() - started) / count)
    return least


def peak_bytes(call: Call) -> int:
    """Return the most memory of NumPy and Python that a call holds at once."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def measure(kind: str, repeats: int) -> list[dict[str, Any]]:
    """Return a row for each number of matches."""
    rows = []
    for n in SIZES:
        x1, x2 = matches(kind, n)
        calls = [own_call(kind, x1, x2)] + ([opencv_call(kind, x1, x2)] if find_spec("cv2") else [])
        own, *peer = seconds(calls, repeats)
        row = {"model": kind, "n": n, "microseconds": 1e6 * own, "bytes_per_match": peak_bytes(calls[0]) / n}
        rows.append(row | ({"opencv_microseconds": 1e6 * peer[0], "over_opencv": own / peer[0]} if peer else {}))
    last, end = rows[-2:]
    end["slope"] = math.log(end["microseconds"] / last["microseconds"]) / math.log(end["n"] / last["n"])
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for kind in THRESHOLDS:
        for row in measure(kind, arguments.repeats):
            rows.append(row)
            print(
                ", ".join(
                    f"{key} {value:.3g}" if isinstance(value, float) else f"{value}" for key, value in row.items()
                )
            )
    if arguments.json:
        versions = {name: version(name) for name in ("numpy", "numba")}
        report = {
            "python": platform.python_version(),
            "processor": platform.machine(),
            "versions": versions,
            "rows": rows,
        }
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
