"""Small linear algebra against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.numeric.linalg import diagonalize, smallest_eigenvector, solve_linear

seeds = st.integers(0, 2**32)


@given(seeds, st.integers(1, 9))
def test_diagonalisation_agrees_with_numpy(seed, n):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    A += A.T
    a, vectors = A.ravel().copy(), np.empty(n * n)
    smallest = np.empty(n)
    diagonalize(a, vectors, smallest)
    values, V = a.reshape(n, n).diagonal(), vectors.reshape(n, n)
    assert np.sort(values) == pytest.approx(np.linalg.eigvalsh(A), abs=1e-10)
    assert pytest.approx(np.eye(n), abs=1e-10) == V @ V.T
    assert pytest.approx(np.diag(values), abs=1e-9) == V @ A @ V.T


@given(seeds, st.integers(1, 9))
def test_smallest_eigenvector_agrees_with_numpy(seed, n):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n + 2, n))
    A = B.T @ B
    vector = np.empty(n)
    smallest_eigenvector(A.copy(), vector, np.empty(2 * n * n))
    assert abs(vector @ np.linalg.eigh(A)[1][:, 0]) == pytest.approx(1, abs=1e-7)


def test_null_vector_of_a_singular_matrix():
    A = np.diag([3.0, 0.0, 1.0])
    vector = np.empty(3)
    smallest_eigenvector(A, vector, np.empty(18))
    assert np.abs(vector) == pytest.approx([0, 1, 0])


@given(seeds, st.integers(1, 9))
def test_linear_systems_agree_with_numpy(seed, n):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    x = b.copy()
    assert solve_linear(A.copy(), x)
    assert A @ x == pytest.approx(b, abs=1e-7 * np.linalg.cond(A))


@pytest.mark.parametrize("A", [np.zeros((3, 3)), np.ones((2, 2)), np.diag([1.0, 1e-20]), np.full((2, 2), np.nan)])
def test_singular_systems_are_refused(A):
    assert not solve_linear(A.copy(), np.ones(len(A)))
