"""Bad input to every public function: a clear error, or success=False with the reason."""

import dataclasses
import functools
import itertools

import numpy as np
import pytest

import bansac
from bansac import Network
from bansac.cli.compile_ahead import _data as warm_data
from bansac.problems.estimators import ESTIMATORS
from bansac.problems.line import LINE
from tests.problems.number import CONSTANT

RNG = np.random.default_rng(0)
GOOD = RNG.uniform(0, 100, (30, 2))
SPACE = RNG.uniform(0, 100, (30, 3))
ROWS = {2: GOOD, 3: SPACE} | {k: RNG.uniform(0, 100, (30, k)) for k in (4, 6)}
K = np.array([[500.0, 0, 50], [0, 500, 50], [0, 0, 1]])
PAIR = {"x1": GOOD, "x2": GOOD + 1}
NEAR, FEW = {"threshold": 0.5}, {"max_iterations": 200}


def call_of(row):
    """Return the function of a row, the arrays that it takes, further arguments, and the size of a minimal sample."""
    good = {name: ROWS[len(columns)] + k for k, (name, columns) in enumerate(row.data.items())}
    if "degree" in row.arguments:
        return row.load_function(), good, FEW | {"degree": 3}, 4
    return row.load_function(), good, FEW, row.load_problem().sample_size


CALLS = {row.function: call_of(row) for row in ESTIMATORS} | {
    "estimate_essential with K": (bansac.estimate_essential, PAIR, {"K1": K, "threshold": 1.0} | FEW, 5),
    "estimate_relative_pose with K": (bansac.estimate_relative_pose, PAIR, {"K1": K, "K2": K} | FEW, 5),
    "estimate_absolute_pose with K": (
        bansac.estimate_absolute_pose,
        {"points2D": GOOD, "points3D": SPACE},
        {"K": K},
        3,
    ),
    "ransac": (functools.partial(bansac.ransac, LINE), {"data": GOOD}, NEAR, 2),
}
calls = pytest.mark.parametrize(("function", "good", "settings", "least"), CALLS.values(), ids=CALLS)

# Arrays made of good ones, and words of the message.
BAD_ARRAYS = {
    "another column": (lambda x: np.zeros((30, x.shape[1] + 1)), "shape"),
    "one row": (lambda x: np.zeros(30), "shape"),
    "a number": (lambda x: 3.0, "shape"),
    "transposed": (lambda x: x.T, "shape"),
    "nan": (lambda x: np.where(x == x[3, 1], np.nan, x), "finite"),
    "inf": (lambda x: np.where(x == x[3, 1], np.inf, x), "finite"),
    "huge": (lambda x: x * 1e300, "exceed"),
    "text": (lambda x: [["a", "b"]] * 30, "real numbers"),
    "complex": (lambda x: x + 1j, "real numbers, got complex numbers"),
    "complex in a list": (lambda x: [[1j, 2.0]] * 30, "real numbers"),
    "complex objects": (lambda x: np.full(x.shape, 1j, object), "real numbers"),
    "booleans": (lambda x: x > 50, "real numbers, got booleans"),
    "boolean objects": (lambda x: np.full(x.shape, True, object), "real numbers"),
    "text that looks like numbers": (lambda x: x.astype(str), "real numbers, got text"),
    "objects of text": (lambda x: np.full(x.shape, "1.5", object), "real numbers"),
    "dates": (lambda x: np.zeros(x.shape, "datetime64[s]"), "real numbers"),
    "masked": (lambda x: np.ma.masked_greater(x, 90), "masked"),
    "integers beyond float64": (lambda x: [[10**400, 1]] * 30, "real numbers"),
    "ragged": (lambda x: [[1.0, 2.0], [3.0]], "real numbers"),
    "none": (lambda x: None, "real numbers|shape|finite"),
}
bad_arrays = pytest.mark.parametrize(("spoil", "found"), BAD_ARRAYS.values(), ids=BAD_ARRAYS)


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


@calls
@bad_arrays
def test_bad_arrays_raise_and_are_named(function, good, settings, least, spoil, found):
    for name, points in good.items():
        with pytest.raises(ValueError, match=rf"^{name}.*({found})"):
            function(**good | {name: spoil(points)}, **settings)


@pytest.mark.parametrize("name", [name for name, call in CALLS.items() if len(call[1]) == 2])
def test_unequal_lengths_raise(name):
    function, good, settings, _ = CALLS[name]
    first, second = good
    message = "must have equal lengths, got (30 and 29|29 and 30)"
    with pytest.raises(ValueError, match=f"({first} and {second}|{second} and {first}) {message}"):
        function(**good | {second: good[second][:-1]}, **settings)


