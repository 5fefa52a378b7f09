"""Workers of pytest-xdist share out the compilation: one compiles a kernel, the others wait and load it."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numba.core.dispatcher import Dispatcher


def compile_once() -> None:
    """Let this process hold a lock of each kernel while it compiles it; kernels do not call one another in circles."""
    try:
        import fcntl
    except ImportError:  # on Windows each worker compiles for itself
        return
    file = Path(__file__).open("r+b")  # noqa: SIM115 - open as long as the process; nothing is written
    compile_kernel = Dispatcher.compile

    @contextlib.contextmanager
    def locked(byte: int) -> Iterator[None]:
        fcntl.lockf(file, fcntl.LOCK_EX, 1, byte)
        try:
            yield
        finally:
            fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)

    def compile_locked(self: Any, signature: Any) -> Any:
        code = self.py_func.__code__
        kernel = repr((code.co_filename, code.co_firstlineno, signature))
        with locked(zlib.crc32(kernel.encode())):
            return compile_kernel(self, signature)

    Dispatcher.compile = compile_locked
