"""Bad input to every public function: a clear error, or success=False with the reason."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import bansac
from bansac.cli.compile_ahead import _data as warm_data
from bansac.problems.estimators import ESTIMATORS
from bansac.problems.line import LINE

RNG = np.random.default_rng(0)
GOOD = RNG.uniform(0, 100, (30, 2))
K = np.array([[500.0, 0, 50], [0, 500, 50], [0, 0, 1]])


def matches(name, **settings):
    return lambda x1, x2: getattr(bansac, name)(x1, x2, **settings)


PAIR_FUNCTIONS = {
    "estimate_homography": matches("estimate_homography"),
    "estimate_fundamental": matches("estimate_fundamental", max_iterations=200),
    "estimate_affine": matches("estimate_affine"),
    "estimate_similarity": matches("estimate_similarity"),
    "estimate_essential": matches("estimate_essential", max_iterations=200),
    "estimate_essential with K": lambda x1, x2: bansac.estimate_essential(x1, x2, K, threshold=1.0, max_iterations=200),
    "estimate_relative_pose": lambda x1, x2: bansac.estimate_relative_pose(x1, x2, K, K, max_iterations=200),
}
MASKED = np.ma.masked_array(GOOD, mask=np.arange(60).reshape(30, 2) == 7)
POINT_FUNCTIONS = {
    "fit_line": lambda points: bansac.fit_line(points, threshold=0.5),
    "fit_circle": lambda points: bansac.fit_circle(points, threshold=0.5),
    "fit_ellipse": lambda points: bansac.fit_ellipse(points, threshold=0.5),
    "fit_polynomial": lambda points: bansac.fit_polynomial(points, 3, threshold=0.5),
    "ransac": lambda points: bansac.ransac(LINE, points, threshold=0.5),
}
# Functions of points of space: how they are called, and the names and shapes of what they take.
SPACE = RNG.uniform(0, 100, (30, 3))
SPACE_FUNCTIONS = {
    "estimate_absolute_pose": (bansac.estimate_absolute_pose, {"points3D": SPACE, "points2D": GOOD}, {}),
    "estimate_absolute_pose with K": (bansac.estimate_absolute_pose, {"points3D": SPACE, "points2D": GOOD}, {"K": K}),
    "estimate_rigid_3d": (bansac.estimate_rigid_3d, {"x1": SPACE, "x2": SPACE + 1}, {"threshold": 0.5}),
    "estimate_similarity_3d": (bansac.estimate_similarity_3d, {"x1": SPACE, "x2": SPACE + 1}, {"threshold": 0.5}),
    "estimate_affine_3d": (bansac.estimate_affine_3d, {"x1": SPACE, "x2": SPACE + 1}, {"threshold": 0.5}),
    "fit_plane": (bansac.fit_plane, {"points": SPACE}, {"threshold": 0.5}),
}
pairs = pytest.mark.parametrize("call", PAIR_FUNCTIONS.values(), ids=PAIR_FUNCTIONS.keys())
clouds = pytest.mark.parametrize("call", POINT_FUNCTIONS.values(), ids=POINT_FUNCTIONS.keys())

BAD_ARRAYS = {
    "three columns": (np.zeros((30, 3)), "shape"),
    "one row": (np.zeros(30), "shape"),
    "a number": (3.0, "shape"),
    "transposed": (GOOD.T, "shape"),
    "nan": (np.where(np.arange(60).reshape(30, 2) == 7, np.nan, GOOD), "finite"),
    "inf": (np.where(np.arange(60).reshape(30, 2) == 7, np.inf, GOOD), "finite"),
    "huge": (GOOD * 1e300, "exceed"),
    "text": ([["a", "b"]] * 30, "real numbers"),
    "complex": (GOOD + 1j, "real numbers, got complex numbers"),
    "complex in a list": ([[1j, 2.0]] * 30, "real numbers"),
    "complex objects": (np.full((30, 2), 1j, object), "real numbers"),
    "booleans": (GOOD > 50, "real numbers, got booleans"),
    "boolean objects": (np.full((30, 2), True, object), "real numbers"),
    "text that looks like numbers": (np.full((30, 2), "1.5"), "real numbers, got text"),
    "objects of text": (np.full((30, 2), "1.5", object), "real numbers"),
    "dates": (np.zeros((30, 2), "datetime64[s]"), "real numbers"),
    "masked": (MASKED, "masked"),
    "integers beyond float64": ([[10**400, 1]] * 30, "real numbers"),
    "ragged": ([[1.0, 2.0], [3.0]], "real numbers"),
    "none": (None, "real numbers|shape|finite"),
}
bad_arrays = pytest.mark.parametrize(("bad", "found"), BAD_ARRAYS.values(), ids=BAD_ARRAYS.keys())


def assert_honest(result, n):
    """The fields agree with one another, whatever was found."""
    assert result.inliers.shape == result.residuals.shape == (n,)
    assert result.inliers.dtype == np.bool_
    assert np.array_equal(result.inliers, result.residuals <= result.threshold)
    assert not np.isnan(result.residuals).any()
    assert result.message
    assert (result.probabilities is not None) == result.success
    for p in (result.probabilities, result.beliefs):
        if p is not None:
            assert p.shape == (n,)
            assert ((p >= 0) & (p <= 1)).all()
    if result.model is None:
        assert not result.success
        assert not result.inliers.any()
    else:
        parts = result.model if isinstance(result.model, tuple) else (result.model,)
        assert all(np.isfinite(part).all() for part in parts)


@pairs
def test_a_masked_array_without_masked_values_is_taken(call):
    plain, masked = call(GOOD, GOOD + 1), call(np.ma.masked_array(GOOD), np.ma.masked_array(GOOD + 1, mask=False))
    assert np.array_equal(plain.residuals, masked.residuals)
    assert type(masked.residuals) is np.ndarray


@pairs
@bad_arrays
def test_bad_matches_raise_and_are_named(call, bad, found):
    with pytest.raises(ValueError, match=rf"x1.*({found})"):
        call(bad, GOOD)
    with pytest.raises(ValueError, match=rf"x2.*({found})"):
        call(GOOD, bad)


@pytest.mark.parametrize(("function", "good", "settings"), SPACE_FUNCTIONS.values(), ids=SPACE_FUNCTIONS)
def test_bad_points_of_space_raise_and_poor_ones_fail(function, good, settings):
    for name, points in good.items():
        shapes = [np.zeros((30, points.shape[1] + 1)), np.zeros(30), 3.0]
        values = [(np.nan, "finite"), (np.inf, "finite"), (1e300, "exceed")]
        numbers = [points + 1j, points > 50, points.astype(str), None]
        bad = [(array, "shape") for array in shapes] + [(array, "real numbers") for array in numbers]
        bad += [(np.where(points == points[3, 1], value, points), found) for value, found in values]
        bad.append((np.ma.masked_greater(points, 90), "masked"))
        for array, found in bad:
            with pytest.raises(ValueError, match=rf"^{name} .*({found})"):
                function(**{**good, name: array}, **settings)
    poor = {
        "nothing": slice(0),
        "too few": slice(2),
        "one datum, often": np.zeros(50, int),
        "a sample, often": np.arange(90) % 3,
    }
    for chosen in poor.values():
        data = {name: points[chosen] for name, points in good.items()}
        result = function(**data, **settings)
        assert_honest(result, len(data[next(iter(data))]))
        assert not result.success
    line = np.linspace(0, 100, 50)
    on_line = {name: np.column_stack([line, 2 * line + 1, line])[:, : points.shape[1]] for name, points in good.items()}
    result = function(**on_line, **settings)
    assert_honest(result, 50)
    assert not result.success
    lists = function(**{name: points.tolist() for name, points in good.items()}, **settings)
    assert np.array_equal(lists.residuals, function(**good, **settings).residuals)
    if len(good) == 2:
        shorter = dict(good, **{next(iter(good)): next(iter(good.values()))[:-1]})
        with pytest.raises(ValueError, match="must have equal lengths"):
            function(**shorter, **settings)


@clouds
@bad_arrays
def test_bad_points_raise_and_are_named(call, bad, found):
    name = "data" if call is POINT_FUNCTIONS["ransac"] else "points"
    with pytest.raises(ValueError, match=rf"^{name} .*({found})"):
        call(bad)


@pairs
def test_unequal_lengths_raise(call):
    with pytest.raises(ValueError, match="x1 and x2 must have equal lengths, got 30 and 29"):
        call(GOOD, GOOD[:-1])


@pytest.mark.parametrize(
    ("call", "n"),
    [
        pytest.param(call, n, id=f"{name}, {n}")
        for name, call in PAIR_FUNCTIONS.items()
        for n in ([0, 1] if name in ("estimate_affine", "estimate_similarity") else [0, 1, 3])
    ],
)
def test_too_few_matches_fail_with_the_reason(call, n):
    result = call(GOOD[:n], GOOD[:n])
    assert_honest(result, n)
    assert result.model is None
    assert result.stop_reason == "no_data"
    assert f"got {n}" in result.message


@clouds
@pytest.mark.parametrize("n", [0, 1])
def test_too_few_points_fail_with_the_reason(call, n):
    result = call(GOOD[:n])
    assert_honest(result, n)
    assert result.model is None
    assert f"got {n}" in result.message


@pairs
def test_coincident_matches_fail(call):
    result = call(np.full((50, 2), 7.0), np.full((50, 2), 3.0))
    assert_honest(result, 50)
    assert not result.success


@clouds
def test_coincident_points_fail(call):
    result = call(np.full((50, 2), 7.0))
    assert_honest(result, 50)
    assert not result.success


def test_collinear_matches_give_no_homography():
    x = np.linspace(0, 100, 50)
    line = np.column_stack([x, 2 * x + 1])
    result = bansac.estimate_homography(line, line + 5)
    assert_honest(result, 50)
    assert result.model is None
    assert "degenerate" in result.message


@pairs
def test_collinear_matches_are_survived(call):
    x = np.linspace(0, 100, 50)
    assert_honest(call(np.column_stack([x, 2 * x + 1]), np.column_stack([x, 2 * x + 1]) + 5), 50)


def test_collinear_points_give_no_circle():
    x = np.linspace(0, 100, 50)
    result = bansac.fit_circle(np.column_stack([x, 2 * x]), threshold=0.5)
    assert_honest(result, 50)
    assert not result.success


@pairs
def test_duplicates_of_a_minimal_sample_are_survived(call):
    assert_honest(call(np.repeat(GOOD[:8], 10, axis=0), np.repeat(GOOD[8:16], 10, axis=0)), 80)


@pairs
def test_lists_integers_float32_and_opencv_shapes_give_the_same_answer(call):
    whole = np.round(GOOD)
    expected = call(whole, whole[:, ::-1] + 3)
    for x1, x2 in [
        (whole.tolist(), (whole[:, ::-1] + 3).tolist()),
        (whole.astype(int), (whole[:, ::-1] + 3).astype(int)),
        (whole.astype(np.float32), (whole[:, ::-1] + 3).astype(np.float32)),
        (whole[:, None, :], (whole[:, ::-1] + 3)[:, None, :]),
        (np.asfortranarray(whole), np.repeat(whole[:, ::-1] + 3, 2, axis=0)[::2]),
    ]:
        result = call(x1, x2)
        assert np.array_equal(result.inliers, expected.inliers)
        assert np.array_equal(result.residuals, expected.residuals)


class Unreadable:
    """Like a tensor that NumPy cannot take."""

    def __array__(self, *arguments, **settings):
        raise RuntimeError("it needs a gradient")


@pytest.mark.parametrize(
    ("settings", "error", "found"),
    [
        ({"scores": np.ones(29)}, ValueError, r"scores must have shape \(30,\)"),
        ({"scores": np.full(30, 2.0)}, ValueError, r"scores must lie in \[0, 1\].*SNN"),
        ({"scores": np.full(30, np.nan)}, ValueError, "scores must be finite"),
        ({"priors": np.full(30, -0.1)}, ValueError, r"priors must lie in \[0, 1\]"),
        ({"priors": np.ones((30, 1))}, ValueError, "priors must have shape"),
        ({"scores": np.ma.masked_less(np.linspace(0, 1, 30), 0.5)}, ValueError, "scores must not have masked values"),
        ({"priors": np.ones(30, bool)}, ValueError, "priors must be an array of real numbers, got booleans"),
        (
            {"scores": Unreadable()},
            ValueError,
            "scores must be an array of real numbers, got Unreadable.* needs",
        ),
        ({"cpt": 3}, ValueError, "cpt must be a sequence of tables, got 3"),
        ({"priors": np.ones(30), "sampler": "uniform"}, ValueError, "priors need one of the samplers bansac"),
        ({"priors": np.ones(30), "sampler": "prosac"}, ValueError, "priors need one of the samplers bansac"),
        ({"scores": np.ones(30), "sampler": "napsac", "weighting": None}, ValueError, "scores have no effect with"),
        ({"sampler": "prosac"}, ValueError, "sampler='prosac' needs scores"),
        ({"sampler": "p-napsac"}, ValueError, "sampler='p-napsac' needs scores"),
        ({"stopping": "prosac"}, ValueError, "stopping='prosac' needs scores"),
        ({"degeneracy": "degensac"}, ValueError, "for the fundamental matrix, not for problem 'homography'"),
        ({"scores": np.full(30, np.inf), "sampler": "prosac"}, ValueError, "scores must be finite"),
        ({"scores": np.ones(3), "sampler": "prosac"}, ValueError, "scores must have shape"),
        ({"preset": "quick"}, ValueError, "preset must be one of 'paper', 'fast', 'accurate' or None"),
        ({"options": {"seed": 1}}, ValueError, r"options must be a bansac\.Options"),
        ({"treshold": 1.0}, TypeError, "unknown option 'treshold'; the options are threshold, .*, trace; other argum"),
        ({"score": np.ones(30)}, TypeError, "unknown option 'score'; .* other arguments are scores, priors, weights"),
        ({"threshold": 0.0}, ValueError, "threshold"),
        ({"threshold": np.zeros(3)}, ValueError, "threshold"),
        ({"confidence": 10**400}, ValueError, "confidence"),
        ({"gamma": lambda ratio: ratio[:-1]}, ValueError, "gamma"),
        ({"cpt": [[[0, 1], [1, 2]]]}, ValueError, r"cpt\[0\]"),
        ({"order": 2, "cpt": [[[0, 1], [1, 1]]]}, ValueError, "cpt must hold one table"),
    ],
)
def test_bad_settings_raise_and_are_named(settings, error, found):
    with pytest.raises(error, match=found):
        bansac.estimate_homography(GOOD, GOOD + 1, **settings)


@pytest.mark.parametrize(
    ("camera", "found"),
    [
        (np.eye(2), "shape"),
        (np.diag([500.0, -500, 1]), "focal"),
        (np.ones((3, 3)), "upper-triangular"),
        (np.diag([500.0, 500, np.nan]), "finite"),
        (np.diag([1e-320, 500, 1]), "numbers in"),
        (np.diag([500, 500, 1e-300]), "numbers in"),
        (K + 1j, "complex"),
        ("K", "real numbers"),
    ],
)
def test_bad_cameras_raise_and_are_named(camera, found):
    with pytest.raises(ValueError, match=rf"K1.*{found}"):
        bansac.estimate_essential(GOOD, GOOD, camera)
    with pytest.raises(ValueError, match=rf"K2.*{found}"):
        bansac.estimate_relative_pose(GOOD, GOOD, K, camera)
    with pytest.raises(ValueError, match="K1 must be given"):
        bansac.estimate_essential(GOOD, GOOD, K2=K)


@pytest.mark.parametrize("degree", [0, 9, 2.5, "2"])
def test_bad_degrees_raise(degree):
    with pytest.raises(ValueError, match="degree"):
        bansac.fit_polynomial(GOOD, degree, threshold=0.1)


def test_a_threshold_is_asked_for_where_the_preset_has_none():
    for call in (
        bansac.fit_line,
        bansac.fit_circle,
        bansac.fit_ellipse,
        lambda points, **settings: bansac.fit_polynomial(points, 2, **settings),
    ):
        with pytest.raises(ValueError, match="threshold must be given"):
            call(GOOD, preset="paper")


def test_local_optimization_of_a_problem_without_a_fit_is_refused():
    from bansac.problems.line import LINE

    bare = dataclasses.replace(LINE, fit=None)
    with pytest.raises(ValueError, match="problem 'line' has no fit"):
        bansac.ransac(bare, GOOD, threshold=1.0, local_optimization="inner")


def test_something_that_is_no_problem_is_refused():
    with pytest.raises(ValueError, match=r"problem must be a bansac\.Problem"):
        bansac.ransac("line", GOOD, threshold=1.0)


@pytest.mark.parametrize("sampler", ["prosac", "napsac", "p-napsac", "baysac", "ar"])
@pytest.mark.parametrize("data", ["noise", "one point", "line", "five points"])
def test_every_sampler_copes_with_poor_data(sampler, data):
    x1, x2 = np.random.default_rng(3).uniform(0, 1000, (2, 60, 2))
    if data == "one point":
        x1, x2 = np.ones((2, 60, 2))
    elif data == "line":
        x1 = x2 = np.linspace(0, 100, 60)[:, None] * [1.0, 2.0]
    elif data == "five points":
        x1, x2 = x1[:5], x2[:5]
    scores = {} if sampler == "napsac" else {"scores": np.linspace(0.2, 0.9, len(x1))}
    for call in (bansac.estimate_homography, bansac.estimate_fundamental, bansac.estimate_essential):
        result = call(x1 / 1000, x2 / 1000, threshold=1e-3, sampler=sampler, max_iterations=300,
                      local_optimization="inner+iterative", **scores)  # fmt: skip
        assert not result.success or data == "line"
        assert np.array_equal(result.inliers, result.residuals <= result.threshold)


@pytest.mark.parametrize(
    "method",
    [
        {"sampler": "bansac"},
        {"sampler": "uniform"},
        {"sampler": "napsac", "local_optimization": "inner+iterative"},
        {"sampler": "prosac", "scores": np.linspace(1, 0, 200)},
    ],
    ids=["bansac", "uniform", "napsac with local optimisation", "prosac"],
)
def test_noise_is_no_success(method):
    rng = np.random.default_rng(1)
    runs = 8
    failures = dict.fromkeys(["H", "F", "E", "line", "circle", "curve"], 0)
    for seed in range(runs):
        x1, x2 = rng.uniform(0, 1000, (2, 200, 2))
        unit = rng.uniform(-1, 1, (200, 2))
        settings = {"seed": seed, **method}
        failures["H"] += not bansac.estimate_homography(x1, x2, **settings).success
        failures["F"] += not bansac.estimate_fundamental(x1, x2, max_iterations=1000, **settings).success
        failures["E"] += not bansac.estimate_essential(x1 / 1000, x2 / 1000, max_iterations=300, **settings).success
        failures["line"] += not bansac.fit_line(unit, threshold=0.02, **settings).success
        failures["circle"] += not bansac.fit_circle(unit, threshold=0.02, **settings).success
        failures["curve"] += not bansac.fit_polynomial(unit, 3, threshold=0.02, **settings).success
    assert min(failures.values()) >= runs - 1, failures


@pytest.mark.parametrize("far", [1e39, 1e100])
@pytest.mark.parametrize("call", [POINT_FUNCTIONS["fit_ellipse"], SPACE_FUNCTIONS["fit_plane"][0]])
def test_a_point_beyond_float32_is_an_outlier(call, far):
    t = np.linspace(0, 6, 60)
    plane = call is bansac.fit_plane
    points = np.column_stack([200 * np.cos(t), 100 * np.sin(t), t])[:, : 3 if plane else 2]
    if plane:
        points[:, 2] = points[:, 0]
    points[30, 0] = far
    result = call(points, threshold=0.5) if plane else call(points)
    assert result.success
    assert result.inliers.tolist() == [k != 30 for k in range(60)]


@pytest.mark.parametrize("scale", [1e-320, 1e-308, 1e-300, 1e-154, 1e-100, 1e90])
@pytest.mark.parametrize("row", ESTIMATORS, ids=lambda row: row.function)
def test_a_unit_at_the_limits_of_floats_gives_a_finite_model_or_none(row, scale):
    function, kind = row.load_function(), row.warm or next(r.warm for r in ESTIMATORS if r.problem == row.problem)
    data = warm_data()[kind]
    scaled = data | {name: np.asarray(data[name]) * scale for name in row.data}
    for far in (False, True):
        if far:
            scaled[next(iter(row.data))].flat[0] = 1e90
        result = function(**scaled, max_iterations=60)
        assert_honest(result, len(result.inliers))


def test_coordinates_of_a_map_give_the_same_homography():
    rng = np.random.default_rng(2)
    x1 = rng.uniform(0, 1000, (200, 2))
    H = np.array([[1.1, 0.05, 20], [-0.03, 0.95, -10], [1e-5, 2e-5, 1]])
    mapped = np.column_stack([x1, np.ones(200)]) @ H.T
    x2 = mapped[:, :2] / mapped[:, 2:] + rng.normal(0, 0.2, (200, 2))
    x2[:80] = rng.uniform(0, 1000, (80, 2))
    near = bansac.estimate_homography(x1, x2)
    far = bansac.estimate_homography(x1 + 1e6, x2 + 1e6)
    assert near.success
    assert far.success
    assert np.array_equal(near.inliers, far.inliers)
    assert far.residuals[far.inliers] == pytest.approx(near.residuals[near.inliers], abs=1e-3)