@calls
def test_too_few_data_fail_with_the_reason(function, good, settings, least):
    for n, threshold in itertools.product({0, 1, least - 1}, (None, 1.0)):
        few = {name: points[:n] for name, points in good.items()}
        result = function(**few, **settings | {"threshold": threshold})
        assert np.isfinite(result.threshold)
        assert_honest(result, n)
        assert result.model is None
        assert result.stop_reason == "no_data"
        assert f"got {n}" in result.message


@calls
def test_poor_data_are_survived(function, good, settings, least):
    line = np.linspace(0, 100, 50)
    poor = {
        "one point": [np.full((50, x.shape[1]), 7.0) for x in good.values()],
        "a sample, often": [x[np.arange(90) % least] for x in good.values()],
        "some points, often": [np.repeat(x[:8], 10, axis=0) for x in good.values()],
        "a line": [np.column_stack([line, 2 * line + 1, line] * 2)[:, : x.shape[1]] for x in good.values()],
    }
    for name, arrays in poor.items():
        result = function(**dict(zip(good, arrays, strict=True)), **settings)
        assert_honest(result, len(arrays[0]))
        lines = (bansac.fit_line, bansac.fit_line_3d, bansac.fit_polynomial, bansac.estimate_similarity)
        lines += (bansac.estimate_vanishing_point,)  # of segments that are parallel
        may = name == "some points, often" or (name == "a line" and (function in lines or "data" in good))
        assert may or not result.success, name


def test_collinear_matches_give_no_homography():
    line = np.linspace(0, 100, 50)[:, None] * [1, 2]
    result = bansac.estimate_homography(line, line + 5)
    assert result.model is None
    assert "collinear" in result.message


@calls
def test_numbers_and_shapes_of_other_kinds_give_the_same_answer(function, good, settings, least):
    whole = {name: np.round(x) for name, x in good.items()}
    expected = function(**whole, **settings)
    for convert in (
        np.ndarray.tolist,
        lambda x: x.astype(int),
        lambda x: x.astype(np.float32),
        lambda x: x[:, None, :],
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: np.ma.masked_array(x, mask=False),
    ):
        result = function(**{name: convert(x) for name, x in whole.items()}, **settings)
        assert np.array_equal(result.inliers, expected.inliers)
        assert np.array_equal(result.residuals, expected.residuals)
        assert type(result.residuals) is np.ndarray


class Unreadable:
    """Like a tensor that NumPy cannot take."""

    def __array__(self, *arguments, **settings):
        raise RuntimeError("it needs a gradient")


