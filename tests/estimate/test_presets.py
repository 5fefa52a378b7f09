"""Presets, and how they, options and single settings combine."""

import dataclasses
import typing
from pathlib import Path

import numpy as np
import pytest

import bansac
from bansac.engine.option_groups import Network, Restarts
from bansac.engine.options import REFINERS
from bansac.engine.sampling import SAMPLERS
from bansac.engine.scoring import SCORES
from bansac.engine.stopping import STOPS
from bansac.estimate import presets
from bansac.estimate.presets import PRESETS, SHARED_ARGUMENTS, Arguments, Options, find_preset, resolve_options
from bansac.problems.circle import CIRCLE as CIRCLE_PROBLEM
from bansac.problems.essential import ESSENTIAL, ESSENTIAL_SYMMETRIC
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.line import LINE
from bansac.problems.problem import LOCAL_OPTIMIZATIONS, WEIGHTINGS
from tests.results import assert_same
from tests.test_defaults import CALLS

FIELDS = [field.name for field in dataclasses.fields(Options)]

# Every number of the paper's pipeline. A change here is a change of what "paper" has meant so far. Comments are the
# paper's words (main text, section 5), or say that it is silent.
PAPER = {
    # The problem's: "an error threshold of 1e-3 (normalised points)", "of 0.5 pixel", "value of 1 pixel"
    "threshold": None,
    "confidence": 0.999,  # "and a confidence of 0.999"
    "max_iterations": None,  # the problem's: "1000 maximum iterations" (E, H), "10000" (F)
    "min_iterations": 0,  # "The stopping criterion is checked at each iteration"
    "restarts": Restarts(limit=1, agreement=2),  # the paper has no restarts; the agreement of one has no effect
    "max_seconds": None,
    "seed": 0,
    "sampler": "bansac",
    "scoring": "inliers",  # "run inlier counting"
    "weighting": None,
    "verification": "sprt",  # the paper is silent; the framework that it used has it
    # "BANSAC and SPRT stopping criteria"; with scores "BANSAC and PROSAC's"
    "stopping": "sampler",
    "local_optimization": None,  # "By default, no local optimization is run inside the RANSAC loop"
    "degeneracy": "default",  # "When those degenerative configurations are detected, the probabilities are not updated"
    # "the inliers of the best model are used to refine the final solution using a non-minimal solver"
    "refinement": "least_squares",
    "network": Network(
        order=1,  # "both BANSAC and P-BANSAC use the 1st-order Markov assumption"
        gamma="gamma_1",
        activation="rho_1",  # "we chose to use rho_1 in all other experiments"
        weight_floor=1.0,  # "each data point always has a chance of being selected"; the paper is silent on how small
        cpt="default",  # tab:prob_C
        tau="default",  # "we set [...] tau to 0.01 in BANSAC and 0.1 in P-BANSAC"
        min_updates=0,  # "The stopping criterion is checked at each iteration"
    ),
    "neighbours": False,  # the paper has none
    "trace": False,
}


def test_the_paper_is_pinned_field_by_field():
    paper = PRESETS["paper"]
    assert {name: getattr(paper.options, name) for name in FIELDS} == PAPER
    assert paper.thresholds == {"homography": 1.0, "fundamental matrix": 0.5, "essential matrix": 1e-3}
    assert paper.max_iterations == {"homography": 1000, "fundamental matrix": 10_000, "essential matrix": 1000}
    assert paper.as_paper
    criteria = {
        sampler: tuple(
            "+".join(stop.name for stop in paper.options.replace(sampler=sampler).stops(informed=informed))
            for informed in (False, True)
        )
        for sampler in SAMPLERS
    }
    assert criteria == {
        # "For BANSAC, we use a combination of BANSAC and SPRT stopping criteria", for P-BANSAC "BANSAC and PROSAC's"
        "bansac": ("bansac+sprt", "bansac+prosac"),
        # The paper is silent on the baselines' criteria, "only the sampling and the stopping criterion vary"
        "uniform": ("sprt", "sprt"),
        "napsac": ("sprt", "sprt"),
        "prosac": ("prosac", "prosac"),
        "p-napsac": ("ransac+sprt", "ransac+sprt"),
        "baysac": ("sprt", "sprt"),
        "ar": ("sprt", "sprt"),
    }


