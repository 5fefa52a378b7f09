"""The default options and the presets "fast" and "accurate", through every public function."""

import time
from functools import partial

import numpy as np
import pytest

import bansac
from bansac import Network, Restarts
from bansac.compiled import clock
from bansac.engine.interruptible import InterruptibleLoop
from bansac.engine.model_selection import Plausibility
from bansac.geometry import normalise_points
from bansac.problems.estimators import ESTIMATORS
from bansac.problems.line import LINE
from bansac.synthetic import epipolar_matches
from bansac_lab.known_scenes import DEGREE, known_scene
from tests.reference import focal_lengths
from tests.results import assert_same

TABLE = {row.function: row for row in ESTIMATORS}
NOISE = 0.2
SCENES = {function: known_scene(row.name, 200, 0.6, NOISE, seed=4) for function, row in TABLE.items()}
SCENE, LINES = SCENES["estimate_essential"], SCENES["fit_line"]
MATCHES, (X1, X2, K, _) = SCENES["estimate_fundamental"], SCENE.arguments
RAYS = normalise_points(K, X1), normalise_points(K, X2)
# A user's problem: a solver and residuals, and no more.
BARE = bansac.Problem("bare line", 2, 2, (3,), LINE.solve, LINE.residuals)
SIZES = {"image_size1": (480, 640), "image_size2": (480, 640)}


def thresholds(function):
    """Return the threshold of curves, planes and motions of space, which have no default."""
    unit = 2e-3 if function == "fit_polynomial" else 1.0  # its scene has an extent of 2 instead of 1000
    return {"threshold": 4 * NOISE * unit} if "fit" in function or "3d" in function else {}


# For every public function: the call and what is to be found.
CALLS = {
    **{
        name: (partial(row.load_function(), *SCENES[name].arguments, **thresholds(name)), SCENES[name])
        for name, row in TABLE.items()
    },
    "estimate_fundamental, sizes": (partial(bansac.estimate_fundamental, X1, X2, **SIZES), MATCHES),
    "estimate_essential, rays": (partial(bansac.estimate_essential, *RAYS), SCENE),
    "ransac": (partial(bansac.ransac, LINE, *LINES.arguments, **thresholds("fit_line")), LINES),
    "ransac, bare": (partial(bansac.ransac, BARE, *LINES.arguments, **thresholds("fit_line")), LINES),
}


def is_right(model, made):
    """Return whether a model is near the true one, up to its sign."""
    numbers = np.concatenate([np.ravel(part) for part in model])
    near = min(np.abs(numbers - sign * made.model.ravel()).max() for sign in (1, -1))
    return near < 0.03 * max(1, np.abs(made.model).max())


# From the last to the first: test_bad_input.py compiles the same functions from the first on, in another process.
calls = pytest.mark.parametrize(("call", "made"), list(CALLS.values())[::-1], ids=list(CALLS)[::-1])
presets = pytest.mark.parametrize("preset", [None, "fast", "accurate"])


@calls
@presets
@pytest.mark.parametrize("scored", [False, True], ids=["", "scores"])
def test_every_function_finds_the_model(call, made, preset, scored):
    noise = np.random.default_rng(5).uniform(-0.2, 0.2, len(made.inliers))
    scores = {"scores": np.where(made.inliers, 0.7, 0.4) + noise} if scored else {}
    result = call(preset=preset, **scores)
    assert result.success, result.message
    assert is_right(result.model, made)
    assert np.array_equal(result.inliers, result.residuals <= result.threshold)
    assert (result.inliers & made.inliers).sum() > 0.8 * made.inliers.sum()
    if preset == "fast":
        assert result.restarts == 1
        assert result.stop_reason in ("bansac", "prosac" if scored else "sprt")
    else:
        assert result.stop_reason == "agreement"
        assert result.restarts >= {None: 2, "accurate": 4}[preset] // (2 if result.inlier_ratio > 0.5 else 1)


