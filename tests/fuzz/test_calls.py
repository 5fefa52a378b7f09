"""Odd arrays and options: every public estimator names the argument in its error, or returns a consistent result."""

import dataclasses
import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import bansac
from bansac.cli.compile_ahead import _data
from bansac.compat import cv2 as compat
from bansac.estimate.presets import SHARED_ARGUMENTS
from bansac.problems.estimators import ESTIMATORS
from tests.fuzz.rounds import fuzz
from tests.test_bad_input import assert_honest

pytestmark = pytest.mark.fuzz

DATA = _data()
WARM = {row.problem: row.warm for row in ESTIMATORS if row.warm is not None}
FIELDS = {field.name: field for field in dataclasses.fields(bansac.Options)}
LIMITS = {"max_iterations": 60, "max_seconds": 2.0}

VALUES = st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 5e-324, -1e-310, 1e-300, 1e300, -1e300, 1e100, 1e-100, 1e16, 1e308]
)
DTYPES = st.sampled_from(["f8", "f4", "f2", "i8", "i4", "u1", "i1", "?", "c16", "O", "U", ">f8", "g", "M8[s]"])
ODD = st.one_of(
    VALUES,
    st.sampled_from([None, True, False, "", "auto", "default", 0, 1, -1, 10**400, 2**63, 2**64, [], {}, (), b"x"]),
    st.sampled_from([object(), np.nan, 1j, [1.0], [[1, 2], [3, 4]], np.zeros(3), np.float32(2), np.array(2), len]),
    st.integers(-5, 70),
    st.floats(),
)
COLUMNS = st.integers(0, 3)
MILD_SCALES = st.sampled_from([0.0, -1.0, 1e-320, 1e-300, 1e-100, 1e-8, 1e-3, 1e3, 1e6, 1e15, 1e50, 1e90])
MILD = st.one_of(  # the array remains one of finite numbers in the right shape
    st.tuples(st.just("value"), st.integers(0, 10**6), st.sampled_from([0.0, 5e-324, 1e-300, 1e90, 1e16, -1e50])),
    st.tuples(st.just("column"), COLUMNS, MILD_SCALES),
    st.tuples(st.just("repeat"), st.integers(1, 60), st.integers(0, 59)),
    st.tuples(st.just("scale"), COLUMNS, MILD_SCALES),
    st.tuples(st.just("shift"), COLUMNS, MILD_SCALES),
    st.tuples(st.just("noise"), st.integers(0, 2**32 - 1), MILD_SCALES),
    st.tuples(st.just("dtype"), st.integers(0, 1), st.sampled_from(["f4", "i8", "i4", ">f8", "g", "O"])),
)
ROUGH = st.one_of(
    st.tuples(st.just("value"), st.integers(0, 10**6), VALUES),
    st.tuples(st.just("rows"), st.integers(0, 12), st.none()),
    st.tuples(st.just("dtype"), st.integers(0, 1), DTYPES),
    st.tuples(st.just("shape"), st.integers(0, 6), st.none()),
    st.tuples(st.just("other"), st.just(0), ODD),
)
ARRAY_EDITS = st.one_of(*[st.lists(MILD, max_size=3)] * 5, st.lists(ROUGH, max_size=2))


def edited(array: Any, edits: list[Any]) -> Any:
    """Return an array with odd values, type or shape, or something else."""
    array = np.array(array, dtype=float)
    with np.errstate(all="ignore"):
        for kind, at, value in edits:
            if not isinstance(array, np.ndarray) or array.dtype != float or array.ndim != 2 or not array.size:
                break
            column = at % array.shape[1]
            if kind == "value":
                array.flat[at % array.size] = value
            elif kind == "column":
                array[:, column] = value
            elif kind == "repeat":
                array[:at] = array[value % len(array)]
            elif kind == "scale":
                array = (
                    array * value if at == 0 else np.where(np.arange(array.shape[1]) == column, array * value, array)
                )
            elif kind == "shift":
                array[:, column] += value
            elif kind == "noise":
                array = np.random.default_rng(at).normal(size=array.shape) * value
            elif kind == "rows":
                array = array[:at]
            elif kind == "dtype":
                array = array.astype(value, "F" if at else "C")
            elif kind == "shape":
                shapes = [array.T, array[:, :1], array[0], array[None], array[:, None], array[::-1], array[:0]]
                array = shapes[at]
            else:
                array = value
    return array


