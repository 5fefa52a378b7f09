"""How kernels are compiled."""

from __future__ import annotations

import numpy as np

from bansac.numeric.jit import fast_kernel, inner_kernel, kernel


@fast_kernel
def add_up(values):
    """Return the sum."""
    total = 0.0
    for value in values:
        total += value
    return total


exact = inner_kernel(add_up)


@kernel
def add_twice(values):
    return exact(values) + exact(values)


def test_a_kernel_of_a_kernel_is_one_of_its_function_and_leaves_it_as_it_is():
    assert getattr(exact, "py_func", exact) is getattr(add_up, "py_func", add_up)
    values = np.arange(5.0)
    assert add_twice(values) == 20.0
    assert add_up(values) == 10.0
