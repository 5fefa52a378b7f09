"""Functions of a user's problem that would end the interpreter are refused before they are compiled."""

import math
import warnings

import numpy as np
import pytest

import bansac
from bansac.compiled.jit import kernel
from bansac.problems.estimators import ESTIMATORS
from bansac.problems.line import LINE
from bansac.problems.polynomial import polynomial
from bansac.problems.problem import Problem
from bansac.problems.trial import try_functions, try_once
from tests.problems.number import residuals, solve

DATA = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 50))


def check(data=DATA, **fields):
    """Try a problem of one number."""
    defaults = {"name": "number", "channels": 2, "sample_size": 1, "model_shape": (1,), "scratch_size": 4}
    problem = Problem(**defaults | {"solve": solve, "residuals": residuals} | fields)
    try_once(problem, data)
    return problem


def unwritten_on_many_points(data, sample, models, scratch):
    if data.shape[1] <= 40:
        models[0, 0] = data[0, sample[0]]
    return 1


def test_a_solver_that_writes_no_model_is_refused_or_finds_none():
    with pytest.raises(ValueError, match=r"solve returns 1, but leaves models unwritten \(shapes: models \(1, 1\)\)"):
        check(solve=lambda data, sample, models, scratch: 1)
    problem = check(solve=unwritten_on_many_points)
    result = bansac.ransac(problem, DATA.T, threshold=0.1, max_iterations=20, restarts=1)
    assert result.model is None


def too_many(data, sample, models, scratch):
    return 3


def past_the_scratch(data, sample, models, scratch):
    scratch[4] = 1.0
    return 0


def matrix_in_the_scratch(data, sample, models, scratch):
    scratch[0:9].reshape(3, 3)[0, 0] = 1.0
    return 0


def channel_that_is_not_there(data, sample, models, scratch):
    models[0, 0] = data[2, sample[0]]
    return 1


def not_from_zero(data, model, start, stop, out):
    for i in range(start, stop):
        out[i] = (data[0, i] - model[0]) ** 2


def too_short(data, model, start, stop, out):
    for i in range(stop - start - 1):
        out[i] = 0.0


def read_too_far(data, model, start, stop, out):
    for i in range(stop - start):
        out[i] = (data[0, start + i] - data[0, start + i + 1]) ** 2


def too_long_if_all_count(data, weights, model, scratch):
    if weights.min() > 0.0:
        model[1] = 0.0
    return True


def long_scratch(data, sample, model, squared_threshold, scratch):
    scratch[4 * data.shape[1] + 128] = 0.0
    return 0


def long_transform(data, transform):
    transform[5] = 1.0


def long_model(model):
    model[1] = 0.0


def transposed(data, model, start, stop, residuals, jacobian):
    residuals[1, 0] = data[0, start] - model[0]


def long_basis(model, basis):
    basis[1, 0] = 1.0


