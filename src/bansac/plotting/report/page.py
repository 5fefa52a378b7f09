"""HTML page of a report: template, style, script and data in one self-contained file."""

import hashlib
import os
from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from numpy.typing import ArrayLike

from bansac.engine.trace import Trace
from bansac.matches.images import ImageLike, encode_jpeg, read_image, shrink
from bansac.matches.storage import write_atomically
from bansac.maths.validate import as_points
from bansac.plotting.report.payload import RunArrays, encode, numbers_of, panel
from bansac.plotting.report.summary import html_table, restarts_in_words

_FILES = Path(__file__).parent

# Largest side in pixels and size in bytes of an image in the page.
_SIDE = 1280
_BYTES = 1_200_000


def write_report(
    path: str | os.PathLike[str],
    points: tuple[ArrayLike, ArrayLike | None],
    images: tuple[ImageLike | None, ImageLike | None],
    run: RunArrays,
    trace: Trace | None,
    summary: Mapping[str, str],
    settings: Mapping[str, Any],
    title: str | None,
) -> None:
    """Write the page of a result; the arguments of :meth:`bansac.Result.report`, in pairs, and the result's words."""
    given = {"x1": points[0]} | ({} if points[1] is None else {"x2": points[1]})
    sides = [as_points(name, x, 2, len(run.inliers)) for name, x in given.items()]
    if images[1] is not None and len(sides) == 1:
        raise ValueError("image2 must not be given without x2")
    if trace is not None and trace.frames.size and trace.frame_inliers.shape[1] != len(run.inliers):
        counts = f"{trace.frame_inliers.shape[1]} data points, the result has {len(run.inliers)}"
        raise ValueError(f"trace must belong to the result: it has {counts}")
    panels = []
    for number, (x, image) in enumerate(zip(sides, images, strict=False), start=1):
        size = url = None
        if image is not None:
            pixels = read_image(image, color=True, argument=f"image{number}")
            jpeg = encode_jpeg(shrink(pixels, _SIDE)[0], _BYTES)
            size, url = (pixels.shape[0], pixels.shape[1]), f"data:image/jpeg;base64,{encode(jpeg)}"
        panels.append(panel(x, size, url, upwards=len(sides) == 1))
    if title is None:
        names = [Path(image).name for image in images if isinstance(image, str | os.PathLike)]
        title = " and ".join(names) or f"{len(sides[0])} {'matches' if len(sides) == 2 else 'points'}"
    restarts = [] if trace is None else restarts_in_words(trace)
    page = _fill(title, numbers_of(run, trace, sides, panels), dict(summary), settings, restarts)
    write_atomically(Path(path), lambda file: file.write_text(page, encoding="utf-8"))


def _fill(title: str, data: str, words: dict[str, str], settings: Mapping[str, Any], restarts: list[str]) -> str:
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
        verdict=words.pop("Verdict"),
        reason=escape(words.pop("Reason")),
        restarts="".join(f"<li>{escape(line)}</li>" for line in restarts),
        summary=html_table(words),
        settings=html_table(settings),
    )


def _read(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the hash that the security policy of the page uses to allow its own style or script."""
    return "sha256-" + encode(hashlib.sha256(text.encode()).digest())
