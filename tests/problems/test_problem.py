"""A problem of the user's own: it compiles, it runs without the compiler, and its slips are named."""

import copy
import dataclasses
import inspect
import pickle
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from numba import config

import bansac
from bansac.compiled.jit import kernel
from bansac.engine.kernels import select_kernels
from bansac.engine.sampling import SAMPLERS
from bansac.engine.scoring import SCORES
from bansac.problems.contract import CONTRACT, keep, span_everything
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.line import LINE
from bansac.problems.problem import Problem
from tests.problems.number import residuals, solve
from tests.processes import run_python

ROOT = Path(__file__).resolve().parents[2]


def fit(data, weights, model, scratch):
    """Weighted mean."""
    total, mean = 0.0, 0.0
    for i in range(weights.size):
        total += weights[i]
        mean += weights[i] * data[0, i]
    if total > 0.0:
        model[0] = mean / total
    return total > 0.0


FIELDS = {
    "name": "number",
    "channels": 1,
    "sample_size": 1,
    "model_shape": (1,),
    "solve": solve,
    "residuals": residuals,
}


def pack(problem):
    """Return the struct in which the loop gets the functions."""
    return select_kernels(problem, SAMPLERS["uniform"], SCORES["inliers"], (), False, False)


@kernel
def run(kernels, data, points, model, out):
    """Call all four functions as the loop does; return how many said yes."""
    models, sample, scratch = np.zeros((1, 1)), np.zeros(1, np.int64), np.zeros(1)
    sample[0] = 2
    said = kernels.solve(data, sample, models, scratch)
    model[0] = models[0, 0]
    kernels.residuals(points, model, 1, points.shape[1], out)
    if kernels.fit(data, np.ones(data.shape[1]), models[0], scratch):
        said += 10
    if kernels.is_valid(data, models[0], sample):
        said += 100
    return said


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("decorate", [lambda f: f, kernel])
def test_a_user_s_functions_are_called_by_compiled_code(precision, decorate):
    functions = {"solve": decorate(solve), "residuals": decorate(residuals)}
    problem = Problem(**(FIELDS | functions), precision=precision)
    data = np.array([[1.0, 2.0, 5.0, 9.0]])
    model, out = np.zeros(1, precision), np.zeros(3, precision)
    assert run(pack(problem), data, data.astype(precision), model, out) == 101
    assert model[0] == 5.0
    np.testing.assert_array_equal(out, [9.0, 0.0, 16.0])
    with_fit = dataclasses.replace(problem, fit=decorate(fit))
    assert run(pack(with_fit), data, data.astype(precision), model, out) == 111


def test_one_call_serves_problems_of_different_functions():
    def solve_twice(data, sample, models, scratch):
        models[0, 0] = 2.0 * data[0, sample[0]]
        return 1

    data = np.array([[1.0, 2.0, 5.0]])
    found = []
    for function in (solve, solve_twice):
        model = np.zeros(1)
        run(pack(Problem(**(FIELDS | {"solve": function}))), data, data, model, np.zeros(2))
        found.append(model[0])
    assert found == [5.0, 10.0]


@kernel
def call_exact(exact, data, model, out):
    exact.residuals(data, model, 1, 1 + out.size, out)


@pytest.mark.parametrize("problem", [HOMOGRAPHY, FUNDAMENTAL, LINE], ids=lambda problem: problem.name)
def test_a_kernel_gets_the_exact_residuals_of_any_problem_and_of_its_copies(problem):
    used, rng = dataclasses.replace(problem), np.random.default_rng(0)
    data, model = rng.normal(size=(problem.channels, 9)), rng.normal(size=problem.model_size)
    found, expected = np.empty(6), np.empty(6)
    used.compiled("residuals")(data, model, 1, 7, expected)
    for other in (used, copy.deepcopy(used), pickle.loads(pickle.dumps(used))):
        call_exact(other.float64, data, model, found)
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("problem", [HOMOGRAPHY, FUNDAMENTAL, LINE], ids=lambda problem: problem.name)
def test_a_distance_is_the_root_of_a_residual_in_a_unit_and_infinite_if_there_is_none(problem):
    rng = np.random.default_rng(0)
    data, model, squared = rng.normal(size=(problem.channels, 9)), rng.normal(size=problem.model_size), np.empty(9)
    data[0, 3] = np.nan
    problem.compiled("residuals")(data, model, 0, 9, squared)
    assert np.isnan(squared[3])
    np.testing.assert_array_equal(problem.distances(data, model, 0.3), np.fmin(np.sqrt(squared) * 0.3, np.inf))


