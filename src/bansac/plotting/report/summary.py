"""Text summary of a result: the verdict, the model and the stopping reason; also as a table for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from bansac.result import Result

__all__ = ["html_table", "residual_histogram", "summary_words"]

# The histogram of residuals: its size in pixels, the bins, their number within the threshold, and the colours of both
# sides of the threshold.
_WIDTH, _HEIGHT, _FOOT = 320, 80, 16
_BINS, _WITHIN = 32, 8
_INSIDE, _OUTSIDE = "#1687ff", "#d7191c"

_STOPS = {
    "agreement": "the model was confirmed: restarts agree on it, or one found it and it holds for most data",
    "max_iterations": "the largest number of iterations was reached",
    "max_seconds": "the time limit was reached",
    "ransac": "enough samples, at the desired confidence, for one of inliers only",
    "sprt": "enough samples, at the desired confidence, for one of inliers only that the test does not reject",
    "prosac": "enough samples of the best data, whose support is not random",
    "bansac": "the number of improbable data points is the number of outliers of the best model",
    "no_data": "there were too few data points for a sample",
}


def summary_words(result: Result) -> dict[str, str]:
    """Return the verdict, the model and the run as texts by name."""
    inliers = f"{result.num_inliers} of {len(result.inliers)} ({result.inlier_ratio:.1%})"
    words = {
        "Verdict": "success" if result.success else "failure",
        "Reason": result.message,
        "Inliers": f"{inliers} at threshold {result.threshold:g}",
        "Model": _model_in_words(result.model),
        "Stopped by": f"{result.stop_reason}: {_stop_in_words(result)}",
        "Run": f"{_counted(result.iterations, 'iteration')} in {_counted(result.restarts, 'restart')}, "
        f"{_counted(result.models_tested, 'model')} tested",
        "Time": result.timing,
    }
    if result.configuration is not None:
        words["Configuration"] = result.configuration
    if (rival := result.rival) is not None:
        words["Rival"] = f"{np.count_nonzero(rival.inliers)} inliers at threshold {rival.threshold:.4g}"
    return words


def residual_histogram(result: Result) -> str:
    """Return a histogram of the residuals up to four thresholds, as an SVG element; empty without a model."""
    if result.model is None:
        return ""
    reach = _BINS // _WITHIN * result.threshold
    counts, _ = np.histogram(result.residuals[result.residuals <= reach], bins=_BINS, range=(0.0, reach))
    step, unit = _WIDTH / _BINS, _HEIGHT / max(int(counts.max()), 1)
    bars = "".join(
        f'<rect x="{step * k:g}" y="{_HEIGHT - unit * count:.4g}" width="{step - 1:g}" height="{unit * count:.4g}" '
        f'fill="{_INSIDE if k < _WITHIN else _OUTSIDE}"/>'
        for k, count in enumerate(counts.tolist())
        if count
    )
    beyond = len(result.residuals) - int(counts.sum())
    labels = (
        (0, "start", "0"),
        (step * _WITHIN, "middle", f"threshold {result.threshold:.3g}"),
        (_WIDTH, "end", f"{beyond} residuals beyond {reach:.3g}"),
    )
    texts = "".join(f'<text x="{x:g}" y="{_HEIGHT + 12}" text-anchor="{at}">{text}</text>' for x, at, text in labels)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="histogram of the residuals" width="{_WIDTH}" '
        f'height="{_HEIGHT + _FOOT}" font-size="11" font-family="sans-serif" fill="currentColor">{bars}'
        f'<path d="M0 {_HEIGHT}H{_WIDTH}M{step * _WITHIN:g} 0V{_HEIGHT}" stroke="currentColor"/>{texts}</svg>'
    )


def html_table(rows: Mapping[str, Any]) -> str:
    """Return names and values as an HTML table; multi-line values are preformatted."""
    lines = []
    for name, value in rows.items():
        text = escape(str(value))
        cell = f"<pre>{text}</pre>" if "\n" in text else text
        lines.append(f'<tr><th scope="row">{escape(str(name))}</th><td>{cell}</td></tr>')
    return "<table>" + "".join(lines) + "</table>"


def _stop_in_words(result: Result) -> str:
    if result.stop_reason != "restarts":
        return _STOPS.get(result.stop_reason, "a stopping criterion of this name")
    return "all restarts took place" if result.restarts > 1 else "all iterations of the restart took place"


def _model_in_words(model: Any) -> str:
    if model is None:
        return "none"
    if hasattr(model, "_asdict"):
        return "\n".join(f"{name} = {_array_in_words(part, name)}" for name, part in model._asdict().items())
    return _array_in_words(model)


def _array_in_words(array: Any, name: str = "") -> str:
    prefix = f"{name} = " if name else ""
    return np.array2string(np.asarray(array), formatter={"float_kind": "{:.6g}".format}, prefix=prefix)


def _counted(number: int, name: str) -> str:
    return f"{number} {name}" + ("" if number == 1 else "s")
