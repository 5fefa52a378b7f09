"""The default options and the presets "fast" and "accurate", through every public function."""

import dataclasses
from functools import partial

import numpy as np
import pytest

import bansac
from bansac.engine import slices
from bansac.engine.hypotheses import Hypotheses
from bansac.engine.model_selection import Plausibility
from bansac.lab.metrics import corner_error, rotation_error, translation_error
from bansac.problems.estimators import ESTIMATORS
from bansac.problems.line import LINE
from bansac.synthetic import (
    circle_points,
    epipolar_matches,
    homography_matches,
    line_points,
    polynomial_points,
)
from tests.reference import epipolar as reference
from tests.reference import focal_lengths

PLANE = homography_matches(200, inlier_ratio=0.5, noise=0.3, seed=3)
SCENE = epipolar_matches(200, inlier_ratio=0.6, noise=0.2, seed=4)
POINTS = line_points(150, inlier_ratio=0.5, noise=0.005, seed=1)
CIRCLE = circle_points(150, inlier_ratio=0.5, noise=0.005, seed=1)
CURVE = polynomial_points(200, degree=3, inlier_ratio=0.6, noise=0.005, seed=1)
# The matches of a shift, in place of those of the homography.
SHIFT = np.array([12.0, -7.0])
MAP = dataclasses.replace(PLANE, x2=np.where(PLANE.inliers[:, None], PLANE.x1 + SHIFT, PLANE.x2), H=None)
# Points of space: seen by camera 1, moved without turning, and on a plane.
SEEN = np.where(np.isnan(SCENE.points), np.random.default_rng(0).uniform(-5, 5, (200, 3)), SCENE.points)
MOVED = np.where(SCENE.inliers[:, None], SEEN + np.array([1, 2, 3]), SEEN[::-1])
FLAT = np.column_stack([POINTS.points, np.linspace(-1, 1, 150)])
ROUND = CIRCLE.points * [1.0, 0.7]
# A user's problem: a solver and residuals, and no more.
BARE = bansac.Problem("bare line", 2, 2, (3,), LINE.solve, LINE.residuals)


def rays(x):
    return (x - SCENE.K[:2, 2]) / np.diag(SCENE.K)[:2]


def is_homography(H):
    return corner_error(H, PLANE.H, PLANE.size) < 2


def is_map(M):
    return np.abs(PLANE.x1 @ M[:, :2].T + M[:, 2] - PLANE.x1 - SHIFT).max() < 0.5


def is_fundamental(F):
    data = np.vstack([SCENE.x1.T, SCENE.x2.T])[:, SCENE.inliers]
    return np.median(np.sqrt(reference.sampson(data, F))) < 0.3 and np.linalg.svd(F)[1][2] < 1e-12


def is_essential(E):
    inverse = np.linalg.inv(SCENE.K)
    F = inverse.T @ E @ inverse
    return is_fundamental(F / np.linalg.norm(F)) and np.linalg.svd(E)[1] == pytest.approx([1, 1, 0])


def is_pose(pose):
    return rotation_error(pose.R, SCENE.R) < 1 and translation_error(pose.t, SCENE.t) < 3


def is_line(model):
    return model * np.sign(model[:2] @ POINTS.model[:2]) == pytest.approx(POINTS.model, abs=0.02)


def is_circle(model):
    return model == pytest.approx(CIRCLE.model, abs=0.02)


def is_camera(pose):
    return np.abs(pose.R - np.eye(3)).max() < 0.01 and np.abs(pose.t).max() < 0.05


def is_motion(M):
    return np.abs(SEEN @ M[:, :3].T + M[:, 3] - SEEN - [1, 2, 3]).max() < 0.01


def is_plane(model):
    return model[[0, 1, 3]] * np.sign(model[:2] @ POINTS.model[:2]) == pytest.approx(POINTS.model, abs=0.02)


def is_ellipse(model):
    x, y, r = CIRCLE.model
    return model[:4] == pytest.approx([x, 0.7 * y, r, 0.7 * r], abs=0.02)


def is_curve(model):
    x = np.linspace(-1, 1, 50)
    expected = np.polynomial.polynomial.polyval(x, CURVE.model)
    return np.polynomial.polynomial.polyval(x, model) == pytest.approx(expected, abs=0.15)


