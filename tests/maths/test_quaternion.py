"""Quaternions against their products; the rotation that aligns points is tested with Umeyama's fit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bansac.compiled.jit import kernel
from bansac.geometry import rotation_matrix
from bansac.maths.quaternion import entries, matrix_of, model_of, write_quaternion
from tests.reference import space

seeds = st.integers(0, 2**32 - 1)
_to_quaternion = kernel(lambda matrix, model: write_quaternion(*matrix, model))


@given(seed=seeds)
def test_quaternions_turn_as_their_products_do(seed):
    rng = np.random.default_rng(seed)
    model, X = rng.normal(size=7), rng.normal(size=(4, 3))
    matrix = matrix_of(model)
    np.testing.assert_allclose(X @ matrix[:, :3].T, space.rotate(model[:4], X), atol=1e-12)
    np.testing.assert_allclose(matrix[:, 3], model[4:])
    # Any of the four entries may be the largest; half turns have a first entry of 0.
    R = rotation_matrix(np.eye(3)[seed % 3] * np.pi) if seed % 4 == 0 else rotation_matrix(rng.normal(size=3) * 3)
    assert _to_quaternion(tuple(R.ravel()), model)
    np.testing.assert_allclose(np.array(entries(model)).reshape(3, 3), R, atol=1e-12)
    similarity = np.column_stack([rng.uniform(0.5, 2.5) * R, rng.normal(size=3)])
    np.testing.assert_allclose(matrix_of(model_of(similarity)), similarity, atol=1e-12)