METHODS = {
    "uniform": {"sampler": "uniform"},
    "bansac": {},
    "order 2": {"network": Network(order=2)},
    "order 3": {"network": Network(order=3)},
    "no verification": {"verification": None},
    "msac": {"scoring": "msac"},
    "baysac": {"sampler": "baysac"},
    "ar": {"sampler": "ar"},
    "uniform, inner and iterative": {"sampler": "uniform", "local_optimization": "inner+iterative"},
}
# Neighbours on a curve say little about it; local optimisation settles on a wrong curve once in a hundred runs.
OF_VIEWS = {
    "napsac": {"sampler": "napsac"},
    "inner": {"local_optimization": "inner"},
    "iterative": {"local_optimization": "iterative"},
}
# Thresholds of the estimators without a default for the preset "paper".
NO_DEFAULT = {"estimate_absolute_pose": 4e-3, "estimate_vanishing_point": 1.0}


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *((f"estimate_{n}", m) for n in ("homography", "fundamental", "relative_pose") for m in METHODS | OF_VIEWS),
        *((f"fit_{n}", m) for n in ("line", "circle", "polynomial") for m in METHODS),
        *((n, "bansac") for n in CALLS if "sizes" not in n),
    ],
)
def test_every_method_of_the_paper_finds_the_model(name, method):
    call, made = CALLS[name]
    for seed in (0, 1):
        threshold = {"threshold": NO_DEFAULT[name]} if name in NO_DEFAULT else {}
        result = call(preset="paper", seed=seed, **(METHODS | OF_VIEWS)[method], **threshold)
        assert result.success, result.message
        assert is_right(result.model, made)


@calls
def test_a_seed_gives_the_same_bits_over_several_rounds(call, made):
    first, second, other = (call(seed=seed, restarts=Restarts(agreement=6, iterations=40)) for seed in (3, 3, 4))
    assert first.restarts >= 3
    assert_same(first, second)
    assert first.models_tested != other.models_tested or not np.array_equal(first.beliefs, other.beliefs)


def sample_size(name):
    row = TABLE.get(name.partition(",")[0], TABLE["fit_line"])
    return DEGREE + 1 if row.problem is None else row.load_problem().sample_size


@pytest.mark.parametrize("name", CALLS)
def test_single_settings_turn_every_step_off(name):
    plain = CALLS[name][0](restarts=1, local_optimization=None, refinement=None, weighting=None)
    assert plain.success
    assert plain.stop_reason != "agreement"
    relative = plain.residuals / plain.threshold
    if name not in ("estimate_rigid_3d", "estimate_similarity_3d", "fit_cylinder"):  # samples have too many numbers
        assert np.sort(relative)[sample_size(name) - 1] < 1e-6, "the model of a minimal sample goes through it"
    assert plain.score == pytest.approx(np.maximum(1 - relative**2, 0).sum(), abs=1e-2), "all data count alike"


def test_a_problem_that_lacks_optional_functions_leaves_out_their_steps():
    call, without = CALLS["ransac, bare"][0], {"local_optimization": None, "refinement": None, "weighting": None}
    assert call().model.tobytes() == call(**without).model.tobytes()
    assert not np.array_equal(CALLS["ransac"][0]().model, CALLS["ransac"][0](**without).model)


# Rounds, from outside.

HARD = epipolar_matches(200, inlier_ratio=0.3, noise=0.5, seed=4)


def hard(**settings):
    """Estimate F of few inliers, from equal priors."""
    return bansac.estimate_fundamental(HARD.x1, HARD.x2, neighbours=False, **settings)


def test_kernels_that_compile_take_no_time_of_the_limit(monkeypatch):
    original = InterruptibleLoop.run

    def run(*arguments, **settings):
        """Take as long as the time limit to load kernels."""
        with clock.loading():
            time.sleep(0.5)
        return original(*arguments, **settings)

    monkeypatch.setattr(InterruptibleLoop, "run", run)
    result = hard(restarts=Restarts(agreement=50, iterations=30), max_seconds=0.5, max_iterations=60)
    assert result.stop_reason == "max_iterations"


