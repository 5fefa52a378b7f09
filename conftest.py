"""What all tests share: how Hypothesis searches, and quiet arithmetic where the kernels run as plain Python."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.clusters import local_cluster

# A shell lets the commands that it runs in the background ignore Ctrl-C, which processes started by tests then do too.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The first example of a test may compile kernels, so there is no deadline. CI draws the same 100 examples every time;
# other runs draw 30, and others each time.
settings.register_profile("default", deadline=None, max_examples=30)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


# The first files that the workers of pytest-xdist run: one compiles the search while the other needs parts alone.
FIRST = ["tests/synthetic/", "tests/maths/", "tests/compiled/", "tests/solvers/", "tests/problems/", "tests/engine/"]


def pytest_configure(config: pytest.Config) -> None:
    """Let the workers run the files in the order of the collection, and compile each kernel once."""
    if hasattr(config, "workerinput"):
        from tests.compile_once import compile_once

        compile_once(Path(__file__))
    elif hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let the workers begin with the files of ``FIRST``, in this order."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: [item.nodeid.startswith(name) for name in FIRST], reverse=True)


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """Return the address of a scheduler with two workers on this machine."""
    with local_cluster() as scheduler:
        yield scheduler


@pytest.fixture(autouse=True)
def kernel_arithmetic() -> Iterator[None]:
    """Let interpreted kernels (NUMBA_DISABLE_JIT=1) wrap around and divide by zero in silence, as compiled ones do."""
    import numba  # here, because the process that starts the workers needs neither of the two
    import numpy as np

    if not numba.config.DISABLE_JIT:
        yield
        return
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        yield


@pytest.fixture
def other_defaults(monkeypatch: pytest.MonkeyPatch) -> Callable[[], contextlib.AbstractContextManager[dict[str, Any]]]:
    """Return a context in which many defaults of ``Options`` are others; it gives these."""
    from bansac import Network, Restarts
    from bansac.estimate import presets

    changed = {
        "confidence": 0.9999,
        "min_iterations": 400,
        "seed": 7,
        "scoring": "inliers",
        "restarts": Restarts(limit=3),
        "weighting": "density",
        "verification": None,
        "local_optimization": "inner",
        "network": Network(order=2, gamma="gamma_3", weight_floor=5.0, min_updates=20),
        "trace": True,
    }

    @contextlib.contextmanager
    def change() -> Iterator[dict[str, Any]]:
        with monkeypatch.context() as patch:
            for name, value in changed.items():
                patch.setitem(presets.Options.__init__.__kwdefaults__, name, value)
                patch.setattr(presets.Options.__dataclass_fields__[name], "default", value)
            patch.setattr(presets, "_DEFAULT", presets.Preset(presets.Options()))
            presets._merge.cache_clear()
            yield changed
        presets._merge.cache_clear()

    return change
