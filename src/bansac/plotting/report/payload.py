"""Numbers of a report for the script of the page: plain JSON, with arrays as base64."""

import base64
import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bansac.engine.trace import Trace
from bansac.matches.storage import to_plain
from bansac.maths.arrays import Bools, Floats
from bansac.plotting.layout import COLORS
from bansac.plotting.report.summary import name_restarts

# Counters that the page shows after each frame.
_COUNTERS = ("inlier_ratio", "gamma", "best_inliers", "low_probability", "outliers", "required_iterations")

# Number of points of the curves below the slider.
_COURSE = 600

# Margin around points without an image, relative to their extent.
_MARGIN = 0.05


class RunArrays(NamedTuple):
    """What a report shows of a :class:`bansac.Result`, which this package does not import."""

    inliers: Bools
    residuals: Floats
    probabilities: Floats | None
    beliefs: Floats | None
    iterations: int


def numbers_of(run: RunArrays, trace: Trace | None, points: list[Floats], panels: list[dict[str, Any]]) -> str:
    """Return the data of the page as JSON, without characters that could close its script element or open another."""
    document = {
        "points": [_as_type(x, "<f8") for x in points],
        "panels": panels,
        "colors": COLORS,
        "count": len(run.inliers),
        "iterations": run.iterations,
        "residuals": _as_type(run.residuals, "<f4"),
        "posterior": _as_type(run.probabilities, "<f4"),
        "beliefs": _as_type(run.beliefs, "<f4"),
        "inliers": _as_bits(run.inliers),
        "frames": _frames(trace, run.beliefs) if trace and trace.frames.size else None,
    }
    text = json.dumps(to_plain(document), allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def panel(x: Floats, size: tuple[int, int] | None, url: str | None, *, upwards: bool) -> dict[str, Any]:
    """Return one side of the figure: an image of ``size`` (height, width), or the extent of the points."""
    if size is not None:
        corner, extent = np.full(2, -0.5), np.array(size[::-1], dtype=np.float64)  # pixel centres are integers
    elif len(x):
        low, high = x.min(axis=0), x.max(axis=0)
        span = np.where(high > low, high - low, max(float(np.ptp(x)), 1.0))
        corner, extent = low - _MARGIN * span, (1 + 2 * _MARGIN) * span
    else:
        corner, extent = np.zeros(2), np.ones(2)
    return {"image": url, "corner": corner, "extent": extent, "upwards": upwards and url is None}


def _frames(trace: Trace, beliefs: Floats | None) -> dict[str, Any]:
    """Return the frames, the counters after each frame, and the curves of the whole run."""
    rows = trace.frames[1:] - 1  # the first frame precedes the first iteration
    counters = {name: [None, *to_plain(getattr(trace, name)[rows])] for name in _COUNTERS}
    course = np.unique(np.linspace(0, len(trace) - 1, _COURSE).astype(int))
    ends, names = np.flatnonzero(np.diff(trace.restart)) + 1, name_restarts(trace)
    return {
        "at": trace.frames,
        "restart": [names[number - 1] for number in (1, *trace.restart[rows])],
        "beliefs": None if beliefs is None else _as_type(trace.frame_beliefs, "u1"),
        "inliers": _as_bits(trace.frame_inliers.ravel()),
        "counters": counters,
        "course": {"at": course + 1, "outliers": trace.outliers[course], "improbable": trace.low_probability[course]},
        "ends": ends[:_COURSE],
    }


def _as_type(values: NDArray[Any] | None, kind: str) -> str | None:
    return None if values is None else encode(np.ascontiguousarray(values, dtype=kind).tobytes())


def _as_bits(mask: Bools) -> str:
    """Return a mask with eight values per byte, the first in the lowest bit, as base64."""
    return encode(np.packbits(mask, bitorder="little").tobytes())


def encode(content: bytes) -> str:
    """Return bytes as base64."""
    return base64.b64encode(content).decode()
