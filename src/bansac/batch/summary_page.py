"""HTML page with one table row per pair. It is self-contained, and all names are escaped."""

import html
import math
from collections.abc import Iterable
from pathlib import Path

from bansac.batch.records import Record

# Largest number of pairs on a page; more would take a browser seconds.
SHOWN = 10_000

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; font-family: sans-serif }}
table {{ border-collapse: collapse }}
th, td {{ padding: .2em .8em; text-align: right; border-bottom: 1px solid #8885 }}
th {{ position: sticky; top: 0; background: Canvas }}
.text {{ text-align: left; overflow-wrap: anywhere; min-width: 6em }}
.text:last-child {{ min-width: 12em }}
@media (max-width: 60em) {{ table {{ display: block; overflow-x: auto }} }}
.no {{ opacity: .6 }}
</style>
</head>
<body>
<h1>{title}</h1>
<table>
<thead><tr><th class="text">image 1</th><th class="text">image 2</th><th>matches</th><th>inliers</th>
<th class="text">success</th><th class="text">configuration</th><th>confidence</th><th>ms</th>
<th class="text">message</th></tr></thead>
<tbody>
"""


def write_summary(path: Path, records: Iterable[Record]) -> None:
    """Write the page; beyond the first 10,000 pairs it gives only their number."""
    pairs = successes = 0
    with path.open("w", encoding="utf-8") as file:
        file.write(_HEAD.format(title="Pairs of images"))
        for record in records:
            pairs += 1
            successes += record["success"]
            if pairs <= SHOWN:
                file.write(_row(record))
        file.write("</tbody>\n</table>\n")
        if pairs > SHOWN:
            file.write(f"<p>The first {SHOWN} pairs are shown.</p>\n")
        file.write(f"<p>{pairs} pairs, {successes} with a model.</p>\n</body>\n</html>\n")


def _row(record: Record) -> str:
    milliseconds = "" if math.isnan(record["seconds"]) else f"{1e3 * record['seconds']:.1f}"
    confidence = "" if math.isnan(record["model_confidence"]) else f"{record['model_confidence']:.2f}"
    cells = [
        _text(record["image1"] if "image1" in record else record["name"]),
        _text(record.get("image2", "")),
        f"<td>{record['num_data']}</td><td>{record['num_inliers']}</td>",
        _text("yes" if record["success"] else "no"),
        _text((record["configuration"] or "").replace("_", " ")),
        f"<td>{confidence}</td><td>{milliseconds}</td>",
        _text(record["message"]),
    ]
    return f"<tr{'' if record['success'] else ' class=no'}>{''.join(cells)}</tr>\n"


def _text(text: str) -> str:
    return f'<td class="text">{html.escape(text)}</td>'
