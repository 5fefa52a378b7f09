"""A sampler, a score and a stopping criterion of the user's, through the public functions."""

import numpy as np
import pytest
from numba import config

import bansac
from bansac import Network
from bansac.engine.kernels import select_kernels
from bansac.engine.sampling import SAMPLERS, Sampler
from bansac.engine.scoring import SCORES, Score
from bansac.engine.stopping import MAX_CRITERIA, STOPS, Stop, required_by_ransac
from bansac.maths.rng import draw_distinct
from bansac.problems.line import LINE
from bansac.synthetic import homography_matches, line_points
from tests.results import assert_same

POINTS = line_points(200, inlier_ratio=0.4, noise=0.005, seed=1)
compiled = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


def fit(**settings):
    return bansac.fit_line(POINTS.points, threshold=0.02, preset="paper", **settings)


# A sampler of the user's: pairs of data that follow one another in the order of the run.


def start_in_turn(setup):
    return np.zeros(setup.data.shape[1]), np.zeros(1, np.int64)


def draw_in_turn(rng, data, odds, ranking, progress, numbers, indices, sample):
    for i in range(sample.size):
        sample[i] = (indices[0] + i) % data.shape[1]
    indices[0] += 1


def count_failures(rng, numbers, indices, sample):
    for i in range(sample.size):
        numbers[sample[i]] += 1.0


def half_or_less(numbers, indices):
    return np.where(numbers > 0, 0.1, 0.5)


IN_TURN = Sampler("in turn", draw_in_turn, count_failures, start_in_turn, half_or_less, stopping=("ransac",))


def test_a_sampler_of_the_users_draws_the_samples():
    # Data 0 and 1 in the order of the run, then 1 and 2, ...: one after the other, so that 200 samples see all data.
    result = fit(sampler=IN_TURN, stopping=None, max_iterations=150, verification=None)
    assert result.success
    assert result.iterations == 150
    # half_or_less: the share of samples of the datum that failed, here all of them.
    drawn = result.beliefs < 0.5
    assert drawn.sum() == 151
    by_default = fit(sampler=IN_TURN, max_iterations=150)
    assert (by_default.stop_reason, by_default.iterations < 150) == ("ransac", True)


def test_the_built_in_functions_in_a_users_row_give_the_built_in_answer():
    own = Sampler("mine", SAMPLERS["uniform"].draw, stopping=("sprt",))
    assert_same(fit(sampler=own), fit(sampler="uniform"))
    assert_same(fit(sampler=SAMPLERS["uniform"]), fit(sampler="uniform"))
    assert_same(fit(scoring=SCORES["msac"]), fit(scoring="msac"))
    assert_same(fit(stopping=[STOPS["ransac"]]), fit(stopping="ransac"))
    assert_same(fit(stopping=[STOPS["bansac"], "sprt"]), fit())


def test_traits_of_a_users_sampler_decide_what_it_gets():
    made = homography_matches(100, inlier_ratio=0.6, noise=0.3, seed=3)
    priors = np.full(100, 0.5)
    with pytest.raises(ValueError, match=r"priors need one of the samplers .*; the sampler is 'in turn'"):
        bansac.estimate_homography(made.x1, made.x2, sampler=IN_TURN, priors=priors)
    ordered = Sampler("best first", draw_in_turn, order=True, stopping=("ransac",))
    with pytest.raises(ValueError, match="sampler='best first' needs scores"):
        bansac.estimate_homography(made.x1, made.x2, sampler=ordered)
    with pytest.raises(ValueError, match="network needs sampler='bansac': 'in turn' has no dynamic Bayesian network"):
        bansac.estimate_homography(made.x1, made.x2, sampler=IN_TURN, network=Network(order=2))


def test_an_adaptive_sampler_of_the_users_sees_the_odds():
    def draw(rng, data, odds, ranking, progress, numbers, indices, sample):
        """Take the two most probable data, and now and then two others."""
        draw_distinct(rng, data.shape[1], sample, np.int64(0), sample.size)
        if progress.iterations % 2 == 1:
            sample[0] = np.argmax(odds)
            while sample[1] == sample[0]:
                sample[1] = (sample[1] + 1) % data.shape[1]

    greedy = Sampler("greedy", draw, adaptive=True, stopping=("bansac",))
    result = fit(sampler=greedy, trace=True)
    assert result.success
    assert result.stop_reason == "bansac"
    assert (~np.isnan(result.trace.gamma)).any()
    assert result.beliefs[POINTS.inliers].mean() > 0.5 > result.beliefs[~POINTS.inliers].mean()


# A score.


def half_credit(residuals, weights, squared_threshold):
    """Give 1 to the inliers nearer than half the threshold and 1/2 to the others."""
    total = 0.0
    for n in range(residuals.size):
        if residuals[n] <= squared_threshold:
            total += weights[n] * (1.0 if residuals[n] <= 0.25 * squared_threshold else 0.5)
    return total


def fit_curve(**settings):
    """Fit a line as a polynomial, whose residuals are in double precision."""
    return bansac.fit_polynomial(POINTS.points, 1, threshold=0.02, preset="paper", **settings)


