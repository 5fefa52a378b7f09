"""Matches coloured by their probability over a run of BANSAC: fig:teaser (H) and fig:prob_update_fundamental (F).

The run uses the settings of the paper's main experiments. It has no stopping criterion and ends at the last iteration
of the figure. Without data, the experiment runs on the demo pair of the package, a homography. With data, it runs on
one pair with a homography and one with poses, from the set ``sacre_coeur`` or, if it is missing, from all sets. The
selection examines at most ``SEARCHED`` pairs of each set. It prefers pairs with at least ``DRAWN`` matches, then the
share of true matches closest to ``TYPICAL``.

A match is true if its distance to the true model is at most ``TRUE_WITHIN``. For poses this is the Sampson distance,
which is small by chance for some wrong matches.

If the images are missing, the matches are drawn on empty images.
"""

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from bansac.batch.journal import Row, Unit
from bansac.matches import Matches, load_demo
from bansac.maths.arrays import Bools, Floats
from bansac.problems.estimators import Kind
from bansac_lab.evolution import plot_probability_evolution
from bansac_lab.frames import import_pandas, to_frame
from bansac_lab.grid import ABLATION_SET, protocol_of
from bansac_lab.measurement import MAX_RATIO, MODEL, SEED, WITH_DATA, Report, Setup, choose_sets, of_module
from bansac_lab.peers.methods import BANSAC
from bansac_lab.sets import PairSet, find_sets
from bansac_lab.tables import Cell, sectioned
from bansac_lab.task import Protocol, distances_to_truth, make_task, usable_pairs

# Iterations after which the probabilities are drawn; the last one is the length of the run.
ITERATIONS: dict[Kind, tuple[int, ...]] = {"H": (0, 10, 100, 1000), "F": (0, 10, 100, 1000, 10000)}
TRUE_WITHIN: dict[Kind, float] = {"H": 3.0, "F": 1.0}  # pixels
# For H more than half: otherwise another plane in the images could have more matches.
TYPICAL: dict[Kind, float] = {"H": 0.6, "F": 0.4}
SEARCHED = 43
DRAWN = 250
DEMO = "demo"


def units(setup: Setup) -> list[Unit]:
    """Choose one pair for each kind of model."""
    if setup.data is None:
        if setup.model not in (None, "H"):
            raise ValueError(f"model: the pair inside the package is of a plane, H; model {setup.model!r} needs data")
        _load(_protocol(setup, "H"), None, DEMO)  # raises an error if there are too few matches
        return [Unit(f"H/{DEMO}/{DEMO}", ("H", None, DEMO))]
    chosen = []
    for model, of_model in _sets_by_model(setup).items():
        pair_set, key = _choose_pair(of_model, model, _protocol(setup, model))
        chosen.append(Unit(f"{model}/{pair_set.name}/{key}", (model, str(pair_set.folder), key)))
    return chosen


def sets(setup: Setup) -> list[PairSet]:
    """Return the sets from which the pairs are chosen."""
    return [pair_set for of_model in _sets_by_model(setup).values() for pair_set in of_model]


def _sets_by_model(setup: Setup) -> dict[Kind, list[PairSet]]:
    """Return the sets to choose from, by the model to estimate."""
    groups: dict[Kind, list[PairSet]] = {}
    for pair_set in choose_sets(find_sets(setup.data), setup.sets, setup.exclude):
        model: Kind = "H" if pair_set.kind == "H" else "F"
        if setup.model in (None, model):
            groups.setdefault(model, []).append(pair_set)
    if not groups:
        raise ValueError(f"data: no set in {setup.data} has the truth that model {setup.model} needs")
    return groups


def _protocol(setup: Setup, model: Kind) -> Protocol:
    """Return the paper's settings with the length of the run as the maximum number of iterations."""
    return dataclasses.replace(protocol_of(setup, model), max_iterations=ITERATIONS[model][-1])