# Sizes of the images.


@pytest.mark.parametrize("name", ["image_size1", "image_size2"])
@pytest.mark.parametrize(
    ("size", "found"),
    [
        ((480,), "height, width"),
        (480, "height, width"),
        ((480, 640, 3), "height, width"),
        ((0, 640), "positive integers"),
        ((480, -640), "positive integers"),
        ((480.5, 640), "positive integers"),
        ((480, np.nan), "finite"),
        ("480x640", "real numbers"),
        (("480", "640"), "real numbers"),
    ],
)
def test_bad_sizes_of_images_raise_and_are_named(name, size, found):
    with pytest.raises(ValueError, match=rf"{name}.*{found}"):
        hard(**{name: size})
    with pytest.raises(ValueError, match=rf"{name}.*{found}"):
        hard(**SIZES | {name: size})


def test_sizes_that_the_points_leave_are_named():
    inside = np.random.default_rng(0).uniform(0, 1, (2, 60, 2)) * [640, 480]
    for name, k in (("image_size1", 0), ("image_size2", 1)):
        height, width = inside[k].max(axis=0)[::-1]
        found = rf"y = {height:.6g} and x = {width:.6g}"
        with pytest.raises(ValueError, match=rf"{name} is .* \(640, 480\), .* {found}: height and width seem swapped"):
            bansac.estimate_fundamental(*inside, **SIZES | {name: (640, 480)})
        with pytest.raises(ValueError, match=rf"{name} is .* \(240, 320\), .* {found}: \d+ of 60 points lie outside"):
            bansac.estimate_fundamental(*inside, **SIZES | {name: (240, 320)})
    moved = X1 + np.array([250.0, 0.0])  # some points may leave an image
    bansac.estimate_fundamental(moved, X2, **SIZES, max_iterations=300)


def count_call(model, transform, cameras):
    """Take all models for equally plausible; the last of the parameters is the number of calls."""
    cameras[-1] += 1.0
    return 1.0


def test_sizes_of_images_decide_between_models(monkeypatch):
    given = []

    def counted(function, cameras):
        given.append(np.append(cameras, 0.0))
        return Plausibility(count_call, given[-1])

    def calls(**settings):
        hard(max_iterations=300, restarts=1, **settings)
        return given[-1][-1]

    monkeypatch.setattr("bansac.estimate.two_views.Plausibility", counted)
    hard(
        image_size1=(480, 640), image_size2=np.array([600, 800.0]), max_iterations=600, restarts=Restarts(agreement=50)
    )
    assert given[0].tolist() == [319.5, 239.5, 800.0, 399.5, 299.5, 1000.0, given[0][-1]]
    assert given[0][-1] >= 2
    with pytest.warns(UserWarning, match="image_size2 is missing"):  # one size says nothing
        hard(image_size1=(480, 640), max_iterations=300)
    assert len(given) == 1
    assert calls(**SIZES, local_optimization=None) == 1  # for the weighted score of the hypothesis
    assert calls(**SIZES) > 1


def test_implausible_focal_lengths_lose():
    settings = {"restarts": Restarts(limit=12, agreement=12, iterations=100), "max_iterations": 1200}
    assert hard(**settings, **SIZES).iterations == hard(**settings).iterations
    gains = []
    for seed in range(30):
        pair = epipolar_matches(30, inlier_ratio=0.6, noise=1.0, seed=seed)
        runs = [bansac.estimate_fundamental(pair.x1, pair.x2, max_iterations=2000, **sizes) for sizes in (SIZES, {})]
        sized, without = (focal_lengths.plausibility(run.model, *SIZES.values()) for run in runs)
        gains.append(sized - without)
    assert sum(gain > 0.01 for gain in gains) > sum(gain < -0.01 for gain in gains)
    assert sum(gains) > 0.1
