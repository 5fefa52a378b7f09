"""Measure the effect of the scale of the scores, and of a minimum number of updates, on P-BANSAC (preset "paper").

The variants are scores times .1 and .01, ranks of the scores, and five other seeds. For every pair, the median number
of inliers over five seeds is compared with that of the original scores. The report gives the share of pairs within 3 %,
and AUC@10 of the first two seeds as it is and with a minimum of 20 updates of the network.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from bansac.engine.option_groups import Network
from bansac.problems.estimators import Kind
from bansac_lab.frames import to_frame
from bansac_lab.measurement import ON_DATA, Document, Option, Report, Row, Setup
from bansac_lab.pairs import Group, PairRuns
from bansac_lab.peers.library import Array, Task
from bansac_lab.peers.methods import P_BANSAC
from bansac_lab.reports import share
from bansac_lab.summary import AUC_10, Summary
from bansac_lab.tables import Table, plain_table
from bansac_lab.task import DEFAULTS

MODELS: tuple[Kind, ...] = ("E", "F")
SEEDS, WITHIN = 5, 0.03
ORIGINAL, FLOOR = "times 1", "at least 20 updates"

# Changed scores, and what is added to the seed.
CHANGES: Mapping[str, tuple[Callable[[Array], Array], int]] = {
    ORIGINAL: (np.asarray, 0),
    "times 0.1": (lambda scores: 0.1 * scores, 0),
    "times 0.01": (lambda scores: 0.01 * scores, 0),
    "ranks": (lambda scores: (np.argsort(np.argsort(scores)) + 0.5) / scores.size, 0),
    "other seeds": (np.asarray, SEEDS),
}


def _change(name: str, task: Task) -> tuple[Task, Row]:
    """Return the task with other scores or another seed."""
    change, shift = CHANGES[name]
    assert task.scores is not None
    return replace(task, scores=change(task.scores), seed=task.seed + shift), {}


METHODS = (
    *(P_BANSAC.configured(name, {}, adapt=partial(_change, name)) for name in CHANGES),
    P_BANSAC.changed(FLOOR, network=Network(min_updates=20)),
)


_RUNS = PairRuns(METHODS, {kind: Group(replace(DEFAULTS[kind], repeats=SEEDS)) for kind in MODELS}, "models")


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the figures of both models."""
    models: Row = {}
    for kind, runs in to_frame(rows).groupby("model", sort=False):
        success = runs.groupby("configuration")["success"].mean()
        medians = runs.groupby(["set", "pair", "configuration"])["inliers"].median().unstack()
        near = medians.sub(medians[ORIGINAL], axis=0).abs().le(WITHIN * medians[ORIGINAL], axis=0).mean()
        accuracy = Summary(runs[runs["repeat"] < 2].to_dict("records"))
        auc = {name: accuracy.mean(AUC_10, kind, of) for name, of in {"as it is": ORIGINAL, FLOOR: FLOOR}.items()}
        scales = {name: {"within 3 %": float(near[name]), "success": float(success[name])} for name in CHANGES}
        models[kind] = {"pairs": len(medians), "scales": scales, "AUC@10": auc}
    return Report(records={"models": models})


def table(document: Document) -> Table:
    """Return what other scales of the scores do to P-BANSAC."""
    models = document["models"]
    rows = []
    for name in next(iter(models.values()))["scales"]:
        rows.append([name, *(share(figure) for of in models.values() for figure in of["scales"][name].values())])
    head = [f"{model}: {what}" for model in models for what in ("pairs within 3 %", "success")]
    floors = (f"{model} {' and '.join(map(share, of['AUC@10'].values()))}" for model, of in models.items())
    note = f"AUC@10 as it is, and with {FLOOR} of the network: {', '.join(floors)}."
    return plain_table(["scores", *head], rows, note)


MEASUREMENT = _RUNS.measurement(
    name="score-scales",
    title="Scale of the scores",
    help=__doc__,
    options=(*ON_DATA, Option("pairs", int, 43, "Maximum number of pairs of a set.")),
    report=report,
    tables={"score-scales": table},
    parallel=True,
    updates=False,
)
