"""What all tests share: how Hypothesis searches, and quiet arithmetic where the kernels run as plain Python."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numba
import numpy as np
import pytest
from hypothesis import settings

# The first example of a test may compile kernels, so there is no deadline.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(autouse=True)
def kernel_arithmetic() -> Iterator[None]:
    """Let interpreted kernels (NUMBA_DISABLE_JIT=1) wrap around and divide by zero in silence, as compiled ones do."""
    if not numba.config.DISABLE_JIT:
        yield
        return
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        yield
