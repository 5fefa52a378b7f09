"""Small linear algebra against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.maths.linalg import normalise_vector, smallest_eigenvector, solve_positive_definite, span_complement

seeds = st.integers(0, 2**32)


def solve(A):
    """Return whether the eigenvector is unique, and the eigenvector."""
    n = len(A)
    scratch = np.full(2 * n * n + n + 1, np.nan)
    scratch[: n * n] = A.ravel()
    unique = smallest_eigenvector(scratch, n)
    assert np.isnan(scratch[-1])
    return unique, scratch[n * n : n * n + n]


@given(seeds, st.integers(1, 9))
def test_smallest_eigenvector_agrees_with_numpy(seed, n):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n + 2, n))
    A = B.T @ B
    unique, vector = solve(A)
    assert unique
    assert abs(vector @ np.linalg.eigh(A)[1][:, 0]) == pytest.approx(1, abs=1e-7)


def test_null_vector_of_a_singular_matrix():
    unique, vector = solve(np.diag([3.0, 0.0, 1.0]))
    assert unique
    assert np.abs(vector) == pytest.approx([0, 1, 0])


@pytest.mark.parametrize("gap", [1e-1, 1e-3, 1e-5])
@given(seed=seeds)
def test_eigenvalues_that_are_close_are_told_apart(gap, seed):
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(9, 9)))[0]
    A = Q @ np.diag([1e-3, 1e-3 * (1 + gap), *np.linspace(0.1, 1, 7)]) @ Q.T
    unique, vector = solve((A + A.T) / 2)
    assert unique
    assert abs(vector @ Q[:, 0]) == pytest.approx(1, abs=1e-6)


@given(seeds, st.integers(2, 9))
def test_a_null_space_of_two_dimensions_is_told(seed, n):
    B = np.random.default_rng(seed).normal(size=(n - 2, n))
    unique, vector = solve(B.T @ B)
    assert not unique
    assert np.linalg.norm(vector) == pytest.approx(1)
    assert np.abs(B @ vector).max(initial=0.0) < 1e-6


@given(seeds, st.integers(1, 9))
def test_a_positive_definite_system_is_solved(seed, n):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n + 2, n))
    A, b = B.T @ B + 0.1 * np.eye(n), rng.normal(size=n)
    system = np.vstack([np.tril(A) + np.triu(np.full((n, n), np.nan), 1), b])  # the upper triangle is not read
    assert solve_positive_definite(system, 0.0)
    assert system[n] == pytest.approx(np.linalg.solve(A, b), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("A", [[[0.0]], [[1.0, 2.0], [2.0, 1.0]], [[np.nan, 0.0], [0.0, 1.0]], [[-1.0]]])
def test_a_system_that_is_not_positive_definite_is_told(A):
    assert not solve_positive_definite(np.vstack([A, np.ones(len(A))]), 0.0)


@given(seeds, st.integers(2, 9), st.sampled_from([None, 1.0, -1.0]))
def test_the_complement_of_a_vector_is_orthonormal(seed, n, last):
    vector = np.random.default_rng(seed).normal(size=n) if last is None else last * np.eye(n)[-1]
    vector /= np.linalg.norm(vector)
    basis = np.full((n - 1, n), np.nan)
    span_complement(vector, basis)
    assert basis @ basis.T == pytest.approx(np.eye(n - 1), abs=1e-12)
    assert basis @ vector == pytest.approx(np.zeros(n - 1), abs=1e-12)


def test_a_vector_is_scaled_to_unit_norm_if_it_can_be():
    vector = np.array([3.0, 0.0, -4.0])
    assert normalise_vector(vector)
    assert vector == pytest.approx([0.6, 0.0, -0.8])
    for bad in (0.0, np.nan, np.inf):
        assert not normalise_vector(np.array([bad, 0.0]))
