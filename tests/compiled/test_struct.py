"""Structs of arrays and of functions, in kernels with and without reference counts."""

import sys

import numpy as np
import pytest
from numba import config, float64, types

from bansac.compiled.jit import compile_kernel, inner_kernel, kernel
from bansac.compiled.struct import FunctionStruct, make_struct

interpreted = bool(config.DISABLE_JIT)


Pair, _ = make_struct(__name__, "Pair", ("first", "second"))


@kernel
def make_pair(first, second):
    return Pair(first, second)


@inner_kernel
def _add(pair):
    for k in range(pair.first.size):
        pair.first[k] += pair.second[k]


@kernel
def add(pair):
    _add(pair)
    return pair.first


FUNCTIONS = FunctionStruct(__name__, "Functions", ("one", "several"), {"several": 2})
SIGNATURE = float64(float64)


@kernel
def call_all(functions, x):
    return functions.one(x), functions.several[0](x), functions.several[1](x)


def double(x):
    return 2.0 * x


def negate(x):
    return -x


@pytest.mark.skipif(interpreted, reason="interpreted: structs of arrays are named tuples of their modules")
def test_a_kernel_without_reference_counts_reads_fields_and_keeps_their_arrays_alive():
    first, second = np.zeros(3), np.arange(3.0)
    before = sys.getrefcount(first), sys.getrefcount(second)
    pair = make_pair(first, second)
    for count in range(1, 6):
        found = add(pair)
        assert found.tolist() == [0.0, count, 2.0 * count]
        assert np.shares_memory(found, first)
    del pair, found
    assert (sys.getrefcount(first), sys.getrefcount(second)) == before
    temporary = make_pair(np.ones(1000), np.ones(1000))  # its arrays live as long as it does
    assert [add(temporary)[-1] for _ in range(3)] == [2.0, 3.0, 4.0]


@pytest.mark.skipif(interpreted, reason="interpreted: structs of arrays are named tuples of their modules")
def test_a_field_that_does_not_exist_is_refused():
    @kernel
    def read(pair):
        return pair.third

    with pytest.raises(Exception, match="third"):
        read(make_pair(np.zeros(1), np.zeros(1)))


def test_functions_and_tuples_of_them_are_called():
    functions = [f if interpreted else compile_kernel(f, SIGNATURE, inner=True) for f in (double, negate)]
    kind = types.FunctionType(SIGNATURE)
    packed = FUNCTIONS.pack((functions[0], tuple(functions)), [kind, types.UniTuple(kind, 2)])
    assert call_all(packed, 3.0) == (6.0, 6.0, -3.0)
    swapped = FUNCTIONS.pack((functions[1], tuple(functions[::-1])), [kind, types.UniTuple(kind, 2)])
    assert call_all(swapped, 3.0) == (-3.0, -3.0, 6.0)
    assert call_all(packed, 1.0) == (2.0, 2.0, -1.0)
