"""HTML page of a report: template, style, script and data in one self-contained file.

The data are plain JSON, with arrays as base64.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.engine.trace import Trace
from bansac.matches.images import ImageLike, encode_jpeg, read_image, shrink
from bansac.matches.storage import to_plain, write_atomically
from bansac.maths.arrays import Bools, Floats
from bansac.maths.validate import as_numbers, as_points
from bansac.plotting.data import are_distant
from bansac.plotting.layout import COLORS
from bansac.plotting.report.epipolar import fundamental_of

_FILES = Path(__file__).parent

# Largest side in pixels and size in bytes of an image in the page.
_SIDE = 1280
_BYTES = 1_200_000

# Counters that the page shows after each frame.
_COUNTERS = ("inlier_ratio", "gamma", "best_inliers", "low_probability", "outliers", "required_iterations")

# Number of points of the curves below the slider.
_COURSE = 600

# Margin around points without an image, relative to their extent.
_MARGIN = 0.05


@dataclass(frozen=True)
class Page:
    """A complete HTML document, which a notebook shows in a frame."""

    html: str = field(repr=False)

    def _repr_html_(self) -> str:
        """Return the frame; its scripts reach nothing of the notebook."""
        style = "width: 100%; height: 800px; border: 0"
        return f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" style="{style}"></iframe>'

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the document; an existing file is replaced atomically."""
        write_atomically(Path(path), lambda file: file.write_text(self.html, encoding="utf-8"))


def make_page(
    points: tuple[ArrayLike, ArrayLike | None],
    images: tuple[ImageLike | None, ImageLike | None],
    result: Any,
    settings: Mapping[str, Any],
    title: str | None,
    F: ArrayLike | None,
) -> Page:
    """Return the page of a result; the arguments of :meth:`bansac.Result.show`, in pairs."""
    given = {"x1": points[0]} | ({} if points[1] is None else {"x2": points[1]})
    if np.shape(points[0])[-1:] == (3,):
        raise ValueError("x1 must be points of images or of the plane, got points of space: see Result.plot")
    sides = [as_points(name, x, 2, len(result.inliers)) for name, x in given.items()]
    if images[1] is not None and len(sides) == 1:
        raise ValueError("image2 must not be given without x2")
    given_F = None if F is None else as_numbers("F", F, (3, 3))
    panels = []
    for number, (x, image) in enumerate(zip(sides, images, strict=False), start=1):
        size = url = None
        if image is not None:
            pixels = read_image(image, color=True, argument=f"image{number}")
            jpeg = encode_jpeg(shrink(pixels, _SIDE)[0], _BYTES)
            size, url = (pixels.shape[0], pixels.shape[1]), f"data:image/jpeg;base64,{_encode(jpeg)}"
        of_map = number == 2 and size is None and are_distant(*sides)
        panels.append(_panel(x, size, url, upwards=len(sides) == 1 or of_map))
    if title is None:
        names = [Path(image).name for image in images if isinstance(image, str | os.PathLike)]
        title = " and ".join(names) or f"{len(sides[0])} {'matches' if len(sides) == 2 else 'points'}"
    return Page(_fill(title, result, _numbers_of(result, sides, panels, given_F), settings))


def _fill(title: str, result: Any, data: str, settings: Mapping[str, Any]) -> str:
    """Fill the template; its security policy allows only this script and this style."""
    template, style = _read("report.html"), _read("report.css")
    script = "\n".join(map(_read, ("data.js", "picture.js", "controls.js")))
    return Template(template).substitute(
        title=escape(title),
        style_hash=_hash(style),
        script_hash=_hash(script),
        style=style,
        script=script,
        data=data,
        verdict="success" if result.success else "failure",
        reason=escape(result.message),
        summary=escape(repr(result)),
        settings=_table(settings),
    )


def _read(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the hash that the security policy of the page uses to allow its own style or script."""
    return "sha256-" + _encode(hashlib.sha256(text.encode()).digest())


def _numbers_of(result: Any, points: list[Floats], panels: list[dict[str, Any]], F: Floats | None) -> str:
    """Return the data of the page as JSON, without characters that could close its script element or open another."""
    document = {
        "points": [_as_type(x, "<f8") for x in points],
        "panels": panels,
        "colors": COLORS,
        "count": len(result.inliers),
        "iterations": result.iterations,
        "residuals": _as_type(result.residuals, "<f4"),
        "posterior": _as_type(result.probabilities, "<f4"),
        "beliefs": _as_type(result.beliefs, "<f4"),
        "inliers": _as_bits(result.inliers),
        "rival": None if result.rival is None else _as_bits(result.rival.inliers),
        "epipolar": _epipolar(result, points) if F is None else [F.ravel()],
        "frames": _frames(trace, result.beliefs) if (trace := result.trace) and trace.frames.size else None,
    }
    text = json.dumps(to_plain(document), allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _epipolar(result: Any, points: list[Floats]) -> list[Floats]:
    """Return the fundamental matrices of the model and of its rival, if they are some, one row each."""
    found = [] if len(points) < 2 else [result] if result.rival is None else [result, result.rival]
    matrices = [fundamental_of(one.model, points[0], points[1], one.inliers, one.threshold) for one in found]
    return [F.ravel() for F in matrices if F is not None]


def _panel(x: Floats, size: tuple[int, int] | None, url: str | None, *, upwards: bool) -> dict[str, Any]:
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
    return {
        "at": trace.frames,
        "restart": [1, *trace.restart[rows].tolist()],
        "beliefs": None if beliefs is None else _as_type(trace.frame_beliefs, "u1"),
        "inliers": _as_bits(trace.frame_inliers.ravel()),
        "counters": counters,
        "course": {"at": course + 1, "outliers": trace.outliers[course], "improbable": trace.low_probability[course]},
        "ends": (np.flatnonzero(np.diff(trace.restart)) + 1)[:_COURSE],
    }


def _as_type(values: NDArray[Any] | None, kind: str) -> str | None:
    return None if values is None else _encode(np.ascontiguousarray(values, dtype=kind).tobytes())


def _as_bits(mask: Bools) -> str:
    """Return a mask with eight values per byte, the first in the lowest bit, as base64."""
    return _encode(np.packbits(mask, bitorder="little").tobytes())


def _encode(content: bytes) -> str:
    """Return bytes as base64."""
    return base64.b64encode(content).decode()


def _table(rows: Mapping[str, Any]) -> str:
    """Return names and values as an HTML table."""
    cells = ((escape(str(name)), escape(str(value))) for name, value in rows.items())
    lines = [f'<tr><th scope="row">{name}</th><td>{value}</td></tr>' for name, value in cells]
    return f"<table>{''.join(lines)}</table>"
