"""Fit the probability that a model is right (Result.model_confidence), and check it on scenes that are left out.

The runs are the default of this package on real pairs with ground truth, on the synthetic families, and on the
structures of "bansac bench rivals". A pose is right within 5 degrees (E, F; an absolute pose with 5 % of the
depth), a homography within 5 px at the corners. A pair has runs with

- plain: all matches below each of three SNN ratios;
- thinned: 3 to 80 % inliers, by fewer inliers or fewer outliers, and 40 to 2000 matches, twice;
- static: the same, with 10 to 60 % static matches of an overlay in place of outliers, for every second pair;
- shuffled: the same, with random partners, for the other pairs.

Some runs have scores, image sizes for F, or a given threshold of .5 to 4 px. The homographies are those of exact_warp,
whose truth is exact.

The fit is logistic, with coefficients held at 0 or above, a small ridge and equal weights of all scenes. Each scene is
predicted by the fit to the others. The sets of one building are one scene, and so are all families, and all structures.
Pairs of homographies are one scene for each photograph. Absolute poses have no real data here: each of their families,
by the wrong matches, is a scene of its own. middlebury_dino, whose poses are ill-conditioned, is in no fit
and no mean: it shows what the confidence is worth on data that are unlike all others.

The calibration error is the expected one over ten bins. Its band is the 95 % quantile of a calibrated predictor: pairs
are drawn with replacement, and right runs by their probabilities. The coefficients of the fit to all scenes are for
COEFFICIENTS of bansac/estimate/model_confidence.py. The evidence of all runs is in a CSV file beside the report.
"""

import dataclasses
import re
import textwrap
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize  # type: ignore[import-untyped]
from scipy.special import expit  # type: ignore[import-untyped]

import bansac
from bansac.estimate.model_confidence import evidence
from bansac.estimate.result import Result
from bansac.matches import Matches
from bansac.maths.arrays import Bools
from bansac_lab.families import FAMILIES, awkward_scene
from bansac_lab.frames import DataFrame, to_frame
from bansac_lab.measurement import FIRST_SEED, ON_DATA, Option, Report, Row, Setup, Unit, choose_sets, of_module
from bansac_lab.measurements.calibration import bins, error_of
from bansac_lab.measurements.rival_scenes import CLASSES, LIMIT, add_overlay
from bansac_lab.pairs import open_set
from bansac_lab.peers.library import Array
from bansac_lab.reports import share
from bansac_lab.scenes import Scene, errors, make_scene, scene_of
from bansac_lab.sets import PairSet, find_sets
from bansac_lab.sets.tutorial import evenly_spaced
from bansac_lab.tables import Table, plain_table
from bansac_lab.task import distances_to_truth

PROBLEMS: Mapping[str, tuple[str, Any, tuple[float, ...], float]] = {
    "E": ("essential matrix", bansac.estimate_essential, (0.75, 0.85, 0.95), 2.0),
    "F": ("fundamental matrix", bansac.estimate_fundamental, (0.75, 0.85, 0.95), 2.0),
    "H": ("homography", bansac.estimate_homography, (0.6, 0.8, 0.95), 3.0),
    "pose": ("absolute pose", bansac.estimate_absolute_pose, (), 0.0),
}
"""Name of the problem, estimator, SNN ratios, and the distance of inliers from the truth in pixels."""

EXACT_SETS = ("exact_warp",)
FAMILY, STRUCTURES, APART = "families", "structures", ("middlebury_dino",)
MADE = FAMILY, STRUCTURES
_KINDS = {"E": ("E", "relative pose"), "F": ("F", "relative pose"), "H": ("H",), "pose": ("absolute pose",)}
WRONG = "uniform", "clusters", "list", "repeated"
"""Families of absolute poses, by their wrong matches."""
NOT_NUMBERS = "problem", "scene", "pair", "variant", "right", "claimed"
FEWEST, SURE = 15, 0.95
RIDGE, STEPS, DRAWS = 1e-3, 4000, 500
WRONG_SEEDS = 10  # scenes of absolute poses for each one of another family