def test_exact_residuals_are_those_of_float64():
    out = np.zeros(2)
    Problem(**FIELDS, precision="float32").compiled("residuals")(np.array([[0.1, 0.3]]), np.array([0.1]), 0, 2, out)
    np.testing.assert_array_equal(out, [0.0, (0.3 - 0.1) ** 2])


def test_the_contract_lists_the_functions_of_a_problem():
    functions = {field.name for field in dataclasses.fields(Problem) if "Callable" in str(field.type)}
    assert set(CONTRACT) == functions
    assert [name for name, row in CONTRACT.items() if row.required] == ["solve", "residuals"]
    for row in CONTRACT.values():
        if row.default is not None:
            assert tuple(inspect.signature(row.default).parameters) == row.parameters


def test_a_user_s_problem_has_no_threshold_and_the_unit_of_its_data():
    problem = Problem(**FIELDS)
    assert (problem.default_threshold, problem.default_max_iterations, problem.traits.unit) == (None, 3000, "data")


call = kernel(lambda function, data: function(data, np.zeros(1, np.int64), data[0], 1.0, data[0]))


def test_degeneracy_is_detected_only_if_it_is_asked_for():
    problem = Problem(**FIELDS)
    assert not call(problem.compile_in_loop(degeneracy=True)["is_degenerate"], np.zeros((1, 3)))
    assert problem.compiled("repair_degenerate") is None
    problem = dataclasses.replace(problem, is_degenerate=lambda data, sample, model, squared_threshold, scratch: True)
    assert not call(problem.compile_in_loop(degeneracy=False)["is_degenerate"], np.zeros((1, 3)))
    assert call(problem.compile_in_loop(degeneracy=True)["is_degenerate"], np.zeros((1, 3)))


def test_without_tangents_every_number_is_free_and_without_a_projection_a_model_stays():
    basis = np.full((2, 2), np.nan)
    span_everything(np.zeros(2), basis)
    assert basis.tolist() == [[1, 0], [0, 1]]
    model = np.array([3.0])
    assert keep(model, np.zeros(0))
    assert model.tolist() == [3.0]


def test_model_size_is_the_product_of_the_shape():
    assert Problem(**(FIELDS | {"model_shape": (3, 4)})).model_size == 12


@pytest.mark.slow
def test_a_problem_runs_without_the_compiler():
    solver = (
        f"{ROOT}/tests/solvers/test_homography_4pt.py::test_solve_accepts_a_mirrored_view_and_rejects_a_twisted_one"
    )
    tests = [f"{__file__}::test_a_user_s_functions_are_called_by_compiled_code", solver]
    done = run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", "", "name must be a string that is not empty, got ''"),
        ("channels", 0, "channels must be an integer >= 1, got 0"),
        ("channels", 2.0, "channels must be an integer >= 1, got 2.0"),
        ("sample_size", True, "sample_size must be an integer >= 1, got True"),
        ("max_models", 0, "max_models must be an integer >= 1, got 0"),
        ("scratch_size", -1, "scratch_size must be an integer >= 0, got -1"),
        ("model_shape", 3, "model_shape must be a tuple of sizes .* got 3"),
        ("model_shape", (), r"model_shape must be a tuple of sizes .* got \(\)"),
        ("model_shape", (3, 0), "model_shape must be an integer >= 1, got 0"),
        ("solver_cost", 0.0, "solver_cost must be a number > 0, got 0.0"),
        ("precision", "half", "precision must be one of 'float64', 'float32'; got 'half'"),
        ("default_threshold", 0.0, "default_threshold must be a number > 0, got 0.0"),
        ("default_threshold", "1", "default_threshold must be a number > 0, got '1'"),
        ("default_threshold", True, "default_threshold must be a number > 0, got True"),
        ("default_local_optimization", "outer", "default_local_optimization must be one of 'inner', .*; got 'outer'"),
        ("default_weighting", "sparsity", "default_weighting must be one of 'density', .* or None; got 'sparsity'"),
        ("default_max_iterations", 0, "default_max_iterations must be an integer >= 1, got 0"),
        ("majority_agrees", "no", "majority_agrees must be True or False, got 'no'"),
        ("repair_degenerate", lambda data, sample, model, t, rng, scratch: False, "repair_degenerate needs is_degen"),
        ("normalise", lambda data, transform: None, "normalise needs denormalise, which is None"),
        ("parameters", 1, "tangent and parameters belong together"),
        ("parameters", 0, "parameters must be an integer >= 1, got 0"),
        ("residual_size", 0, "residual_size must be an integer >= 1, got 0"),
    ],
)
def test_a_bad_value_is_named(field, value, message):
    with pytest.raises(ValueError, match=message):
        Problem(**(FIELDS | {field: value}))


