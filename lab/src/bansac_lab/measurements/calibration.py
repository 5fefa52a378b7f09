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

The priors P^0 of ``bansac.evidence.neighbours`` are compared with the truth, too, beside the scores: for each scene,
and on synthetic scenes of random depths, of any depth (coherent along the epipolar lines only) and of unrelated matches
(no coherence, labels at random).

ECE is the expected calibration error over ten bins: the mean absolute difference between the mean probability and the
share of true matches in a bin, weighted by the number of matches. The Brier score is the mean squared error.
"""

import dataclasses
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bansac.evidence.neighbours import neighbour_priors
from bansac.geometry import apply_transform
from bansac.matches import Matches
from bansac.problems.estimators import Kind
from bansac.synthetic import epipolar_matches
from bansac.synthetic.two_views import viewing_rays
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

# Groups for priors: matches of the scenes, and synthetic matches.
_REAL: Mapping[str, tuple[Kind, tuple[str, ...], float]] = {
    "ratio < .85": ("F", _SCENES, 0.85),
    "ratio < .95": ("F", _SCENES, 0.95),
}
PRIORS = (*_REAL, "random depths", "any depth", "unrelated")
DRAWN = ("ratio < .85", "any depth", "unrelated")
SYNTHETIC, SHARES, NOISE, NEAR = 2000, (0.1, 0.2, 0.5), 0.5, 2.0


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each group of sets and of priors, or for each model and family."""
    if setup.data is not None:
        return each((*GROUPS, *PRIORS))
    return [unit for unit in each(DEFAULTS, FAMILIES) if awkward_scene(*unit.payload[::-1]).model is not None]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Return the figures of a group, of the sets of a group of priors, or of a family."""
    if unit.payload[0] in PRIORS:
        return _judge_priors(setup, unit.payload[0])
    frames: list[DataFrame] = []
    failures = 0
    for _, model, pair, options in _read_pairs(setup, *unit.payload):
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


def _read_pairs(setup: Setup, *names: Any) -> Iterator[tuple[str, Kind, Matches, Row]]:
    """Yield the set, the model, the matches and the options of every pair of a group, or scene of a family."""
    if setup.data is None:
        model, family = names
        for seed in range(setup.runs):
            scene = awkward_scene(family, model, seed=seed)
            yield family, model, scene.matches, {"threshold": scene.threshold, "seed": seed}
        return
    model, sets, max_ratio = {**GROUPS, **_REAL}[names[0]]
    for name in sets:
        if max_ratio is None:
            labelled = LabelledSet(setup.data / name)
            pairs: Iterable[Matches] = map(labelled.pair, labelled.keys)
        else:
            protocol = dataclasses.replace(DEFAULTS[model], max_ratio=max_ratio, pairs=setup.pairs)
            pairs = usable_pairs(PairSet(setup.data / name), protocol)
        yield from ((name, model, pair, {}) for pair in pairs)


def _judge_priors(setup: Setup, group: str) -> list[Row]:
    """Return the figures of priors from neighbours and of scores for every set of a group."""
    frames: dict[str, list[DataFrame]] = {}
    real = ((name.removeprefix("EF/"), pair) for name, _, pair, _ in _read_pairs(setup, group))
    made = ((f"{of:.0%}", _scene(group, of, seed)) for of in SHARES for seed in range(setup.runs))
    for of_set, pair in real if group in _REAL else made:
        prior = neighbour_priors(np.column_stack([pair.x1, pair.x2]).T.astype(np.float64, order="C"))
        if prior is not None:
            columns = {"distance": _distances("F", pair), "neighbours": prior}
            columns |= {} if pair.scores is None else {"scores": np.clip(pair.scores, 0, 1)}
            frames.setdefault(of_set, []).append(import_pandas().DataFrame(columns))
    rows = []
    for of_set, parts in frames.items():
        frame = import_pandas().concat(parts, ignore_index=True)
        true = float((frame["distance"] <= TRUE).mean())
        row: Row = {"priors": group, "set": of_set, "matches": len(frame), "true": true}
        row |= {kind: measure(frame, kind) for kind in frame.columns[1:]}
        rows.append(row)
    return rows


def _scene(group: str, inlier_ratio: float, seed: int) -> Any:
    """Return the matches of a synthetic scene of a group of priors; the labels of unrelated matches are random."""
    scene: Any = epipolar_matches(SYNTHETIC, inlier_ratio, NOISE, seed)
    rng, true = np.random.default_rng([seed, 1]), scene.inliers
    if group == "any depth":
        points = viewing_rays(scene.K1, scene.x1) / rng.uniform(0.05, 0.8, (SYNTHETIC, 1))  # baselines
        x2 = apply_transform(scene.K2, points @ scene.R.T + scene.t) + rng.normal(0, NOISE, scene.x2.shape)
        scene.x2[true] = x2[true]
    elif group == "unrelated":
        scene.x2[true] = rng.uniform(0, 1, (true.sum(), 2)) * scene.size2[::-1]
    return scene


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
    """Return the figures of probabilities, a column; those of estimates also have a column with the mask."""
    p, true = frame[kind], frame["distance"] <= TRUE
    found = bins(p, true)
    parts = {"true_below_0.1": true[p < 0.1], "true_above_0.9": true[p > 0.9]}
    row: Row = {"ECE": error_of(found), "Brier": float(np.mean((p - true) ** 2))}
    if "inlier" in frame:
        parts["mask_below_0.5"] = p[frame["inlier"]] < 0.5
        row["ECE_by_pixels"] = {str(pixels): error_of(bins(p, frame["distance"] <= pixels)) for pixels in OTHERS}
    return {**row, **{name: float(part.mean()) if len(part) else None for name, part in parts.items()}, "bins": found}


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the figures by group with the reliability diagram, or by model and family."""
    if setup.data is None:
        return Report(records={"families": nested(rows, "model", "family")})
    groups, priors = nested(rows, "group"), nested(rows, "priors", "set")
    drawn = [name for name, group in groups.items() if group["runs"]][:3]
    pooled = {name: priors[name].values() for name in DRAWN if name in priors}
    figures = {"calibration": draw({name: [groups[name]] for name in drawn}, KINDS)} if drawn else {}
    if pooled:
        figures["priors"] = draw(pooled, ("neighbours", "scores"))
    return Report(records={"true_pixels": TRUE, "groups": groups, "priors": priors}, figures=figures)


