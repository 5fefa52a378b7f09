"""Measure the calibration of the probabilities of matches on real image pairs with ground truth.

    python benchmarks/calibration.py --data FOLDER [--pairs 43] [--json FILE] [--figure FILE]
    python benchmarks/calibration.py --families [--runs 20] [--json FILE]

``FOLDER`` contains sets in the format of the "RANSAC in 2020" tutorial (``EF`` and ``H``) and, in ``F_labelled``, sets
of labelled matches. Every pair is estimated with the default options, without scores (BANSAC) and with scores
(P-BANSAC). A match is true if its distance to the true model is at most 2 pixels. The distance is the Sampson distance
for F and the transfer error for H. Labelled matches are true by their label. Limits of 1 and 3 pixels show the effect
of this choice. The benchmark evaluates ``probabilities``, the posterior, and ``beliefs``, the P^k of the network. Only
successful runs have a posterior, and only they count.

ECE is the expected calibration error over ten bins: the mean absolute difference between the mean probability and the
share of true matches in a bin, weighted by the number of matches. The Brier score is the mean squared error.

With ``--families`` the matches are those of the families of awkward scenes that have a model
(``bansac.synthetic.FAMILIES``): 500 matches, half of them inliers, with a noise of .2 pixels. A match is true by its
label. A model is right if its mask has at least 85 % of the true matches.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bansac
from bansac.lab.provenance import circumstances
from bansac.lab.sets import PairSet
from bansac.lab.sets.labelled import LabelledSet
from bansac.lab.task import DEFAULTS, Kind, squared_distances, usable_pairs
from bansac.matches import Matches
from bansac.synthetic import FAMILIES, awkward_scene

Array = NDArray[np.float64]

# Pixels up to which a match is true.
TRUE, OTHERS = 2.0, (1.0, 3.0)
BINS = 10
KINDS = ("beliefs", "probabilities")


@dataclass(frozen=True)
class Group:
    """Sets that share one row of the table."""

    model: Kind
    sets: tuple[str, ...]  # folders below the data
    max_ratio: float | None  # SNN ratio below which matches are used; None for matches with labels


SCENES = ("EF/fountain-P11", "EF/Herz-Jesus-P8", "EF/Herz-Jesus-P25", "EF/entry-P10", "EF/kitti_seq1")
SMALL = ("H/VGG", "H/homogr", "H/EVD", "H/EVD_asift", "H/homogr_asift", "H/VGG_asift")

# The sets after the first three groups had no part in the choice of the mixture.
GROUPS = {
    "F": Group("F", SCENES, 0.85),
    "E": Group("E", SCENES, 0.85),
    "H": Group("H", ("H/exact_warp",), 0.95),
    "F, Middlebury dino": Group("F", ("EF/middlebury_dino",), 0.85),
    "E, Middlebury dino": Group("E", ("EF/middlebury_dino",), 0.85),
    "F, AdelaideRMF (labels)": Group("F", ("F_labelled/adelaidermf",), None),
    "H, small sets (truth 1 to 5 px off)": Group("H", SMALL, 0.6),
}


@dataclass(frozen=True)
class Run:
    """Probabilities and beliefs of the matches of a successful run, and their distances from the true model."""

    name: str
    inliers: NDArray[np.bool_]
    beliefs: Array
    probabilities: Array
    distances: Array  # for labels 0, or inf for a wrong match


def read_pairs(folder: Path, group: Group, limit: int) -> Iterator[Matches]:
    """Return the pairs of a set."""
    if group.max_ratio is None:
        labelled = LabelledSet(folder)
        return map(labelled.pair, labelled.keys)
    protocol = dataclasses.replace(DEFAULTS[group.model], max_ratio=group.max_ratio, pairs=limit)
    return usable_pairs(PairSet(folder), protocol)


def estimate(model: str, pair: Matches, *, scored: bool) -> bansac.Result:
    """Estimate a model with the default options."""
    assert not scored or pair.scores is not None
    settings: dict[str, Any] = {"scores": np.clip(pair.scores, 0, 1)} if scored else {}
    if model == "H":
        return bansac.estimate_homography(pair.x1, pair.x2, **settings)
    if model == "F":
        return bansac.estimate_fundamental(pair.x1, pair.x2, **settings)
    return bansac.estimate_essential(pair.x1, pair.x2, pair.K1, pair.K2, **settings)


def distances(model: str, pair: Matches) -> Array:
    """Return the distance of every match from the true model in pixels; 0 or inf if there are labels."""
    if pair.inliers is not None:
        return np.where(pair.inliers, 0.0, np.inf)
    truth = pair.H if model == "H" else pair.F
    assert truth is not None
    return np.sqrt(squared_distances(truth, pair, "H" if model == "H" else "F"))


def collect(data: Path, group: Group, pairs: int) -> tuple[list[Run], int]:
    """Return the successful runs of a group, and the number of the others."""
    runs, failures = [], 0
    for name in group.sets:
        for pair in read_pairs(data / name, group, pairs):
            truth = distances(group.model, pair)
            for scored in (False, True) if pair.scores is not None else (False,):
                result = estimate(group.model, pair, scored=scored)
                if result.probabilities is None:
                    failures += 1
                    continue
                assert result.beliefs is not None
                runs.append(Run(name, result.inliers, result.beliefs, result.probabilities, truth))
    return runs, failures


def bins(p: Array, true: NDArray[np.bool_]) -> list[tuple[int, float, float]]:
    """Return the number of matches, the mean probability and the share of true ones in every non-empty bin."""
    which = np.minimum((p * BINS).astype(int), BINS - 1)
    return [
        (int(np.sum(which == k)), float(p[which == k].mean()), float(true[which == k].mean()))
        for k in range(BINS)
        if (which == k).any()
    ]


def share(part: NDArray[np.bool_]) -> float | None:
    """Return the share of True; None if the array is empty."""
    return float(part.mean()) if part.size else None


def measure(p: Array, true: NDArray[np.bool_]) -> dict[str, float | None]:
    """Return the figures of the table."""
    return {
        "ECE": sum(n * abs(mean - found) for n, mean, found in bins(p, true)) / len(p),
        "Brier": float(np.mean((p - true) ** 2)),
        "true_below_0.1": share(true[p < 0.1]),
        "true_above_0.9": share(true[p > 0.9]),
        "below_0.1": float(np.mean(p < 0.1)),
        "above_0.9": float(np.mean(p > 0.9)),
    }


def judge(runs: list[Run], kind: str) -> dict[str, Any]:
    """Return the figures of one of ``KINDS``."""
    p = np.concatenate([getattr(run, kind) for run in runs])
    truth, inliers = (np.concatenate([getattr(run, name) for run in runs]) for name in ("distances", "inliers"))
    by_set = {}
    for name in dict.fromkeys(run.name for run in runs):
        of_set = [run for run in runs if run.name == name]
        by_set[name] = measure(
            np.concatenate([getattr(run, kind) for run in of_set]),
            np.concatenate([run.distances for run in of_set]) <= TRUE,
        )["ECE"]
    return {
        **measure(p, truth <= TRUE),
        "mask_below_0.5": share(p[inliers] < 0.5),
        "outliers_above_0.9": share(p[~inliers] > 0.9),
        "ECE_by_set": by_set,
        "ECE_by_pixels": {str(pixels): measure(p, truth <= pixels)["ECE"] for pixels in OTHERS},
        "bins": bins(p, truth <= TRUE),
    }


def judge_families(kind: Kind, count: int) -> dict[str, Any]:
    """Return the figures of every family with a model, each over ``count`` scenes."""
    names = {"H": "homography", "F": "fundamental", "E": "essential"}
    estimator: Any = getattr(bansac, f"estimate_{names[kind]}")
    families = {}
    for family in FAMILIES:
        if awkward_scene(family, kind).model is None:
            continue
        runs = []
        for seed in range(count):
            scene = awkward_scene(family, kind, seed=seed)
            result = estimator(*scene.arguments, threshold=scene.threshold, seed=seed)
            if result.probabilities is not None:
                runs.append((result.probabilities, scene.matches.inliers, result.inliers))
        figures: dict[str, Any] = {"runs": len(runs), "without_success": count - len(runs)}
        if runs:
            right = [run for run in runs if run[2][run[1]].mean() >= 0.85]
            p, true, _ = (np.concatenate(parts) for parts in zip(*runs, strict=True))
            figures |= {"wrong_model": len(runs) - len(right), **measure(p, true), "mean": float(p.mean())}
            figures |= {"true": float(true.mean()), "bins": bins(p, true)}
            if right:
                p, true, _ = (np.concatenate(parts) for parts in zip(*right, strict=True))
                figures["ECE_right_model"] = measure(p, true)["ECE"]
        families[family] = figures
        print(f"{kind}, {family}:", {key: value for key, value in figures.items() if key != "bins"}, flush=True)
    return families


def draw(groups: dict[str, Any], path: Path) -> None:
    """Draw the reliability diagram of the groups on which the mixture was chosen; dots have the area of their bins."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.6), layout="constrained")
    names = list(GROUPS)[:3]
    for ax, name in zip(figure.subplots(1, len(names), sharey=True), names, strict=True):
        ax.plot([0, 1], [0, 1], color="#8a8a8a", linewidth=1, linestyle="--")
        for kind, color in (("beliefs", "#ff3b30"), ("probabilities", "#1687ff")):
            n, mean, found = np.array(groups[name][kind]["bins"]).T
            ax.plot(mean, found, color=color, linewidth=1, label=f"{kind}, ECE {groups[name][kind]['ECE']:.3f}")
            ax.scatter(mean, found, s=400 * n / n.sum(), color=color, linewidths=0, alpha=0.7, clip_on=False)
        ax.set(xlim=(0, 1), ylim=(0, 1), title=name, xlabel="probability", aspect="equal")
        ax.legend(frameon=False, fontsize="small", loc="lower right")
    figure.axes[0].set_ylabel("share of true matches")
    figure.savefig(path, dpi=110)


