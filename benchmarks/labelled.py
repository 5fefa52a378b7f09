"""Evaluate fundamental matrices on hand-marked ground truth: check points (kusvod2), labelled matches (AdelaideRMF).

    python benchmarks/labelled.py --data F_labelled [--repeats 5] [--json benchmarks/labelled.json]

``F_labelled`` contains ``kusvod2_strechamvs`` and ``adelaidermf``. All methods get the same matches: those of kusvod2
with an SNN ratio below .85, and all matches of AdelaideRMF, which have no ratios. All methods have the same threshold,
0.5 pixel in one run and 1 pixel in another. This package's presets have their own limits and get the image sizes. The
other libraries have a confidence of .999 and at most 10,000 iterations, except the methods named "own", which have
their default limits.

The error of a pair is the median Sampson distance of its check points in pixels; the median over the repeats is
reported. For AdelaideRMF the measure is the share of labelled inliers within a fixed distance of the model, equal for
all methods; the mean over the repeats is reported.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.lab.peers.method import Method
from bansac.lab.peers.methods import METHODS
from bansac.lab.provenance import circumstances
from bansac.lab.sets.labelled import CheckPointSet, LabelledSet
from bansac.lab.task import DEFAULTS, make_task, squared_distances
from bansac.matches import Matches

Array = NDArray[np.float64]

OURS = ("default", "accurate", "default-unscored", "default-unsized")
PEERS = (
    "opencv-accurate",
    "opencv-magsac",
    "poselib",
    "poselib-prosac",
    "poselib-own",
    "poselib-prosac-own",
    "pycolmap",
    "pydegensac",
)
PROTOCOL = DEFAULTS["F"]

THRESHOLDS = (0.5, 1.0)

# Pixels within which a labelled inlier is found; the first is the one that is compared.
DISTANCES = (1.0, 0.5, 2.0)

# Points are marked by hand: differences up to this, in pixels, say little.
TOLERANCE = 0.1


def estimate(method: Method, pair: Matches, seed: int) -> Array | None:
    """Return the matrix that a method estimates, None without a usable one."""
    method.prepare()
    F = method.model(method.run(method.arrange(make_task(pair, PROTOCOL, seed))))
    return F if F is not None and F.shape == (3, 3) and np.isfinite(F).all() else None


def distances(F: Array | None, matches: Matches) -> Array:
    """Return the distances of matches to a matrix, inf without one."""
    if F is None:
        return np.full(len(matches), math.inf)
    squared = squared_distances(F, matches, "F")
    return np.sqrt(np.where(np.isnan(squared), math.inf, squared))


def check_points(data: Path, repeats: int, threshold: float) -> dict[str, Any]:
    """Return the errors of every method on each pair with check points, and how it compares with the peers."""
    pairs = CheckPointSet(data / "kusvod2_strechamvs")
    errors: dict[str, dict[str, float]] = {name: {} for name in (*OURS, *PEERS)}
    inliers: dict[str, dict[str, float]] = {name: {} for name in errors}
    for key in pairs.keys:
        pair, judged = pairs.pair(key).filtered(PROTOCOL.max_ratio), Matches(*pairs.check_points(key))
        for name, of_pairs in errors.items():
            method = METHODS[name].changed(name, threshold=threshold)
            models = [estimate(method, pair, seed) for seed in range(repeats)]
            of_pairs[key] = float(np.median([np.median(distances(F, judged)) for F in models]))
            inliers[name][key] = float(np.median([np.sum(distances(F, pair) <= threshold) for F in models]))
    best = {key: min(errors[name][key] for name in PEERS) for key in pairs.keys}
    return {
        "median_error": errors,
        "inliers": inliers,
        "best_peer": best,
        "no_worse_than_the_best_peer_of_each_pair": {name: _no_worse(errors[name], best) for name in OURS},
        "the_same_within_0.1_pixel": {name: _no_worse(errors[name], best, TOLERANCE) for name in OURS},
        "no_worse_than": {name: {peer: _no_worse(errors[name], errors[peer]) for peer in PEERS} for name in OURS},
    }


def _no_worse(errors: Mapping[str, float], others: Mapping[str, float], tolerance: float = 0.0) -> int:
    """Return the number of pairs with an error that is no larger than the other, by more than the tolerance."""
    return sum(errors[key] <= others[key] + tolerance for key in errors)


def labelled_inliers(data: Path, repeats: int, threshold: float) -> dict[str, Any]:
    """Return the shares of the labelled inliers that every method finds, pair by pair at the first of the distances."""
    labelled = LabelledSet(data / "adelaidermf")
    found: dict[str, dict[str, list[float]]] = {name: {} for name in (*OURS, *PEERS) if not _needs_scores(name)}
    for key in labelled.keys:
        pair = labelled.pair(key)
        assert pair.inliers is not None
        judged = pair.select(pair.inliers)
        pair = dataclasses.replace(pair, scores=np.zeros(len(pair)))  # the task has scores, and no method gets them
        for name, of_pairs in found.items():
            method = dataclasses.replace(METHODS[name].changed(name, threshold=threshold), scored=False)
            runs = [distances(estimate(method, pair, seed), judged) for seed in range(repeats)]
            of_pairs[key] = [float(np.mean([np.mean(run <= pixels) for run in runs])) for pixels in DISTANCES]
    return {
        "found_within": {
            name: {
                f"{pixels:g}": float(np.mean([shares[i] for shares in of_pairs.values()]))
                for i, pixels in enumerate(DISTANCES)
            }
            for name, of_pairs in found.items()
        },
        "found": {name: {key: shares[0] for key, shares in of_pairs.items()} for name, of_pairs in found.items()},
    }


def _needs_scores(name: str) -> bool:
    """Whether a method is another one if there are no scores."""
    return METHODS[name].sort or name == "default-unscored"


def measure(data: Path, repeats: int, threshold: float) -> dict[str, Any]:
    """Return all figures at a threshold."""
    return {
        "check_points": check_points(data, repeats, threshold),
        "labelled_inliers": labelled_inliers(data, repeats, threshold),
    }


def main() -> None:
    """Run all methods, print the figures and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    document = {
        **circumstances(METHODS[name].package for name in PEERS),
        "repeats": arguments.repeats,
        "thresholds": {
            f"{threshold:g}": measure(arguments.data, arguments.repeats, threshold) for threshold in THRESHOLDS
        },
    }
    text = json.dumps(document, indent=2)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