def sets(setup: Setup) -> list[PairSet]:
    """Return the selected sets with poses, and those with exact homographies."""
    found = choose_sets(find_sets(setup.data), setup.sets, setup.exclude)
    return [one for one in found if one.kind == "EF" or one.name in EXACT_SETS]


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each problem and pair, and for each problem and family."""
    made = []
    for problem, (_, _, ratios, _) in PROBLEMS.items():
        for one in (one for one in sets(setup) if ratios and (one.kind == "H") == (problem == "H")):
            keys = evenly_spaced(one.keys, None if problem == "H" else setup.pairs)
            names = ((f"{problem}/{one.name}/{key}", key) for key in keys)
            made += [Unit(name, (problem, key, str(one.folder), k)) for k, (name, key) in enumerate(names)]
        families = FAMILIES if ratios else WRONG
        made += [Unit(f"{problem}/{FAMILY}/{name}", (problem, name, FAMILY, 0)) for name in families]
        classes = [name for name, (title, _) in CLASSES.items() if title.partition(",")[0] in _KINDS[problem]]
        made += [Unit(f"{problem}/{STRUCTURES}/{name}", (problem, name, STRUCTURES, 0)) for name in classes]
    return made


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Return the evidence of all runs of a pair or a family, and whether their models are right."""
    problem, key, source, number = unit.payload
    rng = np.random.default_rng([zlib.crc32(unit.key.encode()), setup.seed])
    rows = []
    for k, (variant, scene) in enumerate(_scenes(setup, problem, key, source, number, rng)):
        result = _estimate(problem, scene, rng, setup.seed + k) if len(scene.inliers) >= FEWEST else None
        if result is not None and result.model is not None:
            error = max(errors(scene, result.model).values())
            of_family = key if source == FAMILY and problem == "pose" else source
            name = of_family if source in MADE else scene_name(open_set(source).name, key)
            pair = f"{unit.key}/{k}" if source in MADE else unit.key
            row: Row = {"problem": problem, "scene": name, "pair": pair, "variant": variant}
            row |= {"right": bool(error <= LIMIT), "claimed": result.success}
            rows.append(row | evidence(*vars(result)["_model_confidence"].args))
    return rows


def scene_name(name: str, key: str) -> str:
    """Return the scene of a pair: the set without its number of images, of homographies the photograph."""
    return re.sub(r"A?\d+-.*", "", key) if name in EXACT_SETS else re.sub(r"-P\d+$", "", name)


def _scenes(
    setup: Setup, problem: str, key: str, source: str, number: int, rng: np.random.Generator
) -> Iterator[tuple[str, Scene]]:
    """Yield the scenes of a pair in a folder, of a family or of a class of ``bansac bench rivals``."""
    if source == STRUCTURES:
        for seed in range(setup.repeats):
            yield key, dataclasses.replace(CLASSES[key][1](setup.seed + seed), problem=problem)
        return
    if not PROBLEMS[problem][2]:
        for seed in range(WRONG_SEEDS * setup.repeats):
            yield key, wrong_matches(key, setup.seed + seed)
        return
    of_pair = source != FAMILY
    for variant, pair in _variants(problem, source, key, number, rng) if of_pair else _family(setup, problem, key):
        yield variant, scene_of(problem, pair, pair.scores)


def _variants(
    problem: str, folder: str, key: str, number: int, rng: np.random.Generator
) -> Iterator[tuple[str, Matches]]:
    """Yield the matches of the runs of a pair."""
    *_, ratios, distance = PROBLEMS[problem]
    pair = open_set(folder).pair(key)

    def filtered(ratio: float) -> Matches:
        chosen = pair.filtered(ratio)
        height, width = (1 + int(x) for x in chosen.x1.max(axis=0)[::-1])
        near = distances_to_truth(chosen, problem) <= distance
        return dataclasses.replace(chosen, size1=chosen.size1 or (height, width), inliers=near)

    for ratio in ratios:
        yield "plain", filtered(ratio)
    for _ in range(2):
        yield "thinned", thin(filtered(rng.choice(ratios)), rng)
    thinned = thin(filtered(rng.choice(ratios)), rng)
    if number % 2 == 0:
        yield "static", add_overlay(thinned, rng.uniform(0.1, 0.6), rng)[0]
    else:
        yield "shuffled", dataclasses.replace(thinned, x2=rng.permutation(thinned.x2))


def thin(pair: Matches, rng: np.random.Generator) -> Matches:
    """Return some of the matches of a pair: 3 to 80 % inliers, and at most 40 to 2000."""
    assert pair.inliers is not None
    share, most = rng.uniform(0.03, 0.8), np.exp(rng.uniform(np.log(40), np.log(2000)))
    true, wrong = (rng.permutation(np.flatnonzero(mask)) for mask in (pair.inliers, ~pair.inliers))
    total = min(most, true.size / share, wrong.size / (1 - share))
    keep = np.zeros(len(pair), np.bool_)
    keep[true[: round(share * total)]] = keep[wrong[: round((1 - share) * total)]] = True
    return pair.select(keep)