def main() -> None:
    """Measure all groups and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path)
    source.add_argument("--families", action="store_true")
    parser.add_argument("--runs", type=int, default=20, help="scenes of a family")
    parser.add_argument("--pairs", type=int, default=43, help="pairs of a set, at most")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    if arguments.families:
        families = {kind: judge_families(kind, arguments.runs) for kind in DEFAULTS}
        if arguments.json:
            document = {**circumstances(), "families": families}
            arguments.json.write_text(json.dumps(document, indent=1) + "\n")
        return
    groups: dict[str, Any] = {}
    for name, group in GROUPS.items():
        runs, failures = collect(arguments.data, group, arguments.pairs)
        counts = {"runs": len(runs), "without_success": failures, "matches": sum(len(run.inliers) for run in runs)}
        groups[name] = counts | {kind: judge(runs, kind) for kind in KINDS}
        for kind in KINDS:
            figures = {key: value for key, value in groups[name][kind].items() if isinstance(value, float)}
            print(f"{name}, {kind}:", ", ".join(f"{key} {value:.3f}" for key, value in figures.items()), flush=True)
    if arguments.figure:
        draw(groups, arguments.figure)
    if arguments.json:
        document = {
            **circumstances(),
            "true_pixels": TRUE,
            "groups": groups,
        }
        arguments.json.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