def _choose_pair(found: list[PairSet], model: Kind, protocol: Protocol) -> tuple[PairSet, str]:
    ranked: list[tuple[tuple[bool, float], PairSet, str]] = []
    for pair_set in [pair_set for pair_set in found if pair_set.name == ABLATION_SET] or found:
        for pair in usable_pairs(pair_set, dataclasses.replace(protocol, pairs=SEARCHED)):
            true = distances_to_truth(pair, model) <= TRUE_WITHIN[model]
            ranked.append(((len(pair) < DRAWN, abs(float(true.mean()) - TYPICAL[model])), pair_set, pair.key))
    if not ranked:
        needs = f"{protocol.min_matches} matches of a ratio below {protocol.max_ratio}"
        raise ValueError(f"data: no pair has {needs} for model {model}")
    return min(ranked, key=lambda entry: entry[0])[1:]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run BANSAC on one pair; each match has a row with its probabilities after each of ``ITERATIONS``."""
    model, folder, key = unit.payload
    protocol = _protocol(setup, model)
    pair = _load(protocol, folder, key)
    result = BANSAC.estimate(make_task(pair, protocol, setup.seed), stopping=None, trace=True).result
    matrix = np.full((3, 3), np.nan) if result.model is None else result.model
    name = DEMO if folder is None else PairSet(folder).name
    common: Row = {"model": model, "set": name, "pair": key, "seed": setup.seed}
    entries: Row = {f"m{i + 1}{j + 1}": float(matrix[i, j]) for i in range(3) for j in range(3)}
    rows: list[Row] = []
    for k, true in enumerate((distances_to_truth(pair, model) <= TRUE_WITHIN[model]).tolist()):
        (x1, y1), (x2, y2) = pair.x1[k].tolist(), pair.x2[k].tolist()
        match: Row = {"match": k, "x1": x1, "y1": y1, "x2": x2, "y2": y2, "true": true}
        probabilities: Row = {f"p{i}": float(result.trace.snapshots[i][k]) for i in ITERATIONS[model]}
        rows.append({**common, **match, **probabilities, **entries})
    return rows


def _load(protocol: Protocol, folder: str | None, key: str) -> Matches:
    pair = load_demo() if folder is None else PairSet(folder).pair(key)
    pair = pair.filtered(protocol.max_ratio)
    if len(pair) < protocol.min_matches:
        has = f"{len(pair)} matches of an SNN ratio below {protocol.max_ratio:g}"
        raise ValueError(f"max_ratio: the pair {key} has {has}, at least {protocol.min_matches} are needed")
    return pair


def _images(folder: str | None, pair: Matches) -> tuple[Any, Any]:
    """Return the images of the pair; if they are missing, grey images of their sizes or large enough for the points."""
    if folder is None:
        return pair.image1, pair.image2
    pair_set = PairSet(folder)
    try:
        return pair_set.image_path(pair.key, 1), pair_set.image_path(pair.key, 2)
    except OSError:
        views = ((pair.x1, pair.size1), (pair.x2, pair.size2))
        sizes = (size or (x.max(axis=0, initial=1.0) + 1).astype(int)[::-1] for x, size in views)
        grey1, grey2 = (np.full(size, 0.8) for size in sizes)
        return grey1, grey2


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Draw every pair and tabulate the mean probabilities of its true and its wrong matches."""
    frame = to_frame(rows)
    folders = {} if setup.data is None else {pair_set.name: str(pair_set.folder) for pair_set in sets(setup)}
    figures, notes = {}, []
    sections: dict[str, dict[str, list[Cell]]] = {}
    for model, of_pair in frame.groupby("model", sort=False):
        set_name, key = of_pair[["set", "pair"]].iloc[0]
        folder = folders.get(set_name)
        pair = _load(_protocol(setup, model), folder, key)
        true = of_pair["true"].to_numpy(bool)
        snapshots = {i: of_pair[f"p{i}"].to_numpy(float) for i in ITERATIONS[model]}
        matrix = of_pair[[f"m{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3)]].iloc[0].to_numpy(float).reshape(3, 3)
        figures[f"probability_evolution_{model}"] = plot_probability_evolution(
            *_images(folder, pair),
            pair.x1,
            pair.x2,
            snapshots,
            # The paper's figure of the fundamental matrix omits the initial probabilities.
            iterations=ITERATIONS[model][-4:],
            H_true=pair.H if model == "H" else None,
            H_estimated=matrix if model == "H" and np.isfinite(matrix).all() else None,
            max_matches=DRAWN,
        )
        name = f"{model}, {key}" if folder is None else f"{model}, {key} of {set_name}"
        sections[name] = {str(i): _cells(probabilities, true) for i, probabilities in snapshots.items()}
        notes.append(
            f"{name}: {len(true)} matches, {100 * true.mean():.0f} % of them within {TRUE_WITHIN[model]:g} px of the "
            f"true model; at most {DRAWN} are drawn."
        )
    columns = ("mean P, true matches", "mean P, wrong matches", "P(true ranks above wrong)")
    title = "Inlier probabilities over a run of BANSAC without a stopping criterion"
    table = sectioned(title, "Iteration", columns, sections)
    return Report(tables={"probability_evolution": table}, figures=figures, notes=notes)


def _cells(probabilities: Floats, true: Bools) -> list[Cell]:
    means = (float(p.mean()) if p.size else None for p in (probabilities[true], probabilities[~true]))
    return [None if share is None else f"{share:.3f}" for share in (*means, rank_probability(probabilities, true))]


def rank_probability(values: Floats, positive: Bools) -> float | None:
    """Return the area under the ROC curve, ties counting half; None without positives or negatives."""
    if positive.all() or not positive.any():
        return None
    ranks = import_pandas().Series(values).rank()[positive]
    return float((ranks.mean() - (len(ranks) + 1) / 2) / np.count_nonzero(~positive))


EXPERIMENT = of_module(
    __name__,
    title="Matches of an image pair coloured by their probability over a run of BANSAC",
    reference="fig:teaser, fig:prob_update_fundamental",
    defaults="the pair inside the package (H); with data, a pair of homographies (H) and one of poses (F)",
    options=(*WITH_DATA, dataclasses.replace(MODEL, choices=("H", "F")), MAX_RATIO, SEED),
    values=protocol_of,
    warm_up=None,
)
