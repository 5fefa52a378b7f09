"""Options that several measurements share, with the words of the command line."""

from __future__ import annotations

from pathlib import Path

from bansac.lab.measurement import Option
from bansac.problems.estimators import Kind

SETS = Option("sets", tuple[str, ...], (), "Run these sets only, joined by commas.")
EXCLUDE = Option("exclude", tuple[str, ...], (), "Leave these sets out, joined by commas.")

# Of the paper's experiments.
DATA = Option("data", Path, None, "A set of pairs in h5 files, or a folder with sets.", metavar="DIR")
NEEDED_DATA = Option("data", Path, None, DATA.help, required=True, metavar="DIR")
PAIRS = Option("pairs", int, None, "Maximum number of pairs of a set, evenly spaced. Default: the paper's.")
RUNS = Option("repeats", int, None, "Runs of every pair, or trials on synthetic points. Default: the paper's.", least=1)
MODEL = Option("model", Kind, None, "Only this model.")
SEED = Option("seed", int, 0, "Seed of repeat 0; repeat r has this seed + r.")
MAX_RATIO = Option("max_ratio", float, None, "Image pairs: use matches of a lower SNN ratio. Default: .85.")
PAIR = Option("pair", str, None, "probability-evolution: the pair.")
CURVE = Option("curve", str, None, "synthetic, curve-example: the curve that is fitted.")
NOISE = Option("noise", float, None, "synthetic: noise of the inliers. Default: .02.")
NOISE_IS_VARIANCE = Option("noise_is_variance", bool, False, "synthetic: the noise is a variance, as printed.")
EXPERIMENT_OPTIONS = (
    *(DATA, PAIRS, RUNS, MODEL, SEED, SETS, EXCLUDE, MAX_RATIO),
    *(PAIR, CURVE, NOISE, NOISE_IS_VARIANCE),
)
"""All options of ``bansac experiments run``; an experiment takes some of them."""

# Of the measurements on synthetic scenes.
SCENES = Option("repeats", int, None, "Scenes of every cell.", least=1, flag="--seeds")
FIRST_SEED = Option("seed", int, 0, "Seed of the first scene of every cell.")