def _family(setup: Setup, problem: str, family: str) -> Iterator[tuple[str, Matches]]:
    """Yield the matches of scenes of a family, with 40 to 1500 matches, 5 to 80 % inliers and .1 to 1 px noise."""
    for seed in range(setup.repeats):
        rng = np.random.default_rng([seed, 7])
        n, ratio = (np.exp(rng.uniform(np.log(low), np.log(high))) for low, high in ((40, 1500), (0.05, 0.8)))
        scene = awkward_scene(family, problem, int(n), float(ratio), float(rng.uniform(0.1, 1)), seed)  # type: ignore[arg-type]
        if scene.matches.size1 is not None and (problem != "H" or scene.matches.H is not None):
            yield family, scene.matches


def wrong_matches(family: str, seed: int) -> Scene:
    """Return an absolute pose with 20 to 1500 matches, 3 to 80 % right ones, and wrong ones of a family.

    Every third scene has no right ones.
    """
    rng = np.random.default_rng([seed, 8])
    n, ratio, noise = (np.exp(rng.uniform(*np.log(limits))) for limits in ((20, 1500), (0.03, 0.8), (0.2, 2)))
    scene = make_scene("pose", int(n), float(ratio), float(noise), seed)
    points, x2, K = scene.data
    x2, wrong = np.array(x2), np.flatnonzero(~scene.inliers)
    if seed % 3 == 0:
        x2, wrong = rng.permutation(x2), np.arange(len(x2))
    if family == "clusters":
        centres = x2[rng.choice(wrong, 3)]
        x2[wrong] = centres[rng.integers(0, 3, wrong.size)] + rng.normal(0, 0.05 * np.ptp(x2), (wrong.size, 2))
    elif family == "repeated":
        x2[wrong] = x2[rng.integers(0, len(x2), wrong.size)]
    elif family == "list":
        x2[wrong] = rng.permutation(x2[wrong])
    return dataclasses.replace(scene, data=(points, x2, K))


def _estimate(problem: str, scene: Scene, rng: np.random.Generator, seed: int) -> Result:
    """Return the result of a run, which may have scores, image sizes or a given threshold."""
    _, function, _, _ = PROBLEMS[problem]
    scored, sized, given = rng.random(3)
    settings: dict[str, Any] = {"seed": seed}
    if scored < 0.4 and scene.scores is not None:
        settings["scores"] = np.clip(scene.scores, 0.0, 1.0)
    sizes = {"image_size1": scene.truth.size1, "image_size2": scene.truth.size2}
    # the points of some families, which have no scores, lie outside
    if sized < 0.75 and problem == "F" and scene.scores is not None and None not in sizes.values():
        settings |= sizes
    if given < 0.2:
        settings["threshold"] = 0.5 * 2 ** rng.uniform(0, 3)
    return function(*scene.data[: 2 if problem in ("F", "H") else 4], **settings)  # type: ignore[no-any-return]