def draw(groups: Mapping[str, Collection[Row]], kinds: Iterable[str]) -> Figure:
    """Draw the reliability diagram of groups of sets; dots have the area of their bins."""
    figure = import_figure()(figsize=(10, 3.6), layout="constrained")
    panels = figure.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    for ax, (name, group) in zip(panels, groups.items(), strict=True):
        ax.plot([0, 1], [0, 1], color="#8a8a8a", linewidth=1, linestyle="--")
        for kind, color in zip(kinds, ("#ff3b30", "#1687ff"), strict=True):
            if not (pooled := _pool(group, kind)):
                continue
            n, mean, found = np.array(pooled).T
            ax.plot(mean, found, color=color, linewidth=1, label=f"{kind}, ECE {error_of(pooled):.3f}")
            ax.scatter(mean, found, s=400 * n / n.sum(), color=color, linewidths=0, alpha=0.7, clip_on=False)
        ax.set(xlim=(0, 1), ylim=(0, 1), title=name, xlabel="probability", aspect="equal")
        ax.legend(frameon=False, fontsize="small", loc="lower right")
    figure.axes[0].set_ylabel("share of true matches")
    return figure


def _pool(sets: Iterable[Row], kind: str) -> list[Bin]:
    """Return the bins of the probabilities of several sets together."""
    sums = np.zeros((BINS, 3))
    for n, mean, true in itertools.chain(*(of_set[kind]["bins"] for of_set in sets if kind in of_set)):
        sums[min(int(mean * BINS), BINS - 1)] += n * np.array([1, mean, true])
    return [(int(n), mean / n, true / n) for n, mean, true in sums.tolist() if n]


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