# For every public function: the call, what is made, and whether a model is right.
VIEWS, SIZES = (SCENE.x1, SCENE.x2), {"image_size1": (480, 640), "image_size2": (480, 640)}
CALLS = {
    "estimate_homography": (partial(bansac.estimate_homography, PLANE.x1, PLANE.x2), PLANE, is_homography),
    "estimate_fundamental": (partial(bansac.estimate_fundamental, *VIEWS), SCENE, is_fundamental),
    "estimate_fundamental, sizes": (partial(bansac.estimate_fundamental, *VIEWS, **SIZES), SCENE, is_fundamental),
    "estimate_essential": (partial(bansac.estimate_essential, *VIEWS, SCENE.K), SCENE, is_essential),
    "estimate_essential, rays": (partial(bansac.estimate_essential, *map(rays, VIEWS)), SCENE, is_essential),
    "estimate_relative_pose": (partial(bansac.estimate_relative_pose, *VIEWS, SCENE.K), SCENE, is_pose),
    "estimate_affine": (partial(bansac.estimate_affine, MAP.x1, MAP.x2), MAP, is_map),
    "estimate_similarity": (partial(bansac.estimate_similarity, MAP.x1, MAP.x2), MAP, is_map),
    "estimate_absolute_pose": (partial(bansac.estimate_absolute_pose, SEEN, SCENE.x1, SCENE.K), SCENE, is_camera),
    "estimate_rigid_3d": (partial(bansac.estimate_rigid_3d, SEEN, MOVED, threshold=0.1), SCENE, is_motion),
    "estimate_similarity_3d": (partial(bansac.estimate_similarity_3d, SEEN, MOVED, threshold=0.1), SCENE, is_motion),
    "estimate_affine_3d": (partial(bansac.estimate_affine_3d, SEEN, MOVED, threshold=0.1), SCENE, is_motion),
    "fit_ellipse": (partial(bansac.fit_ellipse, ROUND, threshold=0.02), CIRCLE, is_ellipse),
    "fit_plane": (partial(bansac.fit_plane, FLAT, threshold=0.02), POINTS, is_plane),
    "fit_line": (partial(bansac.fit_line, POINTS.points, threshold=0.02), POINTS, is_line),
    "fit_circle": (partial(bansac.fit_circle, CIRCLE.points, threshold=0.02), CIRCLE, is_circle),
    "fit_polynomial": (partial(bansac.fit_polynomial, CURVE.points, 3, threshold=0.02), CURVE, is_curve),
    "ransac": (partial(bansac.ransac, LINE, POINTS.points, threshold=0.02), POINTS, is_line),
    "ransac, bare": (partial(bansac.ransac, BARE, POINTS.points, threshold=0.02), POINTS, is_line),
}
# From the last to the first: test_bad_input.py compiles the same functions from the first on, in another process.
calls = pytest.mark.parametrize(("call", "made", "is_right"), list(CALLS.values())[::-1], ids=list(CALLS)[::-1])
presets = pytest.mark.parametrize("preset", [None, "fast", "accurate"])


@calls
@presets
@pytest.mark.parametrize("scored", [False, True], ids=["", "scores"])
def test_every_function_finds_the_model(call, made, is_right, preset, scored):
    noise = np.random.default_rng(5).uniform(-0.2, 0.2, len(made.inliers))
    scores = {"scores": np.where(made.inliers, 0.7, 0.4) + noise} if scored else {}
    result = call(preset=preset, **scores)
    assert result.success, result.message
    assert is_right(result.model)
    assert np.array_equal(result.inliers, result.residuals <= result.threshold)
    assert (result.inliers & made.inliers).sum() > 0.8 * made.inliers.sum()
    if preset == "fast":
        assert result.restarts == 1
        assert result.stop_reason in ("bansac", "prosac" if scored else "sprt")
    else:
        assert result.stop_reason == "agreement"
        assert result.restarts >= {None: 2, "accurate": 4}[preset] - (result.inlier_ratio > 0.5)


METHODS = {
    "uniform": {"sampler": "uniform"},
    "bansac": {},
    "order 2": {"order": 2},
    "order 3": {"order": 3},
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


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *((f"estimate_{n}", m) for n in ("homography", "fundamental", "relative_pose") for m in METHODS | OF_VIEWS),
        *((f"fit_{n}", m) for n in ("line", "circle", "polynomial") for m in METHODS),
        *((n, "bansac") for n in CALLS if "sizes" not in n),
    ],
)
def test_every_method_of_the_paper_finds_the_model(name, method):
    call, made, is_right = CALLS[name]
    for seed in (0, 1):
        threshold = {"threshold": 4e-3} if name == "estimate_absolute_pose" else {}  # it has no default for this preset
        result = call(preset="paper", seed=seed, **(METHODS | OF_VIEWS)[method], **threshold)
        assert result.success, result.message
        assert is_right(result.model)
        if made is PLANE:
            assert (result.inliers & made.inliers).sum() > 0.8 * made.inliers.sum()


@calls
def test_a_seed_gives_the_same_bits_over_several_rounds(call, made, is_right):
    first, second, other = (call(seed=seed, agreement=4, restart_iterations=40) for seed in (3, 3, 4))
    assert first.restarts >= 3
    for field in dataclasses.fields(first):
        if field.name in ("seconds", "loading_seconds"):
            continue
        a, b = getattr(first, field.name), getattr(second, field.name)
        pairs = zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]
        for one, two in pairs:
            assert np.asarray(one).tobytes() == np.asarray(two).tobytes(), field.name
    assert not np.array_equal(first.beliefs, other.beliefs)


def sample_size(name):
    function = name.partition(",")[0]
    sizes = {row.function: row.load_problem().sample_size for row in ESTIMATORS if row.problem is not None}
    return (sizes | {"fit_polynomial": 4, "ransac": 2})[function]