def fit(numbers: Array, right: Array, weights: Array) -> Array:
    """Return the coefficients, 0 or above, and then the constant of a weighted logistic fit with a ridge.

    The numbers have columns of unit variance in the fit.
    """
    mean, scale = numbers.mean(axis=0), numbers.std(axis=0) + 1e-9
    A, w = np.column_stack([(numbers - mean) / scale, np.ones(len(numbers))]), weights / weights.sum()

    def loss(x: Array) -> tuple[float, Array]:
        z, slopes = A @ x, np.append(x[:-1], 0.0)
        likelihood = w @ (np.logaddexp(0.0, z) - right * z)
        return likelihood + 0.5 * RIDGE * slopes @ slopes, A.T @ (w * (expit(z) - right)) + RIDGE * slopes

    bounds = [(0.0, None)] * len(mean) + [(None, None)]
    exact = {"ftol": 0.0, "gtol": 1e-9, "maxiter": STEPS, "maxfun": STEPS}
    found = minimize(loss, np.zeros(A.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds, options=exact).x
    coefficients = found[:-1] / scale
    return np.append(coefficients, found[-1] - coefficients @ mean)


def predict(frame: DataFrame) -> tuple[Array, dict[str, float]]:
    """Return the probability of each run by the fit to the other scenes, and the coefficients of the fit to all."""
    columns = [name for name in frame.columns if name not in NOT_NUMBERS]
    numbers, right = frame[columns].to_numpy(float), frame["right"].to_numpy(float)
    scenes = frame["scene"].to_numpy()
    weights = np.where(np.isin(scenes, APART), 0.0, 1.0 / frame.groupby("scene")["scene"].transform("size"))
    p = np.empty(len(frame))
    for scene in np.unique(scenes):
        others = scenes != scene
        *slopes, constant = fit(numbers[others], right[others], weights[others])
        p[~others] = expit(numbers[~others] @ slopes + constant)
    *slopes, constant = fit(numbers, right, weights)
    return p, {"constant": constant} | {name: c for name, c in zip(columns, slopes, strict=True) if c > 0.0}


def area(score: Array, right: Bools) -> float:
    """Return the area under the ROC curve: the probability that a right model has the larger score (Mann-Whitney)."""
    above, below = score[right], score[~right]
    if not (above.size and below.size):
        return float("nan")
    return float(np.mean(np.sign(above[:, None] - below) * 0.5 + 0.5))


def band(p: Array, pairs: Sequence[str], rng: np.random.Generator) -> float:
    """Return the 95 % quantile of the calibration error of a calibrated predictor, with pairs drawn again."""
    members = [np.flatnonzero(np.asarray(pairs) == pair) for pair in dict.fromkeys(pairs)]
    found = []
    for _ in range(DRAWS):
        drawn = p[np.concatenate([members[k] for k in rng.integers(0, len(members), len(members))])]
        found.append(error_of(bins(drawn, rng.random(drawn.size) < drawn)))
    return float(np.quantile(found, 0.95))


def _figures(frame: DataFrame) -> Row:
    """Return the figures of some runs with their probabilities."""
    p, right = frame["p"].to_numpy(), frame["right"].to_numpy(bool)
    sure = p >= SURE
    return {
        "runs": len(frame),
        "right": float(right.mean()),
        "ROC": area(p, right),
        "ECE": error_of(bins(p, right)),
        "sure": float(sure.mean()),
        "wrong of sure": float((~right[sure]).mean()) if sure.any() else 0.0,
        "right that are sure": float(sure[right].mean()) if right.any() else 0.0,
    }


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the figures by problem, of all scenes that count and of each one, the reliability and the fit."""
    problems: dict[str, Any] = {}
    runs = to_frame(rows)
    for problem, frame in runs.groupby("problem", sort=False):
        p, coefficients = predict(frame)
        frame = frame.assign(p=p)
        counted = frame[~frame["scene"].isin([*MADE, *APART])]
        scenes = {str(name): _figures(of_scene) for name, of_scene in frame.groupby("scene", sort=False)}
        whole = _figures(counted)
        whole["band"] = band(counted["p"].to_numpy(), list(counted["pair"]), np.random.default_rng(0))
        problems[str(problem)] = {"all": whole, "scenes": scenes, "coefficients": coefficients}
    texts = {".csv": runs.to_csv(index=False, float_format="%.5g")}
    return Report(records={"pairs": setup.pairs, "problems": problems}, texts=texts, notes=[code_of(problems)])


_SHOWN = ("ROC", "ECE", "sure", "wrong of sure", "right that are sure")


def table(document: Mapping[str, Any]) -> Table:
    """Return the figures of every problem, for all real runs and for synthetic scenes."""
    rows = []
    for problem, found in document["problems"].items():
        synthetic = {name: of for name, of in found["scenes"].items() if name in ("families", "structures")}
        for name, of in ({"all runs": found["all"]} | synthetic).items():
            cells = ["" if of[key] is None or np.isnan(of[key]) else share(of[key]) for key in ("right", *_SHOWN)]
            cells[2] += f" (band {share(of['band'])})" if "band" in of else ""
            rows.append([problem, name, str(of["runs"]), *cells])
    heads = ["ROC", "calibration error", "p >= .95", "wrong of these", "of the right"]
    return plain_table(["", "scene, left out", "runs", "right", *heads], rows)


def code_of(problems: Mapping[str, Any]) -> str:
    """Return the coefficients of the fit to all scenes, as code for the library."""
    code = []
    for problem, found in problems.items():
        values = " ".join(f'"{name}":~{value:.3f},' for name, value in found["coefficients"].items())
        text = textwrap.indent(textwrap.fill(values, 110).replace(":~", ": "), " " * 8)
        code += [f'    "{PROBLEMS[problem][0]}": {{', text, "    },"]
    return "\n".join(["COEFFICIENTS = {", *code, "}"])


MEASUREMENT = of_module(
    __name__,
    title="How often a model is right, given its confidence",
    options=(
        *ON_DATA,
        Option("pairs", int, 40, "Maximum number of pairs of a set with poses.", least=1),
        Option("repeats", int, 10, "Scenes of every synthetic family.", least=1, flag="--seeds"),
        FIRST_SEED,
    ),
    tables={"trust": table},
    values=(add_overlay, evidence),
)
