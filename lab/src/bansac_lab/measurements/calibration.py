"""Measure the calibration of the probabilities of matches: on real pairs with ground truth, or on awkward scenes.

With ``--data``, the folder contains sets in the format of the "RANSAC in 2020" tutorial (``EF`` and ``H``) and, in
``F_labelled``, sets of labelled matches. Every pair is estimated with the default options, without scores (BANSAC) and
with scores (P-BANSAC). A match is true if its distance to the true model is at most 2 pixels. The distance is the
Sampson distance for F and E and the transfer error for H. Labelled matches are true by their label. Limits of 1 and 3
pixels show the effect of this choice. The report has ``probabilities``, the posterior, and ``beliefs``, the P^k of the
network. Only successful runs have a posterior, and only they count.

Without ``--data`` the matches are those of the families of awkward scenes that have a model
(``bansac_lab.families.FAMILIES``): 500 matches, half of them inliers, with a noise of .2 pixels. A match is true by its
label.

ECE is the expected calibration error over ten bins: the mean absolute difference between the mean probability and the
share of true matches in a bin, weighted by the number of matches. The Brier score is the mean squared error.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bansac.matches import Matches
from bansac.problems.estimators import Kind
from bansac_lab.families import FAMILIES, awkward_scene
from bansac_lab.frames import DataFrame, Figure, Series, import_figure, import_pandas
from bansac_lab.measurement import DATA, Document, Option, Report, Row, Setup, Unit, each, nested, of_module
from bansac_lab.peers.library import OURS, Array, Task
from bansac_lab.reports import share
from bansac_lab.sets import PairSet, find_sets
from bansac_lab.sets.labelled import LabelledSet, find_labelled_sets
from bansac_lab.tables import Table, grid, plain_table
from bansac_lab.task import DEFAULTS, distances_to_truth, usable_pairs

TRUE, OTHERS = 2.0, (1.0, 3.0)  # pixels up to which a match is true
BINS = 10
Bin = tuple[int, float, float]  # number of matches, mean probability, share of true ones
KINDS = ("beliefs", "probabilities")

_SCENES = ("EF/fountain-P11", "EF/Herz-Jesus-P8", "EF/Herz-Jesus-P25", "EF/entry-P10", "EF/kitti_seq1")
_SMALL = ("H/VGG", "H/homogr", "H/EVD", "H/EVD_asift", "H/homogr_asift", "H/VGG_asift")

# Model, sets, and SNN ratio below which matches are used (None for matches with labels) of every row of the table. The
# sets after the first three groups had no part in the choice of the mixture.
GROUPS: Mapping[str, tuple[Kind, tuple[str, ...], float | None]] = {
    "F": ("F", _SCENES, 0.85),
    "E": ("E", _SCENES, 0.85),
    "H": ("H", ("H/exact_warp",), 0.95),
    "F, Middlebury dino": ("F", ("EF/middlebury_dino",), 0.85),
    "E, Middlebury dino": ("E", ("EF/middlebury_dino",), 0.85),
    "F, AdelaideRMF (labels)": ("F", ("F_labelled/adelaidermf",), None),
    "H, small sets (truth 1 to 5 px off)": ("H", _SMALL, 0.6),
}


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each group of sets, or for each model and family."""
    if setup.data is not None:
        return each(GROUPS)
    return [unit for unit in each(DEFAULTS, FAMILIES) if awkward_scene(*unit.payload[::-1]).model is not None]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Return the figures of a group or of a family."""
    frames: list[DataFrame] = []
    failures = 0
    for model, pair, options in _read_pairs(setup, *unit.payload):
        cameras: Any = (pair.K1, pair.K2) if model == "E" else ()
        for scores in (None,) if pair.scores is None else (None, np.clip(pair.scores, 0, 1)):
            result = OURS.estimate(Task(model, (pair.x1, pair.x2), cameras, scores), options).result
            if result.probabilities is None:
                failures += 1
                continue
            columns = {"distance": _distances(model, pair), "inlier": result.inliers}
            beliefs = {kind: getattr(result, kind) for kind in KINDS}
            frames.append(import_pandas().DataFrame(columns | beliefs))
    keys = ("model", "family") if setup.data is None else ("group",)
    cell: Row = {**dict(zip(keys, unit.payload, strict=True)), "runs": len(frames), "without_success": failures}
    if not frames:
        return [cell]
    frame = import_pandas().concat(frames, ignore_index=True)
    kinds = {kind: measure(frame, kind) for kind in KINDS}
    return [{**cell, "matches": len(frame), **(kinds["probabilities"] if setup.data is None else kinds)}]


def _read_pairs(setup: Setup, *names: Any) -> Iterator[tuple[Kind, Matches, Row]]:
    """Yield the model, the matches and the options of every pair of a group, or scene of a family."""
    if setup.data is None:
        model, family = names
        for seed in range(setup.runs):
            scene = awkward_scene(family, model, seed=seed)
            yield model, scene.matches, {"threshold": scene.threshold, "seed": seed}
        return
    model, sets, max_ratio = GROUPS[names[0]]
    for name in sets:
        if max_ratio is None:
            labelled = LabelledSet(setup.data / name)
            pairs: Iterable[Matches] = map(labelled.pair, labelled.keys)
        else:
            protocol = dataclasses.replace(DEFAULTS[model], max_ratio=max_ratio, pairs=setup.pairs)
            pairs = usable_pairs(PairSet(setup.data / name), protocol)
        yield from ((model, pair, {}) for pair in pairs)


def _distances(model: Kind, pair: Matches) -> Array:
    """Return the distances of the matches from the true model in pixels; 0 or inf if there are labels."""
    if pair.inliers is not None:
        return np.where(pair.inliers, 0.0, np.inf)
    return distances_to_truth(pair, model)


def bins(p: Series | Array, true: Series | Array) -> list[Bin]:
    """Return every non-empty bin."""
    which = np.minimum((p * BINS).astype(int), BINS - 1)
    masks = [which == k for k in range(BINS)]
    return [(int(mask.sum()), float(p[mask].mean()), float(true[mask].mean())) for mask in masks if mask.any()]


def measure(frame: DataFrame, kind: str) -> Row:
    """Return the figures of probabilities, a column; ``inlier`` is the mask."""
    p, true = frame[kind], frame["distance"] <= TRUE
    found = bins(p, true)
    parts = {
        "true_below_0.1": true[p < 0.1],
        "true_above_0.9": true[p > 0.9],
        "mask_below_0.5": p[frame["inlier"]] < 0.5,
    }
    row: Row = {"ECE": error_of(found), "Brier": float(np.mean((p - true) ** 2))}
    row["ECE_by_pixels"] = {str(pixels): error_of(bins(p, frame["distance"] <= pixels)) for pixels in OTHERS}
    return {**row, **{name: float(part.mean()) if len(part) else None for name, part in parts.items()}, "bins": found}


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the figures by group with the reliability diagram, or by model and family."""
    if setup.data is None:
        return Report(records={"families": nested(rows, "model", "family")})
    groups = nested(rows, "group")
    drawn = [name for name, group in groups.items() if group["runs"]][:3]
    figures = {"calibration": draw({name: groups[name] for name in drawn})} if drawn else {}
    return Report(records={"true_pixels": TRUE, "groups": groups}, figures=figures)