@pytest.mark.parametrize("name", CALLS)
def test_single_settings_turn_every_step_off(name):
    plain = CALLS[name][0](restarts=1, local_optimization=None, refinement=None, weighting=None)
    assert plain.success
    assert plain.stop_reason != "agreement"
    relative = plain.residuals / plain.threshold
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


def test_rounds_share_the_budget_and_the_last_says_why_it_ended():
    result = hard(restart_iterations=30, max_iterations=100, agreement=50, trace=True)
    assert (result.restarts, result.iterations, result.stop_reason) == (4, 100, "max_iterations")
    assert len(result.trace) == 100
    result = hard(restarts=3, restart_iterations=30, agreement=50, stopping=None)
    assert (result.restarts, result.iterations, result.stop_reason) == (3, 120, "restarts")  # and a challenge
    perfect = np.column_stack([np.arange(50.0), np.arange(50.0)])
    result = bansac.fit_line(perfect, threshold=0.1, restarts=3, agreement=5)  # RANSAC's criterion ends every restart
    assert (result.restarts, result.stop_reason) == (3, "restarts")
    assert result.iterations < 300


def test_rounds_go_on_until_they_have_the_minimum_of_samples():
    x = np.random.default_rng(0).uniform(0, 500, (100, 2))
    few = bansac.estimate_homography(x, x + 1)
    most = bansac.estimate_homography(x, x + 1, min_iterations=1000)
    assert few.iterations < 1000 <= most.iterations
    assert (few.stop_reason, most.stop_reason) == ("agreement", "agreement")
    result = hard(restarts=3, restart_iterations=30, agreement=50, min_iterations=200)
    assert (result.restarts, result.iterations, result.stop_reason) == (6, 210, "restarts")  # and a challenge


def test_one_round_ends_by_its_criterion_or_for_want_of_samples():
    assert bansac.fit_line(POINTS.points, threshold=0.02, restarts=1).stop_reason == "ransac"
    for preset, iterations in ((None, 50_000), ("fast", 600)):
        result = hard(preset=preset, restarts=1, stopping=None)
        assert (result.restarts, result.iterations, result.stop_reason) == (1, iterations, "max_iterations")
    result = hard(restarts=1, restart_iterations=50, stopping=None)
    assert (result.restarts, result.iterations, result.stop_reason) == (1, 50, "restarts")


def test_the_trace_of_several_rounds_counts_on():
    result = hard(restart_iterations=60, max_iterations=150, agreement=50, stopping=None, trace=True)
    trace = result.trace
    assert len(trace) == result.iterations == 150
    assert set(trace.snapshots) == {0, 2, 4, 9, 10, 11, 14, 100, 150}
    assert (trace.snapshots[0] == 0.5).all()
    # Every restart starts without a model: the best so far grows within each.
    for begin, end in ((0, 60), (60, 120), (120, 150)):
        assert (np.diff(trace.best_score[begin:end]) >= 0).all()
    plain = hard(restart_iterations=60, max_iterations=150, agreement=50, stopping=None)
    assert np.array_equal(plain.model, result.model)
    assert np.array_equal(plain.beliefs, result.beliefs)


def test_the_time_limit_stops_between_rounds(monkeypatch):
    original = Hypotheses.count_restart

    def count_restart(hypotheses, *arguments, **settings):
        """Count a restart, the second after the deadline."""
        original(hypotheses, *arguments, **settings)
        if hypotheses.count == 2:
            monkeypatch.setattr(slices.time, "perf_counter", lambda: 1e9)

    monkeypatch.setattr(Hypotheses, "count_restart", count_restart)
    result = hard(agreement=50, max_seconds=1e6, restart_iterations=30)
    assert result.stop_reason == "max_seconds"
    assert (result.restarts, result.iterations) == (2, 60)
    assert result.model is not None


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
    moved = SCENE.x1 + np.array([250.0, 0.0])  # some points may leave an image
    bansac.estimate_fundamental(moved, SCENE.x2, **SIZES, max_iterations=300)


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
    hard(image_size1=(480, 640), image_size2=np.array([600, 800.0]), max_iterations=600, agreement=50)
    assert given[0].tolist() == [319.5, 239.5, 800.0, 399.5, 299.5, 1000.0, given[0][-1]]
    assert given[0][-1] >= 2
    with pytest.warns(UserWarning, match="image_size2 is missing"):  # one size says nothing
        hard(image_size1=(480, 640), max_iterations=300)
    assert len(given) == 1
    assert calls(**SIZES, local_optimization=None) == 0  # one model competes with none
    assert calls(**SIZES) > 0


def test_implausible_focal_lengths_lose():
    settings = {"restarts": 12, "agreement": 12, "max_iterations": 1200, "restart_iterations": 100}
    without = hard(**settings)
    sized = hard(**settings, **SIZES)
    assert sized.iterations == without.iterations
    sizes = (480, 640), (480, 640)
    assert focal_lengths.plausibility(sized.model, *sizes) >= focal_lengths.plausibility(without.model, *sizes)