@pytest.mark.parametrize(
    ("settings", "error", "found"),
    [
        ({"scores": np.ones(29)}, ValueError, r"scores must have shape \(30,\)"),
        ({"scores": np.full(30, np.nan)}, ValueError, "scores must be finite"),
        ({"priors": np.full(30, -0.1)}, ValueError, r"priors must lie in \[0, 1\]"),
        ({"priors": np.ones((30, 1))}, ValueError, "priors must have shape"),
        ({"scores": np.ma.masked_less(np.linspace(0, 1, 30), 0.5)}, ValueError, "scores must not have masked values"),
        ({"priors": np.ones(30, bool)}, ValueError, "priors must be an array of real numbers, got booleans"),
        ({"scores": Unreadable()}, ValueError, "scores must be an array of real numbers, got Unreadable.* needs"),
        ({"weights": np.ones(29)}, ValueError, r"weights must have shape \(30,\)"),
        ({"weights": np.zeros(30)}, ValueError, "weights must be > 0, got 0"),
        ({"weights": np.full(30, np.nan)}, ValueError, "weights must be finite"),
        ({"weights": "heavy"}, ValueError, "weights must be an array of real numbers"),
        ({"weights": [[1], [2, 3]]}, ValueError, "weights must be an array of real numbers, got list: .* inhomog"),
        ({"weights": [None] * 30}, ValueError, "weights must be an array of real numbers, got list with NoneType"),
        ({"weights": np.empty(30, "i,f")}, ValueError, r"of real numbers, got ndarray with \[\('f0', '<i4'\), "),
        ({"network": Network(cpt=3)}, ValueError, "cpt must be a sequence of tables, got 3"),
        ({"priors": np.ones(30), "sampler": "uniform"}, ValueError, "priors need one of the samplers bansac"),
        ({"priors": np.ones(30), "sampler": "prosac"}, ValueError, "priors need one of the samplers bansac"),
        ({"scores": np.ones(30), "sampler": "napsac", "weighting": None}, ValueError, "scores have no effect with"),
        ({"sampler": "prosac"}, ValueError, "sampler='prosac' needs scores"),
        ({"sampler": "p-napsac"}, ValueError, "sampler='p-napsac' needs scores"),
        ({"stopping": "prosac"}, ValueError, "stopping='prosac' needs scores"),
        ({"degeneracy": "degensac"}, ValueError, "for the fundamental matrix, not for problem 'homography'"),
        ({"preset": "quick"}, ValueError, "preset must be one of 'paper', 'fast', 'accurate', 'paper-20' or None"),
        ({"options": {"seed": 1}}, ValueError, r"options must be a bansac\.Options"),
        (
            {"treshold": 1.0},
            TypeError,
            "did you mean 'threshold'. unknown option 'treshold'; the options are thr.*; other",
        ),
        (
            {"score": np.ones(30)},
            TypeError,
            "did you mean 'scores'. unknown option 'score'; .* are scores, priors, weights",
        ),
        ({"threshold": "Auto"}, ValueError, "threshold must be a number > 0 or 'auto', got 'Auto'"),
        ({"threshold": "2"}, ValueError, "threshold must be a number > 0 or 'auto', got '2'"),
        ({"confidence": 10**400}, ValueError, "confidence"),
        ({"network": Network(gamma=lambda ratio: ratio[:-1])}, ValueError, "gamma .*shape"),
        ({"network": Network(gamma=lambda ratio: 2 + ratio)}, ValueError, "gamma .*probabilities"),
        ({"network": Network(cpt=[[0, 0.2]])}, ValueError, r"cpt\[0\] .*shape"),
        ({"network": Network(cpt=[[[0, 1], [1, 2]]])}, ValueError, r"cpt\[0\] .*probabilities"),
        ({"network": Network(cpt=[[[0, np.nan], [1, 1]]])}, ValueError, r"cpt\[0\] .*probabilities"),
        ({"network": Network(cpt=["table"])}, ValueError, r"cpt\[0\] .*numbers"),
        ({"network": Network(order=2, cpt=[[[0, 1], [1, 1]]])}, ValueError, "cpt must hold one table"),
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
    with pytest.raises(ValueError, match=rf"K.*{found}"):
        bansac.estimate_absolute_pose(SPACE, GOOD, camera)
    with pytest.raises(ValueError, match="K1 must be given"):
        bansac.estimate_essential(GOOD, GOOD, K2=K)


@pytest.mark.parametrize("threshold", [None, 1.0])
@pytest.mark.parametrize(("sample_size", "n"), [(1, 1), (1, 2), (1, 4), (2, 2), (2, 3), (2, 5)])
def test_few_data_of_an_own_problem_are_survived(sample_size, n, threshold):
    data = np.random.default_rng(n).uniform(0, 10, (n, 1))
    problem = dataclasses.replace(CONSTANT, sample_size=sample_size)
    assert not bansac.ransac(problem, data, threshold=threshold).success


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


@pytest.mark.parametrize("far", [1e39, 1e100])
@pytest.mark.parametrize("function", [bansac.fit_ellipse, bansac.fit_plane])
def test_a_point_beyond_float32_is_an_outlier(function, far):
    t = np.linspace(0, 6, 60)
    points = np.column_stack([200 * np.cos(t), 100 * np.sin(t), 200 * np.cos(t)])
    points[30, 0] = far
    result = function(points if function is bansac.fit_plane else points[:, :2], threshold=0.5)
    assert result.success
    assert result.inliers.tolist() == [k != 30 for k in range(60)]


@pytest.mark.filterwarnings("ignore:x1 and x2 look normalised")
@pytest.mark.parametrize("scale", [1e-320, 1e-308, 1e-300, 1e-154, 1e-100, 1e90])
@pytest.mark.parametrize("row", ESTIMATORS, ids=lambda row: row.function)
def test_a_unit_at_the_limits_of_floats_gives_a_finite_model_or_none(row, scale):
    function, of_problem = row.load_function(), next(r for r in ESTIMATORS if r.problem == row.problem)
    data = warm_data()[of_problem.warm or row.name]
    scaled = {name: np.asarray(data[name]) * scale for name in row.data}
    first, array = next(iter(scaled.items()))
    far = {first: np.where(array == array.flat[0], 1e90, array)}
    shifted = {first: np.asarray(data[first]) + np.eye(1, array.shape[1], 1) * 1e15}
    for arrays in (scaled, scaled | far, shifted, *({name: array} for name, array in scaled.items())):
        result = function(**data | arrays, max_iterations=60)
        assert_honest(result, len(result.inliers))