# What the defaults are; for the rest of the fields they are the paper's.
DEFAULT = {
    "neighbours": True,
    "network": Network(min_updates=20),
    "restarts": Restarts(limit=16),
    "scoring": "msac",
    "weighting": "default",
    "stopping": "default",
    "local_optimization": "default",
    "refinement": "default",
}
OTHERS = {
    "fast": {"restarts": Restarts(limit=1), "max_iterations": 600, "stopping": "sampler", "neighbours": False},
    "accurate": {"restarts": Restarts(limit=64, agreement=4), "max_iterations": 200_000},
}


def test_the_defaults_and_the_other_presets_are_pinned():
    assert tuple(PRESETS) == typing.get_args(presets.PresetName) == ("paper", "fast", "accurate", "paper-20")
    paper = PRESETS["paper"]
    assert PRESETS["paper-20"] == dataclasses.replace(
        paper, options=paper.options.replace(network=Network(min_updates=20))
    )
    assert {name: getattr(Options(), name) for name in FIELDS} == PAPER | DEFAULT
    for name, changes in OTHERS.items():
        found = PRESETS[name]
        assert {field: getattr(found.options, field) for field in FIELDS} == PAPER | DEFAULT | changes
        assert dataclasses.replace(found, options=Options()) == find_preset(None)


@pytest.mark.parametrize("problem", [HOMOGRAPHY, FUNDAMENTAL, ESSENTIAL, ESSENTIAL_SYMMETRIC, LINE, CIRCLE_PROBLEM])
def test_what_the_default_options_mean_for_a_problem(problem):
    options = Options()
    assert options.optimization(problem) == ("inner" if "matrix" in problem.name else "inner+iterative")
    assert options.refiner(problem) == "lm"
    bare = dataclasses.replace(problem, fit=None, linearize=None, tangent=None, project=None, parameters=None)
    assert options.optimization(bare) is None
    assert options.refiner(bare) is None
    assert options.refiner(dataclasses.replace(bare, fit=problem.fit)) == "least_squares"
    weights = {"homography": ("scores",), "fundamental matrix": ("density", "scores")}
    assert options.weights(problem) == weights.get(problem.name, ())


def test_every_preset_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "choosing.md").read_text()
    for name in PRESETS:
        assert f'"{name}"' in bansac.estimate_homography.__doc__
        assert f'| `"{name}"` |' in page


def test_no_preset_means_the_default_options():
    assert find_preset(None).options == Options()
    assert not find_preset(None).as_paper
    with pytest.raises(ValueError, match="'paper', 'fast', 'accurate', 'paper-20' or None; got 'quick'"):
        find_preset("quick")


def test_the_arguments_are_the_options_but_for_the_threshold_and_those_of_all_estimators():
    """A type checker needs both declarations, and this test keeps them the same."""
    hints, arguments = typing.get_type_hints(Options), typing.get_type_hints(Arguments)
    assert SHARED_ARGUMENTS == ("scores", "priors", "weights", "initial_model", "preset", "options")
    for name in SHARED_ARGUMENTS:
        del arguments[name]
    assert arguments == {name: hints[name] for name in FIELDS if name != "threshold"}


def literals(hint):
    """Return the strings that a type allows by name."""
    if typing.get_origin(hint) is typing.Literal:
        return typing.get_args(hint)
    return tuple(value for part in typing.get_args(hint) for value in literals(part))


KINDS = {field.name: kind for kind in (Options, Network) for field in dataclasses.fields(kind)}
ALTERNATIVES = {
    name: tuple(KINDS[name].__dataclass_fields__[name].metadata["choices"])
    for name in ("weighting", "verification", "local_optimization", "degeneracy", "gamma", "activation")
}
REGISTRIES = {"sampler": SAMPLERS, "scoring": SCORES, "stopping": STOPS, "refinement": REFINERS}


def test_types_name_the_alternatives_that_are_checked():
    for kind in (Options, Network):
        found = {name: literals(hint) for name, hint in typing.get_type_hints(kind).items()}
        for name, names in found.items():
            if KINDS[name] is kind and names not in ((), ("default",)):
                allowed = (*ALTERNATIVES.get(name, ()), *REGISTRIES.get(name, ()))
                assert tuple(value for value in names if value != "default" or value in allowed) == allowed
    assert ALTERNATIVES["weighting"] == ("default", *WEIGHTINGS)
    assert ALTERNATIVES["local_optimization"] == ("default", *LOCAL_OPTIMIZATIONS)


