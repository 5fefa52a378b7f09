"""The summary of a result in HTML: a table of its words, and a histogram of the residuals."""

from collections import Counter
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from bansac.engine.trace import Trace
from bansac.maths.arrays import Floats

# Largest number of restarts that are described.
_SHOWN = 64
_ENDS = {
    "restart_iterations": "it ended after its number of iterations",
    "max_seconds": "the time limit ended it",
    "challenge": "it was a search for a better model than the best one",
}

# The histogram of residuals: its size in pixels, the bins, their number within the threshold, and the colours of both
# sides of the threshold.
_WIDTH, _HEIGHT, _FOOT = 320, 80, 16
_BINS, _WITHIN = 32, 8
_INSIDE, _OUTSIDE = "#1687ff", "#d7191c"


def residual_histogram(residuals: Floats, threshold: float) -> str:
    """Return a histogram of the residuals up to four thresholds, as an SVG element."""
    reach = _BINS // _WITHIN * threshold
    counts, _ = np.histogram(residuals[residuals <= reach], bins=_BINS, range=(0.0, reach))
    step, unit = _WIDTH / _BINS, _HEIGHT / max(int(counts.max()), 1)
    bars = "".join(
        f'<rect x="{step * k:g}" y="{_HEIGHT - unit * count:.4g}" width="{step - 1:g}" height="{unit * count:.4g}" '
        f'fill="{_INSIDE if k < _WITHIN else _OUTSIDE}"/>'
        for k, count in enumerate(counts.tolist())
        if count
    )
    beyond = len(residuals) - int(counts.sum())
    labels = (
        (0, "start", "0"),
        (step * _WITHIN, "middle", f"threshold {threshold:.3g}"),
        (_WIDTH, "end", f"{beyond} residuals beyond {reach:.3g}"),
    )
    texts = "".join(f'<text x="{x:g}" y="{_HEIGHT + 12}" text-anchor="{at}">{text}</text>' for x, at, text in labels)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="histogram of the residuals" width="{_WIDTH}" '
        f'height="{_HEIGHT + _FOOT}" font-size="11" font-family="sans-serif" fill="currentColor">{bars}'
        f'<path d="M0 {_HEIGHT}H{_WIDTH}M{step * _WITHIN:g} 0V{_HEIGHT}" stroke="currentColor"/>{texts}</svg>'
    )


def name_restarts(trace: Trace) -> list[str]:
    """Return the names of the restarts of a trace; challenges have their own numbers."""
    reasons = trace.ends if trace.ends.size else [""] * int(trace.restart.max(initial=0))  # files of earlier versions
    counts: Counter[str] = Counter()
    names = []
    for reason in reasons:
        kind = "challenge" if reason == "challenge" else "restart"
        counts[kind] += 1
        names.append(f"{kind} {counts[kind]}")
    return names


def restarts_in_words(trace: Trace) -> list[str]:
    """Say of each restart when a stopping criterion was met first, and what ended it."""
    others = [name for name in trace.criteria if name != "bansac"]
    lines = [f"Stopping criteria of a restart: {', '.join(trace.criteria) or 'none'}."]
    for number, (name, reason) in enumerate(zip(name_restarts(trace), trace.ends[:_SHOWN], strict=False), start=1):
        rows = np.flatnonzero(trace.restart == number)
        if not rows.size:
            continue
        updates = np.cumsum(np.isfinite(trace.gamma[rows]))
        is_met = {" or ".join(others): np.arange(1, rows.size + 1) >= trace.required_iterations[rows]}
        if "bansac" in trace.criteria:
            is_met["bansac"] = trace.low_probability[rows] >= trace.outliers[rows]
        facts = []
        for criterion, holds in is_met.items():
            met = np.flatnonzero(holds & (trace.best_inliers[rows] > 0))
            if met.size:
                facts.append(
                    f"{criterion} was met first at iteration {rows[met[0]] + 1}, after {updates[met[0]]} updates"
                )
        facts.append(_ENDS.get(reason, f"{reason} ended it, after {updates[-1]} updates"))
        lines.append(f"{name.capitalize()}, iterations {rows[0] + 1} to {rows[-1] + 1}: {'; '.join(facts)}.")
    return lines


def html_table(rows: Mapping[str, Any]) -> str:
    """Return names and values as an HTML table; multi-line values are preformatted."""
    lines = []
    for name, value in rows.items():
        text = escape(str(value))
        cell = f"<pre>{text}</pre>" if "\n" in text else text
        lines.append(f'<tr><th scope="row">{escape(str(name))}</th><td>{cell}</td></tr>')
    return "<table>" + "".join(lines) + "</table>"
