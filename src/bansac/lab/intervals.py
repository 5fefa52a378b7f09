"""Confidence intervals of differences between methods, by a bootstrap over the pairs of every set.

Pairs of a set are drawn with replacement, each with the runs of all its seeds (Davison and Hinkley, Bootstrap Methods
and their Application, 1997, section 3.8). So the interval covers pairs and seeds. All methods have the same draws,
because they ran on the same pairs. Sets are not drawn: the figures hold for these sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bansac.lab.frames import DataFrame
from bansac.lab.summary import HOMOGRAPHY_METRICS, MODEL_TITLES, POSE_METRICS, Metric, Summary
from bansac.lab.tables import Measured, Table, sectioned

Leads = Mapping[str, Sequence[str]]
"""Names of configurations, each with the names of those that it is compared with."""

DRAWS = 1000
_LEVEL = 95.0


class Bootstrap:
    """Means over the sets of a metric that is a mean over runs, for all configurations and draws.

    ``means`` maps the name of a configuration to its mean in each draw. The first entry is that of the runs themselves.
    """

    def __init__(self, summary: Summary, metric: Metric, model: str, names: Sequence[str]) -> None:
        of_sets = []
        for number, set_name in enumerate(summary.sets(model)):
            runs = [summary.runs(model, set_name, name) for name in names]
            values = np.array([metric.of_runs(each) for each in runs], float)
            weights, known = _weights(runs[0], number).T, ~np.isnan(values)
            of_sets.append((np.where(known, values, 0.0) @ weights) / (known @ weights))
        self.means: Mapping[str, NDArray[np.float64]] = dict(zip(names, np.mean(of_sets, axis=0), strict=True))


def lead(bootstrap: Bootstrap, metric: Metric, name: str, others: Sequence[str]) -> Measured:
    """Return by how much a configuration is ahead of the best of others, with half of the 95 % interval.

    A positive number is better, whatever the direction of the metric. The best of the others is found anew in each
    draw, so the choice among them is part of the uncertainty.
    """
    sign = 1.0 if metric.better == "higher" else -1.0
    best = np.max([sign * bootstrap.means[other] for other in others], axis=0)
    ahead = sign * bootstrap.means[name] - best
    low, high = np.percentile(ahead[1:], [50 - _LEVEL / 2, 50 + _LEVEL / 2])
    return Measured(float(ahead[0]), float(high - low) / 2)


def lead_table(summary: Summary, title: str, groups: Mapping[str, Leads], labels: Mapping[str, str]) -> Table:
    """Return a table of leads: a row for each metric of the paper, a column for each name in each group.

    ``groups`` maps titles of groups of columns to what they compare, ``labels`` names to headings.
    """
    sections: dict[str, dict[str, list[Measured]]] = {}
    for model in summary.models:
        lines = sections[MODEL_TITLES[model]] = {}
        for metric in HOMOGRAPHY_METRICS if model == "H" else POSE_METRICS:
            means = Bootstrap(summary, metric, model, list(labels))
            pairs = ((name, others) for group in groups.values() for name, others in group.items())
            lines[metric.label] = [lead(means, metric, *pair) for pair in pairs]
    columns = (labels[name] for group in groups.values() for name in group)
    spans = ((heading, len(group)) for heading, group in groups.items())
    return sectioned(title, "Metrics", columns, sections, groups=spans)


def _weights(runs: DataFrame, seed: int) -> NDArray[np.float64]:
    """Return how often each run of a set is drawn, a row for each draw; the first row has each run once."""
    pairs, members = np.unique(runs["pair"].astype(str), return_inverse=True)
    drawn = np.random.default_rng(seed).multinomial(len(pairs), np.full(len(pairs), 1 / len(pairs)), size=DRAWS)
    return np.vstack([np.ones(len(runs)), drawn[:, members]])