@pytest.mark.parametrize("function", [fit, fit_curve])
@pytest.mark.parametrize("settings", [{}, {"local_optimization": "inner+iterative"}, {"sampler": "uniform"}])
def test_a_score_of_the_users_is_what_the_best_model_has(function, settings):
    result = function(scoring=Score("half credit", half_credit), **settings)
    assert result.success
    near = np.count_nonzero(result.residuals <= 0.01)
    assert result.score == near + (result.num_inliers - near) / 2
    assert result.score > result.num_inliers / 2


# A stopping criterion.


def prepare(n, sample_size):
    indices = np.zeros(n + 1, np.int64)
    indices[0] = n // 4
    return indices


def required_iterations(is_inlier, ranking, history, progress, indices, sample_size, confidence):
    """Ask for ten samples more once a quarter of the data are inliers."""
    return progress.iterations + 10.0 if np.count_nonzero(is_inlier) >= indices[0] else np.inf


QUARTER = Stop("a quarter", required_iterations, prepare)


@pytest.mark.parametrize("sampler", ["uniform", "bansac"])
def test_a_stop_of_the_users_ends_the_run_and_is_the_reason(sampler):
    result = fit(sampler=sampler, stopping=[QUARTER], trace=True)
    assert result.stop_reason == "a quarter"
    enough = np.flatnonzero(result.trace.best_inliers >= 50)
    # Ten samples after the last new best model with a quarter of the data.
    last = np.flatnonzero(np.diff(result.trace.best_inliers, prepend=0))[-1]
    assert last >= enough[0]
    assert result.iterations == last + 1 + 10


def test_the_first_of_several_criteria_ends_the_run():
    def one(is_inlier, ranking, history, progress, indices, sample_size, confidence):
        return 1.0

    at_once = Stop("at once", one, verification=True)
    result = fit(sampler="uniform", stopping=["ransac", QUARTER, at_once])
    assert (result.stop_reason, result.iterations) == ("at once", 1)
    alone = fit(sampler="uniform", stopping=["ransac"]).iterations
    for stopping in (["ransac", QUARTER], [QUARTER, "ransac"]):
        result = fit(sampler="uniform", stopping=stopping)
        assert (result.stop_reason, result.iterations < alone) == ("a quarter", True)
    with pytest.raises(ValueError, match="stopping='at once' needs verification='sprt'"):
        fit(stopping=[at_once], verification=None)


def test_a_run_has_room_for_so_many_criteria_and_names_the_limit():
    stops = [Stop(f"stop {k}", required_by_ransac) for k in range(MAX_CRITERIA + 1)]
    assert fit(stopping=[*stops[:-1], "bansac"]).success
    assert fit(sampler="uniform", stopping=stops[:-1]).stop_reason == "stop 0"
    with pytest.raises(ValueError, match=f"stopping must name at most {MAX_CRITERIA} criteria"):
        fit(stopping=stops)


# What is missing or does not compile is named.


@pytest.mark.parametrize(
    ("settings", "error", "found"),
    [
        ({"scoring": Score("mine", "msac")}, TypeError, "'mine': block_score .*\n'msac' is not a function"),
        ({"sampler": Sampler("mine", draw_in_turn, stopping=("soon",))}, ValueError, "'mine' must be one of 'bansac'"),
        ({"sampler": Sampler("mine", lambda a, b, c, d, e, f, g, h: None)}, ValueError, "'mine': draw must write"),
        ({"stopping": ""}, ValueError, "stopping must be one of 'default', 'sampler', 'bansac'"),
        ({"stopping": QUARTER}, ValueError, "stopping must be names joined by"),
        ({"sampler": draw_in_turn}, ValueError, "sampler must be one of 'bansac'"),
    ],
)
def test_what_is_missing_is_named(settings, error, found):
    with pytest.raises(error, match=found):
        fit(**settings)


@compiled
@pytest.mark.parametrize(
    "block_score",
    [
        lambda residuals, weights, squared_threshold: residuals.no_such_attribute,
        lambda residuals, squared_threshold: 0.0,  # without weights
    ],
)
def test_what_does_not_compile_is_named(block_score):
    with pytest.raises(TypeError, match="'mine': block_score does not compile"):
        fit(scoring=Score("mine", block_score))


def blind_to_weights(residuals, weights, squared_threshold):
    total = 0.0
    for residual in residuals:
        total += 1.0 if residual <= squared_threshold else 0.0
    return total


@pytest.mark.parametrize(
    "block_score",
    [
        lambda residuals, weights, squared_threshold: -1.0,
        lambda residuals, weights, squared_threshold: 2.0 * residuals.size,
        lambda residuals, weights, squared_threshold: 0.5 * weights.sum(),  # blind to nan
        blind_to_weights,
    ],
)
def test_a_gain_out_of_its_range_is_named(block_score):
    with pytest.raises(ValueError, match="score 'mine': block_score must lie between 0 and the sum of the weights"):
        fit(scoring=Score("mine", block_score))


def test_the_struct_of_a_combination_is_made_once():
    def select(sampler, score="inliers", stops=("ransac",), higher_order=False):
        criteria = tuple(STOPS[name] for name in stops)
        return select_kernels(LINE, SAMPLERS[sampler], SCORES[score], criteria, higher_order, True)

    assert select("uniform") is select("uniform")
    others = [
        select("prosac"),
        select("uniform", "msac"),
        select("uniform", stops=()),
        select("bansac", higher_order=True),
    ]
    assert all(other is not select("uniform") for other in others)
