"""Processes share out the compilation: one compiles a kernel, the others wait and load it from the cache."""

import zlib
from pathlib import Path
from typing import Any

from numba import config, njit


def compile_once(path: Path) -> None:
    """Let this process hold a lock of each kernel while it compiles it; kernels do not call one another in circles.

    ``path`` is a file that all processes may write to; nothing is written.
    """
    try:
        import fcntl
    except ImportError:  # on Windows each process compiles for itself
        return
    if config.DISABLE_JIT:
        return
    file = path.open("r+b")
    dispatcher: Any = type(njit(lambda: None))
    compile_kernel = dispatcher.compile

    def compile_locked(self: Any, signature: Any) -> Any:
        code = self.py_func.__code__
        kernel = repr((code.co_filename, code.co_firstlineno, signature))
        byte = zlib.crc32(kernel.encode())
        fcntl.lockf(file, fcntl.LOCK_EX, 1, byte)
        try:
            return compile_kernel(self, signature)
        finally:
            fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)

    dispatcher.compile = compile_locked
