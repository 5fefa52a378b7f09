"""Real roots against the eigenvalues of the companion matrix."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bansac.maths.polynomial_roots import STURM_SCRATCH, cubic_roots, sturm_roots


def real_roots(coefficients):
    """Real roots by NumPy, and whether all are simple enough to be counted with certainty."""
    trimmed = np.trim_zeros(np.asarray(coefficients, dtype=float), "b")
    if len(trimmed) < 2:
        return np.empty(0), True
    roots = np.roots(trimmed[::-1])
    is_real = np.abs(roots.imag) < 1e-7 * (1 + np.abs(roots))
    real = np.sort(roots[is_real].real)
    doubtful = np.abs(roots.imag[~is_real]) < 1e-3 * (1 + np.abs(roots[~is_real]))
    close = np.diff(real) < 1e-3 * (1 + np.abs(real[1:]))
    return real, not (doubtful.any() or close.any())


def sturm(coefficients):
    roots = np.empty(10)
    degree = len(coefficients) - 1
    count = sturm_roots(np.asarray(coefficients, dtype=float), degree, roots, np.empty(STURM_SCRATCH))
    return np.sort(roots[:count])


def cubic(coefficients):
    roots = np.empty(3)
    return np.sort(roots[: cubic_roots(np.asarray(coefficients, dtype=float), roots)])


@given(st.lists(st.floats(-2, 2).map(lambda v: round(v, 3)), min_size=4, max_size=4))
def test_cubics_agree_with_numpy(coefficients):
    expected, certain = real_roots(coefficients)
    assume(certain and abs(coefficients[3]) > 1e-2)
    assert cubic(coefficients) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("coefficients", "roots"),
    [
        ([-6, 11, -6, 1], [1, 2, 3]),
        ([0, 0, 0, 1], [0]),
        ([-8, 0, 0, 1], [2]),
        ([2, -3, 1, 0], [1, 2]),  # no cubic term
        ([1, 0, 1, 0], []),
        ([-4, 2, 0, 0], [2]),
        ([1, 0, 0, 0], []),
        ([0, 0, 0, 0], []),
    ],
)
def test_cubics_and_what_is_left_of_them(coefficients, roots):
    assert cubic(coefficients) == pytest.approx(roots, abs=1e-9)


@given(
    st.integers(1, 10).flatmap(
        lambda degree: st.lists(st.floats(-3, 3).map(lambda v: round(v, 3)), min_size=degree + 1, max_size=degree + 1)
    )
)
def test_sturm_agrees_with_numpy(coefficients):
    expected, certain = real_roots(coefficients)
    assume(certain and (not any(coefficients) or abs(np.trim_zeros(np.array(coefficients), "b")[-1]) > 1e-2))
    assert sturm(coefficients) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(st.lists(st.integers(-8, 8), min_size=1, max_size=10, unique=True))
def test_sturm_finds_all_roots_that_were_put_in(roots):
    assert sturm(np.poly(np.array(sorted(roots)) / 2)[::-1]) == pytest.approx(np.array(sorted(roots)) / 2, abs=1e-6)


def test_sturm_finds_roots_of_very_different_size():
    roots = np.array([-2000.0, -1e-3, 1e-2, 0.5, 30.0, 1e4])
    assert sturm(np.poly(roots)[::-1]) == pytest.approx(roots, rel=1e-6)


@pytest.mark.parametrize("coefficients", [[0.0, 0.0], [5.0], [np.nan, 1.0, 1.0], [1.0, np.inf, 1.0], [1.0, 0.0, 1.0]])
def test_sturm_ends_without_roots_where_there_are_none(coefficients):
    assert len(sturm(coefficients)) == 0