@pytest.mark.parametrize("name", [*ALTERNATIVES, *REGISTRIES])
def test_every_name_is_accepted_and_explained(name):
    for value in {**ALTERNATIVES, **REGISTRIES}[name]:
        kind = KINDS[name]
        assert getattr(kind(**{name: value} | ({"sampler": "prosac"} if value == "prosac" else {})), name) == value
        assert f'"{value}"' in kind.__doc__
        assert name in ("refinement", *ALTERNATIVES) or REGISTRIES[name][value].name == value


# What takes precedence over what.


def resolve(problem=HOMOGRAPHY, *, options=None, preset=None, threshold=None, default_threshold=None, **settings):
    settings |= {"options": options, "preset": preset}
    return resolve_options(problem, threshold, settings, default_threshold=default_threshold)[0]


def test_settings_go_before_options_and_these_before_the_preset():
    options = Options(threshold=2.0, network=Network(order=2), confidence=0.9)
    resolved = resolve(options=options, preset="paper", network=Network(order=3))
    assert (resolved.threshold, resolved.network.order, resolved.confidence) == (2.0, 3, 0.9)
    assert resolve(options=options, threshold=5.0).threshold == 5.0
    paper = PRESETS["paper"].options.replace(threshold=1.0, max_iterations=1000)
    assert resolve(preset="paper", network=Network(order=2)) == paper.replace(network=Network(order=2, min_updates=0))


def test_what_a_group_leaves_open_is_that_of_the_preset():
    assert resolve(preset="accurate", restarts=100).restarts == Restarts(limit=100, agreement=4)
    assert resolve(preset="accurate", restarts=Restarts(agreement=8)).restarts == Restarts(limit=64, agreement=8)
    assert resolve(restarts=Restarts(iterations=50)).restarts == Restarts(limit=16, agreement=2, iterations=50)
    assert resolve(options=Options(network=Network(min_updates=5)), network=Network(order=2)).network.min_updates == 5


def test_settings_of_the_network_need_a_sampler_with_a_network():
    assert resolve(preset="paper", sampler="uniform").network == Network(min_updates=0)
    for settings in ({"network": Network(order=2)}, {"options": Options(network=Network(order=2))}):
        with pytest.raises(ValueError, match="network needs sampler='bansac'"):
            resolve(sampler="uniform", **settings)
    with pytest.raises(ValueError, match="sampler must be one of"):
        resolve(sampler=["uniform"])


def test_the_problem_fills_in_what_is_left_open():
    resolved = resolve()
    assert resolved.threshold == HOMOGRAPHY.default_threshold
    assert resolve(default_threshold=7.0).threshold == 7.0
    assert resolved.max_iterations == HOMOGRAPHY.default_max_iterations
    assert resolve(threshold=3.0, default_threshold=7.0).threshold == 3.0
    assert resolve(min_iterations=60_000).max_iterations == 60_000
    assert resolve(options=Options(min_iterations=60_000)).max_iterations == 60_000
    assert resolve(min_iterations=np.int64(60_000)).max_iterations == 60_000
    assert resolve(min_iterations=5, max_iterations=10).max_iterations == 10
    assert resolve(LINE).threshold is None  # it is estimated from the extent of the data
    with pytest.raises(ValueError, match="threshold must be given: line has no default in preset 'paper'"):
        resolve(LINE, preset="paper")


@pytest.mark.parametrize(
    ("given", "estimated"),
    [
        ({}, True),
        ({"preset": "fast"}, True),
        ({"preset": "paper"}, False),
        ({"preset": "paper", "threshold": "auto"}, True),
        ({"threshold": 2.0}, False),
        ({"options": Options(threshold=2.0)}, False),
        ({"options": Options(threshold=2.0), "threshold": "auto"}, True),
        ({"options": Options(network=Network(order=2))}, True),
    ],
)
def test_the_threshold_is_estimated_unless_it_is_given(given, estimated):
    threshold = given.pop("threshold", None)
    assert presets.resolve_options(HOMOGRAPHY, threshold, given)[1] is estimated


# The preset "paper" does not follow the defaults.

VIEWS = ("estimate_homography", "estimate_fundamental", "estimate_essential", "estimate_relative_pose")


@pytest.mark.parametrize("name", [*VIEWS, "fit_circle", "ransac"])
def test_the_paper_does_not_follow_the_defaults(name, other_defaults):
    call = CALLS[name][0]
    paper, default = call(preset="paper"), call()
    assert default.trace is None
    with other_defaults():
        paper_after, default_after = call(preset="paper"), call()
    assert default_after.trace is not None
    assert default_after.seed != default.seed
    assert_same(paper, paper_after)