@st.composite
def options(draw: Any) -> dict[str, Any]:
    """Options with allowed and odd values, most often few of them."""
    names = draw(st.lists(st.sampled_from(sorted(FIELDS)), max_size=3, unique=True))
    chosen = {}
    for name in names:
        choices = [*FIELDS[name].metadata["choices"]] or [FIELDS[name].default, 1, 0.5, 2, 1e-300, 1e6, True]
        chosen[name] = draw(ODD if draw(st.integers(0, 9)) == 0 else st.sampled_from(choices))
    if draw(st.integers(0, 9)) == 0:
        chosen[draw(st.sampled_from(["preset", "options", "scores", "priors", "weights"]))] = draw(
            st.one_of(ODD, st.just("paper"), st.builds(edited_scores, ARRAY_EDITS))
        )
    return chosen


def edited_scores(edits: list[Any]) -> Any:
    found = edited(np.linspace(0.9, 0.1, 60)[:, None], edits)
    return found[:, 0] if isinstance(found, np.ndarray) and found.ndim == 2 else found


def judged(function: Any, call: dict[str, Any]) -> str:
    """Call a function; return "refused", "no model" or "model"."""
    names = {*call, *inspect.signature(function).parameters, *SHARED_ARGUMENTS, "threshold", "max_iterations"}
    try:
        result = function(**call)
    except (ValueError, TypeError) as error:
        if not any(name in str(error) for name in names):
            raise AssertionError("the error names no argument") from error
        return "refused"
    if isinstance(result, bansac.Result):
        assert_honest(result, len(result.inliers))
        assert np.isfinite(result.threshold)
        return "no model" if result.model is None else "model"
    model, mask = result
    assert model is None or np.isfinite(model).all()
    return "no model" if model is None or not mask.any() else "model"


@pytest.mark.filterwarnings("ignore:(K[12]? has|x1 and x2 look normalised|a focal length of)")  # doubts about units
@pytest.mark.parametrize("row", ESTIMATORS, ids=lambda row: row.function)
def test_odd_arguments_of_estimators(row):
    function = row.load_function()
    data = DATA[row.name if row.scene else row.warm or WARM[row.problem]]
    more = {name: st.builds(camera, ODD, MILD_SCALES) for name in row.arguments}
    strategy = st.tuples(
        st.fixed_dictionaries(dict.fromkeys(row.data, ARRAY_EDITS)),
        st.fixed_dictionaries({}, optional=more),
        options(),
    )

    def check(drawn):
        edits, arguments, settings = drawn
        arrays = {name: edited(data[name], changes) for name, changes in edits.items()}
        return judged(function, data | LIMITS | arguments | settings | arrays)

    fuzz(row.function, 0.5 / len(ESTIMATORS), strategy, check)


def camera(odd: Any, scale: float) -> Any:
    """Return a camera matrix with an odd focal length, or an odd value."""
    return np.array([[500.0 * scale, 0, 50], [0, 500, 50], [0, 0, 1]]) if isinstance(odd, float) else odd


FINDERS = ("findHomography", "findFundamentalMat", "estimateAffine2D", "estimateAffinePartial2D")


@pytest.mark.filterwarnings("ignore:x1 and x2 look normalised", "ignore::bansac.compat.DoubtWarning")
@pytest.mark.parametrize("name", FINDERS)
def test_odd_arguments_of_opencv_functions(name):
    function = getattr(compat, name)
    parameters = list(inspect.signature(function).parameters)
    more = {p: ODD for p in parameters[2:] if p not in ("mask", "inliers")}
    strategy = st.tuples(ARRAY_EDITS, ARRAY_EDITS, st.fixed_dictionaries({}, optional=more))
    data = DATA["plane of space"]

    def check(drawn):
        first, second, settings = drawn
        call = {parameters[0]: edited(data["x1"], first), parameters[1]: edited(data["x2"], second), **settings}
        return judged(function, {"maxIters": 60, **call})

    fuzz(f"compat.cv2.{name}", 0.05 / len(FINDERS), strategy, check)