def draw(groups: Mapping[str, Row]) -> Figure:
    """Draw the reliability diagram of groups of sets; dots have the area of their bins."""
    figure = import_figure()(figsize=(10, 3.6), layout="constrained")
    panels = figure.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    for ax, (name, group) in zip(panels, groups.items(), strict=True):
        ax.plot([0, 1], [0, 1], color="#8a8a8a", linewidth=1, linestyle="--")
        for kind, color in zip(KINDS, ("#ff3b30", "#1687ff"), strict=True):
            n, mean, found = np.array(group[kind]["bins"]).T
            ax.plot(mean, found, color=color, linewidth=1, label=f"{kind}, ECE {group[kind]['ECE']:.3f}")
            ax.scatter(mean, found, s=400 * n / n.sum(), color=color, linewidths=0, alpha=0.7, clip_on=False)
        ax.set(xlim=(0, 1), ylim=(0, 1), title=name, xlabel="probability", aspect="equal")
        ax.legend(frameon=False, fontsize="small", loc="lower right")
    figure.axes[0].set_ylabel("share of true matches")
    return figure


def error_of(found: Sequence[Bin]) -> float:
    """Return the ECE of bins."""
    return sum(n * abs(mean - true) for n, mean, true in found) / sum(n for n, _, _ in found)


def table(document: Document) -> Table:
    """Return the table of the calibration of probabilities by group or by family; by group also the ECE of beliefs."""
    if "families" in document:
        families = document["families"]
        errors = {
            model: {name: of["ECE"] for name, of in found.items() if "ECE" in of} for model, found in families.items()
        }
        return grid("family", errors, lambda error: f"**{share(error)}**" if error > 0.05 else share(error))
    rows = []
    for name, of in document["groups"].items():
        figures = of["probabilities"]
        cells = (share(figures[key]) for key in ("ECE", "Brier", "true_below_0.1", "true_above_0.9"))
        by_pixels = "/".join(map(share, figures["ECE_by_pixels"].values()))
        rows.append([name, *cells, by_pixels, share(of["beliefs"]["ECE"])])
    true = ["true of p < .1", "true of p > .9"]
    return plain_table(["matches", "ECE", "Brier", *true, "ECE at 1/3 px", "ECE of beliefs"], rows)


MEASUREMENT = of_module(
    __name__,
    title="Calibration of the probabilities of matches",
    options=(
        dataclasses.replace(DATA, help="Folder with the sets EF, H and F_labelled. Default: awkward scenes."),
        Option("pairs", int, 43, "Maximum number of pairs of a set."),
        Option("runs", int, 20, "Scenes of a family.", least=1),
    ),
    tables={"calibration": table},
    sets=lambda setup: [*find_sets(setup.data), *find_labelled_sets(setup.data)],
)
