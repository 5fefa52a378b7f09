"""How kernels are compiled."""

import signal
from types import FunctionType

import numpy as np
import pytest
from numba import config, errors, float64, void

from bansac.compiled.jit import compile_kernel, fast_kernel, inner_kernel, is_ours, kernel
from bansac.maths import linalg

VECTORS = void(float64[::1], float64[::1])


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


def fill(values, out):
    """Write into an array of its own first."""
    room = np.empty(values.size)
    for k in range(values.size):
        room[k] = 2 * values[k]
    for k in range(values.size):
        out[k] = room[k]


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, nothing is compiled")
def test_a_function_of_the_user_may_allocate_where_one_of_the_package_may_not():
    assert is_ours(linalg.copy)
    assert not is_ours(fill)
    values, out = np.arange(3.0), np.empty(3)
    compile_kernel(fill, VECTORS, lean=True)(values, out)
    assert out.tolist() == [0.0, 2.0, 4.0]
    compile_kernel(linalg.copy, VECTORS, lean=True)(values, out)
    assert out.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, nothing is compiled")
def test_a_lean_kernel_that_allocates_is_refused():
    ours = FunctionType(fill.__code__, {"__name__": "bansac.problems.mine", "np": np})
    assert is_ours(ours)
    with pytest.raises(errors.NumbaError, match="empty"):
        compile_kernel(ours, VECTORS, lean=True)


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted: nothing is loaded")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_until_code_is_loaded(monkeypatch, number):
    """An exception in a callback of LLVM would crash the process."""
    from bansac.compiled.numba_private.cache import CheckedCache, _FolderCache

    loaded = []

    def load(*_):
        signal.raise_signal(number)
        loaded.append("code")

    monkeypatch.setattr(_FolderCache, "load_overload", load)
    earlier = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            CheckedCache(linalg.copy.py_func, {}).load_overload(None, None)
        assert loaded == ["code"]
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, earlier)