# Solvers have four numbers of scratch.
SOLVERS = {
    too_many: "solve returns 3 for the number of models, but max_models is 1",
    past_the_scratch: r"solve reads or .* index 4 .* line \d+ of test_trial.py: scratch\[4\] = 1.0 .*scratch",
    matrix_in_the_scratch: r"solve reads or .* cannot reshape .* into shape \(3,3\) .*scratch \(4,\)",
    channel_that_is_not_there: r"solve reads or .* index 2 is out of bounds for axis 0 .*data \(2, 40\)",
}
RESIDUALS = {
    not_from_zero: r"residuals reads or .* index \d+ is out of bounds for axis 0 .* in not_from_zero",
    too_short: r"residuals leaves out\[39\] unwritten \(shapes: .* out \(40,\)\)",
    read_too_far: "residuals reads or writes outside an array: index 40 is out of bounds",
}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        *(({"solve": solver}, message) for solver, message in SOLVERS.items()),
        *(({"residuals": f, "precision": p}, RESIDUALS[f]) for f in RESIDUALS for p in ("float32", "float64")),
        (
            {"score_in_front": lambda data, model, scores, squared_threshold: scores[data.shape[1]]},
            "score_in_front reads or writes outside an array: index 40 is out of",
        ),
        ({"residuals": lambda data, model, start, stop, out: out.fill(-0.5)}, "residuals writes -0.5, but out"),
        ({"fit": too_long_if_all_count}, "fit reads or writes outside an array: index 1"),
        ({"fit": lambda data, weights, model, scratch: None}, "fit returns None, not a value of type bool"),
        (
            {"is_valid": lambda data, model, sample: data[0, sample[1]] > 0.0},
            "is_valid reads or writes outside an array: index 1",
        ),
        ({"is_degenerate": long_scratch}, "is_degenerate reads or writes outside an array: index 288"),
        (
            {
                "is_degenerate": lambda data, sample, model, squared_threshold, scratch: True,
                "repair_degenerate": lambda data, sample, model, t, rng, scratch: long_scratch(data, 0, 0, t, scratch),
            },
            "repair_degenerate reads or writes outside an array: index 288",
        ),
        (
            {"normalise": long_transform, "denormalise": lambda model, transform: None},
            "normalise reads or writes outside an array: index 5",
        ),
        (
            {"denormalise": lambda model, transform: long_model(model)},
            "denormalise reads or writes outside an array: index 1",
        ),
        ({"canonical": long_model}, "canonical reads or writes outside an array: index 1"),
        ({"linearize": transposed}, "linearize reads or writes outside an array: index 1"),
        ({"linearize": lambda d, m, start, stop, r, j: r.fill(0.0)}, r"linearize leaves jacobian\[0, 0\] unwritten"),
        ({"tangent": long_basis, "parameters": 1}, "tangent reads or writes outside an array: index 1"),
        ({"tangent": lambda model, basis: None, "parameters": 1}, r"tangent leaves basis\[0, 0\] unwritten"),
        ({"project": lambda model, scratch: long_model(model)}, "project reads or writes outside an array: index 1"),
    ],
)
def test_every_function_of_the_contract_is_tried(fields, message):
    with pytest.raises(ValueError, match=f"problem 'number': {message}"):
        check(**fields)


def divide_by_nothing(data, sample, models, scratch):
    zero = float(data[0, sample[0]]) * 0.0
    models[0, 0] = math.sqrt(-1.0 / zero)
    return 1


def test_arithmetic_that_only_plain_python_minds_is_passed():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(solve=divide_by_nothing)


def test_helpers_in_closures_and_recursion_are_interpreted():
    @kernel
    def reach(array, n):
        array[n] = 0.0

    def solve(data, sample, models, scratch):
        reach(scratch, 4)
        return 0

    with pytest.raises(ValueError, match=r"outside an array: index 4 .* in reach"):
        check(solve=solve)


def test_a_problem_is_tried_once_and_only_with_enough_data():
    calls = []

    def counted(data, sample, models, scratch):
        calls.append(1)
        models[0, 0] = data[0, sample[0]]
        return 1

    problem = check(DATA[:, :0], solve=counted)
    assert not calls
    try_once(problem, DATA)
    tried = len(calls)
    assert tried > 0
    try_once(problem, DATA)
    assert len(calls) == tried


def test_ransac_tries_the_problem_first():
    problem = Problem("number", 2, 1, (1,), too_many, residuals)
    with pytest.raises(ValueError, match="solve returns 3 for the number of models"):
        bansac.ransac(problem, DATA.T, threshold=0.1)


def test_the_data_stay_as_they_are():
    def shift(data, transform):
        data += 1.0

    before = DATA.copy()
    check(normalise=shift, denormalise=lambda model, transform: None)
    np.testing.assert_array_equal(DATA, before)


@pytest.mark.parametrize("row", ESTIMATORS, ids=lambda row: row.name)
def test_the_built_in_problems_stay_inside_their_arrays(row):
    problem = polynomial(3) if row.problem is None else row.load_problem()
    try_functions(problem, np.random.default_rng(0).uniform(-1.0, 1.0, (problem.channels, 60)))


def test_built_in_problems_are_not_tried_by_a_run(monkeypatch):
    monkeypatch.setattr("bansac.problems.trial.try_functions", None)
    try_once(LINE, DATA)