@pytest.mark.parametrize(
    ("trait", "value", "message"),
    [
        ("codimension", 0, "codimension must be an integer >= 1, got 0"),
        ("unit", "metres", "unit must be one of 'data', 'pixels', 'normalised'; got 'metres'"),
        ("flat", "curve", "flat must be one of '', 'line', 'plane'; got 'curve'"),
        ("points", ((0, 0),), r"points must be tuples that list each of the \d+ channels once, got \(\(0, 0\),\)"),
        ("points", ((0,), (7,)), "points must be tuples that list"),
        ("points", [0, 1], "points must be tuples that list"),
        ("directions", ((1,),), "directions must be tuples that list each of the"),
    ],
)
def test_a_bad_trait_is_named(trait, value, message):
    with pytest.raises(ValueError, match=message):
        Problem(**FIELDS, traits=bansac.Traits(**{trait: value}))


def too_few(data, sample):
    """Not what a solver is called with."""
    return 0


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("solve", None, r"solve must be a function solve\(data, sample, models, scratch\), got None"),
        ("solve", too_few, r"solve\(data, sample, models, scratch\), got too_few\(data, sample\)"),
        ("solve", kernel(too_few), r"solve\(data, sample, models, scratch\), got too_few\(data, sample\)"),
        ("residuals", solve, r"residuals\(data, model, start, stop, out\), got solve\(data, sample, models, scratch\)"),
        ("residuals", lambda *data: None, r"residuals\(data, model, start, stop, out\), got <lambda>\(\*data\)"),
        ("fit", "fit", r"fit\(data, weights, model, scratch\), got 'fit'"),
        ("is_valid", solve, r"is_valid\(data, model, sample\), got solve"),
        ("normalise", solve, r"normalise\(data, transform\), got solve"),
        ("denormalise", solve, r"denormalise\(model, transform\), got solve"),
        ("repair_degenerate", solve, r"repair_degenerate\(data, sample, model, squared_threshold, rng, scratch\)"),
        ("score_in_front", too_few, r"score_in_front\(data, model, scores, squared_threshold\), got too_few"),
        ("canonical", too_few, r"canonical\(model\), got too_few\(data, sample\)"),
    ],
)
def test_a_bad_function_is_named_with_what_it_should_take(field, value, message):
    with pytest.raises(TypeError, match=message):
        Problem(**(FIELDS | {field: value}))


@pytest.mark.slow
def test_the_example_finds_its_model(capsys):
    with np.errstate(over="ignore"):  # interpreted random numbers wrap around
        runpy.run_path(str(ROOT / "examples" / "sphere.py"), run_name="__main__")
    printed = capsys.readouterr().out
    found = re.search(r"inliers, (\d+) of the 300 true ones", printed)
    assert found is not None, printed
    assert int(found[1]) >= 0.95 * 300


def without_kernel(data, model):
    return data[0, 0] - model[0]


def never_returns(data, sample, models, scratch):
    raise ValueError("not yet")


def undefined(data, model, start, stop, out):
    out[0] = undefined_name  # noqa: F821


def imports(data, sample, models, scratch):
    import math

    models[0, 0] = math.pi
    return 1


def helped(data, model, start, stop, out):
    out[0] = without_kernel(data, model)


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted: nothing is compiled")
@pytest.mark.parametrize(
    ("field", "function", "message"),
    [
        ("solve", never_returns, "solve always raises an error"),
        ("residuals", undefined, "residuals does not compile"),
        ("solve", imports, "solve does not compile"),
        ("residuals", helped, r"residuals does not .*: it calls a function .* bansac.compiled.jit.kernel:\n"),
    ],
)
def test_a_function_that_does_not_compile_is_named(field, function, message):
    with pytest.raises(TypeError, match=f"problem 'number': {message}"):
        pack(Problem(**(FIELDS | {field: function})))
